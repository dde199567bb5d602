"""Queries GLPI for the data that its events lack, on a stand-in with the oddities of a real GLPI."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr

from shared.events.parsing import parse_event
from shared.helpdesk import glpi
from shared.helpdesk.glpi import PAGE_SIZE, GlpiLookup
from shared.helpdesk.lookup import HelpdeskRefused, HelpdeskUnreachable
from shared.notices.faults import HelpdeskFault
from shared.notices.refusals import Refusal
from shared.notices.render import sentence
from tests.support.glpi_api import GlpiApi, glpi_api
from tests.support.refusals import says
from tests.support.wire import WireServer, trickle

MORNING = "2026-11-21T08:00:00+00:00"
NOON = "2026-11-21T12:00:00+00:00"


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def api() -> Iterator[GlpiApi]:
    with glpi_api() as served:
        served.users = {7: "anna@example.org", 8: None}
        served.ticket(1, MORNING, assigned=7)
        served.ticket(2, NOON)
        yield served


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lookup(api: GlpiApi, clock: Clock) -> GlpiLookup:
    return GlpiLookup(api.access, clock)


def test_all_addresses_of_a_user_are_found_the_default_first(lookup: GlpiLookup) -> None:
    assert lookup.emails_of(7) == ["anna@example.org", "old@example.org"]


def test_a_user_without_an_address_or_who_is_gone_has_none(lookup: GlpiLookup) -> None:
    assert lookup.emails_of(8) == []
    assert lookup.emails_of(99) == []


def test_a_ticket_s_technician_is_who_it_is_assigned_to(lookup: GlpiLookup) -> None:
    assert lookup.person_of(1, "technician") == 7
    assert lookup.person_of(2, "technician") is None
    assert lookup.person_of(99, "technician") is None


def test_a_ticket_s_requester_is_read_together_with_its_technician(lookup: GlpiLookup, api: GlpiApi) -> None:
    assert lookup.person_of(1, "technician") == 7
    calls = len(api.calls)
    assert lookup.person_of(1, "requester") == 8
    assert lookup.person_of(99, "requester") is None
    assert len(api.calls) == calls + 1


def test_an_answer_is_used_again_until_it_is_too_old(lookup: GlpiLookup, api: GlpiApi, clock: Clock) -> None:
    assert lookup.emails_of(7) == ["anna@example.org", "old@example.org"]
    api.users[7] = "new@example.org"
    clock.now += 599
    assert lookup.emails_of(7) == ["anna@example.org", "old@example.org"]
    clock.now += 2
    assert lookup.emails_of(7) == ["new@example.org", "old@example.org"]


def test_one_token_serves_many_calls_and_is_renewed_before_it_ends(
    lookup: GlpiLookup, api: GlpiApi, clock: Clock
) -> None:
    for user in (7, 8, 9):
        lookup.emails_of(user)
    assert api.calls.count("POST /token") == 1
    clock.now += 3600 - 30
    lookup.emails_of(10)
    assert api.calls.count("POST /token") == 2


def test_a_token_that_is_no_longer_taken_is_renewed_once(lookup: GlpiLookup, api: GlpiApi) -> None:
    lookup.emails_of(7)
    api.tokens.clear()
    assert lookup.emails_of(8) == []
    assert api.calls.count("POST /token") == 2


@pytest.mark.parametrize(
    ("wrong", "settings"),
    [
        ("password", "DESKBRIDGE_GLPI_API_USER, DESKBRIDGE_GLPI_API_PASSWORD"),
        ("client_secret", "DESKBRIDGE_GLPI_API_CLIENT_ID, DESKBRIDGE_GLPI_API_CLIENT_SECRET"),
    ],
)
def test_a_refused_sign_in_names_the_settings(api: GlpiApi, wrong: str, settings: str) -> None:
    changed: dict[str, Any] = {wrong: SecretStr("changed")}
    with pytest.raises(HelpdeskRefused) as refused:
        GlpiLookup(replace(api.access, **changed)).now()
    assert sentence(refused.value.problem).startswith(f"GLPI does not accept {settings}: POST /token: 40")


def test_a_wrong_password_is_for_a_person(api: GlpiApi) -> None:
    lookup = GlpiLookup(replace(api.access, password=SecretStr("wrong")))
    with pytest.raises(
        HelpdeskRefused, check=says(Refusal.HELPDESK_UNANSWERED, HelpdeskFault.HELPDESK_SIGN_IN_REFUSED)
    ) as refused:
        lookup.emails_of(7)
    assert refused.value.problem.params["error"] == "invalid_grant"
    assert "wrong" not in str(refused.value)


def test_a_helpdesk_that_is_down_is_told_from_a_user_who_is_gone(lookup: GlpiLookup, api: GlpiApi) -> None:
    api.down = True
    with pytest.raises(HelpdeskUnreachable):
        lookup.emails_of(7)
    api.down = False
    assert lookup.emails_of(7) == ["anna@example.org", "old@example.org"]


def test_nobody_listening_is_unreachable(api: GlpiApi) -> None:
    with pytest.raises(HelpdeskUnreachable):
        GlpiLookup(replace(api.access, url="http://127.0.0.1:9")).emails_of(7)


def test_what_changed_comes_as_valid_events_with_addresses(lookup: GlpiLookup, api: GlpiApi) -> None:
    api.task(2, 20, NOON)
    found = list(lookup.changed_since(datetime(2026, 11, 21, 9, tzinfo=UTC)))
    assert [one.event["event"] for one in found] == ["ticket.updated", "ticket_task.updated"]
    events = [parse_event(one.event) for one in found]
    assert {one.ticket.id for one in events} == {2}
    assert {(one.content_format, one.helpdesk_url) for one in events} == {("html", api.access.url)}
    assert {one.event["ticket"]["entity_name"] for one in found} == {"Root entity > Acme"}
    assert events[1].task is not None
    assert events[1].task.user is not None
    assert events[1].task.user.email == "anna@example.org"
    assert (events[1].task.actiontime, events[1].task.state) == (1800, 2)


def test_a_changed_task_names_its_technician(lookup: GlpiLookup, api: GlpiApi) -> None:
    api.task(2, 20, NOON, user=8, user_tech={"id": 7, "name": "anna"})
    api.task(2, 21, NOON, user_tech=None)
    _, planned, other = lookup.changed_since(datetime(2026, 11, 21, 9, tzinfo=UTC))
    assert planned.event["task"]["technician"] == {
        "id": 7,
        "email": "anna@example.org",
        "emails": ["anna@example.org", "old@example.org"],
        "name": "anna",
    }
    assert other.event["task"]["technician"] is None


def test_the_day_of_a_planned_task_is_its_planned_day(lookup: GlpiLookup, api: GlpiApi) -> None:
    api.task(2, 20, NOON, planned_begin="2026-11-19T23:30:00+01:00")
    api.task(2, 21, NOON)
    found = list(lookup.changed_since(datetime(2026, 11, 21, 9, tzinfo=UTC)))
    assert [one.event["task"]["date"] for one in found[1:]] == ["2026-11-19", "2026-11-21"]


def test_a_change_says_when_glpi_created_what_changed(lookup: GlpiLookup, api: GlpiApi) -> None:
    api.tickets[2]["date_creation"] = "2026-11-20T08:15:30+00:00"
    api.task(2, 20, NOON, date_creation="2026-11-21T09:00:10+00:00")
    found = [parse_event(one.event) for one in lookup.changed_since(datetime(2026, 11, 21, 9, tzinfo=UTC))]
    assert [f"{one.created:%d. %H:%M:%S}" for one in found] == ["20. 08:15:30", "21. 09:00:10"]


def test_texts_come_without_the_data_of_pictures(lookup: GlpiLookup, api: GlpiApi) -> None:
    content = f"<p>a</p><img src='data:image/png;base64,{'A' * 5_000_000}'>"
    api.task(2, 20, NOON, content=content)
    api.tickets[2]["content"] = content
    found = list(lookup.changed_since(datetime(2026, 11, 21, 9, tzinfo=UTC)))
    texts = [found[0].event["ticket"]["content"], found[1].event["task"]["content"]]
    assert texts == ["<p>a</p><img src='data:'>"] * 2


def test_every_changed_ticket_is_found_however_many_there_are(lookup: GlpiLookup, api: GlpiApi) -> None:
    for number in range(10, 10 + 2 * PAGE_SIZE):
        api.ticket(number, NOON)
    found = {one.event["ticket"]["id"] for one in lookup.changed_since(datetime(2026, 11, 21, 9, tzinfo=UTC))}
    assert len(found) == 2 * PAGE_SIZE + 1


ODD: list[object] = [
    None,
    5,
    True,
    "text",
    [5],
    {"id": 5},
    [None],
    {},
    10**30,
    -1,
    1.5,
    float("nan"),
    "\ud800",
]


def asked_of_each(lookup: GlpiLookup) -> None:
    """Run every query; whatever GLPI answers, only the port's own error may be raised."""
    for ask in (
        lookup.now,
        lambda: lookup.emails_of(7),
        lambda: lookup.person_of(1, "technician"),
        lambda: [parse_event(one.event) for one in lookup.changed_since(datetime(2026, 11, 21, tzinfo=UTC))],
    ):
        with suppress(HelpdeskUnreachable):
            ask()


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_an_odd_answer_is_a_helpdesk_that_gives_no_usable_one(
    lookup: GlpiLookup, api: GlpiApi, monkeypatch: pytest.MonkeyPatch, odd: object
) -> None:
    lookup.emails_of(8)
    monkeypatch.setattr(api, "answer", lambda *_: (200, odd))
    asked_of_each(lookup)


