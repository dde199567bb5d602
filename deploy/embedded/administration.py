"""Sets up an installation and reads its data, through the use cases behind the command line.

The only module of this package that imports the product.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from deploy.embedded.errors import EmbeddedError
from deploy.sandbox.samples import Installation
from producer.admin.access.accounts import AccountStore
from producer.admin.configuration import configuration
from producer.admin.configuration.api_key import store_api_key
from producer.admin.migrations.upgrading import upgrade
from producer.admin.people.people import map_user
from producer.admin.projects.mappings import add_mapping
from producer.admin.records.rights import Right
from producer.admin.records.transaction import Store
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.errors import BridgeError
from shared.events.config import PluginConfig
from shared.metadata.synchronisation import sync_metadata
from shared.process.settings import load_settings
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.store.tables.database import Database
from shared.store.tables.journal import EventState


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One event in the journal."""

    event_id: int
    ticket_id: int
    state: str
    reason: str

    @property
    def has_ended(self) -> bool:
        """Whether the event is not pending any more."""
        return self.state != EventState.PENDING


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """One step of a ticket's history."""

    what: str
    why: str
    task_id: int | None


@dataclass(frozen=True, slots=True)
class ProjectMappings:
    """A ticket's links: its issue, and its time entries by ticket task."""

    issue: int | None
    time_entries: dict[int, int]


@contextmanager
def _in_words(problem: str) -> Iterator[None]:
    """Turn errors of the product and of the database into a message of one line."""
    try:
        yield
    except BridgeError as error:
        raise EmbeddedError(f"{problem}: {error}") from None
    except SQLAlchemyError as error:
        said = getattr(error, "orig", None) or type(error).__name__
        raise EmbeddedError(f"{problem}: {said}") from None


class Administration:
    """An administrator of one installation.

    Args:
        environment: the installation's settings (DESKBRIDGE_…).
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        with _in_words("the installation's settings are not valid"):
            settings = load_settings(environment)
        self._vault = Vault(settings.secret_keys)
        self._store = Store(Database(settings.database_url.get_secret_value()))

    def migrate(self) -> None:
        """Migrate the database to the newest schema.

        Raises:
            EmbeddedError: if the database cannot be used.
        """
        with _in_words("the database cannot be used"):
            upgrade(self._store.database)

    def set_up(self, base_url: str, api_key: str, wanted: Installation) -> None:
        """Configure the tracker, read its metadata, and set values that the samples need and that are not set yet.

        Args:
            base_url: the tracker's address; it may have moved since the last start.
            api_key: its administrator's key.
            wanted: Redmine settings, project mappings and user mappings.

        Raises:
            EmbeddedError: if a value was refused, or the tracker did not answer.
        """
        with _in_words("the installation could not be set up"):
            configuration.change(self._store, {"base_url": base_url}, moved=True)
            store_api_key(self._store, self._vault, api_key)
            sync_metadata(self._store, Connector(self._store, self._vault).connect()[1])
            self._configure(wanted.config)
            self._link(wanted.links)
            self._map_users(wanted.user_map)

    def _configure(self, values: Mapping[str, Any]) -> None:
        now = configuration.show(self._store)
        untouched = PluginConfig().model_dump(mode="json")
        missing = {name: json.dumps(value) for name, value in values.items() if now[name] == untouched[name]}
        if missing:
            configuration.change(self._store, missing)

    def _link(self, links: Sequence[Mapping[str, Any]]) -> None:
        with self._store.transaction() as tx:
            known = {(link.kind, link.helpdesk_id) for link in tx.mappings.all()}
        for values in links:
            link = ProjectMapping(**{**values, "kind": MappingKind(values["kind"])})
            if (link.kind, link.helpdesk_id) not in known:
                add_mapping(self._store, link, replay=False)

    def _map_users(self, overrides: Sequence[Mapping[str, int]]) -> None:
        with self._store.transaction() as tx:
            known = tx.people.overrides()
        for override in overrides:
            if override["helpdesk_user_id"] not in known:
                map_user(self._store, **override)

    def journal(self, ticket_ids: Iterable[int]) -> dict[int, JournalEntry]:
        """Return the events of some tickets, by event id."""
        with self._store.transaction() as tx:
            rows = [row for one in ticket_ids for row in tx.journal.find(ticket_id=one, limit=None)]
        return {row.id: JournalEntry(row.id, row.ticket_id, row.state, row.reason or "") for row in rows}

    def has_begun(self, ticket_id: int) -> bool:
        """Return whether the creation of a ticket's issue has begun."""
        with self._store.transaction() as tx:
            return tx.issues.get(ticket_id) is not None

    def owes_status(self, ticket_ids: Iterable[int]) -> bool:
        """Return whether the status of one of these tickets' issues is still to be set."""
        with self._store.transaction() as tx:
            for ticket_id in ticket_ids:
                state, issue = tx.statuses.get(ticket_id), tx.issues.get(ticket_id)
                if state and state.status_due and issue and issue.tracker_id is not None:
                    return True
        return False

    def counts(self) -> dict[str, int]:
        """Return how many events of the whole journal are in each state."""
        with self._store.transaction() as tx:
            return {str(state): tx.journal.count(state) for state in EventState}

    def trace(self, ticket_id: int) -> list[TraceEntry]:
        """Return a ticket's history, oldest step first."""
        with self._store.transaction() as tx:
            return [TraceEntry(step.what, step.why, step.task_id) for step in tx.trace.of_ticket(ticket_id)]

    def links(self, ticket_id: int, task_ids: set[int]) -> ProjectMappings:
        """Return the links of a ticket and its ticket tasks to the tracker."""
        with self._store.transaction() as tx:
            issue = tx.issues.get(ticket_id)
            times = tx.times.of_keys(task_ids)
            return ProjectMappings(
                issue.tracker_id if issue else None,
                {task_id: row.tracker_id for task_id, row in times.items() if row.tracker_id is not None},
            )

    def sign_in_code(self, name: str) -> str:
        """Return a one-time code that signs an administrator in to the console; the account is created if missing."""
        accounts = AccountStore(self._store)
        if all(one.name != name for one in accounts.all()):
            accounts.add(name, None, Right.ADMINISTRATOR)
        return accounts.link_for(name)

    def close(self) -> None:
        """Close the connections."""
        self._store.database.close()
