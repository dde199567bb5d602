"""Facts that a help desk's webhooks omit are looked up before any decision, for a limited time (SPEC 1.5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from deploy.sandbox.tracker.control import StandIn
from shared.helpdesk.glpi import GlpiLookup
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.redis.circuit_breaker import HELPDESK_KEY
from shared.redis.keys import key_of
from shared.store.configuration.mappings import MappingKind
from shared.store.tables.journal import JournalEvent
from tests.support.bridge import Bridge
from tests.support.events import (
    followup,
    followup_event,
    solution_event,
    task,
    task_event,
    ticket,
    ticket_event,
)
from tests.support.glpi_api import GlpiApi, glpi_api
from tests.support.ledger import notes_of

ALICE, BOB = 7, 8
BY_WEBHOOK = ["ticket.project_id", "ticket.technician", "task.user.email"]
BY_TICKET_WEBHOOK = ["ticket.project_id", "ticket.technician.email"]


@pytest.fixture
def api() -> Iterator[GlpiApi]:
    with glpi_api() as served:
        served.users = {ALICE: "alice@example.test", BOB: "bob@example.test"}
        served.ticket(4711, "2026-11-21T08:00:00+00:00", assigned=ALICE)
        yield served


@pytest.fixture
def asking(stand_in: StandIn, redis_url: str, tmp_path: Path, api: GlpiApi) -> Iterator[Bridge]:
    """A deskbridge that can query a help desk."""
    made = Bridge(
        f"sqlite:///{tmp_path}/bridge.sqlite3",
        redis_url,
        stand_in.base_url,
        stand_in.api_key,
        lookup=GlpiLookup(replace(api.access, cache_s=0)),
        helpdesk_wait=60,
    )
    yield made
    made.close()


def done_task(minutes: int = 0, task_id: int = 512, user: int = BOB, **changes: Any) -> dict[str, Any]:
    """Return a ticket task that is Done, as GLPI's webhook reports it."""
    of_task = task(task_id, user={"id": user, "email": None})
    event = task_event(minutes, of_ticket=ticket(technician=None), of_task=of_task)
    return event | {"incomplete": BY_WEBHOOK} | changes


def ticket_update(minutes: int = 0, technician: int = ALICE) -> dict[str, Any]:
    """Return a ticket as GLPI's webhook reports it."""
    of_ticket = ticket(technician={"id": technician, "email": None})
    return ticket_event(minutes, of_ticket=of_ticket) | {"incomplete": BY_TICKET_WEBHOOK}


def people(stand_in: StandIn) -> list[str]:
    """Return the login of the issue's author, and those of the time entries' users."""
    state = stand_in.state()
    logins = {one["id"]: one["login"] for one in state["users"]}
    authors = [one["author_id"] for one in state["issues"] if one["subject"].startswith("Printer")]
    return [logins[one] for one in [*authors, *(one["user_id"] for one in state["time_entries"])]]


def without(bridge: Bridge) -> list[tuple[str, list[str]]]:
    """Return which facts were missing and why, from the ticket history."""
    with bridge.store.transaction() as tx:
        steps = [step.notice for step in tx.trace.of_ticket(4711)]
    return [
        (str(one.params["because"].code), one.params["facts"])
        for one in steps
        if one.code == What.GOES_WITHOUT
    ]


def test_the_helpdesk_says_who_the_technician_is_and_whose_work_it_was(
    asking: Bridge, stand_in: StandIn
) -> None:
    assert asking.forward(done_task()) == ["done"]
    assert people(stand_in) == ["alice", "bob"]
    assert without(asking) == [(Reason.HELPDESK_SILENT_ON_IT, ["ticket.project_id"])]


def test_a_complete_event_asks_nobody(asking: Bridge, api: GlpiApi) -> None:
    assert asking.forward(task_event(), ticket_event(1)) == ["done", "done"]
    assert api.calls == []


def test_what_the_helpdesk_does_not_tell_is_not_asked_for(asking: Bridge, api: GlpiApi) -> None:
    assert asking.forward(task_event() | {"incomplete": ["ticket.project_id"]}) == ["done"]
    assert api.calls == []


def test_an_event_waits_for_a_helpdesk_that_is_down(asking: Bridge, api: GlpiApi, stand_in: StandIn) -> None:
    api.down = True
    (event_id,) = asking.receive(done_task())
    asking.sync()
    waiting = asking.event(event_id)
    assert (waiting.state, waiting.has_code(Reason.HELPDESK_AWAITED), waiting.attempts) == (
        "pending",
        True,
        0,
    )
    assert people(stand_in) == []
    api.down = False
    helpdesk_is_tried_again(asking)
    assert asking.event(event_id).state == "done"
    assert people(stand_in) == ["alice", "bob"]


