"""Which events a help desk may send, field by field (SPEC section 6)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from producer.intake.description import AcceptedEvent
from shared.errors import InvalidEvent
from shared.events.config import PrivateTexts
from shared.events.delivery import parse_delivery
from shared.events.event import (
    DELETIONS,
    EVENTS,
    PART_OF,
    Deletion,
    Event,
)
from shared.events.parsing import DEEPEST, parse, parse_event
from shared.events.stored import stored
from shared.notices.invalid import Faults, Invalid
from shared.notices.refusals import Refusal
from tests.support.events import stored_event, task, task_event, ticket, ticket_event
from tests.support.refusals import says

BIG = 2**63
MISSING = object()
TEXT = "the password is swordfish"


def changed(path: str, value: Any, event: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return an event with one field replaced, or without it."""
    data: dict[str, Any] = json.loads(json.dumps(event or task_event(sequence=1)))
    *parents, name = path.split(".")
    part = data
    for parent in parents:
        part = part[parent]
    if value is MISSING:
        part.pop(name, None)
    else:
        part[name] = value
    return data


def paths(data: object) -> list[str]:
    """Return the paths of an event's faults; empty if it is valid."""
    try:
        parse(data)
    except InvalidEvent as invalid:
        return [path for path, _ in invalid.faults]
    return []


def named_or_valid(data: object) -> None:
    """Assert that the data is an event and reads back unchanged, or that its faults are named."""
    try:
        delivery = parse_delivery(data, "d-1")
    except InvalidEvent as invalid:
        faults = invalid.faults
    else:
        assert stored(delivery.payload) == delivery.event
        return
    assert faults
    assert all(path and problem for path, problem in faults)


IDS = ["ticket.id", "ticket.technician.id", "task.id", "task.user.id", "ticket.project_id", "task.copy_of",
       "task.copied_from_ticket"]  # fmt: skip
NOT_IDS = [0, -1, BIG, 10**400, 1.0, 1.5, "1", True, [], {}]
NUMBERS = ["ticket.status", "task.state", "task.actiontime", "sequence"]
NOT_NUMBERS = [BIG, -BIG - 1, 1.0, "1", True, [], {}]
DAYS = {
    "2026-11-20": "2026-11-20",
    "2026-11-20T23:30:00+09:00": "2026-11-20",
    "2026-11-20 23:30:00": "2026-11-20",
    "2026-11-20T00:10:00-11:00": "2026-11-20",
    "2026-11-20t23:30:00.123456z": "2026-11-20",
    "2024-02-29": "2024-02-29",
}
NO_DAYS = [
    "", " ", "20.11.2026", "2026-11-31", "2026-02-29", "2026-13-01", "2026-11-20T25:00", "2026-11-20 nonsense",
    "0000-00-00 00:00:00", "20261120", "2026-W47-5", "2026-11-20T", " 2026-11-20", "2026-11-20\n", "٢٠٢٦-11-20",
    "today",
]  # fmt: skip
OPTIONAL_TEXTS = ["ticket.content", "ticket.technician.email", "task.content", "task.user.email",
                  "ticket.technician.name", "ticket.entity_name", "ticket.project_name",
                  "ticket.external_id"]  # fmt: skip
OF_TEMPLATES = ["urgency", "impact", "priority", "type"]
OBJECTS = ["ticket.category", "ticket.location", "ticket.requester"]
NOT_ADDRESSES = [
    "",
    "glpi.example.org",
    "javascript:alert(1)",
    "ftp://x",
    "https://",
    "http://a\nb",
    "https://a\u202eb",
]
TRUTHS = ["task.is_private", "ticket.is_deleted"]
REQUIRED = ["event", "occurred_at", "ticket", "ticket.id", "ticket.title", "ticket.status", "ticket.entity_id",
            "task.id", "task.state", "task.actiontime"]  # fmt: skip
NOT_TIMES = [
    "", "2026-11-21", "2026-11-21T09:30:00", "2026-11-21 09:30", "09:30:00Z", "1764000000", 1764000000, 1.5, True, [],
    "2026-13-01T00:00:00Z", "2026-11-31T00:00:00Z", "2026-11-21T25:00:00Z", "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59-23:59", "2026-11-21T09:30:00+99:00", "now", "٢٠٢٦-11-21T09:30:00Z",
]  # fmt: skip


