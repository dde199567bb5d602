"""Which follow-ups, solutions and documents GLPI's plugin sends, and the content of their events."""

from __future__ import annotations

from typing import Any

import pytest

from shared.events.parsing import parse_event
from tests.helpdesks.plugin.conftest import ALICE, ROWS, Play, add, events, settings

FOLLOWUP = {
    "id": 77,
    "itemtype": "Ticket",
    "items_id": 4711,
    "content": "<p>The toner is ordered</p>",
    "users_id": 7,
    "date": "2026-11-20 17:00:00",
    "is_private": 0,
}
SOLUTION = {
    **{name: value for name, value in FOLLOWUP.items() if name not in ("date", "is_private")},
    "date_creation": "2026-11-20 18:00:00",
    "status": 2,
}
SENDING = settings(notes="1")


def test_a_follow_up_and_a_solution_are_events_if_the_settings_say_so(play: Play) -> None:
    rows = play(SENDING, add("ITILFollowup", **FOLLOWUP), add("ITILSolution", **SOLUTION), ROWS)[-1]
    followup, solution = events(rows)
    assert (followup["event"], solution["event"]) == ("followup.added", "solution.added")
    assert followup["followup"] == {
        "id": 77,
        "content": "<p>The toner is ordered</p>",
        "is_private": False,
        "user": ALICE,
        "date": followup["followup"]["date"],
    }
    assert solution["solution"]["user"] == ALICE
    assert followup["followup"]["date"].startswith("2026-11-20T17:00:00")
    assert solution["solution"]["date"].startswith("2026-11-20T18:00:00")
    for event in (followup, solution):
        parsed = parse_event({**event, "occurred_at": "2026-11-21T09:30:00Z"})
        assert (parsed.ticket.id, parsed.content_format) == (4711, "html")


@pytest.mark.parametrize(
    ("changes", "set_to"),
    [
        ({}, {}),
        ({"is_private": 1}, {"notes": "1"}),
        ({"itemtype": "Problem"}, {"notes": "1"}),
        ({"items_id": 9999}, {"notes": "1"}),
    ],
    ids=["off", "private", "of a problem", "of no ticket"],
)
def test_other_follow_ups_are_not_sent(play: Play, changes: dict[str, Any], set_to: dict[str, str]) -> None:
    assert play(settings(**set_to), add("ITILFollowup", **{**FOLLOWUP, **changes}), ROWS)[-1] == []


def test_a_private_follow_up_is_sent_if_the_settings_say_so(play: Play) -> None:
    both = settings(notes="1", private_notes="1")
    (event,) = events(play(both, add("ITILFollowup", **{**FOLLOWUP, "is_private": 1}), ROWS)[-1])
    assert event["followup"]["is_private"] is True


def test_a_follow_up_that_is_edited_is_not_sent_again(play: Play) -> None:
    edited = {"do": "update", "type": "ITILFollowup", "id": 77, "fields": FOLLOWUP, "updates": ["content"]}
    assert play(SENDING, edited, ROWS)[-1] == []


DOCUMENT = {
    "id": 91,
    "filename": "scan.png",
    "filepath": "PNG/ab/cdef.PNG",
    "mime": "image/png",
    "users_id": 7,
    "date_creation": "2026-11-20 17:00:00",
}
LINK = {
    "id": 5,
    "documents_id": 91,
    "itemtype": "Ticket",
    "items_id": 4711,
    "users_id": 7,
    "date_creation": "2026-11-20 17:05:00",
}
DOCUMENTS = settings(documents="1")


def test_a_document_of_a_ticket_is_an_event_if_the_settings_say_so(play: Play) -> None:
    (event,) = events(play(DOCUMENTS, add("Document", **DOCUMENT), add("Document_Item", **LINK), ROWS)[-1])
    assert event["event"] == "document.added"
    assert event["document"] == {
        "id": 91,
        "name": "scan.png",
        "mime_type": "image/png",
        "size": None,
        "user": ALICE,
        "date": event["document"]["date"],
        "item": {"type": "Ticket", "id": 4711},
        "is_private": False,
    }
    assert event["document"]["date"].startswith("2026-11-20T17:05:00")
    parsed = parse_event({**event, "occurred_at": "2026-11-21T09:30:00Z"})
    assert parsed.key == "document:4711000000091"


def test_a_document_of_a_private_follow_up_is_told_of_without_its_name(play: Play) -> None:
    followup = add("ITILFollowup", **{**FOLLOWUP, "is_private": 1})
    link = add("Document_Item", **{**LINK, "itemtype": "ITILFollowup", "items_id": 77})
    (event,) = events(play(DOCUMENTS, followup, add("Document", **DOCUMENT), link, ROWS)[-1])
    document = event["document"]
    assert (document["name"], document["is_private"]) == (None, True)
    assert document["item"] == {"type": "ITILFollowup", "id": 77}


@pytest.mark.parametrize(
    ("link", "document", "set_to"),
    [
        ({}, {}, {}),
        ({"itemtype": "Computer", "items_id": 4711}, {}, {"documents": "1"}),
        ({"items_id": 9999}, {}, {"documents": "1"}),
        ({}, {"filepath": None}, {"documents": "1"}),
    ],
    ids=["off", "of a computer", "of no ticket", "a link to a page"],
)
def test_other_documents_are_not_sent(
    play: Play, link: dict[str, Any], document: dict[str, Any], set_to: dict[str, str]
) -> None:
    added = add("Document", **{**DOCUMENT, **document}), add("Document_Item", **{**LINK, **link})
    assert play(settings(**set_to), *added, ROWS)[-1] == []
