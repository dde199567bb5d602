"""The plan, drawn from the seed: a list of faults with their times, known before the drill begins."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from deploy.sandbox.tracker.releases import RELEASES
from tests.drill.profiles import Profile
from tests.support.glpi_api import IN_FRONT

WORKERS = 3
FIRST_FAULT_S = 3.0
SETTLES_S = 10.0
"""A claim's lease plus the settling time in a drill; other workers take over from a worker stopped for longer."""

CREATIONS = r"/(issues|time_entries)\.json"
ISSUE = r"/issues/\d+\.json"
UPLOADS = r"/uploads\.json"
ATTACHES = '"uploads"'
"""Text in the body of an issue change that attaches a file."""

TEMPLATED = ("issue.create", "time_entry.create")
REPLAYED = ("done", "skipped", "superseded", "failed")

Chance = random.Random
Options = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """One planned fault.

    Attributes:
        at: seconds after the start.
        kind: name in the report.
        action: a name in `inject.ACTIONS`.
        options: the action's arguments.
    """

    at: float
    kind: str
    action: str
    options: Options = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """A kind of fault.

    Attributes:
        share: how often it is drawn, relative to the others.
        options: draws the action's arguments.
    """

    name: str
    action: str
    share: float
    options: Callable[[Chance], Options]


def version_of(seed: int) -> str:
    """Return the Redmine version that the tracker simulates for a seed."""
    return list(RELEASES)[seed % len(RELEASES)]


def make_faults(seed: int, profile: Profile) -> list[Fault]:
    """Draw the faults of a seed; the same seed and profile draw the same ones, in order of time.

    Every kind of fault is drawn at least once.
    """
    chance = random.Random(f"faults {seed} {profile.name}")
    shares = [kind.share for kind in KINDS]
    drawn = [*KINDS, *chance.choices(KINDS, shares, k=max(0, profile.faults - len(KINDS)))]
    span = profile.seconds - FIRST_FAULT_S
    faults = [
        Fault(round(FIRST_FAULT_S + chance.random() * span, 3), kind.name, kind.action, kind.options(chance))
        for kind in drawn
    ]
    return sorted(faults, key=lambda fault: fault.at)


def _none(_chance: Chance) -> Options:
    return {}


def _signal(process: str, name: str) -> Callable[[Chance], Options]:
    def draw(chance: Chance) -> Options:
        target = f"worker-{chance.randrange(WORKERS) + 1}" if process == "worker" else process
        return {"process": target, "signal": name}

    return draw


def _stop(process: str, shortest: float, longest: float) -> Callable[[Chance], Options]:
    def draw(chance: Chance) -> Options:
        target = f"worker-{chance.randrange(WORKERS) + 1}" if process == "worker" else process
        return {"process": target, "seconds": round(chance.uniform(shortest, longest), 2)}

    return draw


def _creation(kind: str, **fixed: Any) -> Callable[[Chance], Options]:
    """Draw a fault of the next creations: issues, time entries, uploads, or issue changes that add notes or files."""

    def draw(chance: Chance) -> Options:
        method, path, *text = chance.choice(
            (
                ("POST", r"/issues\.json"),
                ("POST", r"/time_entries\.json"),
                ("POST", CREATIONS),
                ("PUT", ISSUE),
                ("PUT", ISSUE, ATTACHES),
                ("POST", UPLOADS),
            )
        )
        drawn: Options = {"kind": kind, "method": method, "path": path, "count": chance.randint(1, 3)}
        return {**drawn, **({"text": text[0]} if text else {}), **fixed}

    return draw


def _anything(kind: str, **fixed: Any) -> Callable[[Chance], Options]:
    """Draw a fault of the next calls: all calls, reads, memberships, or issue changes."""

    def draw(chance: Chance) -> Options:
        method, path = chance.choice(
            ((None, None), ("GET", None), ("PUT", ISSUE), ("POST", r"/projects/\d+/memberships\.json"))
        )
        return {"kind": kind, "method": method, "path": path, "count": chance.randint(1, 4), **fixed}

    return draw


def _for_a_while(kind: str, shortest: float, longest: float, **fixed: Any) -> Callable[[Chance], Options]:
    """Draw a fault of every call for some seconds."""

    def draw(chance: Chance) -> Options:
        return {"kind": kind, "lasts": round(chance.uniform(shortest, longest), 2), **fixed}

    return draw