@pytest.mark.parametrize("path", REQUIRED)
@pytest.mark.parametrize("value", [MISSING, None], ids=["missing", "null"])
def test_a_required_field_that_is_missing_or_null_is_named(path: str, value: Any) -> None:
    assert path in paths(changed(path, value))


@pytest.mark.parametrize("path", IDS)
@pytest.mark.parametrize("value", NOT_IDS, ids=str)
def test_ids_are_positive_integers(path: str, value: Any) -> None:
    data = task_event(of_ticket=ticket(project_id=1, technician={"id": 1}), of_task=task(user={"id": 1}))
    assert paths(changed(path, value, data)) == [path]


@pytest.mark.parametrize("path", NUMBERS)
@pytest.mark.parametrize("value", NOT_NUMBERS, ids=str)
def test_numbers_are_integers_that_the_database_can_hold(path: str, value: Any) -> None:
    assert paths(changed(path, value)) == [path]


@pytest.mark.parametrize("value", [-1, BIG, "3", 3.0, None, False], ids=str)
def test_the_entity_id_is_an_integer_from_zero(value: Any) -> None:
    assert paths(changed("ticket.entity_id", value)) == ["ticket.entity_id"]
    assert paths(changed("ticket.entity_id", 0)) == []


@pytest.mark.parametrize(("sent", "day"), DAYS.items())
def test_a_ticket_tasks_day_is_the_one_that_is_written_whatever_its_zone(sent: str, day: str) -> None:
    event = parse_event(task_event(of_task=task(date=sent)))
    assert event.task is not None
    assert event.task.date == day


@pytest.mark.parametrize("sent", [*NO_DAYS, 20261120, 1.5, True, [], {}], ids=str)
def test_a_day_that_cannot_be_read_is_refused_by_its_name(sent: Any) -> None:
    assert paths(task_event(of_task=task(date=sent))) == ["task.date"]


@pytest.mark.parametrize("sent", NO_DAYS)
def test_an_unreadable_day_in_the_journal_from_before_days_were_checked_is_none(sent: str) -> None:
    event = stored_event(json.dumps(task_event(of_task=task(date=sent))))
    assert event.task is not None
    assert event.task.date is None


def test_an_unreadable_creation_time_is_refused_by_its_name_but_not_in_the_journal_of_an_earlier_version() -> (
    None
):
    sent = task_event(of_task=task(created_at="2026-11-20 08:15:30"))
    assert paths(sent) == ["task.created_at"]
    event = stored_event(json.dumps(sent))
    assert (event.task is not None, event.created) == (True, None)


@pytest.mark.parametrize("path", ["ticket.title", *OPTIONAL_TEXTS])
@pytest.mark.parametrize("value", [1, True, [], {}], ids=str)
def test_texts_are_strings(path: str, value: Any) -> None:
    assert paths(changed(path, value)) == [path]


@pytest.mark.parametrize("path", TRUTHS)
@pytest.mark.parametrize("value", [0, 1, "true", "", [], {}], ids=str)
def test_truths_are_true_or_false(path: str, value: Any) -> None:
    assert paths(changed(path, value)) == [path]
    assert paths(changed(path, True)) == paths(changed(path, False)) == []


@pytest.mark.parametrize(
    "path",
    [
        *OPTIONAL_TEXTS,
        *TRUTHS,
        "task.copy_of",
        "task.copied_from_ticket",
        "task.created_at",
        "sequence",
        "ticket.technician",
        "ticket.project_id",
        "task.user",
    ],
)
@pytest.mark.parametrize("value", [MISSING, None], ids=["missing", "null"])
def test_everything_else_may_be_missing_or_null(path: str, value: Any) -> None:
    assert paths(changed(path, value)) == []


@pytest.mark.parametrize("name", OF_TEMPLATES)
@pytest.mark.parametrize("value", NOT_NUMBERS, ids=str)
def test_what_is_for_templates_is_of_its_kind_or_refused(name: str, value: Any) -> None:
    assert paths(changed(f"ticket.{name}", value)) == [f"ticket.{name}"]
    assert paths(changed(f"ticket.{name}", 3)) == paths(changed(f"ticket.{name}", None)) == []


@pytest.mark.parametrize("path", OBJECTS)
def test_what_is_named_has_its_number(path: str) -> None:
    assert paths(changed(path, {"id": 12, "name": "Printers"})) == paths(changed(path, None)) == []
    assert paths(changed(path, {"name": "Printers"})) == [f"{path}.id"]
    assert paths(changed(path, {"id": 12, "name": 5})) == [f"{path}.name"]
    assert paths(changed(path, 12)) == [path]


