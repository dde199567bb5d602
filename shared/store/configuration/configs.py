"""Stores the Redmine settings, and the API key in encrypted form only (SPEC 2.1, 5.1)."""

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
It is granted in order of request. With row locks, a shared lock would overtake a waiting exclusive one."""

SHARE, HOLD = f"pg_advisory_xact_lock_shared({LOCK})", text(f"SELECT pg_advisory_xact_lock({LOCK})")
SETTLE = f"SELECT {SHARE}"
SETTLED = "settings_settled"
RECORD = cast(Table, PluginConfigRecord.__table__)
VALUES = select(RECORD.c["values"])
STORED = select(RECORD.c["values"], RECORD.c.api_key_encrypted, CHANGES)


def lock_shared(session: Session, with_it: str = SETTLE) -> None:
    """Lock the settings against changes until the transaction ends, after changes in progress have committed.

    Args:
        session: the transaction; on SQLite there is nothing to lock, since it has one writer.
        with_it: the statement that takes the lock; it may do more.
    """
    if is_on_postgresql(session) and not session.info.get(SETTLED):
        session.info[SETTLED] = True
        send_with_next(session, with_it)


class Configs:
    """Reads and writes the single record within one transaction.

    Attributes:
        basis: the settings version when the record was read, None before; data read later in the transaction may be
            newer, but is never older.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.basis: int | None = None

    def get(self) -> tuple[PluginConfig, str | None]:
        """Return the Redmine settings and the encrypted API key (None if none is stored)."""
        found = execute_prepared(self._session, STORED)
        if not found:
            return PluginConfig(), None
        values, api_key, self.basis = found[0]
        return PluginConfig.model_validate(_known(values)), api_key

    def is_basis(self, basis: int) -> bool:
        """Return whether the settings version is still this one."""
        return self.changes() == basis

    def changes(self) -> int:
        """Return the current settings version."""
        return self._session.scalar(select(CHANGES)) or 0

    def status_map(self) -> Mapping[int, int]:
        """Lock the settings, after changes in progress have committed, and return status_map.

        It cannot change until this transaction ends. A later change then sees the decisions that were based on it.
        """
        lock_shared(self._session)
        found = execute_prepared(self._session, VALUES)
        stored = found[0][0].get("status_map") if found else None
        if stored is None:
            return PluginConfig().status_map
        return {int(helpdesk_status): tracker_status for helpdesk_status, tracker_status in stored.items()}

    def lock_exclusive(self) -> None:
        """Lock the settings for a change: wait for running decisions that use them, and block later ones.

        Reads after the commit see every decision that was based on the old settings.
        """
        if is_on_postgresql(self._session):
            self._session.execute(HOLD)

    def put(self, config: PluginConfig) -> None:
        """Replace the Redmine settings; the API key and settings that only a newer version has stay.

        If the values are the same, this is not a change.
        """
        self.lock_exclusive()
        stored = self._session.scalar(VALUES) or {}
        values = {**stored, **config.model_dump(mode="json")}
        if self._write({"values": values}, PluginConfigRecord.values.is_distinct_from(values)):
            note_change(self._session)

    def put_api_key(self, encrypted: str, *, is_another: bool = True) -> None:
        """Replace the encrypted API key; if it is the same key encrypted again, this is not a change."""
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
    """Leave out settings of a newer version, which may run beside this one during an upgrade."""
    return {name: value for name, value in values.items() if name in PluginConfig.model_fields}
