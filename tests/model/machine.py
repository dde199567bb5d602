"""The state machine: Hypothesis chooses each step, then every failure ends and the oracle checks the result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from shared.notices.kinds import Kind
from tests.model.database import Trouble
from tests.model.helpdesk import GONE, PRIVATE
from tests.model.oracle import faults
from tests.model.person import decide_everything
from tests.model.stage import END, Stop
from tests.model.tracker import Fate, PlannedFate
from tests.model.world import Rules, World
from tests.support.events import (
    ALICE,
    BOB,
    DONE,
    deletion,
    document,
    document_event,
    followup,
    followup_event,
    moment,
    solution_event,
    task,
    task_event,
    ticket,
    ticket_event,
)

for _name, _examples in {"quick": 60, "long": 10_000}.items():
    settings.register_profile(
        f"model-{_name}",
        max_examples=_examples,
        stateful_step_count=30,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
PROFILE = settings.get_profile(f"model-{os.environ.get('HYPOTHESIS_PROFILE', 'quick')}")
"""Small and fast by default; HYPOTHESIS_PROFILE=long searches thoroughly and uses a core for about an hour."""

TICKETS = {1: (11, 12), 2: (21,)}
NOTES = {1: ((Kind.FOLLOWUP, 31), (Kind.SOLUTION, 31), (Kind.FOLLOWUP, 32)), 2: ((Kind.FOLLOWUP, 41),)}
"""The tickets' follow-ups and solutions, which the help desk numbers separately."""
DOCUMENTS = {1: (51, 52, PRIVATE, GONE), 2: (51, 52)}
"""The tickets' documents; a document may be attached to both tickets."""
tickets = st.sampled_from(sorted(TICKETS))
numbers = st.integers(0, 1)
stops = st.one_of(
    st.sampled_from(
        ["before POST", "sending POST", "answered POST", "before PUT", "answered PUT", "answered", "fetching"]
    ),
    st.integers(0, 10),
)
fates = st.sampled_from([Fate.ANSWERED, *Fate])
skews = st.sampled_from([0.0, 0.0, -60.0, 60.0])
rules = st.builds(
    Rules,
    tracker_skew=skews,
    worker_skews=st.tuples(skews, skews),
    date_header=st.sampled_from([True, True, False]),
    policy=st.sampled_from(["lookup", "lookup", "lookup", "hold"]),
    overstretch=st.sampled_from([False, False, True]),
    keeps_first=st.booleans(),
    siblings=st.booleans(),
    edits_texts=st.sampled_from([False, False, True]),
    order=st.integers(0, 1000),
)