def test_lists_are_lists_of_their_kind() -> None:
    assert paths(changed("ticket.groups", [{"id": 1, "name": "Field"}, {"id": 2}])) == []
    assert paths(changed("ticket.groups", [{"id": 1}, {"id": 0}])) == ["ticket.groups.1.id"]
    assert paths(changed("ticket.groups", {"id": 1})) == ["ticket.groups"]
    assert (
        paths(changed("ticket.other_project_ids", [1, 2]))
        == paths(changed("ticket.other_project_ids", []))
        == []
    )
    assert paths(changed("ticket.other_project_ids", [1, -2])) == ["ticket.other_project_ids.1"]
    assert paths(changed("ticket.other_project_ids", 2)) == ["ticket.other_project_ids"]


@pytest.mark.parametrize("value", [*NOT_ADDRESSES, 5], ids=str)
def test_a_tickets_address_is_one_of_the_web(value: Any) -> None:
    assert paths(changed("ticket.url", value)) == ["ticket.url"]
    assert paths(changed("ticket.url", "https://glpi.example.org/front/ticket.form.php?id=1")) == []
    assert paths(changed("ticket.url", None)) == []


@pytest.mark.parametrize("value", NOT_TIMES, ids=str)
def test_when_a_ticket_is_to_be_solved_is_a_time_with_an_offset(value: Any) -> None:
    if not str(value).startswith(("0001", "9999")):  # kept as text and not used in calculations
        assert paths(changed("ticket.time_to_resolve", value)) == ["ticket.time_to_resolve"]
    assert paths(changed("ticket.time_to_resolve", "2026-11-24T17:00:00+01:00")) == []


DELETED = {
    "event": "ticket_task.deleted",
    "occurred_at": "2026-11-24T17:00:00Z",
    "ticket": {"id": 1},
    "task": {"id": 2},
}


KEYS = {
    "ticket.deleted": "ticket:1",
    "ticket.restored": "ticket:1",
    "ticket_task.deleted": "ticket-task:2",
    "followup.deleted": "followup:2",
    "solution.deleted": "solution:2",
    "document.deleted": "document:1000000002",
}


@pytest.mark.parametrize("name", DELETIONS)
def test_a_deletion_needs_ids_and_a_time_and_nothing_else(name: str) -> None:
    part = {PART_OF.get(name.partition(".")[0], "task"): {"id": 2}}
    data = {**{key: one for key, one in DELETED.items() if key != "task"}, "event": name, **part}
    found = parse(data)
    assert isinstance(found, Deletion)
    assert found.key == KEYS[name]
    assert found.is_deleted == (name != "ticket.restored")
    assert stored(parse_delivery(data, "d-1").payload) == found
    for path in ("occurred_at", "ticket", "ticket.id"):
        assert path in paths(changed(path, MISSING, data))
    assert paths(changed("ticket.id", 0, data)) == ["ticket.id"]


@pytest.mark.promise("SEC-21")
@pytest.mark.parametrize("key", sorted({*KEYS.values(), "ticket:1"}))
def test_every_key_is_as_openapi_describes_it(key: str) -> None:
    AcceptedEvent(event_id=1, key=key, duplicate=False)
    with pytest.raises(ValidationError):
        AcceptedEvent(event_id=1, key=f"other-{key}", duplicate=False)


@pytest.mark.parametrize("name", [one for one in DELETIONS if not one.startswith("ticket.")])
def test_the_text_of_what_was_deleted_is_not_stored(name: str) -> None:
    part = PART_OF[name.partition(".")[0]]
    data = {**DELETED, "event": name, part: {"id": 2, "is_private": True, "content": TEXT, "name": TEXT}}
    payload = parse_delivery(data, "d-1").payload
    assert TEXT not in payload
    assert json.loads(payload)[part] == {"id": 2, "is_private": True}


def test_the_deletion_of_a_ticket_task_needs_its_number() -> None:
    assert paths(changed("task", MISSING, DELETED)) == ["task"]
    assert paths(changed("task.id", MISSING, DELETED)) == ["task.id"]
    assert paths({**DELETED, "event": "ticket.deleted", "task": "whatever"}) == []


