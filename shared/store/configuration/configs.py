"""Keeps the plugin configuration record; the API key only ever encrypted (SPEC 2.1, 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from sqlalchemy import ColumnElement, Table, select, text
from sqlalchemy.orm import Session

from shared.events.config import PluginConfig
from shared.store.configuration.basis import CHANGES, note_change
from shared.store.tables.configuration import PluginConfigRecord
from shared.store.tables.prepared import execute_prepared, send_with_next
from shared.store.tables.types import clock, insert_for, is_on_postgresql

THE_RECORD = 1
LOCK = 5_023_704_119
"""Key of PostgreSQL's advisory lock on the settings: shared by decisions that read them, exclusive for a change.
It is granted in turn. Row locks are not: there, a shared lock overtakes a waiting exclusive one."""

SHARE, HOLD = f"pg_advisory_xact_lock_shared({LOCK})", text(f"SELECT pg_advisory_xact_lock({LOCK})")
SETTLE = f"SELECT {SHARE}"
SETTLED = "settings_settled"
RECORD = cast(Table, PluginConfigRecord.__table__)
VALUES = select(RECORD.c["values"])
STORED = select(RECORD.c["values"], RECORD.c.api_key_encrypted, CHANGES)


def settle(session: Session, with_it: str = SETTLE) -> None:
    """Have the settings stay as they are until the transaction ends, once those who change them have committed.

    Args:
        session: the transaction's; SQLite has one writer.
        with_it: a statement that takes the lock, and does something else with it.
    """
    if is_on_postgresql(session) and not session.info.get(SETTLED):
        session.info[SETTLED] = True
        send_with_next(session, with_it)


class Configs:
    """Reads and writes the single record within one transaction.

    Attributes:
        basis: how often what is sent is built from had been changed when the record was read, None before; whatever is
            read later in the transaction may be newer, and is never older.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.basis: int | None = None

    def get(self) -> tuple[PluginConfig, str | None]:
        """Return the configuration and the encrypted API key (None if none is stored)."""
        found = execute_prepared(self._session, STORED)
        if not found:
            return PluginConfig(), None
        values, api_key, self.basis = found[0]
        return PluginConfig.model_validate(_known(values)), api_key

    def is_basis(self, basis: int) -> bool:
        """Return whether nothing was changed since that what is sent is built from."""
        return self.changes() == basis

    def changes(self) -> int:
        """Return how often the basis of what is sent has been changed."""
        return self._session.scalar(select(CHANGES)) or 0

    def status_map(self) -> Mapping[int, int]:
        """Return status_map, after any change of it that is under way has been committed.

        It stays so until this transaction ends. A later change then sees what was decided by it.
        """
        settle(self._session)
        found = execute_prepared(self._session, VALUES)
        stored = found[0][0].get("status_map") if found else None
        if stored is None:
            return PluginConfig().status_map
        return {int(helpdesk_status): tracker_status for helpdesk_status, tracker_status in stored.items()}

    def hold(self) -> None:
        """Wait for running decisions that read the settings; later ones wait for this transaction.

        What is read after its commit has all that was decided by the settings of before.
        """
        if is_on_postgresql(self._session):
            self._session.execute(HOLD)

    def put(self, config: PluginConfig) -> None:
        """Replace the configuration; the API key stays, and so does what only a newer version knows of.

        Values that are there already are no change.
        """
        self.hold()
        stored = self._session.scalar(VALUES) or {}
        values = {**stored, **config.model_dump(mode="json")}
        if self._write({"values": values}, PluginConfigRecord.values.is_distinct_from(values)):
            note_change(self._session)

    def put_api_key(self, encrypted: str, *, is_another: bool = True) -> None:
        """Replace the encrypted API key; by the same key, encrypted again, nothing is changed."""
        self._write({"api_key_encrypted": encrypted})
        if is_another:
            note_change(self._session)

    def _write(self, values: dict[str, Any], where: ColumnElement[bool] | None = None) -> bool:
        given = {"values": PluginConfig().model_dump(mode="json"), **values}
        writing = (
            insert_for(self._session)(PluginConfigRecord)
            .values(id=THE_RECORD, changed_at=clock(), **given)
            .on_conflict_do_update(
                index_elements=[PluginConfigRecord.id], set_={**values, "changed_at": clock()}, where=where
            )
            .returning(PluginConfigRecord.id)
        )
        return self._session.scalar(writing) is not None


def _known(values: dict[str, Any]) -> dict[str, Any]:
    """Leave out keys of a newer version, which may run beside this one during an upgrade."""
    return {name: value for name, value in values.items() if name in PluginConfig.model_fields}
