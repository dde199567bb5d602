"""The offset of this machine's clock from the database's clock, which all processes use."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from shared.store.tables.database import ONLY_READS, Database
from shared.store.tables.types import clock
from shared.telemetry.logs import get_logger

log = get_logger("clock")
LOOKED_AT_EVERY_S = 60.0
NOTABLE_S = 5.0


class OwnClock:
    """Compares this machine's clock with the database's, at most once a minute, and logs a notable difference.

    Args:
        database: the installation's.
    """

    def __init__(self, database: Database) -> None:
        self._database, self._looked_at = database, float("-inf")
        self._ahead_s: float | None = None
        self._is_said = False

    def ahead_s(self) -> float | None:
        """Return how many seconds this machine's clock is ahead, or None if the database did not answer."""
        if time.monotonic() - self._looked_at > LOOKED_AT_EVERY_S:
            self._looked_at = time.monotonic()
            self._ahead_s = self._look()
            is_off = self._ahead_s is not None and abs(self._ahead_s) > NOTABLE_S
            if is_off and not self._is_said:
                log.warning(
                    "the clock of this machine is off the database's", ahead_s=round(self._ahead_s or 0)
                )
            self._is_said = is_off
        return self._ahead_s

    def _look(self) -> float | None:
        try:
            with self._database.engine.connect().execution_options(**{ONLY_READS: True}) as connection:
                before = datetime.now(UTC)
                theirs = connection.execute(select(clock())).scalar_one()
                here = before + (datetime.now(UTC) - before) / 2
        except SQLAlchemyError:
            return None
        return (here - theirs).total_seconds()
