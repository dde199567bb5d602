"""Events of follow-ups and solutions: which are valid, what is stored, and which become notes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from shared.errors import InvalidEvent
from shared.events.config import PluginConfig, PrivateTexts
from shared.events.delivery import parse_delivery
from shared.events.event import Deletion, Event
from shared.events.parsing import parse, parse_event
from shared.events.payloads import note_body
from shared.events.snapshots import Note
from shared.events.stored import stored
from shared.notices.invalid import Invalid
from shared.notices.kinds import Kind, RowId, row_id_of
from shared.notices.reasons import Reason
from tests.support.events import deletion, followup, followup_event, solution_event, task_event, ticket_event
from worker.ticket.plan import KnownEvent, Pending, Plan, plan_additions

EVENTS = [followup_event(1), solution_event(1)]
SENDING = PluginConfig(sync_followups="all", sync_solutions="on")
TEXT = "the spare key is below the mat"


def faults(data: dict[str, Any]) -> list[tuple[str, Any]]:
    with pytest.raises(InvalidEvent) as invalid:
        parse(data)
    return list(invalid.value.faults)


@pytest.mark.parametrize("event", EVENTS, ids=lambda one: one["event"])
def test_an_event_has_the_key_of_what_it_is_about(event: dict[str, Any]) -> None:
    delivery = parse_delivery(event, "d-1")
    part = event["event"].partition(".")[0]
    assert delivery.event.key == f"{part}:77"
    assert stored(delivery.payload) == delivery.event


@pytest.mark.parametrize("event", EVENTS, ids=lambda one: one["event"])
def test_an_event_without_what_it_is_about_names_that(event: dict[str, Any]) -> None:
    part = event["event"].partition(".")[0]
    for data in ({name: one for name, one in event.items() if name != part}, {**event, part: None}):
        assert faults(data) == [(part, Invalid.PART_REQUIRED(event=event["event"]))]


@pytest.mark.parametrize(
    ("name", "value"),
    [("id", 0), ("id", "7"), ("content", 7), ("is_private", "yes"), ("user", 7), ("date", "yesterday")],
)
@pytest.mark.parametrize("event", EVENTS, ids=lambda one: one["event"])
def test_a_wrong_field_is_named_by_its_path(event: dict[str, Any], name: str, value: object) -> None:
    part = event["event"].partition(".")[0]
    assert [path for path, _ in faults({**event, part: {**event[part], name: value}})] == [f"{part}.{name}"]


@pytest.mark.parametrize("name", ["followup", "solution"])
def test_a_note_that_became_private_needs_no_more_than_ids(name: str) -> None:
    data = {**deletion(1, f"{name}.updated"), name: {"id": 77, "is_private": True}}
    event = parse(data)
    assert isinstance(event, Deletion)
    assert (event.key, event.is_deleted) == (f"{name}:77", False)
    for of_note in (
        {"id": 77},
        {"id": 77, "is_private": False},
        {"id": 77, "is_private": True, "content": TEXT},
    ):
        assert ("ticket.title", Invalid.FIELD_REQUIRED()) in faults({**data, name: of_note})


@pytest.mark.parametrize("event", EVENTS, ids=lambda one: one["event"])
def test_a_note_that_was_changed_comes_whole(event: dict[str, Any]) -> None:
    part = event["event"].partition(".")[0]
    updated = parse({**event, "event": f"{part}.updated"})
    assert isinstance(updated, Event)
    assert (updated.key, updated.note) == (f"{part}:77", parse_event(event).note)


@pytest.mark.parametrize("event", [task_event(), ticket_event()], ids=lambda one: one["event"])
def test_an_event_of_something_else_ignores_a_key_of_that_name(event: dict[str, Any]) -> None:
    """Unknown keys have always been stored and ignored, whatever they contain."""
    assert parse_event({**event, "followup": "x", "solution": 7}) == parse_event(event)


def test_a_follow_up_is_read_as_html_or_plain_as_the_event_says() -> None:
    event = parse_event({**followup_event(1), "content_format": "html", "helpdesk_url": "https://glpi.test"})
    assert event.note is not None
    assert (event.note.content_format, event.note.helpdesk_url) == ("html", "https://glpi.test")


@pytest.mark.parametrize(
    ("kept", "is_kept"),
    [(PrivateTexts.NONE, False), (PrivateTexts.TASKS, False), (PrivateTexts.FOLLOWUPS, True)],
)
def test_a_private_text_is_kept_only_if_the_settings_say_so(kept: PrivateTexts, is_kept: bool) -> None:
    private = parse_delivery(followup_event(1, of_followup=followup(content=TEXT, is_private=True)), "d-1")
    assert private.has_private_text
    assert (TEXT in private.with_texts(kept).payload) is is_kept


def test_a_public_text_and_that_of_a_solution_are_kept() -> None:
    for event in EVENTS:
        delivery = parse_delivery(event, "d-1")
        assert delivery.with_texts(PrivateTexts.NONE) is delivery


def pending(event_id: int, event: dict[str, Any]) -> Pending:
    return Pending(event_id, parse_event(event))


def planned(
    *events: Pending,
    config: PluginConfig = SENDING,
    added: Any = None,
    newest: Mapping[RowId, KnownEvent] | None = None,
    deleted: bool = False,
) -> Plan:
    plan = Plan()
    plan_additions(plan, events, added or {}, config, newest, is_ticket_deleted=deleted)
    return plan


@pytest.mark.parametrize(
    ("settings", "private", "reason"),
    [
        ({}, False, Reason.FOLLOWUPS_OFF()),
        ({"sync_followups": "public"}, True, Reason.PRIVATE_FOLLOWUP()),
        ({"sync_followups": "public"}, False, None),
        ({"sync_followups": "all"}, True, None),
    ],
)
def test_the_settings_say_which_follow_ups_are_sent(
    settings: dict[str, str], private: bool, reason: object
) -> None:
    event = pending(1, followup_event(1, of_followup=followup(is_private=private)))
    plan = planned(event, config=PluginConfig.model_validate(settings))
    assert plan.skipped == ({1: reason} if reason else {})
    assert plan.additions == ([] if reason else [event])


def test_a_solution_is_sent_only_if_the_settings_say_so() -> None:
    event = pending(1, solution_event(1))
    assert planned(event, config=PluginConfig()).skipped == {1: Reason.SOLUTIONS_OFF()}
    assert planned(event).additions == [event]


def test_one_note_is_sent_for_each_follow_up_from_its_newest_event() -> None:
    first, again, other = (
        pending(1, followup_event(1)),
        pending(2, followup_event(2)),
        pending(3, solution_event(3)),
    )
    plan = planned(first, again, other)
    assert plan.additions == [again, other], "a solution of the same number is something else"
    assert plan.superseded == {1: 2}


PUBLIC_ONLY = PluginConfig(sync_followups="public", sync_solutions="on")


def known(event_id: int, event: dict[str, Any]) -> dict[RowId, KnownEvent]:
    about = parse(event)
    return {row_id_of(about.key): KnownEvent(event_id, about)}


def made_private(name: str = "followup") -> dict[RowId, KnownEvent]:
    return known(2, {**deletion(2, f"{name}.updated"), name: {"id": 77, "is_private": True}})


@pytest.mark.parametrize("event", EVENTS, ids=lambda one: one["event"])
def test_what_was_deleted_before_it_was_sent_is_not_sent(event: dict[str, Any]) -> None:
    name = event["event"].partition(".")[0]
    gone = known(2, {**deletion(2, f"{name}.deleted"), name: {"id": 77}})
    assert planned(pending(1, event), newest=gone).skipped == {1: Reason.DELETED_THERE()}
    assert planned(pending(1, event), newest=gone, added={(Kind(name), 77): 12}).added == {1: 12}


def test_a_follow_up_that_became_private_before_it_was_sent_is_not_sent() -> None:
    event = pending(1, followup_event(1))
    assert planned(event, config=PUBLIC_ONLY, newest=made_private()).skipped == {1: Reason.PRIVATE_THERE()}
    updated = known(2, followup_event(2, event="followup.updated", of_followup=followup(is_private=True)))
    assert planned(event, config=PUBLIC_ONLY, newest=updated).superseded == {1: 2}


@pytest.mark.parametrize(("name", "event"), [("followup", EVENTS[0]), ("solution", EVENTS[1])])
def test_what_became_private_is_sent_as_a_private_note_if_the_settings_say_so(
    name: str, event: dict[str, Any]
) -> None:
    (sent,) = planned(pending(1, event), newest=made_private(name)).additions
    assert (sent.id, sent.event.note and sent.event.note.is_private) == (1, True)


def test_the_newest_text_counts_whatever_became_of_its_event() -> None:
    updated = followup_event(2, event="followup.updated", of_followup=followup(content="corrected"))
    first, second = pending(1, followup_event(1)), pending(2, updated)
    both = planned(first, second, newest=known(2, updated))
    assert (both.additions, both.superseded) == ([second], {1: 2})
    late = planned(first, newest=known(2, updated))
    assert (late.additions, late.superseded) == ([], {1: 2})


def test_a_follow_up_that_is_public_again_is_sent() -> None:
    again = followup_event(3, event="followup.updated")
    plan = planned(pending(3, again), config=PUBLIC_ONLY, newest=known(3, again))
    assert [one.id for one in plan.additions] == [3]


def test_what_was_sent_before_is_not_sent_again() -> None:
    plan = planned(pending(1, followup_event(1)), added={(Kind.FOLLOWUP, 77): 12})
    assert (plan.additions, plan.added) == ([], {1: 12})


def test_nothing_is_sent_of_a_deleted_ticket() -> None:
    assert planned(pending(1, followup_event(1)), deleted=True).skipped == {1: Reason.TICKET_DELETED()}


def note(**fields: Any) -> Note:
    return Note.model_validate(
        {"id": 77, "content": "<p>Ordered &amp; paid</p>", "content_format": "html", **fields}
    )


def test_the_body_has_the_text_and_nothing_else() -> None:
    assert note_body(note(), PluginConfig()) == {"issue": {"notes": "Ordered & paid"}}
    assert note_body(note(is_private=True), PluginConfig()) == {
        "issue": {"notes": "Ordered & paid", "private_notes": True}
    }


def test_the_body_is_written_in_the_tracker_s_text_formatting() -> None:
    marked = note_body(
        note(content="a *b*\n# c", content_format="plain"), PluginConfig(text_formatting="markdown")
    )
    assert marked["issue"]["notes"] == "a \\*b\\*\n\\# c"


def test_the_text_begins_with_the_name_if_the_author_will_be_another() -> None:
    named = note(user={"id": 9, "email": None, "name": "Sam\nStranger"})
    body = note_body(named, PluginConfig(), is_authors=False)
    assert body["issue"]["notes"] == "Sam Stranger:\n\nOrdered & paid"
    assert note_body(note(content="", user={"id": 9, "name": "Sam"}), PluginConfig(), is_authors=False) == {
        "issue": {"notes": ""}
    }


@pytest.mark.parametrize("formatting", ["plain", "textile", "markdown", "common_mark"])
def test_the_time_of_a_late_note_needs_no_code_block(formatting: str) -> None:
    late = note(date="2026-11-27T11:38:59+01:00")
    body = note_body(late, PluginConfig.model_validate({"text_formatting": formatting}), is_late=True)
    assert body["issue"]["notes"] == "2026-11-27 11:38 (UTC+01:00):\n\nOrdered & paid"


def test_the_settings_are_read_from_what_is_stored() -> None:
    stored_values = json.loads(SENDING.model_dump_json())
    assert PluginConfig.model_validate(stored_values).sends_private_followups
    assert not PluginConfig(sync_followups="public").sends_private_followups
