"""`python -m deploy.embedded run`: run deskbridge on this machine with sample events (`make run`)."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from pathlib import Path

from deploy.embedded.errors import EmbeddedError
from deploy.embedded.run import Ended, run
from deploy.embedded.show import Screen, make_console
from deploy.embedded.workplace import Workplace


def main() -> int:
    """Run the command line; return the exit code: 0 if every event ended as expected, 1 if not, 2 for wrong usage."""
    options = _parser().parse_args()
    os.umask(0o077)  # data, logs and secrets are this user's, also in a directory that others can enter
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        return 0 if run(Workplace(options.dir), Screen(make_console()), once=options.once) else 1
    except EmbeddedError as error:
        print(f"deskbridge: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Ended as ended:
        return 128 + ended.number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m deploy.embedded", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="run")
    runs = commands.add_parser(
        "run", help="start everything, send the sample events, show what became of each"
    )
    runs.add_argument("--once", action="store_true", help="end after the table")
    runs.add_argument(
        "--dir", type=Path, default=Path("var"), metavar="DIR", help="where everything is kept (%(default)s)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
