"""`python -m deploy.sandbox.tracker`: run the mock Redmine from the command line."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType

from deploy.sandbox.tracker.persistence import Saver, UnreadableStateError, restore
from deploy.sandbox.tracker.records import ADMIN_ID, Settings
from deploy.sandbox.tracker.releases import DEFAULT, RELEASES
from deploy.sandbox.tracker.sandbox import Sandbox
from deploy.sandbox.tracker.seed import DEFAULT_KEY, seeded
from deploy.sandbox.tracker.server import Server
from deploy.sandbox.tracker.state import Tracker

EPILOG = """\
When it is ready it prints one line of JSON: base_url, api_key, pid. It ends on Ctrl-C or SIGTERM.

Tests steer it over HTTP from this machine; `curl BASE_URL/_control` lists what there is. Examples:

  curl -X POST BASE_URL/_control/faults -d '{"kind": "reset_after", "method": "POST", "count": 1}'
  curl -X POST BASE_URL/_control/settings -d '{"rest_enabled": false}'
  curl BASE_URL/_control/requests

Seeded projects: support, support-public, support-child, other, notime, closedone, archivedone.
Seeded users: admin, alice, bob, carol, erin, mallory, and dave, who is locked.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m deploy.sandbox.tracker",
        description="A stand-in for a Redmine-style tracker: answers as Redmine does, data in memory.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    where = made.add_argument_group("where")
    where.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    where.add_argument("--port", type=int, default=0, help="port; 0 takes a free one (%(default)s)")
    where.add_argument("--state", type=Path, metavar="FILE", help="keep the data in FILE over restarts")
    where.add_argument(
        "--end-with-stdin",
        action="store_true",
        help="end when standard input is closed",
    )
    data = made.add_argument_group("data")
    data.add_argument("--key", default=DEFAULT_KEY, help="the administrator's API key (%(default)s)")
    data.add_argument(
        "--key-file",
        type=Path,
        metavar="FILE",
        help="read that key from FILE; /_control needs it, too, and no other user has a key",
    )
    data.add_argument(
        "--extra-users",
        type=int,
        default=0,
        metavar="N",
        help="add users tech0000, tech0001, …",
    )
    data.add_argument(
        "--extra-projects",
        type=int,
        default=0,
        metavar="N",
        help="add projects extra-0000, …",
    )
    data.add_argument(
        "--extra-categories",
        type=int,
        default=0,
        metavar="N",
        help="add N issue categories to each of the extra projects",
    )
    rules = made.add_argument_group("rules (each can also be switched while it runs)")
    rules.add_argument(
        "--redmine", choices=RELEASES, default=DEFAULT, help="version that it answers as (%(default)s)"
    )
    rules.add_argument("--rest-off", action="store_true", help="the REST API is switched off")
    rules.add_argument("--require-comments", action="store_true", help="time entries need a comment")
    rules.add_argument("--required-project-cf", action="store_true", help='"Cost centre" is required')
    rules.add_argument("--new-issue-statuses", action="store_true", help="honour status_id on creation")
    rules.add_argument(
        "--max-hours-per-day",
        type=float,
        default=999.0,
        metavar="H",
        help="0: no limit (999)",
    )
    rules.add_argument(
        "--latency-ms",
        type=float,
        default=0.0,
        metavar="MS",
        help="wait before each answer",
    )
    return made


def main() -> int:
    """Run until it is stopped, and return the exit code."""
    options = parser().parse_args()
    if options.key_file:
        options.key = options.key_file.read_text(encoding="utf-8").strip()

    def fresh() -> Tracker:
        made = seeded(
            key=options.key,
            extra_users=options.extra_users,
            extra_projects=options.extra_projects,
            extra_categories=options.extra_categories,
            settings=_settings(options),
        )
        _set_keys(made, options)
        return made

    tracker = fresh()
    try:
        if options.state and options.state.exists():
            restore(tracker, options.state)
            _set_keys(tracker, options)
        sandbox = Sandbox(fresh, tracker=tracker, control_key=options.key if options.key_file else None)
        server = Server(sandbox, options.host, options.port)
    except UnreadableStateError as error:
        print(
            f"can't read the state file {error}; move it away to start afresh",
            file=sys.stderr,
        )
        return 1
    except OSError as error:
        print(
            f"can't listen on {options.host}:{options.port}: {error.strerror}",
            file=sys.stderr,
        )
        return 1
    _serve(server, Saver(sandbox, options.state) if options.state else None, options)
    return 0


def _set_keys(tracker: Tracker, options: argparse.Namespace) -> None:
    for user in tracker.users.values():
        if options.key_file or user.id == ADMIN_ID:
            user.api_key = options.key if user.id == ADMIN_ID else ""
    tracker.reindex()


def _settings(options: argparse.Namespace) -> Settings:
    return Settings(
        redmine=options.redmine,
        rest_enabled=not options.rest_off,
        require_comments=options.require_comments,
        required_custom_fields=[2] if options.required_project_cf else [],
        new_issue_statuses=options.new_issue_statuses,
        max_hours_per_day=options.max_hours_per_day,
        latency_ms=options.latency_ms,
    )


def _serve(server: Server, saver: Saver | None, options: argparse.Namespace) -> None:
    ending = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        ending.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    if saver is not None:
        saver.start()
    if options.end_with_stdin:
        threading.Thread(target=_wait_for_end_of_input, args=(ending,), daemon=True).start()
    ready = {"base_url": server.base_url, "api_key": options.key, "pid": os.getpid()}
    print(json.dumps(ready), flush=True)
    ending.wait()
    server.stop()
    if saver is not None:
        saver.stop()


def _wait_for_end_of_input(ending: threading.Event) -> None:
    """Read from the descriptor itself: a thread blocked in `sys.stdin` would prevent the interpreter's exit."""
    while os.read(0, 4096):
        pass
    ending.set()


if __name__ == "__main__":
    sys.exit(main())
