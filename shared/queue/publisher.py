"""The publisher of queue messages; each only names some tickets.

A lost message loses no data: the sweep notifies again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from shared.process.settings import Settings
from shared.queue.celery_app import BROKER_ERRORS, PUBLISH_TIMEOUT_S, make_celery, queue_of
from shared.queue.names import MOST_TICKETS, SYNC_TICKETS
from shared.telemetry.logs import get_logger

log = get_logger("publisher")
PUBLISH_ERRORS = (*BROKER_ERRORS, AttributeError)
"""py-amqp raises AttributeError if a connection breaks while a queue is declared."""

NOT_SHOWN = {"argsrepr": "", "kwargsrepr": ""}
"""Leaves out the printable copy of a message's arguments, which workers do not read."""


class Publisher:
    """Notifies workers of tickets. A message that fails is not an error, because the sweep notifies later.

    Args:
        settings: the process's environment settings.
        whose: returns the id of the installation whose workers are notified (`shared.redis.installation`).
    """

    def __init__(self, settings: Settings, whose: Callable[[], str]) -> None:
        self._settings, self._whose = settings, whose
        self._app = make_celery(settings, publish_only=True)

    def notify(
        self,
        ticket_ids: Iterable[int],
        traces: Mapping[int, str] | None = None,
        *,
        if_due: bool = False,
        has_priority: bool = False,
    ) -> bool:
        """Publish messages that each name some tickets; return False if the broker did not accept all of them.

        Args:
            ticket_ids: the tickets.
            traces: traceparent of the message by ticket, if a trace is recorded.
            if_due: whether a worker skips tickets that no longer have a due event.
            has_priority: whether a person waits for the tickets.
        """
        ids = list(ticket_ids)
        try:
            for at in range(0, len(ids), MOST_TICKETS):
                some = ids[at : at + MOST_TICKETS]
                queue = queue_of(self._settings, self._whose(), has_priority=has_priority)
                named = arguments(some, traces, if_due=if_due, has_priority=has_priority)
                self._app.send_task(SYNC_TICKETS, kwargs=named, queue=queue, ignore_result=True, **NOT_SHOWN)
        except PUBLISH_ERRORS as error:
            log.warning("not notified; the sweep notifies later", error=type(error).__name__)
            return False
        return True

    def is_answering(self) -> bool:
        """Return whether the broker is reachable."""
        try:
            with self._app.connection_for_write() as connection:
                connection.ensure_connection(
                    max_retries=1, interval_start=0, interval_step=0, timeout=PUBLISH_TIMEOUT_S
                )
        except BROKER_ERRORS:
            return False
        return True


def arguments(
    ticket_ids: Sequence[int],
    traces: Mapping[int, str] | None = None,
    *,
    if_due: bool = False,
    has_priority: bool = False,
) -> dict[str, Any]:
    """Return the keyword arguments of a message: those of `Publisher.notify` that are set."""
    named: dict[str, Any] = {"ticket_ids": list(ticket_ids)}
    if of_them := {str(one): trace for one in ticket_ids if (trace := (traces or {}).get(one))}:
        named["traces"] = of_them
    return named | {
        name: True for name, is_set in (("if_due", if_due), ("has_priority", has_priority)) if is_set
    }
