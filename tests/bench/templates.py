"""What active templates add to an event: processor time compared with an installation without them.

Two installations sync events in turn within this process, with real PostgreSQL and Redis and a tracker without
latency. The second has active default templates for issues and time entries.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import structlog
from sqlalchemy import select

from producer.admin.templates.defaults import default_template
from shared.notices.steps import What
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.store.tables.journal import TraceStep
from shared.templating.operations import Operation
from tests.bench.errors import BrokenRun
from tests.bench.gates import OURS, PEER, Results
from tests.bench.servers import Servers
from tests.bench.workload import batch
from tests.support.bridge import SUPPORT, Bridge

OPERATIONS = (Operation.ISSUE_CREATE, Operation.TIME_ENTRY_CREATE)
REDIS_NUMBERS = (5, 6)


@dataclass(frozen=True)
class Size:
    """How many rounds are measured, and how many events each installation syncs in a round."""

    rounds: int
    events: int


FULL = Size(rounds=7, events=25)
QUICK = Size(rounds=1, events=3)


def measure(size: Size, servers: Servers, results: Results) -> None:
    """Record the median milliseconds of an event in each round, with templates and without.

    Raises:
        BrokenRun: if an event was not synced, or a template was not used.
    """
    with _bridges(servers) as bridges:
        _sync(servers, bridges, size.events)  # incurs the one-time costs: memberships, connections, imports
        if [_uses_templates(one) for one in bridges] != [False, True]:
            raise BrokenRun("a template was not used, or one was used that is not active")
        for _ in results.numbers(size.rounds):
            without_ms, with_ms = _sync(servers, bridges, size.events)
            results.note("templates", PEER, without_ms)
            results.note("templates", OURS, with_ms)


@contextmanager
def _bridges(servers: Servers) -> Iterator[list[Bridge]]:
    """Create two installations on one tracker, the second with active templates."""
    structlog.configure(processors=[_drop])
    stand_in, made = servers.stand_in, []
    with ExitStack() as stack:
        for name, number in zip(("without", "templates"), REDIS_NUMBERS, strict=True):
            urls = servers.postgres.create_database(name), servers.redis.database_url(number)
            made.append(Bridge(*urls, stand_in.base_url, stand_in.api_key))
            stack.callback(made[-1].close)
        with made[1].store.transaction() as tx:
            tx.metadata.put([Entry(MetadataKind.PROJECT, SUPPORT, "Support")])
            for one in OPERATIONS:
                template = tx.templates.create(one, "own", default_template(one), "bench")
                tx.templates.activate(template, 1, "bench")
        yield made


def _drop(*_: Any) -> Any:
    raise structlog.DropEvent


def _sync(servers: Servers, bridges: list[Bridge], size: int) -> tuple[float, float]:
    """Have both installations sync events in turn; return the median milliseconds of each."""
    batches, took = [batch(size) for _ in bridges], [list[float]() for _ in bridges]
    for number in range(size):
        for one in (0, 1) if number % 2 == 0 else (1, 0):
            event = batches[one].events[number]
            bridges[one].receive(event)
            began = time.process_time()
            bridges[one].sync(event["ticket"]["id"])
            took[one].append((time.process_time() - began) * 1000)
    state = servers.stand_in.state()
    if differences := [text for one in batches for text in one.differences(state)]:
        raise BrokenRun("; ".join(differences))
    return median(took[0]), median(took[1])


def _uses_templates(bridge: Bridge) -> bool:
    """Return whether the ticket history names bodies from templates, and no failed template."""
    with bridge.store.database.transaction() as session:
        codes = set(session.scalars(select(TraceStep.code)))
    return What.BODY_FROM_TEMPLATE.value in codes and What.TEMPLATE_FAILED.value not in codes
