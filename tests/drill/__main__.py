"""`python -m tests.drill [--seed N] [--redmine V] [--profile P]`: exit 1 if anything was lost or done twice."""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import sys
import threading
from pathlib import Path
from types import FrameType

from deploy.sandbox.tracker.releases import RELEASES
from tests.drill.plan import version_of
from tests.drill.profiles import PROFILES
from tests.drill.report import Teller, show
from tests.drill.run import drill

GRACE_S = 30.0


class OutOfTime(Exception):
    """The drill's hard deadline."""


def main() -> int:
    """Run one drill and print its report."""
    arguments = _arguments()
    seed = secrets.randbelow(1_000_000) if arguments.seed is None else arguments.seed
    profile, redmine = PROFILES[arguments.profile], arguments.redmine or version_of(seed)
    print(
        f"drill: seed {seed}, profile {profile.name}, Redmine {redmine} "
        f"(again: make drill SEED={seed} PROFILE={profile.name} REDMINE={redmine})"
    )
    last = _end_at_last(profile.patience)
    try:
        outcome = drill(seed, redmine, profile, Teller(), arguments.keep)
    except OutOfTime:
        print(f"drill: out of time after {profile.patience:g} s (seed {seed})", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"drill: interrupted (seed {seed})", file=sys.stderr)
        return 130
    finally:
        signal.alarm(0)
        last.cancel()
    show(outcome)
    print(f"drill: {'passed' if outcome.passed else 'FAILED'} (seed {seed}, profile {profile.name})")
    return 0 if outcome.passed else 1


def _end_at_last(patience: float) -> threading.Timer:
    """End the drill in any case: at the deadline with cleanup, and shortly after it without.

    The kernel ends the child processes with it.

    Returns:
        The timer that ends the drill without cleanup.
    """

    def out_of_time(_number: int, _frame: FrameType | None) -> None:
        raise OutOfTime

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, out_of_time)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, interrupted)
    signal.alarm(int(patience))
    last = threading.Timer(patience + GRACE_S, os._exit, [1])
    last.daemon = True
    last.start()
    return last


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.drill", description=__doc__)
    parser.add_argument("--seed", type=int, help="repeats the plan of an earlier drill (default: by chance)")
    parser.add_argument("--redmine", choices=RELEASES, help="the tracker's version (default: by the seed)")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="short")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep every process's log in DIR")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
