"""The oracle knows what must not be published any more, and what may have been published before."""

from __future__ import annotations

from typing import Any

import pytest

from tests.drill.expect import expect
from tests.drill.oracle import Oracle
from tests.drill.test_oracle import FILES, accepted, attachment, entry, issue, journal, named
from tests.support.events import (
    deletion,
    document,
    document_event,
    followup,
    followup_event,
    task,
    task_event,
)

SECRET = "the password is swordfish"
ADDED = followup_event(1, of_ticket=named(7), of_followup=followup(700, content=SECRET))
FINISHED = task_event(3, of_ticket=named(7), of_task=task(701, content="Done"))
DELETED = {**deletion(2, "followup.deleted", 7), "followup": {"id": 700}}
PRIVATE = {**deletion(2, "followup.updated", 7), "followup": {"id": 700, "is_private": True}}
WHOLE = followup_event(
    2,
    event="followup.updated",
    of_ticket=named(7),
    of_followup=followup(700, content=SECRET, is_private=True),
)
WITHDRAWN = {"deleted": DELETED, "private": PRIVATE, "private, whole": WHOLE}
PUBLISHED = {
    "nothing": [],
    "the note": [journal(1, SECRET, "alice")],
    "a private note": [journal(1, SECRET, "alice", private_notes=True)],
    "two notes": [journal(1, SECRET, "alice"), journal(2, SECRET, "alice")],
}
RIGHT = {
    ("deleted", "in time"): {"nothing"},
    ("deleted", "late"): {"nothing", "the note"},
    ("private", "in time"): {"a private note"},
    ("private", "late"): {"a private note", "the note"},
}


@pytest.mark.parametrize("when", ["in time", "late"])
@pytest.mark.parametrize("how", WITHDRAWN)
@pytest.mark.parametrize("what", PUBLISHED)
def test_it_reports_what_was_withdrawn_and_published_afterwards(what: str, how: str, when: str) -> None:
    second, third = (WITHDRAWN[how], FINISHED) if when == "in time" else (FINISHED, WITHDRAWN[how])
    row: dict[str, Any] = {**issue(6, "Ticket 7"), "journals": PUBLISHED[what]}
    state = {"issues": [row], "time_entries": [entry(1, 6, "Done")]}
    found = Oracle(expect(accepted(ADDED, second, third), "5.0"), state, {}).differences()
    assert (found == []) == (what in RIGHT[how.partition(",")[0], when]), found


@pytest.mark.parametrize("when", ["in time", "late"])
@pytest.mark.parametrize("is_there", [False, True])
def test_it_reports_a_document_that_was_deleted_and_attached_afterwards(is_there: bool, when: str) -> None:
    added = document_event(1, of_ticket=named(7), of_document=document(70))
    gone = {**deletion(2, "document.deleted", 7), "document": {"id": 70}}
    second, third = (gone, FINISHED) if when == "in time" else (FINISHED, gone)
    files = [attachment(1, "scan-70.png", FILES[70])] if is_there else []
    state = {"issues": [issue(6, "Ticket 7")], "time_entries": [entry(1, 6, "Done")], "attachments": files}
    found = Oracle(expect(accepted(added, second, third), "5.0", FILES), state, {}).differences()
    assert (found == []) == (not is_there or when == "late"), found
