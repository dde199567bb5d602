"""`python -m tests.fuzz [--minutes N] [--seed N] [--only TARGET]`: exits with 1 if it finds anything."""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from deploy.embedded.redis import RedisServer
from deploy.sandbox.tracker.seed import DEFAULT_KEY
from shared.telemetry.logs import configure_logging
from tests.fuzz.chance import Chance
from tests.fuzz.in_redis import InRedis
from tests.fuzz.of_templates import OfTemplates
from tests.fuzz.of_the_tracker import OfTheTracker
from tests.fuzz.over_http import OverHttp
from tests.support.bridge import Bridge

TARGETS: dict[str, type[OverHttp | OfTemplates | OfTheTracker | InRedis]] = {
    "http": OverHttp,
    "templates": OfTemplates,
    "tracker": OfTheTracker,
    "redis": InRedis,
}
TURN = 20
"""Tries of one target before the next target's turn."""

MOST_FINDINGS = 20
TELL_S = 60.0


class Target(Protocol):
    """A target of the fuzz run."""

    def attempt(self, chance: Chance) -> None:
        """Try once; any exception is a finding."""


def main() -> int:
    """Try until the time is over; print the findings."""
    arguments = _arguments()
    seed = secrets.randbelow(1_000_000) if arguments.seed is None else arguments.seed
    print(f"fuzz: seed {seed}, {arguments.minutes:g} minutes, {', '.join(arguments.only)}", flush=True)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="deskbridge-fuzz-")))
        sys.stdout.flush()
        configure_logging("json", process="fuzz")
        redis = RedisServer(directory / "redis")
        redis.start()
        stack.callback(redis.destroy)
        targets = {
            name: _made(stack, name, number, directory, redis) for number, name in enumerate(arguments.only)
        }
        tried, found = _run(targets, seed, arguments)
    print(f"fuzz: {sum(tried.values())} tries ({dict(tried)}), {found} findings (seed {seed})")
    return 1 if found else 0


def _made(stack: ExitStack, name: str, number: int, directory: Path, redis: RedisServer) -> Target:
    """Return a target with a database of its own."""
    database = f"sqlite:///{directory}/{name}.sqlite3"
    bridge = Bridge(database, redis.database_url(number + 1), "http://127.0.0.1:9", DEFAULT_KEY)
    stack.callback(bridge.close)
    (directory / f"of-{name}").mkdir()
    target = TARGETS[name](bridge, directory / f"of-{name}")
    stack.callback(target.close)
    return target


def _run(targets: dict[str, Target], seed: int, arguments: argparse.Namespace) -> tuple[Counter[str], int]:
    ends = time.monotonic() + arguments.minutes * 60
    tried: Counter[str] = Counter()
    found, told = 0, time.monotonic()
    while time.monotonic() < ends and found < MOST_FINDINGS:
        for name, target in targets.items():
            for number in range(tried[name], tried[name] + TURN):
                if arguments.tries is not None and number >= arguments.tries:
                    return tried, found
                found += _attempt(target, name, seed, arguments.first + number)
                tried[name] += 1
        if time.monotonic() - told > TELL_S:
            told = time.monotonic()
            print(f"fuzz: {dict(tried)}, {found} findings, {(ends - told) / 60:.0f} minutes left", flush=True)
    return tried, found


def _attempt(target: Target, name: str, seed: int, number: int) -> int:
    """Try once; return 1 for a finding, else 0."""
    try:
        target.attempt(Chance(f"{seed} {name} {number}"))
    except Exception:  # noqa: BLE001  (any exception is a finding)
        print(f"fuzz: FOUND by --seed {seed} --only {name} --first {number} --tries 1", flush=True)
        traceback.print_exc(limit=-12, file=sys.stdout)
        return 1
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, help="repeats the inputs of an earlier run (default: by chance)")
    parser.add_argument("--only", nargs="+", choices=sorted(TARGETS), default=list(TARGETS))
    parser.add_argument("--first", type=int, default=0, help="the number of the first try")
    parser.add_argument("--tries", type=int, help="tries at most of each target (default: as time allows)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
