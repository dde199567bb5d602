"""Collaborators of the command line and the console: built once per process, each when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redis import Redis

    from producer.admin.access.accounts import AccountStore
    from producer.admin.dryrun.run import DryRuns
    from producer.admin.naming.names import Names
    from producer.admin.projects.projects import ProjectForms
    from producer.admin.records.transaction import Store
    from producer.admin.templates.templates import TemplateStore
    from shared.connection.connector import Connector
    from shared.connection.vault import Vault
    from shared.process.settings import Settings
    from shared.redis.installation import Whose
    from shared.redis.locks import Locks

MOST_WITH_PRIORITY = 100
"""More tickets get no priority, since they are a backlog themselves."""


@dataclass(frozen=True)
class Services:
    """The collaborators of one process. Imports are deferred, so that `--help` is quick."""

    settings: Settings
    store: Store

    @cached_property
    def redis(self) -> Redis:
        from shared.redis import locks

        return locks.make_redis(self.settings, self.whose)

    @cached_property
    def whose(self) -> Whose:
        """The provider of the installation's id."""
        from shared.redis.installation import Whose

        return Whose(self.store.database)

    @cached_property
    def locks(self) -> Locks:
        """Locks that all processes of the installation share."""
        from shared.redis.locks import Locks

        return Locks(self.redis, self.settings.lock_lease, keeps=True)

    @cached_property
    def vault(self) -> Vault:
        """The vault that encrypts and decrypts the tracker's API key."""
        from shared.connection.vault import Vault

        return Vault(self.settings.secret_keys)

    @cached_property
    def connector(self) -> Connector:
        """The connector to the tracker, within the rate limit that all workers share."""
        from shared.redis.rate_limit import RateLimiter

        limit = self.settings.rate_limit
        return self._connector(RateLimiter(self.redis, limit).next_turn if limit else None)

    @cached_property
    def checks(self) -> Connector:
        """The connector for checks, which do not wait for the rate limit: they must report if it is the cause."""
        return self._connector(None)

    def _connector(self, rate_limiter: Callable[[], float] | None) -> Connector:
        from shared.connection.connector import Connector
        from shared.process.outbound import Outbound

        settings = self.settings
        return Connector(
            self.store,
            self.vault,
            rate_limiter,
            allow_link_local=settings.allow_link_local,
            outbound=Outbound.of(settings),
        )

    @cached_property
    def project_forms(self) -> ProjectForms:
        from producer.admin.projects.projects import ProjectForms

        connect, settling = self.connector.connect, self.settings.settling_time
        return ProjectForms(self.store, self.locks, connect, settling, self.notify)

    @cached_property
    def names(self) -> Names:
        """The names of items that have a number in GLPI or Redmine."""
        from producer.admin.naming.names import Names

        return Names(self.store)

    @property
    def accounts(self) -> AccountStore:
        """Accounts, sessions and API tokens."""
        from producer.admin.access.accounts import AccountStore

        return AccountStore(self.store)

    @property
    def templates(self) -> TemplateStore:
        from producer.admin.templates.templates import TemplateStore

        return TemplateStore(self.store)

    @property
    def dry_runs(self) -> DryRuns:
        from producer.admin.dryrun.run import DryRuns

        return DryRuns(self.store, self.connector.connect, self.settings.settling_time)

    def notify(self, ticket_ids: Sequence[int]) -> bool:
        """Notify tickets, with priority if they are few; return False if the broker is down: the sweep will notify."""
        if not ticket_ids:
            return True
        from shared.queue.publisher import Publisher

        has_priority = len(ticket_ids) <= MOST_WITH_PRIORITY
        return Publisher(self.settings, self.whose).notify(ticket_ids, has_priority=has_priority)
