"""One drill from start to end: load and faults, the remaining work, the comparison."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from producer.admin.records.transaction import Store
from shared.events.event import ADDITION_EVENTS
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.store.tables.journal import EventState, TicketState
from shared.store.tables.ledger import LEDGERS
from tests.drill.besieged import Honest, besiege, complaints
from tests.drill.day import Day, make_day
from tests.drill.expect import expect
from tests.drill.held import judge, read_on_hold, unlinked_objects
from tests.drill.inject import Injector
from tests.drill.load import Helpdesk
from tests.drill.oracle import Oracle
from tests.drill.plan import make_faults
from tests.drill.profiles import Profile
from tests.drill.report import Outcome, Teller
from tests.drill.skipped import UNSENT, read_documents, wrongly_ended
from tests.drill.stand import Stand
from tests.support.fleet import SECRET

PROGRESS_S = 10.0
LOOK_S = 0.5
QUIET_LOOKS = 3
MOST_TRACED = 5
TICKETS = re.compile(r"tickets? (\d+)")
ACCEPT_S = 60.0

Answer = TypeVar("Answer")


def drill(seed: int, redmine: str, profile: Profile, teller: Teller, keep: Path | None = None) -> Outcome:
    """Run one drill.

    Args:
        seed: determines everything that is drawn.
        redmine: the Redmine version that the tracker simulates.
        profile: duration and size.
        teller: prints progress.
        keep: where to keep the processes' logs.

    Returns:
        The result.
    """
    day, faults = make_day(seed, profile), make_faults(seed, profile)
    teller.say(
        f"{len(day.events)} events in {sum(len(one.events) for one in day.postings)} deliveries, "
        f"{len(faults)} faults over {profile.seconds:g} s"
    )
    with Stand(seed, redmine, day.files, keep) as stand:
        teller.say("everything is up")
        honest = _besiege(stand, profile, teller)
        injector = Injector(stand, faults, day.mortal)
        helpdesk = Helpdesk(stand.events_url, SECRET, day.postings)
        try:
            _go_wrong(helpdesk, injector, profile, teller)
            outcome = Outcome(injector.tally, processes=stand.supervisor.members)
            outcome.differences += complaints(honest)
            outcome.figures["besieged: events, p99"] = f"{len(honest.took)}, {honest.p99:.3f} s"
            _sync(helpdesk, injector, profile, teller, outcome)
            _compare(day, redmine, helpdesk, injector, outcome)
            if keep is not None:
                _keep(injector, keep)
        finally:
            helpdesk.stop()
        return outcome


def _besiege(stand: Stand, profile: Profile, teller: Teller) -> Honest:
    """Besiege the producer while nothing else fails."""
    log = stand.directory / "logs" / "siege.log"
    honest = besiege(stand.events_url, SECRET, stand.fleet.port, profile.besieged, log)
    teller.say(
        f"besieged: {len(honest.took)} events taken, {len(honest.refused)} refused, p99 {honest.p99:.3f} s"
    )
    return honest


def _go_wrong(helpdesk: Helpdesk, injector: Injector, profile: Profile, teller: Teller) -> None:
    """Send the day's events while faults are injected."""

    def progress() -> None:
        tally = injector.tally
        teller.say(
            f"{len(helpdesk.receipts.accepted)} events accepted, {tally.planned.total()} faults "
            f"({tally.hit.total()} hit), {helpdesk.receipts.repeated} requests repeated"
        )
        injector.later(PROGRESS_S, progress)

    helpdesk.start()
    injector.begin()
    injector.later(PROGRESS_S, progress)
    injector.run(profile.seconds)
    injector.end()
    teller.say("the faults are over")


def _sync(helpdesk: Helpdesk, injector: Injector, profile: Profile, teller: Teller, outcome: Outcome) -> None:
    """Wait until no work is left, and record how long that took; a person decides what only a text can tell."""
    stand, recognise = injector.stand, injector.administrator.recognise
    started = time.monotonic()
    if not helpdesk.wait(ACCEPT_S):
        outcome.differences.append(f"the producer did not accept everything within {ACCEPT_S:g} s")
    quiet, told = 0, started
    left = {"unknown": 1}
    while quiet < QUIET_LOOKS:
        left = _again(stand.fleet.left)
        quiet = 0 if left or _again(lambda: {"recognised": recognise()})["recognised"] else quiet + 1
        took = time.monotonic() - started
        if took > profile.sync_seconds:
            outcome.differences.append(f"not synced after {profile.sync_seconds:g} s: {left}")
            break
        if left and time.monotonic() - told > PROGRESS_S:
            told = time.monotonic()
            teller.say(f"draining: {left}")
        time.sleep(LOOK_S)
    took = time.monotonic() - started - QUIET_LOOKS * LOOK_S
    outcome.figures["synced after"] = f"{took:.1f} s" if not left else "not in time"