def _setting(
    name: str, values: tuple[Any, ...], restored: Any, longest: float
) -> Callable[[Chance], Options]:
    def draw(chance: Chance) -> Options:
        lasts = round(chance.uniform(longest / 4, longest), 2)
        return {"name": name, "value": chance.choice(values), "restored": restored, "lasts": lasts}

    return draw


def _page(kind: str, statuses: tuple[int, ...]) -> Callable[[Chance], Options]:
    """Draw HTML pages instead of API answers: for every call for some seconds, or for the next creations."""

    def draw(chance: Chance) -> Options:
        status = chance.choice(statuses)
        if kind == "page_after":
            return _creation(kind, status=status)(chance)
        return _for_a_while(kind, 1, 5, status=status)(chance)

    return draw


def _lasting(longest: float, **values: tuple[Any, ...]) -> Callable[[Chance], Options]:
    """Draw a change that an administrator makes for some seconds."""

    def draw(chance: Chance) -> Options:
        drawn = {name: chance.choice(several) for name, several in values.items()}
        return {**drawn, "lasts": round(chance.uniform(longest / 4, longest), 2)}

    return draw


def _storm(chance: Chance) -> Options:
    """Draw 5xx answers to every call, as from a gateway whose tracker is down or still carries out the calls."""
    kind = chance.choice(("status_before", "status_after"))
    status = chance.choice((500, 502, 503, 504))
    return _for_a_while(kind, 5, 15, status=status)(chance)


def _refusing(word: str) -> Callable[[Chance], Options]:
    """Draw refusals by Redis with this error word for some seconds."""

    def draw(chance: Chance) -> Options:
        return {"word": word, "seconds": round(chance.uniform(1, 8), 2)}

    return draw


def _share(chance: Chance) -> Options:
    return {"share": chance.random()}


def _downloads(chance: Chance) -> Options:
    """Draw what something in front of GLPI makes of downloads for some seconds."""
    return {"answer": chance.choice(list(IN_FRONT)), "seconds": round(chance.uniform(2, 8), 2)}


