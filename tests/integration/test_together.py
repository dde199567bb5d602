"""Many tickets synced together are forwarded exactly once each, whatever happens to one of them."""

from __future__ import annotations

import re
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from deploy.sandbox.tracker.control import StandIn
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.notices.kinds import Kind
from shared.redis.keys import key_of
from shared.redis.locks import PREFIX, Locks
from shared.redis.rate_limit import RateLimiter
from shared.store.configuration.people import People
from shared.store.journal.due import FEW_BYTES, FEW_ROWS
from shared.store.journal.tickets import TicketStates
from shared.store.ledger.statements import Claim as Asked
from shared.store.tables.database import SILENT, Database
from shared.store.tables.journal import TicketState
from shared.store.tables.ledger import LedgerState
from shared.store.tables.prepared import send_with_next
from tests.support.bridge import STATUS_MAP, SUPPORT, Bridge
from tests.support.events import ALICE, BOB, task, task_event, ticket, ticket_event
from tests.support.ledger import entries, ours, row, stopped
from tests.support.statements import listening
from tests.support.together import drive_together
from tests.support.waiting import until
from tests.support.workflows import going_on, up_to
from worker.ticket.bodies import choose_body
from worker.ticket.create import Attempt, Claim, Link, LinkAndClaim
from worker.ticket.steps import Step, Workflow, drive

TICKETS = range(1, 9)
LEDGER = tuple(
    f"{how} {table}" for how in ("INSERT INTO", "UPDATE") for table in ("ticket_issue_link", "task_time_link")
)


@pytest.fixture(params=["sqlite", "postgresql"])
def desk(request: pytest.FixtureRequest) -> Bridge:
    """A deskbridge over each of the databases."""
    found: Bridge = request.getfixturevalue("bridge" if request.param == "sqlite" else "bridge_on_postgresql")
    return found


def receive(desk: Bridge) -> list[int]:
    return desk.receive(
        *(
            task_event(of_ticket=ticket(one), of_task=task(one, user=ALICE if one % 2 else BOB))
            for one in TICKETS
        )
    )


def states(desk: Bridge, ids: list[int]) -> Counter[str]:
    return Counter(desk.event(one).state for one in ids)


def test_many_tickets_become_one_issue_and_one_time_entry_each(desk: Bridge, stand_in: StandIn) -> None:
    ids = receive(desk)
    desk.sync_together(*TICKETS)
    assert states(desk, ids) == {"done": len(TICKETS)}
    assert Counter(one["issue_id"] for one in entries(stand_in)).most_common(1)[0][1] == 1
    assert len(ours(stand_in)) == len(entries(stand_in)) == len(TICKETS)
    assert {one["user"] for one in entries(stand_in)} == {"alice", "bob"}


def test_each_has_the_trace_that_it_has_alone(desk: Bridge, stand_in: StandIn) -> None:
    receive(desk)
    for number in (1, 2, 3):
        desk.sync(number)
    desk.sync_together(5, 7)
    alone, *others = ([re.sub(r"\d+", "N", one) for one in desk.steps(number)] for number in (3, 5, 7))
    assert others == [alone, alone]