def test_every_event_there_is_is_named_to_a_sender_of_another_one() -> None:
    with pytest.raises(InvalidEvent) as refused:
        parse(changed("event", "ticket.closed"))
    assert refused.value.faults == [("event", Invalid.CHOICE_EXPECTED(choices=[*EVENTS, *DELETIONS]))]


@pytest.mark.parametrize("value", NOT_TIMES, ids=str)
def test_a_time_is_rfc_3339_with_an_offset(value: Any) -> None:
    assert paths(changed("occurred_at", value)) == ["occurred_at"]


@pytest.mark.parametrize(
    "value",
    ["2026-11-21T09:30:00Z", "2026-11-21T10:30:00+01:00", "2026-11-21t09:30:00z", "2026-11-21 09:30:00.000Z"],
)
def test_a_time_may_have_any_offset_and_either_case(value: str) -> None:
    assert parse_event(changed("occurred_at", value)).occurred_at.astimezone(UTC) == datetime(
        2026, 11, 21, 9, 30, tzinfo=UTC
    )


@pytest.mark.parametrize(
    "value", ["ticket.added", "ticket_task.closed", "", "TICKET.UPDATED", 7, [], {}], ids=str
)
def test_an_event_of_another_name_is_refused(value: Any) -> None:
    assert "event" in paths(changed("event", value))


@pytest.mark.parametrize("data", [None, 1, "x", [], [{}], True])
def test_an_event_is_an_object(data: Any) -> None:
    assert paths(data) == ["(event)"]


@pytest.mark.parametrize("event", ["ticket_task.added", "ticket_task.updated"])
def test_a_ticket_task_event_needs_its_task(event: str) -> None:
    assert paths(changed("task", None, task_event(event=event))) == ["task"]


def test_every_fault_is_named_at_once() -> None:
    data = {"event": "ticket_task.added", "ticket": {"id": 0, "title": 1, "status": "x"}}
    assert {"occurred_at", "ticket.id", "ticket.title", "ticket.status", "ticket.entity_id", "task"} <= set(
        paths(data)
    )


def test_the_task_of_a_ticket_update_is_ignored_whatever_it_is() -> None:
    for thing in (task(), {"id": "x"}, "nonsense"):
        event = parse_event(ticket_event(task=thing))
        assert event.task is None
        assert event.key == "ticket:4711"


def test_the_key_is_that_of_the_ticket_task() -> None:
    assert parse_event(task_event()).key == "ticket-task:512"


def test_a_fault_never_repeats_what_was_sent() -> None:
    with pytest.raises(InvalidEvent) as failure:
        parse_event(changed("ticket.status", "a-secret-text"))
    assert "a-secret-text" not in str(failure.value)


def test_extra_keys_are_kept_as_sent_and_ignored() -> None:
    data = task_event(of_ticket=ticket(mood=5), site="north")
    delivery = parse_delivery(data, "d-1")
    assert json.loads(delivery.payload) == data
    assert stored_event(delivery.payload) == parse_event(task_event())


def test_a_delivery_without_the_text_of_a_private_task_is_as_if_it_had_not_been_sent() -> None:
    private = parse_delivery(task_event(of_task=task(is_private=True, note="x"), more=1), "d-1")
    untold = parse_delivery(task_event(of_task=task(is_private=True, note="x", content=None), more=1), "d-1")
    assert private.has_private_text
    assert private.with_texts(PrivateTexts.NONE) == untold
    assert not untold.has_private_text


@pytest.mark.parametrize("told", [{}, {"is_private": None}, {"is_private": False}], ids=str)
def test_a_delivery_keeps_the_text_of_a_task_that_is_not_private(told: dict[str, Any]) -> None:
    delivery = parse_delivery(task_event(of_task=task(**told)), "d-1")
    assert delivery.with_texts(PrivateTexts.NONE) is delivery
    of_ticket = parse_delivery(ticket_event(), "d-2")
    assert of_ticket.with_texts(PrivateTexts.NONE).payload == of_ticket.payload


def test_nul_and_lone_surrogates_are_accepted_and_kept_in_the_payload() -> None:
    data = changed("ticket.title", "a\x00b\ud800c")
    delivery = parse_delivery(data, "d-1")
    assert json.loads(delivery.payload) == data
    assert delivery.payload.isascii()
    assert "\ud800" not in stored_event(delivery.payload).ticket.title


