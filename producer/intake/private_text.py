"""Which private texts of ticket tasks and follow-ups may be stored, according to the Redmine settings."""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlalchemy.exc import DBAPIError, ProgrammingError

from shared.events.config import PrivateTexts
from shared.store.opening import Store
from shared.store.tables.database import is_of_the_statement
from shared.telemetry.logs import get_logger

log = get_logger("producer")
REMEMBERED_S = 5.0


class PrivateText:
    """Reads the setting, and caches it for some seconds.

    Args:
        store: the database.
        clock: a monotonic clock, in seconds.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._until, self._answer = 0.0, PrivateTexts.NONE

    def may_be_kept(self) -> PrivateTexts:
        """Return which private texts may be stored.

        If the database role may not read the settings (`deskbridge grants`), no text is stored: a stored text could not
        be removed from the journal again, and the hours are logged without it.

        Raises:
            SQLAlchemyError: if the database does not answer. The delivery is then refused and sent again: a follow-up
                without its text would be lost.
        """
        if self._clock() >= self._until:
            try:
                with self._store.transaction() as tx:
                    self._answer = tx.journal.keeps_private_text()
            except DBAPIError as error:
                if not isinstance(error, ProgrammingError) and not is_of_the_statement(error):
                    raise
                log.warning(
                    "the settings cannot be read; private texts are left out", error=type(error).__name__
                )
                self._answer = PrivateTexts.NONE
            self._until = self._clock() + REMEMBERED_S
        return self._answer
