"""Which follow-ups, solutions and documents GLPI's plugin sends, and the content of their events."""

from __future__ import annotations

from typing import Any

import pytest

from shared.events.parsing import parse, parse_event
from tests.helpdesks.plugin.conftest import ALICE, ROWS, Play, Step, act, add, events, settings, store

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
        "created_at": None,
    }
    assert solution["solution"]["created_at"] == "2026-11-20T18:00:00+00:00"
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


DOCUMENT = {
    "id": 91,
    "filename": "scan.png",
    "filepath": "PNG/ab/cdef.PNG",
    "is_deleted": 0,
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
        "created_at": "2026-11-20T17:00:00+00:00",
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


# newer states: private, deleted, edited


BOTH = settings(notes="1", documents="1")
NOTES = [("ITILFollowup", FOLLOWUP, "followup"), ("ITILSolution", SOLUTION, "solution")]
ADDED = [add("ITILFollowup", **FOLLOWUP), add("Document", **DOCUMENT)]
OF_FOLLOWUP = {**LINK, "itemtype": "ITILFollowup", "items_id": 77}


def update(kind: str, item_id: int, **changes: Any) -> Step:
    """Save an existing item with changed columns."""
    return {"do": "update", "type": kind, "id": item_id, "fields": changes, "updates": [*changes]}


def sent(rows: list[Step], kind: str) -> list[tuple[str, Any]]:
    """Return the name of each event about a kind of item, and the item."""
    return [(event["event"], event[kind]) for event in events(rows) if kind in event]


def text_of(rows: list[Step]) -> str:
    """Return everything that the spool would send, as text."""
    return " ".join(row["event"] for row in rows)


PRIVATE = {
    "event": "followup.updated",
    "ticket": {"id": 4711},
    "followup": {"id": 77, "is_private": True},
}


@pytest.mark.parametrize("state", [[], [act("bin")]], ids=["ticket", "ticket in the bin"])
def test_a_follow_up_that_became_private_is_an_event_with_ids_only(play: Play, state: list[Step]) -> None:
    private = update("ITILFollowup", 77, is_private=1)
    rows = play(store(ITILFollowup=[FOLLOWUP]), SENDING, *state, private, ROWS)[-1]
    assert events(rows)[-1] == PRIVATE
    assert parse({**PRIVATE, "occurred_at": "2026-11-21T09:30:00Z"}).key == "followup:77"


def test_a_follow_up_that_became_public_is_sent_as_it_is_now(play: Play) -> None:
    stored = store(ITILFollowup=[{**FOLLOWUP, "is_private": 1}])
    (event,) = events(play(stored, SENDING, update("ITILFollowup", 77, is_private=0), ROWS)[-1])
    assert (event["event"], event["followup"]["content"]) == ("followup.updated", FOLLOWUP["content"])
    parsed = parse_event({**event, "occurred_at": "2026-11-21T09:30:00Z"})
    assert parsed.user is not None
    assert parsed.user.name == "Smith Alice"


def test_a_follow_up_that_stays_private_is_no_event_if_the_settings_exclude_it(play: Play) -> None:
    stored = store(ITILFollowup=[{**FOLLOWUP, "is_private": 1}])
    assert play(stored, SENDING, update("ITILFollowup", 77, content="<p>x</p>"), ROWS)[-1] == []


@pytest.mark.parametrize(("kind", "fields", "name"), NOTES, ids=["follow-up", "solution"])
def test_a_purged_note_is_an_event_with_ids_only_and_drops_what_waits(
    play: Play, kind: str, fields: Step, name: str
) -> None:
    rows = play(
        SENDING, add(kind, **fields), add(kind, **{**fields, "id": 78}), act("purge", kind, 77), ROWS
    )[-1]
    assert sent(rows, name)[1:] == [(f"{name}.deleted", {"id": 77})]
    assert sent(rows, name)[0][1]["id"] == 78
    event = events(rows)[-1]
    assert event == {"event": f"{name}.deleted", "ticket": {"id": 4711}, name: {"id": 77}}
    assert parse({**event, "occurred_at": "2026-11-21T09:30:00Z"}).key == f"{name}:77"


def test_the_text_of_a_follow_up_that_became_private_does_not_leave(play: Play) -> None:
    private = update("ITILFollowup", 77, is_private=1)
    rows = play(SENDING, add("ITILFollowup", **FOLLOWUP), private, ROWS)[-1]
    assert "toner" not in text_of(rows)
    assert events(rows)[0]["followup"]["is_private"] is True
    assert events(rows)[1] == PRIVATE


def test_the_text_of_a_follow_up_leaves_if_it_is_public_again_or_private_ones_are_sent(play: Play) -> None:
    added, private = add("ITILFollowup", **FOLLOWUP), update("ITILFollowup", 77, is_private=1)
    again = update("ITILFollowup", 77, is_private=0)
    rows = play(SENDING, added, private, again, ROWS)[-1]
    assert [item["is_private"] for _, item in sent(rows, "followup")] == [False, True, False]
    assert [item.get("content") for _, item in sent(rows, "followup")] == [
        FOLLOWUP["content"],
        None,
        FOLLOWUP["content"],
    ]
    rows = play(settings(notes="1", private_notes="1"), added, private, ROWS)[-1]
    assert [(item["content"], item["is_private"]) for _, item in sent(rows, "followup")] == [
        (FOLLOWUP["content"], True)
    ] * 2


@pytest.mark.parametrize(("kind", "fields", "name"), NOTES, ids=["follow-up", "solution"])
def test_a_note_that_was_edited_is_sent_again_and_waits_with_its_newest_text_only(
    play: Play, kind: str, fields: Step, name: str
) -> None:
    rows = play(SENDING, add(kind, **fields), update(kind, 77, content="<p>Ordered</p>"), ROWS)[-1]
    assert [(event, note["content"], note["user"]) for event, note in sent(rows, name)] == [
        (f"{name}.added", "<p>Ordered</p>", ALICE),
        (f"{name}.updated", "<p>Ordered</p>", ALICE),
    ]


@pytest.mark.parametrize("column", ["date_mod", "status", "users_id_editor"])
def test_a_save_of_a_note_that_changes_no_text_is_no_event(play: Play, column: str) -> None:
    assert (
        play(store(ITILSolution=[SOLUTION]), SENDING, update("ITILSolution", 77, **{column: 3}), ROWS)[-1]
        == []
    )


def test_what_is_deleted_in_a_ticket_in_the_bin_is_sent_too(play: Play) -> None:
    changes = [update("Ticket", 4711, name="Fire"), act("purge", "ITILFollowup", 77)]
    unlinked = act("purge", "Document_Item", 5)
    rows = play(BOTH, *ADDED, add("Document_Item", **LINK), act("bin"), *changes, unlinked, ROWS)[-1]
    names = [event["event"] for event in events(rows)]
    assert names == ["ticket.deleted", "followup.deleted", "document.deleted"]
    assert events(rows)[0] == {"event": "ticket.deleted", "ticket": {"id": 4711}}


def test_nothing_of_it_is_sent_while_the_settings_exclude_it(play: Play) -> None:
    changes = [update("ITILFollowup", 77, is_private=1), act("purge", "ITILFollowup", 77)]
    assert play(*ADDED, add("Document_Item", **OF_FOLLOWUP), *changes, ROWS)[-1] == []


DELETED = ("document.deleted", {"id": 91})


@pytest.mark.parametrize(
    "how",
    [act("purge", "Document_Item", 5), act("bin", "Document", 91), act("purge", "Document", 91)],
    ids=["unlinked", "in the bin", "purged"],
)
@pytest.mark.parametrize("link", [LINK, OF_FOLLOWUP], ids=["of the ticket", "of a follow-up"])
def test_a_document_that_is_gone_is_an_event_with_ids_only_and_drops_what_waits(
    play: Play, link: Step, how: Step
) -> None:
    rows = play(BOTH, *ADDED, add("Document_Item", **link), how, ROWS)[-1]
    assert sent(rows, "document") == [DELETED]
    (event,) = [event for event in events(rows) if "document" in event]
    assert event == {"event": "document.deleted", "ticket": {"id": 4711}, "document": {"id": 91}}
    assert parse({**event, "occurred_at": "2026-11-21T09:30:00Z"}).key == "document:4711000000091"


def test_the_documents_of_a_purged_follow_up_are_gone_with_it(play: Play) -> None:
    link, purge = add("Document_Item", **OF_FOLLOWUP), act("purge", "ITILFollowup", 77)
    rows = play(BOTH, *ADDED, link, purge, ROWS)[-1]
    assert {event["event"] for event in events(rows)} == {"document.deleted", "followup.deleted"}


def test_a_document_that_the_ticket_still_has_is_not_gone(play: Play) -> None:
    links = [add("Document_Item", **LINK), add("Document_Item", **{**OF_FOLLOWUP, "id": 6})]
    rows = play(BOTH, *ADDED, *links, act("purge", "Document_Item", 5), ROWS)[-1]
    assert {name for name, _ in sent(rows, "document")} == {"document.added"}
    assert sent(rows, "document")[-1][1]["item"]["type"] == "ITILFollowup"


def test_a_document_out_of_the_bin_is_sent_again(play: Play) -> None:
    steps = [add("Document_Item", **LINK), act("bin", "Document", 91), act("restore", "Document", 91)]
    rows = play(BOTH, *ADDED, *steps, ROWS)[-1]
    assert [name for name, _ in sent(rows, "document")] == ["document.deleted", "document.added"]


PRIVATE_TASK = [
    add("TicketTask", id=512, tickets_id=4711, is_private=0, content="", state=1, actiontime=0, users_id=7,
        users_id_tech=0, begin=None, date="2026-11-20 10:00:00", sourceitems_id=0),
    add("Document_Item", **{**LINK, "itemtype": "TicketTask", "items_id": 512}),
    update("TicketTask", 512, is_private=1),
]  # fmt: skip


@pytest.mark.parametrize(
    "steps",
    [
        [add("Document_Item", **OF_FOLLOWUP), update("ITILFollowup", 77, is_private=1)],
        PRIVATE_TASK,
    ],
    ids=["follow-up", "task"],
)
def test_a_document_becomes_private_with_its_item_and_its_name_does_not_leave(
    play: Play, steps: list[Step]
) -> None:
    rows = play(BOTH, *ADDED, *steps, ROWS)[-1]
    assert sent(rows, "document") == [DELETED]
    assert "scan.png" not in text_of(rows)


def test_a_document_becomes_public_with_its_item(play: Play) -> None:
    followup = add("ITILFollowup", **{**FOLLOWUP, "is_private": 1})
    public = update("ITILFollowup", 77, is_private=0)
    rows = play(BOTH, followup, ADDED[1], add("Document_Item", **OF_FOLLOWUP), public, ROWS)[-1]
    assert [one["is_private"] for _, one in sent(rows, "document")] == [True, False]


def test_a_document_that_is_public_elsewhere_in_the_ticket_stays_public(play: Play) -> None:
    links = [add("Document_Item", **OF_FOLLOWUP), add("Document_Item", **{**LINK, "id": 6})]
    rows = play(BOTH, *ADDED, *links, update("ITILFollowup", 77, is_private=1), ROWS)[-1]
    newest = sent(rows, "document")[-1]
    assert (newest[0], newest[1]["is_private"], newest[1]["item"]["type"]) == (
        "document.added",
        False,
        "Ticket",
    )


def test_a_ticket_that_is_purged_with_notes_and_documents_is_one_deletion(play: Play) -> None:
    links = [add("Document_Item", **LINK), add("Document_Item", **{**OF_FOLLOWUP, "id": 6})]
    rows = play(BOTH, *ADDED, add("ITILSolution", **SOLUTION), *links, act("purge"), ROWS)[-1]
    assert events(rows) == [{"event": "ticket.deleted", "ticket": {"id": 4711}}]
