"""The addresses of notifications: stored encrypted, tested and removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from producer.admin.records.transaction import Store
from producer.admin.services import Services
from shared.errors import SettingsError
from shared.notices.changes import Did
from shared.notices.notice import Notice
from shared.notices.notifications import NotifyRefusal, Told
from shared.notifications import delivery, message
from shared.notifications.delivery import Delivered
from shared.notifications.due import Cause
from shared.notifications.notifier import sealed

PAGE = "/console/settings/notifications"


@dataclass(frozen=True, slots=True)
class Notified:
    """The addresses of notifications, and the result of the last message.

    Attributes:
        services: the scheme of each address; the rest is never shown.
        is_installed: whether this process can send.
        console_url: the console's address in messages, or None if it is unknown.
        sent_at: when a service last accepted a message.
        failed_at, failure: when and why a service did not accept the last one.
    """

    services: Sequence[str]
    is_installed: bool
    console_url: str | None
    sent_at: datetime | None = None
    failed_at: datetime | None = None
    failure: Notice | None = None


def show(services: Services) -> Notified:
    """Return the state of notifications, without any secret."""
    configured, is_installed = services.settings.console_url, delivery.is_installed()
    with services.store.transaction() as tx:
        found = tx.notifications.get()
        if found is None:
            return Notified((), is_installed, configured)
        return Notified(
            list(found.services),
            is_installed,
            configured or found.console_url,
            found.sent_at,
            found.failed_at,
            found.why_failed,
        )


def save(services: Services, text: str, console_url: str | None = None) -> Sequence[str]:
    """Replace the stored addresses; return the schemes of the new ones.

    Args:
        services: the collaborators.
        text: the addresses, one on each line.
        console_url: the console's address in the person's browser, used if CONSOLE_URL is not set.

    Raises:
        SettingsError: if an address is invalid, Apprise is not installed, or there is no secret key to encrypt with.
    """
    urls = _checked(services, text)
    encrypted, named = sealed(services.vault, urls), delivery.schemes(urls)
    with services.store.transaction() as tx:
        tx.notifications.put(encrypted, named, services.settings.console_url or console_url)
        tx.changes.note(Did.NOTIFICATIONS_SET(services=named))
    return named


def remove(store: Store) -> bool:
    """Remove every address, so that nothing is sent any more; return False if there was none."""
    with store.transaction() as tx:
        was_there = tx.notifications.remove()
        if was_there:
            tx.changes.note(Did.NOTIFICATIONS_REMOVED())
    return was_there


def send_test(services: Services, text: str = "", console_url: str | None = None) -> Sequence[Delivered]:
    """Send a test message now; return the result for each address.

    Args:
        services: the collaborators.
        text: the addresses to test; if it is empty, the stored ones.
        console_url: the console's address in the person's browser.

    Raises:
        SettingsError: if an address is invalid, none is stored or can be decrypted, or Apprise is not installed.
    """
    is_stored = not text.strip()
    urls = _checked(services, _stored(services) if is_stored else text)
    test = [Cause("test", Told.A_TEST(), PAGE)]
    address = services.settings.console_url or console_url
    done = delivery.deliver(
        urls,
        message.title(test),
        message.body(test, address),
        allow_link_local=services.settings.allow_link_local,
    )
    if is_stored:
        _note(services.store, done)
    return done


def _note(store: Store, done: Sequence[Delivered]) -> None:
    """Record whether the stored addresses work; a test does not change the time of the last message."""
    with store.transaction() as tx:
        tx.notifications.failed(next((one.failure for one in done if one.failure), None))


def _stored(services: Services) -> str:
    with services.store.transaction() as tx:
        found = tx.notifications.get()
    if found is None:
        raise SettingsError(NotifyRefusal.NONE_STORED())
    return services.vault.decrypt(found.urls_encrypted).get_secret_value()


def _checked(services: Services, text: str) -> list[str]:
    urls = delivery.split(text)
    delivery.check(urls, allow_link_local=services.settings.allow_link_local)
    return urls