def test_a_link_that_fails_is_done_again_alone_and_the_others_are_linked(
    desk: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failed = Link._answered, list[int]()

    def answered(link: Link) -> Any:
        if link.creation.ctx.ticket_id == 3 and link.creation.kind is Kind.TICKET and len(failed) < 2:
            failed.append(3)
            raise OperationalError("UPDATE", {}, Exception("deadlock detected"))
        return real(link)

    monkeypatch.setattr(Link, "_answered", answered)
    ids = receive(desk)
    desk.sync_together(*TICKETS, callers=8)
    assert len(failed) == 2, "once in the group, and once alone"
    assert states(desk, ids) == {"done": len(TICKETS)}
    assert len(ours(stand_in)) == len(entries(stand_in)) == len(TICKETS)
    created = [one for one in desk.steps(1) if "Issue #" in one]
    assert len(created) == len(set(created)), "what a failed transaction noted has not happened"


def test_one_that_always_fails_at_its_claim_harms_nobody(
    desk: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Claim._claim

    def wanted(claim: Claim) -> Any:
        if claim.creation.ctx.ticket_id == 3:
            raise ValueError("A string literal cannot contain NUL (0x00) characters.")
        return real(claim)

    monkeypatch.setattr(Claim, "_claim", wanted)
    ids = receive(desk)
    desk.sync_together(*TICKETS)
    assert states(desk, ids) == {"done": len(TICKETS) - 1, "pending": 1}
    assert desk.event(ids[2]).attempts == 1, "it is tried again a bounded number of times"
    assert len(entries(stand_in)) == len(TICKETS) - 1


def test_a_ticket_that_somebody_else_is_at_is_left_to_them(desk: Bridge, stand_in: StandIn) -> None:
    ids = receive(desk)
    locked = key_of(desk.redis, f"{PREFIX}ticket:*")
    desk.redis.set(locked.replace("*", "3"), "somebody else's", ex=60)
    desk.sync_together(*TICKETS)
    assert states(desk, ids) == {"done": len(TICKETS) - 1, "pending": 1}
    assert desk.redis.keys(locked) == [locked.replace("*", "3").encode()], "the others' are free again"


def test_an_answer_that_is_lost_is_one_ticket_s_doubt(desk: Bridge, stand_in: StandIn) -> None:
    ids = receive(desk)
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
    desk.sync_together(*TICKETS)
    assert states(desk, ids) == {"done": len(TICKETS) - 1, "pending": 1}
    doubtful = [one for one in TICKETS if row(desk, Kind.TICKET, one).state == LedgerState.IN_DOUBT]
    assert len(doubtful) == 1
    desk.hurry()
    desk.sync_together(*TICKETS)
    desk.hurry()
    desk.sync_together(*TICKETS)
    assert states(desk, ids) == {"done": len(TICKETS)}
    assert len(ours(stand_in)) == len(entries(stand_in)) == len(TICKETS)


def test_an_outage_pauses_everybody_and_nothing_is_made_twice(desk: Bridge, stand_in: StandIn) -> None:
    ids = receive(desk)
    stand_in.fault("status_before", method="POST", path="/time_entries.json", count=3, status=429)
    desk.sync_together(*TICKETS)
    assert desk.breaker.current() is not None
    desk.breaker.end()
    for _ in range(4):
        desk.hurry()
        desk.sync_together(*TICKETS)
        desk.breaker.end()
    assert states(desk, ids) == {"done": len(TICKETS)}
    assert len(ours(stand_in)) == len(entries(stand_in)) == len(TICKETS)


def test_a_tracker_that_is_busy_gets_no_more_calls_than_were_in_callers_hands(
    desk: Bridge, stand_in: StandIn
) -> None:
    ids = receive(desk)
    stand_in.fault("status_before", method="POST", path="/issues.json", count=len(TICKETS), status=429)
    desk.sync_together(*TICKETS, callers=2)
    assert (
        len([one for one in stand_in.requests() if (one["method"], one["path"]) == ("POST", "/issues.json")])
        <= 2
    )
    assert states(desk, ids) == {"pending": len(TICKETS)}


def test_what_comes_in_on_the_way_is_seen_to_before_the_end(
    desk: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own queue message found the lock taken."""
    ids, late = receive(desk), list[int]()
    updates = [ticket_event(5, of_ticket=ticket(one, status=5)) for one in TICKETS]
    with stopped("POST", "/issues.json", lambda: late.extend(desk.receive(*updates))):
        desk.sync_together(*TICKETS, callers=1)  # no ticket has finished by then
    assert states(desk, [*ids, *late]) == {"done": 2 * len(TICKETS)}
    assert {one["status_id"] for one in ours(stand_in)} == {3}


def test_a_database_that_is_away_puts_them_off_and_loses_nothing(
    desk: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = receive(desk)
    with monkeypatch.context() as patch:

        def away(_database: Database) -> Any:
            raise OperationalError("BEGIN", {}, Exception("connection refused"))

        patch.setattr(Database, "transaction", away)
        desk.sync_together(*TICKETS)
    assert states(desk, ids) == {"pending": len(TICKETS)}
    assert not desk.redis.keys(key_of(desk.redis, f"{PREFIX}ticket:*")), (
        "nobody has to wait for a lock to run out"
    )
    desk.sync_together(*TICKETS)
    assert states(desk, ids) == {"done": len(TICKETS)}


def asking(desk: Bridge, ticket_id: int, event_id: int, issue_id: int) -> Any:
    """Return the creation of ticket task 512's time entry as requested by that ticket."""
    asked = Asked(512, ticket_id, event_id, SUPPORT, issue_id, {}, [], "alike")
    run = SimpleNamespace(settings=desk.settings, basis=None)
    return SimpleNamespace(kind=Kind.TICKET_TASK, key=512, ctx=run, claim=lambda _row: asked)


def test_of_two_that_ask_for_one_row_at_the_same_moment_one_is_given_what_it_asked_for(desk: Bridge) -> None:
    """Two tickets may request a ticket task that was moved, each for its own issue."""
    desk.receive(task_event(of_task=task(513)), task_event(1, of_task=task(514)))
    with desk.store.transaction() as tx:
        first, second = Claim.execute_many(
            tx, [Claim(asking(desk, *one), None) for one in ((1, 1, 6), (2, 2, 7))]
        )
    assert isinstance(first, Attempt)
    assert second is None
    claimed = row(desk, Kind.TICKET_TASK, 512)
    assert (claimed.ticket_id, claimed.event_id, claimed.issue_id) == (1, 1, 6)


def to_its_claim(workflow: Workflow[Any]) -> Claim | LinkAndClaim:
    """Run a ticket's workflow up to the claim of its time entry, alone or joined with the link of its issue."""

    def is_claim(step: Step[Any]) -> bool:
        claim = step.claim if isinstance(step, LinkAndClaim) else step
        return isinstance(claim, Claim) and claim.creation.kind is Kind.TICKET_TASK

    found = up_to(workflow, workflow.send(None), is_claim)
    assert isinstance(found, Claim | LinkAndClaim)
    return found


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_ticket_task_that_is_moved_while_it_waits_for_a_caller_is_logged_once_and_where_its_row_says(
    desk: Bridge, stand_in: StandIn, *, is_lost: bool
) -> None:
    """Both tickets' claims run in one transaction; the answer to the granted claim may be lost."""
    desk.receive(task_event(of_ticket=ticket(1), of_task=task(9)))
    first = desk.service.sync_ticket(1)
    claims = [to_its_claim(first)]
    desk.receive(task_event(1, of_ticket=ticket(2), of_task=task(9)))
    second = desk.service.sync_ticket(2)
    claims.append(to_its_claim(second))
    with desk.store.transaction() as tx:
        given = list[Any]()
        for one in claims:
            given += one.execute_many(tx, [one])  # type: ignore[list-item]
    if is_lost:
        stand_in.fault("reset_after", method="POST", path="/time_entries.json", count=1)
    for workflow, attempt in zip((first, second), given, strict=True):
        drive(going_on(workflow, attempt))
    for _ in range(4):
        desk.hurry()
        desk.sync(1)
        desk.sync(2)
    logged = row(desk, Kind.TICKET_TASK, 9)
    assert [one["issue_id"] for one in entries(stand_in)] == [logged.issue_id]
    assert logged.ticket_id == 2


def waiting_for_as_long_as_it_takes(desk: Bridge, monkeypatch: pytest.MonkeyPatch) -> Bridge:
    """Let no transaction end because it waits, however slow the machine is."""
    monkeypatch.setattr("shared.store.tables.database.IDLE_IN_TRANSACTION_S", 600.0)
    monkeypatch.setattr("shared.store.tables.database.LOCK_WAIT_S", 600.0)
    desk.store.database.close()  # new connections have these limits
    return desk


def test_a_row_that_somebody_holds_holds_up_its_own_ticket_only(
    bridge_on_postgresql: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person's transaction has stopped: PostgreSQL makes a ticket wait for it for many seconds."""
    desk = waiting_for_as_long_as_it_takes(bridge_on_postgresql, monkeypatch)
    ids = receive(desk)
    desk.sync(3)
    (late,) = desk.receive(task_event(1, of_ticket=ticket(3), of_task=task(33)))
    with desk.store.database.engine.connect() as holder:
        holder.execute(select(TicketState).where(TicketState.ticket_id == 3).with_for_update())
        syncing = threading.Thread(target=lambda: desk.sync_together(*TICKETS))
        syncing.start()
        others = [event_id for event_id in ids if event_id != ids[2]]
        until(lambda: states(desk, others) == {"done": len(others)}, lambda: str(states(desk, others)), 60)
        assert desk.event(late).state == "pending"
        holder.rollback()
    syncing.join(60)
    assert desk.event(late).state == "done"


def test_a_ticket_task_that_was_moved_is_logged_on_the_ticket_where_it_is(
    desk: Bridge, stand_in: StandIn
) -> None:
    """This holds although both tickets are loaded together."""
    before, after = desk.receive(
        task_event(of_ticket=ticket(1), of_task=task(9)), task_event(1, of_ticket=ticket(2), of_task=task(9))
    )
    desk.sync_together(1, 2)
    assert desk.event(before).state == "superseded"
    assert desk.event(after).state == "done"
    assert row(desk, Kind.TICKET_TASK, 9).ticket_id == 2
    assert len(entries(stand_in)) == 1


@contextmanager
def noted_transactions(desk: Bridge) -> Iterator[list[list[str]]]:
    """Yield the statements of each transaction of the block."""
    engine, transactions, own = desk.store.database.engine, list[list[str]](), threading.local()

    def begin(_connection: object) -> None:
        own.said = list[str]()
        transactions.append(own.said)

    def note(_connection: object, _cursor: object, statement: str, *_: Any) -> None:
        own.said.append(statement)

    def note_what_goes_with_it(session: Session, statement: str) -> None:
        send_with_next(session, statement)
        own.said.append(statement)

    with (
        listening(engine, begin=begin, before_cursor_execute=note),
        mock.patch("shared.store.transaction.send_with_next", note_what_goes_with_it),
    ):
        yield transactions


def test_what_is_sent_while_somebody_changes_the_configuration_waits_with_its_answer_for_them(
    bridge_on_postgresql: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New events are loaded nevertheless; a status from the old status map is computed again."""
    desk = waiting_for_as_long_as_it_takes(bridge_on_postgresql, monkeypatch)
    receive(desk)
    driving = threading.Thread(target=desk.sync_together, args=TICKETS)
    with desk.store.transaction() as tx:
        config, _ = tx.configs.get()
        tx.configs.put(config.model_copy(update={"status_map": {**STATUS_MAP, 2: 4}}))
        driving.start()
        until(lambda: len(ours(stand_in)) == len(TICKETS), seconds=60)
        assert driving.is_alive()
    driving.join(60)
    assert not driving.is_alive()
    assert len(entries(stand_in)) == len(TICKETS)
    assert {one["status_id"] for one in ours(stand_in)} == {4}


def test_every_claim_waits_for_the_disk(bridge_on_postgresql: Bridge, stand_in: StandIn) -> None:
    """So does every link; only data that can be read again from the journal need not wait."""
    desk = bridge_on_postgresql
    receive(desk)
    with noted_transactions(desk) as transactions:
        desk.sync_together(*TICKETS, callers=1)
    careless = [said for said in transactions if any("synchronous_commit" in one for one in said)]
    assert careless
    assert not [one for said in careless for one in said if one.startswith(LEDGER)]
    assert len(entries(stand_in)) == len(TICKETS)


def test_tickets_that_wait_for_the_rate_limit_keep_their_locks(
    bridge_on_postgresql: Bridge, stand_in: StandIn
) -> None:
    """This holds even if they wait longer than a lock's lease: otherwise each would waste a turn of the limit."""
    desk, tickets = bridge_on_postgresql, range(1, 25)
    rate_limiter, locks = RateLimiter(desk.redis, 6), Locks(desk.redis, 2.0, keeps=True)
    connect = Connector(desk.store, Vault(desk.settings.secret_keys), rate_limiter.next_turn).connect
    service = replace(desk.service, locks=locks, connect=connect)
    ids = desk.receive(*(task_event(of_ticket=ticket(one), of_task=task(one)) for one in tickets))
    drive_together(service.sync_ticket, tickets, callers=8)
    assert states(desk, ids) == {"done": len(tickets)}, "each in one pass"
    assert len(entries(stand_in)) == len(tickets)


@pytest.mark.parametrize("is_large", [False, True])
def test_a_ticket_of_which_much_is_due_is_read_alone(
    desk: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, *, is_large: bool
) -> None:
    """Each update takes several statements, for which all others would wait; or one of its updates is large."""
    real, folded_by = TicketStates.fold_all, defaultdict[int, set[str]](set)

    def fold_all(states: TicketStates, events: Sequence[tuple[Any, Any]], *others: Any) -> Any:
        for one, _ in events:
            folded_by[one.ticket_id].add(threading.current_thread().name)
        return real(states, events, *others)

    monkeypatch.setattr(TicketStates, "fold_all", fold_all)
    ids = receive(desk)
    content = "x" * FEW_BYTES if is_large else "x"
    desk.sync(3)
    folded_by.clear()
    count = 1 if is_large else FEW_ROWS + 2
    many = desk.receive(
        *(ticket_event(one, of_ticket=ticket(3, content=content)) for one in range(1, count + 1))
    )
    desk.sync_together(*TICKETS)
    assert {one.split("_")[0].split("-")[0] for one in folded_by.pop(3)} == {"others"}
    assert {one.split("_")[0] for some in folded_by.values() for one in some} == {"reader"}
    assert states(desk, [*ids, many[-1]]) == {"done": len(TICKETS) + 1}
    assert all(desk.event(one).state == "superseded" for one in many[:-1])


def test_a_template_is_rendered_beside_the_callers(
    desk: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rendering may take long, and all others would wait for it."""
    by = dict[str, set[str]]()

    def noted(run: Any, operation: Any, *others: Any) -> Any:
        by.setdefault(str(operation), set()).add(threading.current_thread().name.split("_")[0].split("-")[0])
        return choose_body(run, operation, *others)

    monkeypatch.setattr("worker.ticket.requests.choose_body", noted)
    ids = receive(desk)
    desk.sync_together(1, 2)
    assert "others" not in set.union(*by.values())
    with desk.store.transaction() as tx:
        made = tx.templates.create(
            "issue.create", "own", '{"issue": {"subject": "{{ticket.title}}"}}', "a test"
        )
        tx.templates.activate(made, 1, "a test")
    by.clear()
    desk.sync_together(3, 4)
    assert set.union(*by.values()) == {"others"}
    assert states(desk, ids[:4]) == {"done": 4}


def test_who_is_to_be_looked_up_anew_is_looked_up_beside_the_callers(
    desk: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The person's login in the tracker has changed; the store may take long, and all others would wait for it."""
    real, by = People.pin, list[str]()

    def pin(people: People, *about: Any, **how: Any) -> Any:
        by.append(threading.current_thread().name.split("_")[0].split("-")[0])
        return real(people, *about, **how)

    monkeypatch.setattr(People, "pin", pin)
    stand_in.patch("users", 5, login="alice.archer")
    (event_id,) = desk.receive(task_event(of_ticket=ticket(1), of_task=task(1, user=ALICE)))
    desk.sync_together(1)
    assert by == ["others"]
    assert states(desk, [event_id]) == {"done": 1}


def test_a_server_that_has_gone_without_a_word_is_noticed(bridge_on_postgresql: Bridge) -> None:
    with bridge_on_postgresql.store.database.engine.connect() as connection:
        raw: Any = connection.connection.dbapi_connection
        assert (
            SILENT.items()
            <= {
                name: int(value) for name, value in raw.info.dsn_parameters.items() if value.isdigit()
            }.items()
        )


def test_the_connection_that_was_used_last_is_used_first(bridge_on_postgresql: Bridge) -> None:
    engine = bridge_on_postgresql.store.database.engine
    asked = text("SELECT pg_backend_pid()")
    with engine.connect() as last, engine.connect() as first:
        used_last = last.scalar(asked)
        assert first.scalar(asked) != used_last
    for _ in range(3):
        with engine.connect() as connection:
            assert connection.scalar(asked) == used_last
