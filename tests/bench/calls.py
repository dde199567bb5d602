"""`python -m tests.bench.calls [--quick] [--json]`: what a call to the tracker costs beside requests, in one run.

Processor time of this process alone, both against the stand-in tracker, over a connection that is kept: a creation on
behalf of a person, with the check before the send, the answer decoded and the record of the trace.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from statistics import median

import requests
from pydantic import SecretStr
from rich.console import Console

from deploy.sandbox.samples import load_samples
from deploy.sandbox.tracker.control import StandIn
from shared.tracker.client import CallRecord, Target, TrackerClient
from tests.bench.report import Row, show

GOAL = 0.67
"""Of requests' time, with a session: 0.3 ms where that takes 0.45."""

ROUNDS, CALLS = 5, 200


def measure(rounds: int, calls: int) -> dict[str, list[float]]:
    """Return milliseconds of processor time per call, by who makes it."""
    project = load_samples().installation.links[0]["tracker_project_id"]
    body = {"issue": {"project_id": project, "subject": "x" * 40, "description": "y" * 400}}
    records: list[CallRecord] = []
    with StandIn() as stand_in, requests.Session() as session:
        client = TrackerClient(Target(stand_in.base_url, SecretStr(stand_in.api_key)))
        headers = {"X-Redmine-API-Key": stand_in.api_key, "X-Redmine-Switch-User": "alice"}

        def ours() -> None:
            client.call(
                "POST",
                "/issues.json",
                body=body,
                login="alice",
                before_send=lambda: None,
                observe=records.append,
            )

        def theirs() -> None:
            answer = session.post(f"{stand_in.base_url}/issues.json", json=body, headers=headers, timeout=5)
            answer.raise_for_status()
            answer.json()

        figures: dict[str, list[float]] = {"deskbridge": [], "requests": []}
        for _ in range(rounds):
            for name, call in (("deskbridge", ours), ("requests", theirs)):
                figures[name].append(_processor_ms(call, calls))
    return figures


def row(figures: dict[str, list[float]], *, judged: bool) -> Row:
    """Return the line of the table."""
    own, peer = median(figures["deskbridge"]), median(figures["requests"])
    return Row(
        "call",
        "a call to the tracker, ms of processor time (peer: requests)",
        f"{own:.2f}",
        f"{peer:.2f}",
        f"{own / peer:.2f}",
        f"≤ {GOAL:g} of the peer",
        own / peer <= GOAL if judged else None,
        "the system's part of sending and receiving, two thirds; JSON",
    )


def main() -> int:
    """Measure, print, and return 1 where the goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.calls", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round; judges no goal")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    arguments = parser.parse_args()
    figures = measure(1, 20) if arguments.quick else measure(ROUNDS, CALLS)
    found = row(figures, judged=not arguments.quick)
    if arguments.json:
        print(json.dumps({"rows": [vars(found)], "milliseconds": figures}, indent=2))
    else:
        show([found], Console(width=None if sys.stdout.isatty() else 160))
    return 1 if found.ok is False else 0


def _processor_ms(call: Callable[[], None], times: int) -> float:
    call()
    began = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - began) * 1000 / times


if __name__ == "__main__":
    sys.exit(main())
