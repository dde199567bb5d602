"""The producer's heartbeat, in the database, since that is what the producer must be able to write."""

from __future__ import annotations

import socket
import threading

from sqlalchemy.exc import SQLAlchemyError

from producer.intake.refused import Refused
from producer.intake.spool import Spools
from shared.process.itself import Process
from shared.store.opening import Store
from shared.store.tables.database import words_for_the_log
from shared.telemetry.logs import get_logger

log = get_logger("producer")
EVERY_S = 10.0
AT_MOST_EVERY_S = 2.0
"""A refusal is written within this time, and refusals are never written more often, however many there are."""


class ProducerHeartbeat:
    """Writes the producer's heartbeat from a thread of its own.

    Args:
        store: the producer's store.
        refused: the counts of refused deliveries.
        spools: the states of the senders' spools.
        port: distinguishes this producer from others on the same machine.
    """

    def __init__(self, store: Store, refused: Refused, spools: Spools, port: int) -> None:
        self._store, self._refused, self._spools = store, refused, spools
        self._name, self._process = f"{socket.gethostname()}:{port}", Process.here()
        self._news, self._stopping = threading.Event(), threading.Event()
        self._fails = False
        self._thread = threading.Thread(target=self._work, name="sign of life", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def write_now(self) -> None:
        """Write soon, since there is something to report."""
        self._news.set()

    def stop(self) -> None:
        """Stop writing; the row stays."""
        self._stopping.set()
        self._news.set()
        self._thread.join(timeout=5)

    def write(self) -> None:
        """Write the row."""
        try:
            with self._store.transaction() as tx:
                tx.producers.mark(self._name, self._process, self._refused.told(), self._spools.report())
        except SQLAlchemyError as error:
            if not self._fails:
                log.warning(
                    "no heartbeat: is the database up, and was `deskbridge grants` run since the upgrade?",
                    error=type(error).__name__,
                    said=words_for_the_log(error),
                )
            self._fails = True
        else:
            self._fails = False

    def _work(self) -> None:
        while not self._stopping.is_set():
            self._news.clear()
            self.write()
            self._stopping.wait(AT_MOST_EVERY_S)
            self._news.wait(EVERY_S - AT_MOST_EVERY_S)
