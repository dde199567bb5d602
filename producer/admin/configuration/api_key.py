"""The API key of Redmine, and the keys that it is encrypted with."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import SecretStr
from redis.exceptions import RedisError

from producer.admin.records.transaction import Store
from producer.admin.services import Services
from shared.connection.vault import Vault
from shared.errors import SettingsError, TrackerError
from shared.metadata.synchronisation import Connect
from shared.notices.changes import Did
from shared.notices.refusals import Refusal
from shared.redis.circuit_breaker import CircuitBreaker
from shared.tracker.client import MYSELF, USERS

API_KEY = re.compile(r"[\x21-\x7e]{1,255}")
KEY = "api_key"


@dataclass(frozen=True, slots=True)
class KeyStored:
    """What the tracker says of an API key that was stored.

    Attributes:
        whose: the login that it belongs to.
        failure: why nothing can be sent with it yet.
        resumed: whether a pause ended, since the key may be what was waited for; None: Redis is away.
    """

    whose: str = ""
    failure: SettingsError | TrackerError | None = None
    resumed: bool | None = False


def checked_key(text: str) -> str:
    """Return an API key without its outer blanks.

    Raises:
        SettingsError: it is empty or holds characters that no key has.
    """
    key = text.strip()
    if not key:
        raise SettingsError(Refusal.API_KEY_EMPTY(field=KEY))
    if not API_KEY.fullmatch(key):
        raise SettingsError(Refusal.API_KEY_MALFORMED(field=KEY))
    return key


def encrypted_key(vault: Vault, text: str) -> str:
    """Return an API key as a person typed it, checked and encrypted.

    Raises:
        SettingsError: it is empty or holds characters that no key has, or there is nothing to encrypt it with.
    """
    return vault.encrypt(SecretStr(checked_key(text)))


def set_key(services: Services, text: str) -> KeyStored:
    """Encrypt and store the tracker's API key, and try it.

    Raises:
        SettingsError: as `encrypted_key`.
    """
    store_api_key(services.store, services.vault, text)
    return try_stored_key(services)


def try_stored_key(services: Services) -> KeyStored:
    """Ask the tracker whose the stored key is; what had waited for another key goes on if it takes this one."""
    try:
        whose = ask_whose_key(services.connector.connect)
    except (SettingsError, TrackerError) as failure:
        return KeyStored(failure=failure)
    try:
        return KeyStored(whose, resumed=CircuitBreaker(services.redis).end())
    except RedisError:
        return KeyStored(whose, resumed=None)


def store_api_key(store: Store, vault: Vault, text: str) -> None:
    """Encrypt and store the tracker's API key.

    Raises:
        SettingsError: as `encrypted_key`.
    """
    encrypted = encrypted_key(vault, text)
    with store.transaction() as tx:
        tx.configs.put_api_key(encrypted)
        tx.changes.note(Did.KEY_STORED())


def ask_whose_key(connect: Connect) -> str:
    """Ask the tracker whether it takes the stored API key as an administrator's; return whose it is.

    Raises:
        SettingsError: no tracker is configured.
        TrackerError: it does not, and why, or it could not be asked.
    """
    _, client = connect()
    client.call("GET", USERS, params={"limit": 1})
    return client.call("GET", MYSELF).login or "?"


def rotate_keys(store: Store, vault: Vault) -> bool:
    """Encrypt the stored API key, and the addresses of notifications, with the first of the secret keys.

    Returns:
        False if neither is stored.

    Raises:
        SettingsError: there is no secret key, or none of them opens it.
    """
    with store.transaction() as tx:
        _, encrypted = tx.configs.get()
        notified = tx.notifications.get()
        if encrypted is None and notified is None:
            return False
        if encrypted is not None:
            tx.configs.put_api_key(vault.rotate(encrypted), is_another=False)
        if notified is not None:
            tx.notifications.put_rotated(vault.rotate(notified.urls_encrypted))
        tx.changes.note(Did.KEY_ROTATED())
    return True
