"""Rings off the request's path: a broker that is slow or down delays no answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping

from shared.telemetry.logs import get_logger

log = get_logger("doorbell")
QUIET_S = 1.0
PACE_S, EACH_S = 0.02, 0.004
"""From one ring to the next: EACH_S for each ticket of the last one, PACE_S at most. So under load a message names
several tickets, and one that comes alone after another is rung at once."""


class Ringer:
    """Collects tickets to ring and rings them from one thread; the same ticket once.

    Args:
        ring: rings tickets, each with the traceparent of what it is rung for; False where the broker could not be
            reached.
    """

    def __init__(self, ring: Callable[[Mapping[int, str | None]], bool]) -> None:
        self._ring = ring
        self._waiting: dict[int, str | None] = {}
        self._change = threading.Condition()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="ringer", daemon=True)

    def start(self) -> None:
        """Begin to ring."""
        self._thread.start()

    def ring(self, ticket_ids: Collection[int], traces: Mapping[int, str | None] | None = None) -> None:
        """Have tickets rung soon; returns at once.

        Args:
            ticket_ids: the tickets.
            traces: by ticket the traceparent of what it is rung for.
        """
        if ticket_ids:
            with self._change:
                self._waiting.update({one: traces.get(one) if traces else None for one in ticket_ids})
                self._change.notify()

    def stop(self) -> None:
        """Ring what is left, and end."""
        with self._change:
            self._stopping.set()
            self._change.notify()
        self._thread.join(timeout=5)

    def _try_to_ring(self, tickets: Mapping[int, str | None]) -> bool:
        try:
            return self._ring(tickets)
        except Exception as error:  # noqa: BLE001 (nothing that a broker's library raises may end this thread)
            log.warning("not rung; the sweep rings later", error=type(error).__name__)
            return False

    def _work(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._waiting or self._stopping.is_set())
                tickets, self._waiting = self._waiting, {}
                stopping = self._stopping.is_set()
            # what was not rung is the sweep's; leave the broker alone for a moment
            rung = not tickets or self._try_to_ring(tickets)
            self._stopping.wait(min(PACE_S, EACH_S * len(tickets)) if rung else QUIET_S)
            if stopping:
                return
