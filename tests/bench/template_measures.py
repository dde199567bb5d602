"""What templates cost: beside jinja2's sandbox and chevron, and beside a synced event.

All three engines make the same request body from the same context; a run in which they do not is broken. What
templates add to an event is the processor time of building the contexts of its issue and its time entry and of
rendering both default templates, beside the processor time that this process needs to forward the event with real
PostgreSQL and Redis and a tracker that answers at once. The 1.x bodies, which templates replace, are not taken off.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from statistics import median
from typing import Any, ClassVar

import structlog

from producer.admin.templates.defaults import default_template
from shared.events.config import PluginConfig
from shared.events.event import Event, parse_event
from shared.templating.catalogue import catalogue_for
from shared.templating.contexts import Context, from_ticket
from shared.templating.engine import Engine
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


FULL = Size(rounds=7, renders=500, compiles=8, events=12)
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
    """What templates add to a synced event: milliseconds of processor time, one figure a round."""

    name: ClassVar = "added to a synced event"
    event: list[float] = field(default_factory=list)
    templates: list[float] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The templates' part, of the event's cost without them."""
        return median(self.templates) / median(self.event)

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
    with _bridge() as (bridge, stand_in):
        engines = [make() for make in ENGINES]
        templates = _Templates()
        _forward(bridge, stand_in, templates, size.events)  # members, connections and imports are made once
        _compare(engines, templates)
        numbers = count(1000)
        for number in range(size.rounds):
            for engine in engines[number % 3 :] + engines[: number % 3]:
                _measure(engine, measures, templates.sample, size, numbers)
            event_ms, templates_ms = _forward(bridge, stand_in, templates, size.events)
            added.event.append(event_ms)
            added.templates.append(templates_ms)
            say(f"round {number + 1} of {size.rounds}")
    return measures, added


def _measure(
    engine: Candidate, measures: tuple[Measure, Measure], sample: Context, size: Size, numbers: Iterator[int]
) -> None:
    render, compilation = (measure.figures.setdefault(engine.name, []) for measure in measures)
    render.append(_microseconds(lambda: engine.render(sample), size.renders))
    compilation.append(_microseconds(lambda: engine.compile(next(numbers)), size.compiles))


class _Templates:
    """The default templates, as the worker would render them for an event."""

    def __init__(self) -> None:
        self._config = PluginConfig(default_activity_id=9, default_role_id=4, status_map={2: 2})
        self._rendered = [(Engine(catalogue_for(one)), default_template(one)) for one in OPERATIONS]
        self.sample = self._context(parse_event(batch(1).events[0]))

    def _context(self, event: Event) -> Context:
        return from_ticket(
            event.ticket,
            event.task,
            self._config,
            occurred_at=event.occurred_at,
            tracker_project_id=SUPPORT,
            project_name="Support",
            issue_id=17,
            tracker_user_id=5,
            login="alice",
            event_name=event.event,
        )

    def milliseconds(self, event: dict[str, Any]) -> float:
        """Return what the contexts and bodies of an event's issue and time entry cost."""
        parsed = parse_event(event)
        began = time.process_time()
        for engine, body in self._rendered:
            engine.render(body, self._context(parsed))
        return (time.process_time() - began) * 1000


@contextmanager
def _bridge() -> Iterator[tuple[Bridge, Any]]:
    structlog.configure(processors=[_dropped])
    with servers() as shared:
        stand_in = shared.stand_in
        urls = shared.postgres.create_database("templates"), shared.redis.database_url(3)
        bridge = Bridge(*urls, stand_in.base_url, stand_in.api_key)
        try:
            yield bridge, stand_in
        finally:
            bridge.close()


def _dropped(*_: Any) -> Any:
    raise structlog.DropEvent


def _forward(bridge: Bridge, stand_in: Any, templates: _Templates, size: int) -> tuple[float, float]:
    """Forward events, and render what templates would; return the medians of both, in milliseconds."""
    events, forwarding, rendering = batch(size), [], []
    for event in events.events:
        bridge.receive(event)
        began = time.process_time()
        bridge.sync(event["ticket"]["id"])
        forwarding.append((time.process_time() - began) * 1000)
        rendering.append(templates.milliseconds(event))
    if differences := events.differences(stand_in.state()):
        raise BrokenRun("; ".join(differences))
    return median(forwarding), median(rendering)


def _compare(engines: list[Candidate], templates: _Templates) -> None:
    bodies = {engine.name: json.dumps(engine.render(templates.sample)) for engine in engines}
    if len(set(bodies.values())) != 1:
        raise BrokenRun(f"the engines gave different bodies: {bodies}")


def _microseconds(work: Callable[[], object], times: int) -> float:
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) / times * 1e6
