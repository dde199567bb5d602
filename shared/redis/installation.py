"""The installation that a process belongs to; its id is stored in the database."""

from __future__ import annotations

import threading

from redis.exceptions import ConnectionError as RedisConnectionError
from sqlalchemy.exc import SQLAlchemyError

from shared.store.journal.installations import installation_id
from shared.store.tables.database import Database


class InstallationUnknown(RedisConnectionError):
    """The database cannot be queried, so the installation and its keys in Redis are unknown."""


class Whose:
    """Returns the installation's id, which it reads from the database only once.

    Args:
        database: the installation's database.
    """

    def __init__(self, database: Database) -> None:
        self._database, self._asking = database, threading.Lock()
        self._known: str | None = None

    def __call__(self) -> str:
        """Return the id.

        Raises:
            InstallationUnknown: if the database does not exist or cannot be queried.
        """
        if self._known is None:
            with self._asking:
                if self._known is None:
                    self._known = self._asked()
        return self._known

    def _asked(self) -> str:
        if self._database.missing_file is not None:
            raise InstallationUnknown("there is no database")
        try:
            return installation_id(self._database)
        except SQLAlchemyError as error:
            raise InstallationUnknown(type(error).__name__) from None
