"""A real Redmine for staged failures: tests change its database, which is restored after each test."""

# ruff: noqa: S608 (tables and columns are named in this file)

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DATABASE = "redmine.sqlite3"
NOW = "strftime('%Y-%m-%d %H:%M:%f000', 'now', '+1 second')"
"""Redmine reloads its settings if one is newer than those it has read."""

TABLES = {
    "projects": "projects",
    "users": "users",
    "activities": "enumerations",
    "priorities": "enumerations",
    "statuses": "issue_statuses",
    "roles": "roles",
    "issue_types": "trackers",
    "categories": "issue_categories",
    "custom_fields": "custom_fields",
    "memberships": "members",
}
SETTINGS = {
    "max_hours_per_day": "timelog_max_hours_per_day",
    "future_dates": "timelog_accept_future_dates",
}
BELONGING = {
    "users": (
        "DELETE FROM member_roles WHERE member_id IN (SELECT id FROM members WHERE user_id = ?)",
        "DELETE FROM members WHERE user_id = ?",
        "DELETE FROM email_addresses WHERE user_id = ?",
        "DELETE FROM tokens WHERE user_id = ?",
        "UPDATE issues SET author_id = (SELECT id FROM users WHERE type = 'AnonymousUser') WHERE author_id = ?",
        "UPDATE time_entries SET user_id = (SELECT id FROM users WHERE type = 'AnonymousUser') WHERE user_id = ?",
    ),
    "roles": (
        "DELETE FROM members WHERE id IN (SELECT member_id FROM member_roles WHERE role_id = ?)",
        "DELETE FROM member_roles WHERE role_id = ?",
        "DELETE FROM workflows WHERE role_id = ?",
    ),
    "statuses": ("DELETE FROM workflows WHERE ? IN (old_status_id, new_status_id)",),
    "issue_types": (
        "DELETE FROM projects_trackers WHERE tracker_id = ?",
        "DELETE FROM custom_fields_trackers WHERE tracker_id = ?",
        "DELETE FROM workflows WHERE tracker_id = ?",
    ),
}
"""Statements for what Redmine deletes with a row, or requires to be deleted first."""

Execute = Callable[[str, tuple[Any, ...]], object]


