"""`python -m worker worker|beat`, with which the command line replaces its own process."""

from __future__ import annotations

import argparse
import sys

from shared.process.dumps import guard_memory
from shared.process.loading import loading


def main() -> int:
    """Run one worker or one beat until it is told to stop."""
    arguments = _arguments()
    guard_memory()
    with loading():
        from worker.start import begin

        if arguments.process == "beat":
            from worker.beat import beat  # each process imports only its own modules
        else:
            from worker.process import work

    settings = begin(arguments.process)
    if settings is None:
        return 2
    return beat(settings) if arguments.process == "beat" else work(settings, arguments.concurrency)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m worker")
    parser.add_argument("process", choices=("worker", "beat"))
    parser.add_argument(
        "--concurrency",
        type=int,
        default=32,
        help="calls to the tracker at the same time, at most (default 32)",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
