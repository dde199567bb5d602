"""Collaborators of commands: settings read once, the store, the publisher."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from producer.admin.services import Services
from producer.cli.failures import WrongUsage
from producer.cli.output import count, warn
from shared.errors import SettingsError

if TYPE_CHECKING:
    from shared.process.settings import Settings


class CommandServices(Services):
    """The collaborators of one command."""

    def notify(self, ticket_ids: Sequence[int]) -> bool:
        """Notify tickets; only warn if the broker is down, since the sweep then notifies them."""
        notified = super().notify(ticket_ids)
        if not notified:
            warn(
                f"the broker cannot be reached, so workers were not notified of {count(len(ticket_ids), 'ticket')}. "
                "Their next sweep finds the work."
            )
        return notified


def who_types() -> str:
    """Return the name that histories show for the user of the command line."""
    try:
        return f"{getpass.getuser()} at the command line"
    except (OSError, KeyError):  # a user of the system without a name
        return "the command line"


def settings(process: str = "command") -> Settings:
    """Read the environment and set up logging.

    Args:
        process: the name of the process in log lines.

    Raises:
        WrongUsage: if a variable is unknown or invalid.
    """
    import logging

    from shared.process.settings import load_settings
    from shared.telemetry.logs import CHANNEL, configure_logging

    try:
        loaded = load_settings()
    except SettingsError as error:
        raise WrongUsage(error.notice) from None
    configure_logging(loaded.log_format, process=process)
    if process == "command":  # a command itself reports what a process would log
        logging.getLogger(CHANNEL).setLevel(logging.CRITICAL)
        logging.getLogger(f"{CHANNEL}.throttle").setLevel(logging.WARNING)  # what a command waits for
    return loaded


@contextmanager
def open_services() -> Iterator[CommandServices]:
    """Open the database, check that it is migrated, and close it at the end of the block.

    Raises:
        WrongUsage: if the environment is invalid.
        SettingsError: if `deskbridge migrate` is due.
    """
    from producer.admin.records.transaction import Store
    from shared.store.configuration.changes import acting
    from shared.store.tables.database import Database
    from shared.store.tables.schema import require_current

    loaded = settings()
    database = Database(loaded.database_url.get_secret_value())
    try:
        require_current(database, loaded=loaded.is_loaded)
        with acting(who_types()):
            yield CommandServices(loaded, Store(database))
    finally:
        database.close()