KINDS = (
    Kind("worker: SIGKILL", "signal", 8, _signal("worker", "SIGKILL")),
    Kind("worker: SIGTERM", "signal", 4, _signal("worker", "SIGTERM")),
    Kind("worker: stopped for a moment", "stop", 4, _stop("worker", 0.3, 4.0)),
    Kind("worker: stopped past its leases", "stop", 4, _stop("worker", SETTLES_S + 1, SETTLES_S + 8)),
    Kind("producer: SIGKILL", "signal", 2.5, _signal("producer", "SIGKILL")),
    Kind("producer: SIGTERM", "signal", 1.5, _signal("producer", "SIGTERM")),
    Kind("producer: stopped", "stop", 2, _stop("producer", 0.3, 7.0)),
    Kind("beat: SIGKILL", "signal", 1, _signal("beat", "SIGKILL")),
    Kind("beat: SIGTERM", "signal", 0.5, _signal("beat", "SIGTERM")),
    Kind("beat: stopped", "stop", 1, _stop("beat", 1.0, 10.0)),
    Kind("Redis: SIGKILL, restarted", "redis_kill", 1, lambda _: {"empty": False}),
    Kind("Redis: SIGKILL, restarted empty", "redis_kill", 1.5, lambda _: {"empty": True}),
    Kind("Redis: stopped", "redis_stop", 0.7, lambda chance: {"seconds": round(chance.uniform(1, 7), 2)}),
    Kind("Redis: FLUSHALL", "redis_flush", 2.5, _none),
    Kind("Redis: CLIENT KILL", "redis_kill_clients", 3, _none),
    Kind("Redis: READONLY", "redis_refuse", 1.5, _refusing("READONLY")),
    Kind("Redis: MISCONF", "redis_refuse", 1.5, _refusing("MISCONF")),
    Kind("Redis: NOREPLICAS", "redis_refuse", 0.5, _refusing("NOREPLICAS")),
    Kind("Redis: out of memory", "redis_refuse", 0.5, _refusing("OOM")),
    Kind("PostgreSQL: immediate shutdown", "postgres_crash", 1.2, _none),
    Kind("PostgreSQL: pg_terminate_backend", "postgres_terminate", 4, _none),
    Kind(
        "PostgreSQL: read-only for a while",
        "postgres_read_only",
        1.2,
        lambda chance: {"seconds": round(chance.uniform(1, 6), 2)},
    ),
    Kind("GLPI: 503 for a while", "glpi", 1.5, lambda chance: {"seconds": round(chance.uniform(1, 6), 2)}),
    Kind("GLPI: something else in place of downloads", "downloads", 3, _downloads),
    Kind("tracker: silent, nothing done", "tracker", 4, _creation("timeout_before", seconds=6)),
    Kind("tracker: silent, done all the same", "tracker", 5, _creation("timeout_after", seconds=6)),
    Kind("tracker: reset, nothing done", "tracker", 3, _creation("reset_before")),
    Kind("tracker: reset, done all the same", "tracker", 5, _creation("reset_after")),
    Kind("tracker: closed, done all the same", "tracker", 2, _creation("close_after")),
    Kind("tracker: 500, nothing done", "tracker", 3, _creation("status_before", status=500)),
    Kind("tracker: 500, done all the same", "tracker", 5, _creation("status_after", status=500)),
    Kind("tracker: garbage, done all the same", "tracker", 4, _creation("garbage_after")),
    Kind("tracker: answer breaks off", "tracker", 3, _creation("truncated_after")),
    Kind("tracker: answer trickles", "tracker", 2, _creation("trickle", seconds=0.2)),
    Kind("tracker: done late, after we gave up", "tracker", 3, _creation("delay", seconds=5.3)),
    Kind("tracker: slow", "tracker", 4, _anything("delay", seconds=1.5)),
    Kind("tracker: 500 on other calls", "tracker", 3, _anything("status_before", status=500)),
    Kind("tracker: reset of other calls", "tracker", 3, _anything("reset_after")),
    Kind("tracker: garbage to other calls", "tracker", 2, _anything("garbage_before")),
    Kind("tracker: 429", "tracker", 3, _anything("status_before", status=429, retry_after=2)),
    Kind("tracker: 429 without a time", "tracker", 1, _anything("status_before", status=429)),
    Kind("tracker: 503 with a time", "tracker", 2, _anything("status_before", status=503, retry_after=2)),
    Kind("tracker: 503 for a while", "tracker", 2, _for_a_while("status_before", 1, 6, status=503)),
    Kind("tracker: 5xx storm", "tracker", 1.5, _storm),
    Kind("tracker: resets for a while", "tracker", 0.7, _for_a_while("reset_before", 3, 8)),
    Kind("tracker: 401 for a while", "tracker", 1.5, _for_a_while("status_before", 0.5, 5, status=401)),
    Kind("tracker: REST off for a while", "tracker_setting", 2, _setting("rest_enabled", (False,), True, 4)),
    Kind("tracker: every call slow", "tracker_setting", 1, _setting("latency_ms", (300, 800), 0, 8)),
    Kind(
        "tracker: changes texts for a while", "tracker_setting", 2, _setting("edits_texts", (True,), False, 8)
    ),
    Kind("tracker: its clock jumps", "tracker_clock", 2, lambda c: {"offset": c.choice((-60, 0, 60))}),
    Kind("tracker: an issue deleted", "tracker_delete", 2, _share),
    Kind("tracker: the id of an issue given to another one", "tracker_supplant", 2, _share),
    Kind("tracker: an issue moved", "tracker_move", 3, _share),
    Kind("tracker: maintenance page", "tracker", 3, _page("page_before", (200, 302, 404, 405))),
    Kind("tracker: a page, done all the same", "tracker", 2, _page("page_after", (200, 302, 404, 502))),
    Kind("administrator: links elsewhere", "link", 2, _lasting(8, project_id=(1, 3, None))),
    Kind("administrator: activates a template", "template", 2, _lasting(12, operation=TEMPLATED)),
    Kind("administrator: maps statuses otherwise", "status_map", 2, _lasting(8)),
    Kind("administrator: replays", "replay", 1.5, lambda chance: {"state": chance.choice(REPLAYED)}),
    Kind("administrator: resolves", "resolve", 2, _none),
)
