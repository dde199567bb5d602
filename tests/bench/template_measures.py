"""What templates cost: beside jinja2's sandbox and chevron, and beside a synced event.

All three engines make the same request body from the same context; a run in which they do not is broken. What
templates add to an event is told by two installations that forward events in turn, one of them with the default
templates of issues and time entries in force: the processor time that this process needs for it with real PostgreSQL
and Redis and a tracker that answers at once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from statistics import median
from typing import Any, ClassVar

import structlog
from sqlalchemy import select

from producer.admin.templates.defaults import default_template
from shared.codes.steps import What
from shared.events.config import PluginConfig
from shared.events.parsing import parse_event
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.store.tables.journal import TraceStep
from shared.templating.catalogue import Context, from_ticket
from shared.templating.operations import Operation
from tests.bench.engines import ENGINES, Candidate, Chevron, Deskbridge, Jinja2
from tests.bench.errors import BrokenRun
from tests.bench.servers import servers
from tests.bench.workload import batch
from tests.support.bridge import SUPPORT, Bridge

MOST_ADDED = 0.05
OPERATIONS = (Operation.ISSUE_CREATE, Operation.TIME_ENTRY_CREATE)


@dataclass(frozen=True)
class Size:
    """How much is measured: rounds, and in each of them renderings, compilations and events."""

    rounds: int
    renders: int
    compiles: int
    events: int


FULL = Size(rounds=7, renders=500, compiles=8, events=40)
QUICK = Size(rounds=1, renders=50, compiles=2, events=3)


@dataclass(frozen=True)
class Measure:
    """Microseconds of processor time by engine, one figure a round.

    Attributes:
        name: what is measured.
        goals: by peer, the least that the peer's median may be over ours. They are bounds against regressions, about
            two thirds of what was seen.
        figures: by engine.
    """

    name: str
    goals: dict[str, float]
    figures: dict[str, list[float]] = field(default_factory=dict)

    def ratio(self, peer: str) -> float:
        """Return how many times as fast as the peer we are."""
        return median(self.figures[peer]) / median(self.figures[Deskbridge.name])

    @property
    def is_met(self) -> bool:
        """Whether every goal is met."""
        return all(self.ratio(peer) >= goal for peer, goal in self.goals.items())


@dataclass(frozen=True)
class Added:
    """What an event costs without templates and with them: milliseconds of processor time, one figure a round."""

    name: ClassVar = "added to a synced event"
    event: list[float] = field(default_factory=list)
    templated: list[float] = field(default_factory=list)

    @property
    def share(self) -> float:
        """What they add, of the event's cost without them."""
        return median(self.templated) / median(self.event) - 1

    @property
    def is_met(self) -> bool:
        """Whether it is less than the goal."""
        return self.share < MOST_ADDED


def goals() -> tuple[Measure, Measure]:
    """Return the measures of the engines without figures."""
    return (
        Measure("render, 10 tags", {Jinja2.name: 0.60, Chevron.name: 0.35}),
        Measure("compile, 10 tags", {Jinja2.name: 0.15}),
    )


def run(size: Size, say: Callable[[str], None]) -> tuple[tuple[Measure, Measure], Added]:
    """Take every measure, the engines in turn, so that a drift hits all alike.

    Raises:
        BrokenRun: the engines gave different bodies, or an event was not forwarded.
    """
    measures, added = goals(), Added()
    say("starting PostgreSQL, Redis and the stand-in tracker")
    with _bridges() as (bridges, stand_in):
        engines, context = [make() for make in ENGINES], _sample()
        _forward(bridges, stand_in, size.events)  # members, connections and imports are made once
        if [_used_templates(one) for one in bridges] != [False, True]:
            raise BrokenRun("a template was not used, or one was that nobody has activated")
        _compare(engines, context)
        numbers = count(1000)
        for number in range(size.rounds):
            for engine in engines[number % 3 :] + engines[: number % 3]:
                _measure(engine, measures, context, size, numbers)
            event_ms, templated_ms = _forward(bridges, stand_in, size.events)
            added.event.append(event_ms)
            added.templated.append(templated_ms)
            say(f"round {number + 1} of {size.rounds}")
    return measures, added


def _measure(
    engine: Candidate, measures: tuple[Measure, Measure], sample: Context, size: Size, numbers: Iterator[int]
) -> None:
    render, compilation = (measure.figures.setdefault(engine.name, []) for measure in measures)
    render.append(_microseconds(lambda: engine.render(sample), size.renders))
    compilation.append(_microseconds(lambda: engine.compile(next(numbers)), size.compiles))


def _sample() -> Context:
    """Return the context of an event."""
    event = parse_event(batch(1).events[0])
    return from_ticket(
        event.ticket,
        event.task,
        PluginConfig(default_activity_id=9, default_role_id=4, status_map={2: 2}),
        occurred_at=event.occurred_at,
        tracker_project_id=SUPPORT,
        project_name="Support",
        issue_id=17,
        tracker_user_id=5,
        login="alice",
        event_name=event.event,
    )


@contextmanager
def _bridges() -> Iterator[tuple[list[Bridge], Any]]:
    """Two installations on one tracker, the second with templates in force."""
    structlog.configure(processors=[_dropped])
    with servers() as shared, ExitStack() as stack:
        stand_in, made = shared.stand_in, []
        for number, name in enumerate(("plain", "templated")):
            urls = shared.postgres.create_database(name), shared.redis.database_url(3 + number)
            made.append(Bridge(*urls, stand_in.base_url, stand_in.api_key))
            stack.callback(made[-1].close)
        with made[1].store.transaction() as tx:
            tx.metadata.put([Entry(MetadataKind.PROJECT, SUPPORT, "Support")])
            for one in OPERATIONS:
                tx.templates.activate(
                    tx.templates.create(one, "own", default_template(one), "bench"), 1, "bench"
                )
        yield made, stand_in


def _dropped(*_: Any) -> Any:
    raise structlog.DropEvent


def _forward(bridges: list[Bridge], stand_in: Any, size: int) -> list[float]:
    """Have each forward events, in turn; return the medians in milliseconds."""
    batches, took = [batch(size) for _ in bridges], [list[float]() for _ in bridges]
    for number in range(size):
        for one in (0, 1) if number % 2 == 0 else (1, 0):
            event = batches[one].events[number]
            bridges[one].receive(event)
            began = time.process_time()
            bridges[one].sync(event["ticket"]["id"])
            took[one].append((time.process_time() - began) * 1000)
    state = stand_in.state()
    if differences := [text for one in batches for text in one.differences(state)]:
        raise BrokenRun("; ".join(differences))
    return [median(figures) for figures in took]


def _used_templates(bridge: Bridge) -> bool:
    """Tell whether the trace says that bodies were made from templates, and of none that failed."""
    with bridge.store.database.transaction() as session:
        codes = set(session.scalars(select(TraceStep.code)))
    return What.BODY_FROM_TEMPLATE.value in codes and What.TEMPLATE_FAILED.value not in codes


def _compare(engines: list[Candidate], sample: Context) -> None:
    bodies = {engine.name: json.dumps(engine.render(sample)) for engine in engines}
    if len(set(bodies.values())) != 1:
        raise BrokenRun(f"the engines gave different bodies: {bodies}")


def _microseconds(work: Callable[[], object], times: int) -> float:
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) / times * 1e6