class Bridge(RuleBasedStateMachine):
    """A help desk, two workers that may stop at any point, actors that never stop, a tracker, and failures."""

    world: World

    @initialize(rules=rules, second=tickets, stops=st.tuples(stops, stops), fates=st.tuples(fates, fates))
    def begin(self, rules: Rules, second: int, stops: tuple[Stop, Stop], fates: tuple[Fate, Fate]) -> None:
        """Log a Done ticket task on one or two tickets with equal texts, and have two workers begin to sync."""
        self.world = World(rules)
        self.sent: list[tuple[dict[str, Any], str]] = []
        for ticket_id in TICKETS if rules.siblings else (1,):
            self.helpdesk_logs(ticket_id, 0, 0, "Printer", 2, 0.0, ALICE, DONE, None)
        for number, ticket_id in enumerate((1, second)):
            self.worker_moves(number, ticket_id, stops[number], fates[number], together=False)

    @rule(
        ticket_id=tickets,
        which=st.integers(0, 1),
        half_hours=st.integers(0, 1),
        title=st.sampled_from(["Printer", "Mouse"]),
        status=st.sampled_from([1, 2, 5]),
        at=st.sampled_from([0.0, 1.0, 2.0, 1e6]),
        user=st.sampled_from([ALICE, BOB, None]),
        state=st.sampled_from([DONE, DONE, 1]),
        sequence=st.sampled_from([None, 1]),
        moved=st.sampled_from([False, False, False, True]),
    )
    def helpdesk_logs(
        self,
        ticket_id: int,
        which: int,
        half_hours: int,
        title: str,
        status: int,
        at: float,
        user: dict[str, Any] | None,
        state: int,
        sequence: int | None,
        moved: bool = False,
    ) -> None:
        """Send a ticket task that was added, changed or moved to the other ticket; `at` may be far in the future."""
        ticket_id = self._ticket_id(ticket_id)
        task_id = TICKETS[ticket_id][which % len(TICKETS[ticket_id])]
        if moved:
            ticket_id = self._ticket_id(3 - ticket_id)
        actiontime = 1800 * (half_hours + 1)
        self._send(
            task_event(
                at,
                of_ticket=_ticket(ticket_id, title, status),
                of_task=task(
                    task_id,
                    content="Fixed",
                    actiontime=actiontime,
                    user=user,
                    state=state,
                    created_at=moment(0.75),
                ),
                sequence=sequence,
            )
        )

    @rule(
        ticket_id=tickets,
        which=st.integers(0, 2),
        text=st.sampled_from(["Ordered", "Ordered", "Replaced"]),
        status=st.sampled_from([1, 2, 5]),
        at=st.sampled_from([0.0, 1.0, 2.0, 1e6]),
        user=st.sampled_from([ALICE, BOB, None]),
        is_private=st.booleans(),
    )
    def helpdesk_notes(
        self,
        ticket_id: int,
        which: int,
        text: str,
        status: int,
        at: float,
        user: dict[str, Any] | None,
        is_private: bool,
    ) -> None:
        """Send a new follow-up or solution, or send one again."""
        ticket_id = self._ticket_id(ticket_id)
        kind, key = NOTES[ticket_id][which % len(NOTES[ticket_id])]
        of_ticket = _ticket(ticket_id, "Printer", status)
        if kind is Kind.FOLLOWUP:
            note = followup(key, content=text, user=user, is_private=is_private)
            self._send(followup_event(at, of_ticket=of_ticket, of_followup=note))
        else:
            note = {"id": key, "content": text, "user": user}
            self._send(solution_event(at, of_ticket=of_ticket, of_solution=note))

    @rule(
        ticket_id=tickets,
        which=st.integers(0, 3),
        name=st.sampled_from(["scan.png", "scan.png", "list.pdf"]),
        status=st.sampled_from([1, 2, 5]),
        at=st.sampled_from([0.0, 1.0, 2.0, 1e6]),
        user=st.sampled_from([ALICE, BOB, None]),
    )
    def helpdesk_attaches(
        self, ticket_id: int, which: int, name: str, status: int, at: float, user: dict[str, Any] | None
    ) -> None:
        """Send a new document, or send one again."""
        ticket_id = self._ticket_id(ticket_id)
        number = DOCUMENTS[ticket_id][which % len(DOCUMENTS[ticket_id])]
        added = document(number, name=name, user=user, is_private=number == PRIVATE)
        self._send(document_event(at, of_ticket=_ticket(ticket_id, "Printer", status), of_document=added))

    @rule(times=st.integers(1, 3))
    def helpdesk_is_away(self, times: int) -> None:
        """Leave the next fetches of documents without an answer."""
        self.world.helpdesk.away = times

    @rule()
    def tracker_drops_uploads(self) -> None:
        """Make the tracker drop unattached uploads; it refuses their tokens from now on."""
        self.world.tracker.drop_uploads()

    @rule(
        ticket_id=tickets,
        title=st.sampled_from(["Printer", "Mouse"]),
        status=st.sampled_from([1, 2, 5]),
        at=st.sampled_from([0.0, 1.0, 2.0, 1e6]),
    )
    def helpdesk_updates(self, ticket_id: int, title: str, status: int, at: float) -> None:
        """Send a changed ticket."""
        ticket_id = self._ticket_id(ticket_id)
        self._send(ticket_event(at, of_ticket=_ticket(ticket_id, title, status)))

    @rule(
        ticket_id=tickets,
        which=st.sampled_from([None, None, 0, 1]),
        is_back=st.booleans(),
        at=st.sampled_from([0.0, 1.0, 2.0, 3.0, 1e6]),
        sequence=st.sampled_from([None, 1]),
    )
    def helpdesk_deletes(
        self, ticket_id: int, which: int | None, is_back: bool, at: float, sequence: int | None
    ) -> None:
        """Send the deletion or restoration of a ticket, or the deletion of one of its tasks."""
        ticket_id = self._ticket_id(ticket_id)
        if which is None:
            name = "ticket.restored" if is_back else "ticket.deleted"
            self._send(deletion(at, name, ticket_id, sequence=sequence))
        else:
            task_id = TICKETS[ticket_id][which % len(TICKETS[ticket_id])]
            self._send(deletion(at, "ticket_task.deleted", ticket_id, task_id, sequence=sequence))

    @rule(which=st.integers(0, 20))
    def helpdesk_sends_again(self, which: int) -> None:
        """Repeat an earlier delivery."""
        event, delivery_id = self.sent[which % len(self.sent)]
        self.world.receive(event, delivery_id)

    def _send(self, event: dict[str, Any]) -> None:
        self.sent.append((event, f"delivery-{len(self.sent)}"))
        self.world.receive(*self.sent[-1])

    @rule(number=numbers, ticket_id=tickets, stop=stops, fate=fates, together=st.booleans())
    def worker_moves(self, number: int, ticket_id: int, stop: Stop, fate: Fate, together: bool) -> None:
        """Notify a worker, or let a stopped worker continue; it may stop again."""
        worker, ticket_id = self.world.workers[number], self._ticket_id(ticket_id)
        tickets = [ticket_id, *(one for one in TICKETS if together and one != ticket_id)]
        self.world.tracker.fates.append(fate)
        if worker.is_busy:
            worker.go_on(stop)
        else:
            self.world.begin_sync(worker, tickets, stop)

    @rule(
        number=numbers,
        ticket_id=tickets,
        stop=stops,
        fate=fates,
        seconds=st.sampled_from([21.4, 36.9, 61]),
        together=st.booleans(),
    )
    def worker_takes_over(
        self, number: int, ticket_id: int, stop: Stop, fate: Fate, seconds: float, together: bool
    ) -> None:
        """Let leases run out, then notify a worker or let a stopped worker continue."""
        self.world.advance(seconds)
        self.worker_moves(number, ticket_id, stop, fate, together)

    @rule(number=numbers, dies=st.booleans())
    def worker_ends(self, number: int, dies: bool) -> None:
        """Kill a stopped worker, or let it run to its end."""
        worker = self.world.workers[number]
        if worker.is_busy and dies:
            worker.kill()
        elif worker.is_busy:
            worker.go_on(END)

    @rule(ticket_id=tickets, fates=st.lists(fates, max_size=3))
    def another_worker_syncs(self, ticket_id: int, fates: Sequence[PlannedFate]) -> None:
        """Sync a ticket with a third worker, without a stop."""
        self.world.tracker.fates.extend(fates)
        self.world.sync(self._ticket_id(ticket_id))

    @rule(seconds=st.sampled_from([1, 6.3, 16.7, 21.4, 36.9, 61]), sweeps=st.booleans())
    def time_passes(self, seconds: float, sweeps: bool) -> None:
        """Advance time, which may end leases, settling times and pauses; then perhaps sweep with a third worker."""
        self.world.advance(seconds)
        if sweeps:
            self.world.sweep()

    @rule(troubles=st.lists(st.sampled_from(Trouble), min_size=1, max_size=6))
    def database_is_in_trouble(self, troubles: list[Trouble]) -> None:
        """Make the next commits fail, or succeed while their answer is lost."""
        self.world.database.troubles.extend(troubles)

    @rule()
    def redis_is_flushed(self) -> None:
        """Delete every lock and the state of the circuit breakers."""
        self.world.redis.flush()

    @rule()
    def person_decides(self) -> None:
        """Decide every row on hold while sync passes are under way, unless a request has not arrived yet."""
        if not self.world.tracker.is_anything_under_way:
            with self.world.undisturbed():
                decide_everything(self.world)

    @rule(which=st.integers(0, 20), project_id=st.sampled_from([1, 2, 4]))
    def person_moves_an_issue(self, which: int, project_id: int) -> None:
        """Move an issue to another tracker project, as a person does in ordinary triage."""
        made = [one.tracker_id for one in self.world.tracker.made if one.kind is Kind.TICKET]
        if made:
            self.world.tracker.move(made[which % len(made)], project_id)

    @rule(which=st.integers(0, 20))
    def person_replays(self, which: int) -> None:
        """Replay an event, as a person does."""
        if self.world.accepted:
            event_id, _ = self.world.accepted[which % len(self.world.accepted)]
            with self.world.undisturbed(), self.world.store.transaction() as tx:
                tx.journal.replay([event_id])

    def teardown(self) -> None:
        """Heal with workers still stopped and again after they finish; check before and after a person's decisions."""
        if not hasattr(self, "world"):
            return
        try:
            self.world.heal()
            self.world.finish()
            self.world.heal()
            self._look(decided=False)
            while decide_everything(self.world):
                self.world.heal()
            self._look(decided=True)
        finally:
            self.world.close()

    def _look(self, *, decided: bool) -> None:
        for worker in self.world.workers:
            assert not worker.errors, worker.errors
        found = faults(self.world, decided=decided)
        assert not found, "\n".join(found)

    def _ticket_id(self, ticket_id: int) -> int:
        return ticket_id if self.world.rules.siblings else 1


def _ticket(ticket_id: int, title: str, status: int) -> dict[str, Any]:
    created_at = moment(0.5 + 60 * status)  # the help desk's time zone changes, too
    return ticket(ticket_id, title=title, content="burns", status=status, created_at=created_at)