def test_after_the_agreed_time_it_goes_without_and_says_what_was_missing(
    asking: Bridge, api: GlpiApi, stand_in: StandIn
) -> None:
    api.down = True
    (event_id,) = asking.receive(done_task())
    asking.sync()
    began_to_wait(asking, event_id, seconds_ago=45)
    helpdesk_is_tried_again(asking)
    assert asking.event(event_id).state == "pending"
    began_to_wait(asking, event_id, seconds_ago=61)
    helpdesk_is_tried_again(asking)
    assert asking.event(event_id).state == "done"
    assert people(stand_in) == ["admin", "admin"]
    assert [facts for _, facts in without(asking)] == [BY_WEBHOOK]


def test_while_it_is_down_it_is_asked_by_one_at_a_time(asking: Bridge, api: GlpiApi) -> None:
    api.down = True
    asking.receive(done_task())
    asking.sync()
    calls = len(api.calls)
    asking.receive(done_task(1, 513))
    asking.sync()
    assert len(api.calls) == calls


def test_what_was_found_out_stays_so(asking: Bridge, api: GlpiApi, stand_in: StandIn) -> None:
    asking.configure(base_url="http://127.0.0.1:9")
    (event_id,) = asking.receive(done_task())
    asking.sync()
    assert asking.event(event_id).completion is not None
    api.users[BOB] = "carol@example.test"
    calls = len(api.calls)
    asking.configure(base_url=stand_in.base_url)
    asking.breaker.end()
    asking.hurry()
    asking.sync()
    assert asking.event(event_id).state == "done"
    assert people(stand_in) == ["alice", "bob"]
    assert len(api.calls) == calls


def test_a_replay_asks_anew(asking: Bridge, api: GlpiApi, stand_in: StandIn) -> None:
    with asking.store.transaction() as tx:
        for link in tx.mappings.all():
            tx.mappings.remove(link.kind, link.helpdesk_id)
    (event_id,) = asking.receive(done_task())
    asking.sync()
    assert asking.event(event_id).state == "skipped"
    api.users[BOB] = "carol@example.test"
    asking.link(MappingKind.ENTITY, ticket()["entity_id"], 1)
    with asking.store.transaction() as tx:
        tx.journal.replay([event_id])
    asking.sync()
    assert people(stand_in) == ["alice", "carol"]


def test_somebody_without_an_address_is_nobody_and_nothing_waits(
    asking: Bridge, api: GlpiApi, stand_in: StandIn
) -> None:
    api.users = {}
    assert asking.forward(done_task()) == ["done"]
    assert people(stand_in) == ["admin", "admin"]


def test_nobody_to_ask_is_no_reason_to_wait_and_the_trace_says_how_to_get_it(
    bridge: Bridge, stand_in: StandIn
) -> None:
    assert bridge.forward(done_task()) == ["done"]
    assert people(stand_in) == ["admin", "admin"]
    assert without(bridge) == [(Reason.HELPDESK_NOT_ASKED, BY_WEBHOOK)]
    assert "DESKBRIDGE_GLPI_API_URL" in "\n".join(bridge.steps())


def test_what_earlier_events_told_is_known_without_asking(bridge: Bridge, stand_in: StandIn) -> None:
    """The ticket's own webhook names its technician; earlier events of another ticket have the addresses."""
    named = [{"id": ALICE, "email": "alice@example.test"}, {"id": BOB, "email": "bob@example.test"}]
    bridge.forward(
        task_event(of_ticket=ticket(99, technician=named[0]), of_task=task(1, user=named[1], state=1)),
        ticket_id=99,
    )
    bridge.receive(ticket_update())
    assert bridge.forward(done_task(1)) == ["done"]
    assert people(stand_in) == ["alice", "bob"]
    assert [facts for _, facts in without(bridge)] == [["ticket.project_id"], ["ticket.project_id"]]


def test_a_helpdesk_project_that_was_told_is_not_forgotten_by_an_event_that_does_not_tell(
    bridge: Bridge,
) -> None:
    bridge.forward(ticket_event(of_ticket=ticket(project_id=55)))
    bridge.forward(done_task(1, state=1))
    with bridge.store.transaction() as tx:
        state = tx.statuses.get(4711)
        assert state is not None
        assert state.snapshot.get("project_id") == 55