def test_the_digest_does_not_depend_on_the_order_of_keys() -> None:
    data = task_event()
    turned = dict(reversed(list(data.items())))
    assert parse_delivery(data, "a").identity == parse_delivery(turned, "a").identity
    assert parse_delivery(data, "a").digest != parse_delivery(changed("task.id", 9, data), "a").digest


@pytest.mark.parametrize("delivery_id", ["", " ", "a b", "x" * 256, "ü", "a\n", "a\x00"])
def test_a_delivery_id_is_printable_ascii(delivery_id: str) -> None:
    with pytest.raises(InvalidEvent, check=says(Refusal.EVENT_NOT_VALID, Invalid.DELIVERY_ID_EXPECTED)):
        parse_delivery(task_event(), delivery_id)


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_a_number_that_is_no_json_is_refused_also_in_extra_keys(number: float) -> None:
    with pytest.raises(InvalidEvent):
        parse_delivery(task_event(extra=[number]), "d-1")


@pytest.mark.parametrize("depth", [50, 300, 400, 480, 600, 900])
def test_deep_nesting_in_an_extra_key_is_accepted_or_refused_but_no_crash(depth: int) -> None:
    data = json.loads(json.dumps(task_event())[:-1] + ', "extra": ' + "[" * depth + "]" * depth + "}")
    named_or_valid(data)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"])
@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize("event", [{}, {"a": "[" * DEEPEST}, task_event()], ids=["alone", "in text", "event"])
def test_how_deep_an_event_may_be_is_the_same_whoever_has_its_text(
    opening: str, closing: str, more: int, event: dict[str, Any]
) -> None:
    depth = DEEPEST - 1 + more  # the event itself counts as one level
    text = json.dumps(event | {"extra": 1}).replace("1}", f"{opening * depth}1{closing * depth}}}")
    read, seen = outcome(lambda: parse_event(json.loads(text))), outcome(lambda: stored_event(text))
    assert seen == read
    assert (seen == [("(event)", Invalid.NESTED_TOO_DEEP(most=DEEPEST))]) == (more > 0)


def outcome(read: Callable[[], Event]) -> Event | Faults:
    try:
        return read()
    except InvalidEvent as invalid:
        return invalid.faults


values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.text(st.characters(min_codepoint=0xD7FF)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=150, deadline=None)
@given(values)
def test_any_json_value_gives_an_event_or_a_refusal(data: Any) -> None:
    named_or_valid(data)


@settings(max_examples=250, deadline=None)
@given(
    st.sampled_from([*REQUIRED, *IDS, *NUMBERS, *OPTIONAL_TEXTS, "task", "ticket.technician", "extra"]),
    values,
)
def test_any_json_value_in_any_field_gives_an_event_or_a_refusal(path: str, value: Any) -> None:
    named_or_valid(changed(path, value))


@pytest.mark.parametrize("said", ["html", "plain", None])
def test_an_event_says_what_its_texts_are_and_where_the_helpdesk_is(said: str | None) -> None:
    event = parse_event(task_event(content_format=said, helpdesk_url="https://glpi.example.org/glpi"))
    for part in (event, event.ticket, event.task):
        assert part is not None
        assert (part.content_format, part.helpdesk_url) == (said, "https://glpi.example.org/glpi")


def test_what_a_ticket_says_of_its_texts_is_as_its_event_says() -> None:
    own: dict[str, Any] = {"content_format": "pdf", "helpdesk_url": 5}
    event = parse_event(task_event(of_ticket=ticket(**own), of_task=task(**own), content_format="plain"))
    assert event.task is not None
    assert (event.ticket.content_format, event.task.content_format) == ("plain", "plain")
    assert (event.ticket.helpdesk_url, event.task.helpdesk_url) == (None, None)


@pytest.mark.parametrize("wrong", ["HTML", "markdown", "", 1, True, [], {}])
def test_another_format_of_content_is_refused_by_its_name(wrong: object) -> None:
    assert paths(task_event(content_format=wrong)) == ["content_format"]


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "glpi.example.org",
        "/glpi",
        "ftp://x",
        "javascript:alert(1)",
        "http://",
        "https://x:y",
        "http://a\nb",
        1,
        [],
    ],
)
def test_another_address_of_the_helpdesk_is_refused_by_its_name(wrong: object) -> None:
    assert paths(task_event(helpdesk_url=wrong)) == ["helpdesk_url"]
