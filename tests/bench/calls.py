"""`python -m tests.bench.calls`: what a call to the tracker costs compared with requests.

Counts this process's processor time. Both clients call the mock Redmine over a kept-alive connection: a creation on
behalf of a person. Ours includes the check before sending, the decoded answer and the record for the ticket history.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import requests
from pydantic import SecretStr

from deploy.sandbox.samples import load_samples
from deploy.sandbox.tracker.control import StandIn
from shared.tracker.client import CallRecord, Target, TrackerClient

ROUNDS, CALLS = 5, 200


def measure() -> dict[str, list[float]]:
    """Return each round's milliseconds of processor time per call, for our client and for requests."""
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
        for _ in range(ROUNDS):
            for name, call in (("deskbridge", ours), ("requests", theirs)):
                figures[name].append(_processor_ms(call))
    return figures


def main() -> None:
    """Measure and print."""
    ours, peer = (median(figures) for figures in measure().values())
    print(
        f"a call to the tracker: {ours:.2f} ms of processor time; with requests: {peer:.2f} ms ({ours / peer:.2f})"
    )


def _processor_ms(call: Callable[[], None]) -> float:
    call()
    began = time.process_time()
    for _ in range(CALLS):
        call()
    return (time.process_time() - began) * 1000 / CALLS


if __name__ == "__main__":
    main()
