"""GLPI's own webhooks report no deleted follow-up: GLPI's API is asked before a note is sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.doctor.finding import CheckResult
from producer.admin.doctor.installation import Installation
from producer.admin.doctor.work import failed
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.helpdesk.glpi import GlpiLookup
from shared.notices.faults import Fault
from shared.notices.reasons import Reason
from shared.notices.render import sentence
from shared.redis.circuit_breaker import HELPDESK_KEY
from shared.redis.keys import key_of
from shared.store.tables.journal import EventState
from tests.support.bridge import Bridge
from tests.support.events import followup, followup_event, solution_event, task_event
from tests.support.glpi_api import GlpiApi, glpi_api
from tests.support.ledger import notes_of

DONE, SKIPPED, PENDING, FAILED = EventState.DONE, EventState.SKIPPED, EventState.PENDING, EventState.FAILED
BY_WEBHOOK = ["ticket.project_id"]
SEES_PUBLIC, SEES_ALL = 1, 8192


@pytest.fixture
def api() -> Iterator[GlpiApi]:
    with glpi_api() as served:
        served.ticket(4711, "2026-11-21T08:00:00+00:00")
        yield served


@pytest.fixture
def asking(stand_in: StandIn, redis_url: str, tmp_path: Path, api: GlpiApi) -> Iterator[Bridge]:
    """A deskbridge that can query GLPI, and sends public follow-ups and solutions."""
    url = f"sqlite:///{tmp_path}/bridge.sqlite3"
    lookup = GlpiLookup(api.access)
    made = Bridge(url, redis_url, stand_in.base_url, stand_in.api_key, lookup=lookup)
    made.configure(sync_followups="public", sync_solutions="on")
    yield made
    made.close()


def by_webhook(event: dict[str, Any]) -> dict[str, Any]:
    return event | {"incomplete": BY_WEBHOOK}


def received(bridge: Bridge, *numbers: int, **changes: Any) -> list[int]:
    """Receive follow-ups before their ticket has an issue."""
    shown = (by_webhook(followup_event(one, of_followup=followup(one, **changes))) for one in numbers)
    ids = bridge.receive(*shown)
    bridge.sync()
    return ids


def ends(bridge: Bridge, ids: list[int]) -> list[tuple[str, str | None]]:
    return [(one.state, one.code) for one in map(bridge.event, ids)]


def show(api: GlpiApi, *public: int, private: tuple[int, ...] = ()) -> None:
    """Let GLPI have these follow-ups."""
    notes = [{"id": one, "is_private": one in private} for one in (*public, *private)]
    api.notes[4711, "Followup"] = notes


def questions(api: GlpiApi) -> list[str]:
    return [one for one in api.calls if "Timeline" in one]


@pytest.mark.promise("SEC-84")
@pytest.mark.parametrize("rights", [SEES_PUBLIC, SEES_ALL])
@pytest.mark.parametrize("left", [(72,), ()], ids=["one of two", "the only one"])
def test_a_follow_up_that_was_deleted_before_its_ticket_had_an_issue_is_not_sent(
    asking: Bridge, api: GlpiApi, stand_in: StandIn, left: tuple[int, ...], rights: int
) -> None:
    api.rights = rights
    ids = received(asking, 71, *left)
    show(api, *left)
    assert asking.forward(task_event(90)) == [DONE]
    asking.sync()
    assert ends(asking, ids)[0] == (SKIPPED, Reason.DELETED_THERE)
    assert len(notes_of(stand_in)) == len(left)


@pytest.mark.promise("SEC-84")
def test_a_follow_up_that_is_private_in_glpi_is_not_sent_although_no_event_reported_it(
    asking: Bridge, api: GlpiApi, stand_in: StandIn
) -> None:
    ids = received(asking, 71)
    show(api, private=(71,))
    asking.forward(task_event(90))
    asking.sync()
    assert ends(asking, ids) == [(SKIPPED, Reason.PRIVATE_THERE)]
    assert notes_of(stand_in) == []


@pytest.mark.promise("SEC-84")
def test_if_all_follow_ups_are_sent_one_that_became_private_is_a_private_note(
    asking: Bridge, api: GlpiApi, stand_in: StandIn
) -> None:
    asking.configure(sync_followups="all")
    ids = received(asking, 71, 72)
    show(api, 72, private=(71,))
    asking.forward(task_event(90))
    asking.sync()
    assert [state for state, _ in ends(asking, ids)] == [DONE, DONE]
    assert [is_private for _, _, is_private in notes_of(stand_in)] == [True, False]


@pytest.mark.promise("SEC-84")
def test_a_solution_that_was_deleted_is_not_sent(asking: Bridge, api: GlpiApi, stand_in: StandIn) -> None:
    ids = asking.receive(by_webhook(solution_event()))
    asking.sync()
    asking.forward(task_event(90))
    asking.sync()
    assert ends(asking, ids) == [(SKIPPED, Reason.DELETED_THERE)]
    assert notes_of(stand_in) == []


def doctor_of_failures(bridge: Bridge) -> list[CheckResult]:
    vault = Vault(bridge.settings.secret_keys)
    connect = Connector(bridge.store, vault).connect
    return list(
        failed(Installation(bridge.settings, bridge.store, bridge.redis, vault, connect, lambda: True))
    )


DOUBTS = {
    "no right on follow-ups": (0, "public", True),
    "only public ones, but private ones are sent": (SEES_PUBLIC, "all", True),
    "not the ticket": (SEES_ALL, "public", False),
}


@pytest.mark.promise("SEC-84")
@pytest.mark.parametrize("doubt", DOUBTS)
def test_what_glpi_may_hide_is_not_sent_and_fails_by_and_by(
    asking: Bridge, api: GlpiApi, stand_in: StandIn, doubt: str
) -> None:
    api.rights, wanted, sees_ticket = DOUBTS[doubt]
    asking.configure(sync_followups=wanted)
    if not sees_ticket:
        api.tickets.clear()
    ids = received(asking, 71)
    show(api, **({} if api.rights == SEES_ALL else {"private": (71,)}))
    assert asking.forward(task_event(90)) == [DONE], "hours do not wait"
    asking.sync()
    assert ends(asking, ids) == [(PENDING, Fault.NOTE_HIDDEN)]
    for _ in range(12):
        asking.hurry()
        asking.sync()
    assert ends(asking, ids) == [(FAILED, Reason.GAVE_UP)]
    (told,) = doctor_of_failures(asking)
    assert "See private ones" in sentence(told.found), "the doctor names the right that is missing"
    assert notes_of(stand_in) == []


def test_with_the_right_it_is_sent(asking: Bridge, api: GlpiApi, stand_in: StandIn) -> None:
    api.rights = 0
    ids = received(asking, 71)
    show(api, 71)
    asking.forward(task_event(90))
    asking.sync()
    api.rights = SEES_PUBLIC
    asking.hurry()
    asking.sync()
    assert [state for state, _ in ends(asking, ids)] == [DONE]


def test_notes_wait_until_glpi_answers(asking: Bridge, api: GlpiApi, stand_in: StandIn) -> None:
    ids = received(asking, 71)
    show(api, 71)
    api.down = True
    assert asking.forward(task_event(90)) == [DONE]
    asking.sync()
    assert ends(asking, ids) == [(PENDING, Fault.NOTE_AWAITED)]
    assert asking.event(ids[0]).attempts == 0
    api.down = False
    asking.redis.delete(key_of(asking.redis, HELPDESK_KEY))
    asking.hurry()
    asking.sync()
    assert len(notes_of(stand_in)) == 1


def test_glpi_is_asked_once_for_all_notes_of_a_ticket(
    asking: Bridge, api: GlpiApi, stand_in: StandIn
) -> None:
    received(asking, *range(71, 76))
    show(api, *range(71, 76))
    asking.forward(task_event(90))
    asking.sync()
    assert len(notes_of(stand_in)) == 5
    assert questions(api) == ["GET /v2/Assistance/Ticket/4711/Timeline/Followup"]


def test_the_plugin_reports_deletions_so_its_notes_are_not_asked_for(
    asking: Bridge, api: GlpiApi, stand_in: StandIn
) -> None:
    asking.receive(followup_event(of_followup=followup(71)))
    asking.forward(task_event(90))
    asking.sync()
    assert len(notes_of(stand_in)) == 1
    assert questions(api) == []