@pytest.mark.parametrize(
    "place", [*(f"ticket.{name}" for name in ("id", "name", "content", "status", "entity", "date_mod", "team")),
              *(f"task.{name}" for name in ("id", "content", "state", "duration", "user", "date", "date_mod")),
              "ticket.status.id", "ticket.entity.id", "ticket.entity.completename", "task.user.id"]
)  # fmt: skip
def test_an_odd_value_anywhere_in_an_answer_is_no_fault_of_ours(
    lookup: GlpiLookup, api: GlpiApi, place: str
) -> None:
    api.task(1, 20, NOON)
    row: Any = {"ticket": api.tickets[1], "task": api.tasks[1][0]}
    *path, last = place.split(".")
    for name in path:
        row = row[name]
    for row[last] in ODD:
        asked_of_each(lookup)


@pytest.mark.parametrize(
    "odd", [*ODD, [{"email": 5}], [{"email": {}, "is_default": 1}], ["anna@example.org"]]
)
def test_addresses_that_are_none_are_told_from_none_at_all(
    lookup: GlpiLookup, api: GlpiApi, monkeypatch: pytest.MonkeyPatch, odd: object
) -> None:
    monkeypatch.setattr(
        api, "_read", lambda path, _: (200, {"emails": odd} if "User" in path else {"team": odd})
    )
    asks: list[Callable[[], object]] = [
        lambda: lookup.emails_of(7),
        lambda: lookup.person_of(1, "technician"),
    ]
    for ask in asks:
        with suppress(HelpdeskUnreachable):
            assert not ask()


