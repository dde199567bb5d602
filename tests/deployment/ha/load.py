"""A help desk that keeps sending whatever happens, and records when each delivery was accepted."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Self

import requests
from requests.adapters import HTTPAdapter
from sqlalchemy import select
from standardwebhooks import Webhook

from shared.store.tables.journal import JournalEvent
from tests.support.bridge import STATUS_MAP
from tests.support.fleet import SECRET, Fleet
from tests.support.waiting import until
from tests.support.workload import Workload

SENDERS = 4
AGAIN_S = 0.1
ANSWERED_WITHIN_S = 40
AFTER = ("done", "skipped", "superseded")


class Load:
    """Sends each delivery of a workload until it gets a 202, and never after that, so that a lost event is noticed.

    Args:
        fleet: fleet whose journal and tracker are compared with the workload.
        workload: workload without copies.
        url: address of the producers.
        pause_s: seconds that each sender waits between two deliveries.
        verify: certificate that verifies an https address.
    """

    def __init__(
        self, fleet: Fleet, workload: Workload, *, url: str = "", pause_s: float = 0.02, verify: Any = None
    ) -> None:
        self._fleet, self._workload = fleet, workload
        self._url = f"{url or f'http://127.0.0.1:{fleet.port}'}/events"
        self._pause_s, self._verify = pause_s, verify
        self._webhook = Webhook(SECRET)
        self._left = iter(list(workload.deliveries))
        self._next = threading.Lock()
        self._threads = [threading.Thread(target=self._send_all, daemon=True) for _ in range(SENDERS)]
        self._stopping = threading.Event()
        self.accepted: list[tuple[float, str]] = []
        self.refused: list[tuple[float, str]] = []

    def __enter__(self) -> Self:
        """Start sending."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for the last answer, or stop at once if the test has failed."""
        if any(_):
            self._stopping.set()
        for thread in self._threads:
            thread.join(240)
        assert any(_) or not self.waiting, f"not answered: {self.waiting}; {self.refused[-5:]}"

    @property
    def waiting(self) -> int:
        """Number of deliveries that have not been answered 202 yet."""
        return len(self._workload.deliveries) - len(self.accepted)

    def wait_for(self, count: int) -> float:
        """Wait until that many more deliveries are answered 202, or all; return the time."""
        wanted = min(len(self.accepted) + count, len(self._workload.deliveries))
        until(lambda: len(self.accepted) >= wanted, lambda: f"{self.refused[-5:]}", 180)
        return time.monotonic()

    def interruption(self) -> float:
        """Return the longest time without a 202, in seconds."""
        times = sorted(at for at, _ in self.accepted)
        return max(after - before for before, after in itertools.pairwise(times))

    def check(self, synced_within: float = 240) -> float:
        """Check that nothing was lost or done twice; return the seconds until everything was synced."""
        took = self._fleet.wait_until_synced(synced_within)
        with self._fleet.bridge.store.database.transaction() as session:
            kept = sorted(session.scalars(select(JournalEvent.delivery_id)))
        assert kept == sorted(name for _, name in self.accepted), "a 202 was lost, or an event was kept twice"
        state = self._fleet.stand_in.state()
        found = self._workload.differences(state["issues"], state["time_entries"], STATUS_MAP)
        assert not found, "\n".join([*found, str(self._fleet.states()), self._fleet.logs()])
        assert set(self._fleet.states()) <= set(AFTER), self._fleet.states()
        return took

    def _send_all(self) -> None:
        with requests.Session() as http:
            http.mount("https://", HTTPAdapter())
            while not self._stopping.is_set():
                with self._next:
                    delivery = next(self._left, None)
                if delivery is None:
                    return
                self._send(http, *delivery)
                time.sleep(self._pause_s)

    def _send(self, http: requests.Session, name: str, event: dict[str, Any]) -> None:
        body = json.dumps(event)
        while not self._stopping.is_set():
            try:
                answer = http.post(
                    self._url,
                    data=body.encode(),
                    headers=signed(self._webhook, name, body),
                    timeout=ANSWERED_WITHIN_S,
                    verify=self._verify,
                )
            except requests.RequestException as error:
                self.refused.append((time.monotonic(), type(error).__name__))
            else:
                if answer.status_code == 202:
                    self.accepted.append((time.monotonic(), name))
                    return
                self.refused.append((time.monotonic(), f"{answer.status_code} {answer.text[:80]}"))
            time.sleep(AGAIN_S)


def signed(webhook: Webhook, name: str, body: str) -> dict[str, str]:
    """Return the headers of a delivery as a help desk creates them."""
    now = datetime.now(UTC)
    return {
        "content-type": "application/json",
        "webhook-id": name,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": webhook.sign(name, now, body),
    }


Say = Callable[..., None]


def shown(names: Sequence[str], values: Sequence[float]) -> str:
    """Return measured seconds as one line."""
    return ", ".join(f"{name} {value:.1f} s" for name, value in zip(names, values, strict=True))