class RealRedmine:
    """A real Redmine, driven as the stand-in is (see `deploy.sandbox.tracker.control.StandIn`).

    Args:
        base_url: its address.
        api_key: its administrator's key.
        directory: where redmine-up keeps its files.
        snapshot: file for the snapshot; it must not exist yet.
    """

    def __init__(self, base_url: str, api_key: str, directory: Path, snapshot: Path) -> None:
        self.base_url, self.api_key = base_url, api_key
        self._database, self._snapshot = directory / DATABASE, snapshot
        with self._open() as execute:
            execute("VACUUM INTO ?", (str(snapshot),))

    def patch(self, table: str, row_id: int, **values: Any) -> None:
        """Change a row."""
        with self._open() as execute:
            if (modules := values.pop("modules", None)) is not None:
                _replace(execute, "enabled_modules", "project_id", row_id, "name", modules)
            if (types := values.pop("tracker_ids", None)) is not None:
                _replace(execute, "projects_trackers", "project_id", row_id, "tracker_id", types)
            if (roles := values.pop("role_ids", None)) is not None:
                _replace(execute, "member_roles", "member_id", row_id, "role_id", roles)
            if (permissions := values.pop("permissions", None)) is not None:
                values["permissions"] = "---\n" + "".join(f"- :{name}\n" for name in permissions)
            if (mail := values.pop("mail", None)) is not None:
                statement = "UPDATE email_addresses SET address = ? WHERE user_id = ? AND is_default = 1"
                execute(statement, (mail, row_id))
            if (mails := values.pop("further_mails", None)) is not None:
                _set_further_mails(execute, row_id, mails)
            for rule in ("read_only", "required"):
                if (fields := values.pop(rule, None)) is not None:
                    _set_rule(execute, row_id, rule.replace("_", ""), fields)
            if (choices := values.pop("possible_values", None)) is not None:
                values["possible_values"] = "---\n" + "".join(f"- {choice}\n" for choice in choices)
            for column, value in values.items():
                stored = int(value) if isinstance(value, bool) else value
                execute(f"UPDATE {TABLES[table]} SET {column} = ? WHERE id = ?", (stored, row_id))

    def remove(self, table: str, row_id: int) -> None:
        """Delete a row and the rows that depend on it."""
        with self._open() as execute:
            for statement in (*BELONGING.get(table, ()), f"DELETE FROM {TABLES[table]} WHERE id = ?"):
                execute(statement, (row_id,))

    def settings(self, **values: Any) -> None:
        """Change settings."""
        with self._open() as execute:
            if "required_custom_fields" in values:
                required = values.pop("required_custom_fields")
                for field_id in (3, 4, 5):
                    execute(
                        "UPDATE custom_fields SET is_required = ? WHERE id = ?",
                        (int(field_id in required), field_id),
                    )
            for name, setting in SETTINGS.items():
                if name in values:
                    value = values.pop(name)
                    execute("DELETE FROM settings WHERE name = ?", (setting,))
                    stored = str(int(value) if isinstance(value, bool) else value)
                    insert = f"INSERT INTO settings (name, value, updated_on) VALUES (?, ?, {NOW})"
                    execute(insert, (setting, stored))
            if "closed_moves" in values:
                transitions = "FROM {}workflows WHERE type = 'WorkflowTransition'"
                execute("DELETE " + transitions.format(""), ())
                execute("INSERT INTO workflows SELECT * " + transitions.format("saved."), ())
                for move in values.pop("closed_moves"):
                    moved = "DELETE FROM workflows WHERE old_status_id = ? AND new_status_id = ?"
                    execute(moved, tuple(move))
            if "rest_enabled" in values:
                on = str(int(values.pop("rest_enabled")))
                execute(
                    f"UPDATE settings SET value = ?, updated_on = {NOW} WHERE name = 'rest_api_enabled'",
                    (on,),
                )
        assert not values, f"a real Redmine is not staged so: {values}"

    def reset(self) -> None:
        """Restore the snapshot."""
        with self._open() as execute:
            tables = execute("SELECT name FROM saved.sqlite_master WHERE type = 'table' ORDER BY name", ())
            assert isinstance(tables, Iterable)
            for (table,) in list(tables):
                execute(f'DELETE FROM main."{table}"', ())
                execute(f'INSERT INTO main."{table}" SELECT * FROM saved."{table}"', ())
            execute(f"UPDATE settings SET updated_on = {NOW} WHERE name = 'rest_api_enabled'", ())

    def clear_faults(self) -> None:
        """Do nothing: a real Redmine has no faults."""

    @contextmanager
    def _open(self) -> Iterator[Execute]:
        connection = sqlite3.connect(self._database, timeout=30, isolation_level=None)
        try:
            if self._snapshot.exists():
                connection.execute("ATTACH ? AS saved", (str(self._snapshot),))
                connection.execute("BEGIN IMMEDIATE")
            yield connection.execute
            if connection.in_transaction:
                connection.execute("COMMIT")
        finally:
            connection.close()


def _set_rule(execute: Execute, role_id: int, rule: str, fields: Iterable[str]) -> None:
    """Make issue fields read-only or required for a role, in every type and status."""
    execute("DELETE FROM workflows WHERE role_id = ? AND rule = ?", (role_id, rule))
    for name in fields:
        execute(
            "INSERT INTO workflows (type, tracker_id, old_status_id, role_id, field_name, rule)"
            " SELECT 'WorkflowPermission', trackers.id, issue_statuses.id, ?, ?, ? FROM trackers, issue_statuses",
            (role_id, name, rule),
        )


def _set_further_mails(execute: Execute, user_id: int, mails: Iterable[str]) -> None:
    execute("DELETE FROM email_addresses WHERE user_id = ? AND is_default = 0", (user_id,))
    for mail in mails:
        execute(
            "INSERT INTO email_addresses (user_id, address, is_default, notify, created_on, updated_on)"
            " SELECT user_id, ?, 0, 0, created_on, updated_on FROM email_addresses WHERE user_id = ? LIMIT 1",
            (mail, user_id),
        )


def _replace(
    execute: Execute, table: str, owner: str, row_id: int, column: str, values: Iterable[Any]
) -> None:
    execute(f"DELETE FROM {table} WHERE {owner} = ?", (row_id,))
    for value in values:
        execute(f"INSERT INTO {table} ({owner}, {column}) VALUES (?, ?)", (row_id, value))