def _compare(day: Day, redmine: str, helpdesk: Helpdesk, injector: Injector, outcome: Outcome) -> None:
    fleet, deleted = injector.stand.fleet, injector.board.deleted
    accepted = helpdesk.receipts.accepted
    state = fleet.stand_in.state()
    events = ((day.events[name], one) for name, one in accepted.items())
    put_off = _again(lambda: _put_off(fleet.bridge.store))
    expected = expect(events, redmine, day.files)
    oracle = Oracle(expected, state, deleted, injector.board.moved, put_off, injector.board.supplanted)
    outcome.differences += helpdesk.receipts.problems + oracle.differences()
    ended = _again(lambda: read_documents(fleet.bridge.store))
    outcome.differences += wrongly_ended(expected, ended, deleted)
    lost = len(day.events) - len(accepted)
    if lost:
        outcome.differences.append(f"{lost} events were never accepted")
    store = fleet.bridge.store
    issues, entries = [row["id"] for row in oracle.issues], [row["id"] for row in oracle.entries]
    notes = [one["id"] for row in oracle.issues for one in row["journals"] if one["notes"]]
    there = {
        Kind.TICKET: issues,
        Kind.TICKET_TASK: entries,
        Kind.FOLLOWUP: notes,
        Kind.SOLUTION: notes,
        Kind.DOCUMENT: [row["id"] for row in oracle.attachments],
    }
    unlinked = _again(lambda: unlinked_objects(store, there))
    outcome.held = judge(_again(lambda: read_on_hold(store)), deleted, unlinked)
    outcome.differences += [
        f"{one.item.state} though the machine could have decided: {one.item.what} {one.item.key} "
        f"of ticket {one.item.ticket_id}: {one.item.reason}"
        for one in outcome.held
        if one.rule is None
    ]
    outcome.differences += [
        f"{member.name} did not end after SIGTERM" for member in outcome.processes if member.stuck
    ]
    outcome.differences += [
        f"{member.name} ended by itself as if it had been told to: exit code 0"
        for member in outcome.processes
        if 0 in member.own_ends
    ]
    outcome.traces = _again(lambda: _traces(store, outcome.differences))
    outcome.figures |= {
        "events accepted": str(len(accepted)),
        "deliveries accepted": f"{helpdesk.receipts.deliveries} ({helpdesk.receipts.repeated} repeated)",
        "issues": str(len(issues)),
        "time entries": str(len(entries)),
        "notes": str(len(notes)),
        "attachments": str(len(oracle.attachments)),
        "documents that were not to be sent": str(sum(len(one.unsent) for one in expected.values())),
        "issues deleted on the tracker": str(len(deleted)),
        "issues moved on the tracker": str(len(injector.board.moved)),
        "on hold": str(len(outcome.held)),
        "events by state": str(_again(fleet.states)),
        "creations in doubt, settled": str(_again(fleet.settled)),
    }


def _keep(injector: Injector, directory: Path) -> None:
    """Keep the tracker's data and requests, and the ledger, for the analysis of a difference."""
    directory.mkdir(parents=True, exist_ok=True)
    fleet = injector.stand.fleet
    models: tuple[Any, ...] = (*LEDGERS, TicketState)
    with fleet.bridge.store.database.transaction() as session:
        ledger = {
            model.__tablename__: [
                {name: str(value) for name, value in row.items()}
                for row in session.execute(select(model.__table__)).mappings()
            ]
            for model in models
        }
    kept = {"state": fleet.stand_in.state(), "requests": fleet.stand_in.requests(), "ledger": ledger}
    for name, document in kept.items():
        (directory / f"{name}.json").write_text(json.dumps(document, indent=1))


def _put_off(store: Store) -> set[int]:
    """Return the tickets with an event that may have ended without its addition, which may come after later ones."""
    with store.transaction() as tx:
        rows = tx.journal.find(limit=None)
        tickets = {row.ticket_id for row in rows if row.event in ADDITION_EVENTS}
        steps = [step for ticket_id in tickets for step in tx.trace.of_ticket(ticket_id)]
    return {step.ticket_id for step in steps if _puts_off(step.notice)}


def _puts_off(what: Notice) -> bool:
    if what.code != What.EVENTS_ENDED:
        return what.code in (What.PERSON_REPLAYS, What.PERSON_DECIDES)
    state, because = what.params.get("state"), what.params.get("because")
    never_sent = (Reason.NO_ISSUE_FOR_NOTE, Reason.DELETED_THERE, Reason.PRIVATE_THERE, *UNSENT)
    keeps_order = because is not None and because.code in never_sent
    return state in (EventState.ON_HOLD, EventState.FAILED, EventState.SKIPPED) and not keeps_order


def _traces(store: Store, differences: list[str]) -> list[str]:
    """Return deskbridge's own history of the first tickets that differ."""
    named = [int(number) for text in differences for number in TICKETS.findall(text)]
    lines = []
    for ticket_id in list(dict.fromkeys(named))[:MOST_TRACED]:
        with store.transaction() as tx:
            steps = tx.trace.of_ticket(ticket_id)
            lines += [f"--- ticket {ticket_id}"]
            lines += [f"{step.at:%H:%M:%S.%f} {step.what} ({step.why})" for step in steps]
    return lines


def _again(ask: Callable[[], Answer]) -> Answer:
    """Query the database; repeat the query if a fault has cut the connection."""
    for _ in range(30):
        try:
            return ask()
        except SQLAlchemyError:
            time.sleep(LOOK_S)
    return ask()
