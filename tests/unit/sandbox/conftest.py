"""A seeded mock Redmine for each test, as an object and on a real socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from deploy.sandbox.tracker.access import Request, answer
from deploy.sandbox.tracker.control import StandIn
from deploy.sandbox.tracker.seed import DEFAULT_KEY, seeded
from deploy.sandbox.tracker.state import Tracker


class Api:
    """The stand-in's API, called without a socket."""

    def __init__(self) -> None:
        self.tracker: Tracker = seeded()

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        su: str | None = None,
        key: str | None = DEFAULT_KEY,
        **headers: str,
    ) -> tuple[int, Any]:
        """Return status and document: None for an empty body, text if the body is not JSON."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent.setdefault("content-type", "application/json")
        if key is not None:
            sent["x-redmine-api-key"] = key
        if su is not None:
            sent["x-redmine-switch-user"] = su
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        path, _, query = path.partition("?")
        answered = answer(self.tracker, Request(method, path, query, sent, raw))
        try:
            return answered.status, json.loads(answered.body) if answered.body else None
        except ValueError:
            return answered.status, answered.body.decode()

    def issue(self, *, su: str | None = None, **fields: object) -> tuple[int, Any]:
        """POST an issue, by default in project 1 and with subject S."""
        return self.send(
            "POST", "/issues.json", {"issue": {"project_id": 1, "subject": "S", **fields}}, su=su
        )

    def time(self, *, su: str | None = None, **fields: object) -> tuple[int, Any]:
        """POST a time entry, by default an hour of development on issue 1."""
        entry = {"issue_id": 1, "hours": 1, "activity_id": 9, **fields}
        return self.send("POST", "/time_entries.json", {"time_entry": entry}, su=su)


@pytest.fixture
def api() -> Api:
    """The stand-in's API with fresh data."""
    return Api()


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    """A stand-in on a free port, in threads of this process."""
    with StandIn(in_process=True) as running:
        yield running