def test_a_project_or_technician_that_was_taken_away_is_gone(bridge: Bridge) -> None:
    bridge.forward(ticket_event(of_ticket=ticket(project_id=55)))
    bridge.forward(ticket_event(1, of_ticket=ticket(project_id=None, technician=None)))
    bridge.forward(done_task(2, state=1))
    with bridge.store.transaction() as tx:
        state = tx.statuses.get(4711)
        assert state is not None
        assert (state.snapshot.get("project_id"), state.snapshot.get("technician")) == (None, None)


@pytest.mark.parametrize(
    ("completion", "state"),
    [("{", "failed"), ('{"ticket.technician": 5}', "failed"), ("[]", "done"), ('{"ticket.id": 99}', "done")],
)
def test_a_completion_that_no_worker_has_written_fails_alone_or_is_nothing(
    bridge: Bridge, completion: str, state: str
) -> None:
    (event_id,) = bridge.receive(done_task())
    with bridge.store.database.transaction() as session:
        session.execute(update(JournalEvent).values(completion=completion))
    assert bridge.forward(task_event(1, of_task=task(513))) == ["done"]
    assert bridge.event(event_id).state == state


def test_a_completion_that_is_too_large_is_not_read(bridge: Bridge) -> None:
    (event_id,) = bridge.receive(done_task())
    with bridge.store.database.transaction() as session:
        session.execute(update(JournalEvent).values(completion="x" * 100_000))
    bridge.sync()
    assert bridge.event(event_id).state == "done"


def helpdesk_is_tried_again(bridge: Bridge) -> None:
    """End the help desk's pause, and process the waiting events."""
    bridge.redis.delete(key_of(bridge.redis, HELPDESK_KEY))
    bridge.hurry()
    bridge.sync()


def began_to_wait(bridge: Bridge, event_id: int, *, seconds_ago: float) -> None:
    with bridge.store.transaction() as tx:
        row = tx.journal.get(event_id)
        assert row is not None
        assert row.params is not None
        row.params = row.params | {"since": (tx.now() - timedelta(seconds=seconds_ago)).isoformat()}


@pytest.mark.parametrize("kind", ["followup", "solution"])
def test_the_helpdesk_says_who_wrote_a_note(
    asking: Bridge, stand_in: StandIn, api: GlpiApi, kind: str
) -> None:
    api.notes[4711, kind.capitalize()] = [{"id": 77}]
    asking.configure(sync_followups="all", sync_solutions="on")
    assert asking.forward(task_event()) == ["done"]
    of_bob = followup(user={"id": BOB, "email": None})
    event = (
        followup_event(1, of_followup=of_bob) if kind == "followup" else solution_event(1, of_solution=of_bob)
    )
    assert asking.forward(event | {"incomplete": ["ticket.project_id", f"{kind}.user.email"]}) == ["done"]
    assert [who for who, _, _ in notes_of(stand_in)] == ["bob"]


OF_THE_TICKET = ["ticket.project_id", "ticket.requester", "ticket.technician"]


def note_of(user_id: int) -> dict[str, Any]:
    """Return a follow-up of a user without an account in Redmine, as GLPI's webhook reports it."""
    of_user = followup(user={"id": user_id, "email": None, "name": "Sam Stranger"})
    return followup_event(2, of_followup=of_user) | {"incomplete": [*OF_THE_TICKET, "followup.user.email"]}


def requesters(bridge: Bridge) -> set[int]:
    with bridge.store.transaction() as tx:
        return tx.people.requesters()


def test_the_helpdesk_says_who_is_a_requester_and_so_needs_no_account(asking: Bridge, api: GlpiApi) -> None:
    """GLPI's webhooks of tasks and notes do not name the requester."""
    asking.configure(sync_followups="all")
    del api.users[BOB]
    api.notes[4711, "Followup"] = [{"id": 77}]
    of_alice = done_task(user=ALICE) | {"incomplete": [*OF_THE_TICKET, "task.user.email"]}
    assert asking.forward(of_alice) == ["done"]
    assert asking.forward(note_of(BOB)) == ["done"]
    assert requesters(asking) == {BOB}


def test_without_the_helpdesk_s_api_the_ticket_s_own_webhook_names_the_requester(bridge: Bridge) -> None:
    bridge.configure(sync_followups="all")
    stranger = {"id": 99, "email": None}
    bridge.forward(ticket_event(of_ticket=ticket(requester=stranger)))
    bridge.forward(done_task(1) | {"incomplete": [*OF_THE_TICKET, "task.user.email"]})
    assert bridge.forward(note_of(99)) == ["done"]
    assert requesters(bridge) == {99}
