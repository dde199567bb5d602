"""Follow-ups and solutions reach a tracker as notes, and documents as attachments."""

from __future__ import annotations

from typing import Any

import pytest

from shared.notices.reasons import Reason
from tests.contract import seed
from tests.contract.scene import CAROL, DAVE, STRANGER, Scene
from tests.support.events import (
    ALICE,
    BOB,
    document,
    document_event,
    followup,
    followup_event,
    solution_event,
    task_event,
)
from tests.support.glpi_api import GlpiApi


@pytest.fixture
def noting(scene: Scene) -> Scene:
    """A scene with its issue, in which follow-ups and solutions are forwarded."""
    scene.bridge.configure(sync_followups="all", sync_solutions="on")
    assert scene.forward(task_event(of_ticket=scene.ticket())) == ["done"], scene.steps()
    return scene


def notes(scene: Scene) -> list[tuple[int, str, bool]]:
    """Return the author, the text and the privacy of each note of the issue, oldest first."""
    issue = scene.tracker.read(f"/issues/{scene.issue()['id']}.json?include=journals")["issue"]
    written = [one for one in issue["journals"] if one["notes"]]
    return [(one["user"]["id"], one["notes"], one["private_notes"]) for one in written]


def test_follow_ups_and_solutions_are_notes_by_who_wrote_them(noting: Scene) -> None:
    """Bob and carol are members; the API user writes dave's and the stranger's note, the latter with a name."""
    for member in (seed.User.BOB, seed.User.CAROL):
        noting.tracker.add_member(noting.project_id, member, seed.Role.DEVELOPER)
    stranger = {**STRANGER, "name": "Sam Stranger"}
    events = [
        followup_event(1, of_ticket=noting.ticket(), of_followup=followup(1, user=BOB)),
        followup_event(2, of_ticket=noting.ticket(), of_followup=followup(2, user=CAROL, is_private=True)),
        solution_event(3, of_ticket=noting.ticket(), of_solution={"id": 1, "content": "Done", "user": ALICE}),
        followup_event(4, of_ticket=noting.ticket(), of_followup=followup(3, user=stranger)),
        followup_event(5, of_ticket=noting.ticket(), of_followup=followup(4, user=DAVE)),
    ]
    assert noting.forward(*events) == ["done"] * 5, noting.steps()
    assert notes(noting) == [
        (seed.User.BOB, "Toner 1 ordered", False),
        (seed.User.CAROL, "Toner 2 ordered", True),
        (seed.User.ALICE, "Done", False),
        (seed.User.ADMIN, "Sam Stranger:\n\nToner 3 ordered", False),
        (seed.User.ADMIN, "Toner 4 ordered", False),
    ]


def test_a_private_follow_up_of_a_reporter_is_not_made_public(noting: Scene) -> None:
    noting.tracker.add_member(noting.project_id, seed.User.ERIN, seed.Role.REPORTER)
    erin = {"id": 13, "email": "erin@example.test"}
    event = followup_event(1, of_ticket=noting.ticket(), of_followup=followup(1, user=erin, is_private=True))
    assert noting.forward(event) == ["done"], noting.steps()
    assert notes(noting) == [(seed.User.ADMIN, "Toner 1 ordered", True)]


def members(scene: Scene) -> set[int]:
    """Return the members of the scene's project."""
    path = f"/projects/{scene.project_id}/memberships.json?limit=100"
    return {one["user"]["id"] for one in scene.tracker.read(path)["memberships"]}


@pytest.mark.parametrize("is_private", [False, True], ids=["public", "private"])
def test_a_note_makes_no_one_a_member_and_names_whom_redmine_refuses(noting: Scene, is_private: bool) -> None:
    """Carol is not a member, dave is locked."""
    before = members(noting)
    people = {**CAROL, "name": "Carol Clark"}, {**DAVE, "name": "Dave Dunn"}
    events = [
        followup_event(
            number,
            of_ticket=noting.ticket(),
            of_followup=followup(number, user=user, is_private=is_private),
        )
        for number, user in enumerate(people, 1)
    ]
    assert noting.forward(*events) == ["done"] * 2, noting.steps()
    assert members(noting) == before
    assert notes(noting) == [
        (seed.User.ADMIN, "Carol Clark:\n\nToner 1 ordered", is_private),
        (seed.User.ADMIN, "Dave Dunn:\n\nToner 2 ordered", is_private),
    ]
    codes = [noting.bridge.event(number).notice for number in (2, 3)]
    assert {one.code for one in codes if one} == {Reason.NOTE_SENT_AS_ANOTHER}


