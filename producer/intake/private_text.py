"""Which private texts of ticket tasks and follow-ups may be kept: the plugin config says so."""

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
    """Asks for the setting, and uses its answer for some seconds.

    Args:
        store: where the plugin config is.
        clock: a clock that only goes forward, in seconds.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._until, self._answer = 0.0, PrivateTexts.NONE

    def may_be_kept(self) -> PrivateTexts:
        """Return what the settings say.

        If the role has no right to read them (`deskbridge grants`), no text is kept: it cannot be undone from the
        journal, and the hours come all the same.

        Raises:
            SQLAlchemyError: the database does not answer. The delivery is refused and sent again: a follow-up without
                its text would be lost.
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
