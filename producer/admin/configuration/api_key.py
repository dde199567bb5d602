"""Redmine's API key, and the secret keys that encrypt it."""

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
    """The tracker's answer to a stored API key.

    Attributes:
        whose: login of the key's owner.
        failure: why the key cannot be used yet.
        resumed: whether the circuit breaker was open and is now closed; None if Redis is down.
    """

    whose: str = ""
    failure: SettingsError | TrackerError | None = None
    resumed: bool | None = False


def checked_key(text: str) -> str:
    """Return an API key without surrounding whitespace.

    Raises:
        SettingsError: if it is empty or has characters that no key has.
    """
    key = text.strip()
    if not key:
        raise SettingsError(Refusal.API_KEY_EMPTY(field=KEY))
    if not API_KEY.fullmatch(key):
        raise SettingsError(Refusal.API_KEY_MALFORMED(field=KEY))
    return key


def encrypted_key(vault: Vault, text: str) -> str:
    """Return a typed API key, checked and encrypted.

    Raises:
        SettingsError: if it is empty or has characters that no key has, or there is no secret key to encrypt it with.
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
    """Query the owner of the stored key; if the tracker accepts the key, close the circuit breaker."""
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
    """Check that the tracker accepts the stored API key as an administrator's; return the owner's login.

    Raises:
        SettingsError: if no tracker is configured.
        TrackerError: if the tracker refuses the key, or cannot be queried.
    """
    _, client = connect()
    client.call("GET", USERS, params={"limit": 1})
    return client.call("GET", MYSELF).login or "?"


def rotate_keys(store: Store, vault: Vault) -> bool:
    """Encrypt the stored API key and the notification addresses again, with the first secret key.

    Returns:
        False if neither is stored.

    Raises:
        SettingsError: if there is no secret key, or none of them decrypts what is stored.
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