def test_notes_of_any_text_are_recognised_when_they_are_read_back(noting: Scene) -> None:
    texts = ["two\nlines\r\nthree", "  blanks  ", "a *b* _c_ <d> &amp; {{e}}", "é€😀", "x" * 50_000]
    for number, text in enumerate(texts, 1):
        note = followup(number, content=text)
        event = followup_event(number, of_ticket=noting.ticket(), of_followup=note, content_format="plain")
        assert noting.forward(event) == ["done"], noting.steps()
    assert len(notes(noting)) == len(texts)
    assert {author for author, _, _ in notes(noting)} == {seed.User.ALICE}


@pytest.fixture
def attaching(noting: Scene, api: GlpiApi) -> Scene:
    """A scene with its issue, in which documents are forwarded too."""
    noting.bridge.configure(sync_documents="on")
    api.documents |= {number: f"content of {number}".encode() for number in range(1, 20)}
    return noting


def attachments(scene: Scene) -> list[tuple[int, str, int]]:
    """Return the author, the name and the size of each attachment of the issue, oldest first."""
    found = sorted(scene.tracker.attachments(scene.issue()["id"]), key=lambda one: int(one["id"]))
    return [(one["author"]["id"], one["filename"], one["filesize"]) for one in found]


def attached(scene: Scene, number: int, **changes: Any) -> dict[str, Any]:
    return document_event(number, of_ticket=scene.ticket(), of_document=document(number, **changes))


def test_documents_are_attachments_by_who_added_them(attaching: Scene) -> None:
    """Bob and carol are not members; dave is locked, so his document and a stranger's are the API user's."""
    people = (BOB, CAROL, ALICE, STRANGER, DAVE)
    events = [attached(attaching, number, user=user) for number, user in enumerate(people, 1)]
    assert attaching.forward(*events) == ["done"] * 5, attaching.steps()
    authors = (seed.User.BOB, seed.User.CAROL, seed.User.ALICE, seed.User.ADMIN, seed.User.ADMIN)
    assert attachments(attaching) == [
        (author, f"scan-{number}.png", 12) for number, author in enumerate(authors, 1)
    ]
    assert not members(attaching) & {seed.User.BOB, seed.User.CAROL}


def test_an_attachment_that_the_api_user_uploads_is_described_by_its_persons_name(attaching: Scene) -> None:
    people = (
        {**DAVE, "name": "Dave Dunn"},
        {**STRANGER, "name": "Sam Stranger"},
        {**ALICE, "name": "Alice Archer"},
    )
    events = [attached(attaching, number, user=user) for number, user in enumerate(people, 1)]
    assert attaching.forward(*events) == ["done"] * 3, attaching.steps()
    found = sorted(attaching.tracker.attachments(attaching.issue()["id"]), key=lambda one: int(one["id"]))
    assert [one.get("description") or "" for one in found] == ["Dave Dunn", "Sam Stranger", ""]


def test_a_document_of_any_name_is_attached_and_found(attaching: Scene) -> None:
    names = [
        "é€😀.png",
        "a b + c%20.png",
        "a?b*c:d|e\"f'g<h>i.png",
        "x" * 300 + ".png",
        "no ending",
        ".png",
        None,
    ]
    for number, name in enumerate(names, 1):
        assert attaching.forward(attached(attaching, number, name=name)) == ["done"], attaching.steps()
    assert len(attachments(attaching)) == len(names)
    assert {author for author, _, _ in attachments(attaching)} == {seed.User.ALICE}


def test_a_large_document_is_whole(attaching: Scene, api: GlpiApi) -> None:
    content = bytes(range(256)) * 4 * 1024 * 4
    api.documents[1] = content
    assert attaching.forward(attached(attaching, 1)) == ["done"], attaching.steps()
    assert attachments(attaching) == [(seed.User.ALICE, "scan-1.png", len(content))]


def test_a_document_that_the_tracker_finds_too_large_fails_and_others_go_on(
    attaching: Scene, api: GlpiApi
) -> None:
    api.documents[1] = bytes(5 * 1024 * 1024 + 1)
    events = attached(attaching, 1), attached(attaching, 2)
    assert attaching.forward(*events) == ["failed", "done"], attaching.steps()
    assert len(attachments(attaching)) == 1
