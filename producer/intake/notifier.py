"""Notifies outside of requests, so that a slow or unreachable broker delays no response."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping

from shared.telemetry.logs import get_logger

log = get_logger("publisher")
QUIET_S = 1.0
PACE_S, EACH_S = 0.02, 0.004
"""Delay between two messages: EACH_S for each ticket of the last one, PACE_S at most. So under load a message names
several tickets, and a single ticket after another one is notified at once."""


class Notifier:
    """Collects tickets and notifies them from one thread, each ticket once.

    Args:
        notify: notifies tickets, each with the traceparent of its event; False if the broker could not be
            reached.
    """

    def __init__(self, notify: Callable[[Mapping[int, str | None]], bool]) -> None:
        self._notify = notify
        self._waiting: dict[int, str | None] = {}
        self._change = threading.Condition()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="notifier", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def notify(self, ticket_ids: Collection[int], traces: Mapping[int, str | None] | None = None) -> None:
        """Notify tickets soon; return at once.

        Args:
            ticket_ids: the tickets.
            traces: traceparent of the event, by ticket.
        """
        if ticket_ids:
            with self._change:
                self._waiting.update({one: traces.get(one) if traces else None for one in ticket_ids})
                self._change.notify()

    def stop(self) -> None:
        """Notify the remaining tickets, and stop."""
        with self._change:
            self._stopping.set()
            self._change.notify()
        self._thread.join(timeout=5)

    def _try_to_notify(self, tickets: Mapping[int, str | None]) -> bool:
        try:
            return self._notify(tickets)
        except Exception as error:  # noqa: BLE001 (nothing that a broker's library raises may end this thread)
            log.warning("not notified; the sweep notifies later", error=type(error).__name__)
            return False

    def _work(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._waiting or self._stopping.is_set())
                tickets, self._waiting = self._waiting, {}
                stopping = self._stopping.is_set()
            # the sweep notifies what fails here, so leave the broker alone for a moment
            notified = not tickets or self._try_to_notify(tickets)
            self._stopping.wait(min(PACE_S, EACH_S * len(tickets)) if notified else QUIET_S)
            if stopping:
                return
