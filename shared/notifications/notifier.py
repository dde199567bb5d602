"""Sends due notifications. Any number of processes may run it: the database lets one of them check at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta

from pydantic import SecretStr
from redis import Redis

from shared.connection.vault import Vault
from shared.diagnosis.redis_facts import RedisFacts, redis_facts
from shared.errors import SettingsError
from shared.notices.notifications import NotTaken
from shared.notifications import delivery, message
from shared.notifications.causes import IN_REDIS, Standing, causes
from shared.notifications.due import Cause, Decision, Remembered, decide
from shared.process.settings import Settings
from shared.store.tables.notifications import NotificationCause
from shared.store.transaction import Store
from shared.telemetry import metrics
from shared.telemetry.logs import get_logger, reason_fields

log = get_logger("notifications")
CHECKED_EVERY_S = 30.0
AFTER_FAILURE_S = 300.0
"""Seconds from a failed delivery to the next attempt."""


@dataclass(frozen=True, slots=True)
class _Message:
    """A message, and the states to restore if no service accepts it."""

    causes: Sequence[Cause]
    urls: Sequence[str]
    console_url: str | None
    untold: Mapping[str, Remembered]


class Notifier:
    """Checks for causes, and sends messages about them.

    Args:
        store: the installation's.
        redis: connection with its own time-outs.
        vault: decrypts the stored addresses.
        settings: QUIET_HOURS and CONSOLE_URL.
    """

    def __init__(self, store: Store, redis: Redis, vault: Vault, settings: Settings) -> None:
        self._store, self._redis, self._vault, self._settings = store, redis, vault, settings

    def run(self) -> None:
        """Send a message if one is due; do nothing if another process has just checked, or no address is stored.

        Raises:
            SQLAlchemyError: if the database does not answer; the next run tries again.
        """
        if not delivery.is_installed():
            return
        with self._store.transaction() as tx:
            if not tx.notifications.claim(CHECKED_EVERY_S - 1, AFTER_FAILURE_S):
                return
        facts = redis_facts(self._redis)
        try:
            found = self._next(facts)
        except SettingsError:
            log.warning("notifications cannot be sent", **reason_fields(NotTaken.URLS_NOT_OPENED()))
            with self._store.transaction() as tx:
                tx.notifications.failed(NotTaken.URLS_NOT_OPENED())
            return
        if found:
            self._send(found)

    def _next(self, facts: RedisFacts) -> _Message | None:
        """Return the due message, or None; record it as sent first, so that a crash while sending does not repeat it.

        Raises:
            SettingsError: if the addresses cannot be decrypted.
        """
        with self._store.transaction() as tx:
            record = tx.notifications.get()
            if record is None:
                return None
            before = {one.key: _remembered(one) for one in tx.notifications.causes()}
            now = tx.now()
            standing = Standing(
                now=now,
                failures=tx.failure_causes(),
                on_hold=tx.count_undecided(),
                waiting=tx.journal.waiting().count,
                newest=tx.journal.newest_received(),
                quiet=timedelta(hours=self._settings.quiet_hours),
                redis=facts,
            )
            decision = decide(
                now,
                list(causes(standing)),
                before,
                unknown=IN_REDIS if facts.fault else (),
                last_message=record.sent_at,
            )
            urls = delivery.split(self._vault.decrypt(record.urls_encrypted).get_secret_value())
            tx.notifications.remember({key: asdict(one) for key, one in decision.remembered.items()})
            if not decision.due:
                return None
            console_url = self._settings.console_url or record.console_url
            return _Message(decision.due, urls, console_url, _untold(decision, before))

    def _send(self, found: _Message) -> None:
        done = delivery.deliver(
            found.urls,
            message.title(found.causes),
            message.body(found.causes, found.console_url),
            allow_link_local=self._settings.allow_link_local,
        )
        failures = [one.failure for one in done if one.failure]
        for why in failures:
            metrics.NOT_NOTIFIED.inc()
            log.warning("a notification was not taken", **reason_fields(why))
        with self._store.transaction() as tx:
            tx.notifications.failed(failures[0] if failures else None)
            if len(failures) < len(done):
                tx.notifications.sent()
            else:
                tx.notifications.remember({key: asdict(one) for key, one in found.untold.items()})
        if len(failures) < len(done):
            log.info("notified", causes=len(found.causes), services=len(done) - len(failures))


def _untold(decision: Decision, before: Mapping[str, Remembered]) -> dict[str, Remembered]:
    """Return the states to store if no service accepts the message."""
    due = {one.key for one in decision.due}
    return {
        key: replace(
            one,
            sent_at=before[key].sent_at if key in before else None,
            count=before[key].count if key in before else 0,
        )
        if key in due
        else one
        for key, one in decision.remembered.items()
    }


def _remembered(row: NotificationCause) -> Remembered:
    return Remembered(row.since, row.sent_at, row.count)


def sealed(vault: Vault, urls: Sequence[str]) -> str:
    """Return addresses encrypted, as they are stored.

    Args:
        vault: encrypts them.
        urls: the addresses.

    Raises:
        SettingsError: if there is no key to encrypt them with.
    """
    return vault.encrypt(SecretStr("\n".join(urls)))
