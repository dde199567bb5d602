"""Asking GLPI for what its events lack, over a stand-in with the oddities of a real one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from shared.codes.faults import HelpdeskFault
from shared.codes.refusals import Refusal
from shared.events.event import parse_event
from shared.helpdesk.glpi import PAGE_SIZE, GlpiLookup
from shared.helpdesk.lookup import HelpdeskRefused, HelpdeskUnreachable
from tests.support.glpi_api import GlpiApi, glpi_api
from tests.support.refusals import says

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


def test_the_default_address_of_a_user_is_found(lookup: GlpiLookup) -> None:
    assert lookup.email_of(7) == "anna@example.org"


def test_a_user_without_an_address_or_who_is_gone_has_none(lookup: GlpiLookup) -> None:
    assert lookup.email_of(8) is None
    assert lookup.email_of(99) is None


def test_a_ticket_s_technician_is_who_it_is_assigned_to(lookup: GlpiLookup) -> None:
    assert lookup.technician_of(1) == 7
    assert lookup.technician_of(2) is None
    assert lookup.technician_of(99) is None


def test_an_answer_is_used_again_until_it_is_too_old(lookup: GlpiLookup, api: GlpiApi, clock: Clock) -> None:
    assert lookup.email_of(7) == "anna@example.org"
    api.users[7] = "new@example.org"
    clock.now += 599
    assert lookup.email_of(7) == "anna@example.org"
    clock.now += 2
    assert lookup.email_of(7) == "new@example.org"


def test_one_token_serves_many_calls_and_is_renewed_before_it_ends(
    lookup: GlpiLookup, api: GlpiApi, clock: Clock
) -> None:
    for user in (7, 8, 9):
        lookup.email_of(user)
    assert api.calls.count("POST /token") == 1
    clock.now += 3600 - 30
    lookup.email_of(10)
    assert api.calls.count("POST /token") == 2


def test_a_token_that_is_no_longer_taken_is_renewed_once(lookup: GlpiLookup, api: GlpiApi) -> None:
    lookup.email_of(7)
    api.tokens.clear()
    assert lookup.email_of(8) is None
    assert api.calls.count("POST /token") == 2


def test_a_wrong_password_is_for_a_person(api: GlpiApi) -> None:
    lookup = GlpiLookup(replace(api.access, password=SecretStr("wrong")))
    with pytest.raises(
        HelpdeskRefused, check=says(Refusal.HELPDESK_UNANSWERED, HelpdeskFault.HELPDESK_SIGN_IN_REFUSED)
    ) as refused:
        lookup.email_of(7)
    assert refused.value.problem.params["error"] == "invalid_grant"
    assert "wrong" not in str(refused.value)


def test_a_helpdesk_that_is_down_is_told_from_a_user_who_is_gone(lookup: GlpiLookup, api: GlpiApi) -> None:
    api.down = True
    with pytest.raises(HelpdeskUnreachable):
        lookup.email_of(7)
    api.down = False
    assert lookup.email_of(7) == "anna@example.org"


def test_nobody_listening_is_unreachable(api: GlpiApi) -> None:
    with pytest.raises(HelpdeskUnreachable):
        GlpiLookup(replace(api.access, url="http://127.0.0.1:9")).email_of(7)


def test_what_changed_comes_as_valid_events_with_addresses(lookup: GlpiLookup, api: GlpiApi) -> None:
    api.task(2, 20, NOON)
    found = list(lookup.changed_since(datetime(2026, 11, 21, 9, tzinfo=UTC)))
    assert [one.event["event"] for one in found] == ["ticket.updated", "ticket_task.updated"]
    events = [parse_event(one.event) for one in found]
    assert {one.ticket.id for one in events} == {2}
    assert {one.event["ticket"]["entity_name"] for one in found} == {"Root entity > Acme"}
    assert events[1].task is not None
    assert events[1].task.user is not None
    assert events[1].task.user.email == "anna@example.org"
    assert (events[1].task.actiontime, events[1].task.state) == (1800, 2)


def test_every_changed_ticket_is_found_however_many_there_are(lookup: GlpiLookup, api: GlpiApi) -> None:
    for number in range(10, 10 + 2 * PAGE_SIZE):
        api.ticket(number, NOON)
    found = {one.event["ticket"]["id"] for one in lookup.changed_since(datetime(2026, 11, 21, 9, tzinfo=UTC))}
    assert len(found) == 2 * PAGE_SIZE + 1