@pytest.mark.parametrize("lives", [*ODD, "3600", [], float("inf"), 1e300])
def test_a_token_lives_a_day_at_most_and_an_odd_life_is_none(
    lookup: GlpiLookup, api: GlpiApi, clock: Clock, lives: Any
) -> None:
    api.lives_s = lives
    lookup.emails_of(7)
    clock.now += 86400
    lookup.emails_of(8)
    assert api.calls.count("POST /token") == 2


@pytest.mark.parametrize("last", [{"id": 2}, {"id": 1}, {"id": 0}, {"id": None}, {}, 5])
def test_a_page_that_comes_again_ends_the_reading(
    lookup: GlpiLookup, api: GlpiApi, monkeypatch: pytest.MonkeyPatch, last: object
) -> None:
    page = [{**api.tickets[1], "id": number} for number in range(3, 2 + PAGE_SIZE)]
    monkeypatch.setattr(
        api,
        "_list",
        lambda _query: (206, [*page, {**api.tickets[1], **last} if isinstance(last, dict) else last]),
    )
    with pytest.raises(
        HelpdeskUnreachable, check=says(Refusal.HELPDESK_UNANSWERED, HelpdeskFault.HELPDESK_ANSWER_UNUSABLE)
    ):
        for _ in lookup.changed_since(datetime(2026, 11, 21, 9, tzinfo=UTC)):
            pass
    assert api.calls.count("GET /v2/Assistance/Ticket") <= 2


def test_the_same_page_again_and_again_ends_the_reading(
    lookup: GlpiLookup, api: GlpiApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = [{**api.tickets[1], "id": number} for number in range(1, 1 + PAGE_SIZE)]
    monkeypatch.setattr(api, "_list", lambda _query: (206, page))
    found = []
    with pytest.raises(HelpdeskUnreachable):
        for one in lookup.changed_since(datetime(2026, 11, 21, 9, tzinfo=UTC)):
            found.append(one)
    assert len(found) == PAGE_SIZE
    assert api.calls.count("GET /v2/Assistance/Ticket") == 2


def test_headers_that_trickle_end_the_call(api: GlpiApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glpi, "CALL_S", 0.5)

    def script(server: WireServer, connection: socket.socket, _number: int) -> None:
        server.read_request(connection)
        trickle(connection, b"HTTP/1.1 200 OK\r\nX: ", b"x", 0.05, server.ended)

    with WireServer(script) as server:
        began = time.monotonic()
        with pytest.raises(
            HelpdeskUnreachable, check=says(Refusal.HELPDESK_UNANSWERED, HelpdeskFault.HELPDESK_TOO_SLOW)
        ):
            GlpiLookup(replace(api.access, url=server.url)).now()
        assert time.monotonic() - began < 5
