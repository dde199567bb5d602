"""Tests a connection to the tracker with settings that are not stored yet."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import SecretStr

from producer.admin.configuration.api_key import checked_key
from producer.admin.configuration.configuration import change_of_address
from producer.admin.configuration.moving import client_of
from producer.admin.doctor.finding import CheckResult, Status
from producer.admin.doctor.installation import Installation
from producer.admin.doctor.tracker import connection
from producer.admin.services import Services
from shared.connection.vault import Vault
from shared.errors import SettingsError, TrackerError
from shared.events.config import PluginConfig
from shared.notices.invalid import Invalid, faulty
from shared.notices.refusals import Refusal
from shared.tracker.client import MYSELF, TrackerClient

KEPT_S = 3600
"""How long a tested key can be saved without being typed again."""


@dataclass(frozen=True, slots=True)
class Tested:
    """The result of a connection test.

    Attributes:
        user: login of the key's owner; empty if the tracker does not report it.
        milliseconds: duration of the first call.
    """

    results: Sequence[CheckResult]
    user: str
    milliseconds: int

    @property
    def works(self) -> bool:
        """Whether nothing failed."""
        return all(one.status is not Status.FAILURE for one in self.results)


def try_connection(services: Services, wanted: PluginConfig, typed_key: str) -> Tested:
    """Test whether a tracker accepts a key and lets its owner act for others; store nothing.

    Args:
        services: the collaborators.
        wanted: the settings as typed.
        typed_key: the key; if empty, the stored one is used, provided that the address is unchanged.

    Raises:
        SettingsError: if the address or the key is missing or not allowed, or the stored key would be sent elsewhere.
    """
    with services.store.transaction() as tx:
        before, encrypted = tx.configs.get()
    if wanted.base_url is None:
        raise SettingsError(faulty(Refusal.CONFIG_NOT_VALID, [("base_url", Invalid.ADDRESS_NEEDED())]))
    change_of_address(
        wanted, before, typed=bool(typed_key), allow_link_local=services.settings.allow_link_local
    )
    if typed_key:
        key = SecretStr(checked_key(typed_key))
    elif encrypted:
        key = services.vault.decrypt(encrypted)
    else:
        raise SettingsError(faulty(Refusal.CONFIG_NOT_VALID, [("api_key", Invalid.KEY_NEEDED())]))
    client = client_of(services, wanted, key)
    installation = replace(Installation.of(services), connect=lambda: (wanted, client))
    began = time.monotonic()
    user = _whose(client)
    took = round((time.monotonic() - began) * 1000)
    return Tested(list(connection(installation)), user, took)


def sealed_key(vault: Vault, base_url: str, key: str) -> str:
    """Return a key that was tested with an address, encrypted so that a page can hold it until it is saved.

    Raises:
        SettingsError: if there is no secret key to encrypt it with.
    """
    return vault.encrypt(SecretStr(json.dumps([base_url.rstrip("/"), key])))


def unsealed_key(vault: Vault, base_url: str, sealed: str) -> str | None:
    """Return a tested key, or None if it was tested with another address or is too old.

    Args:
        vault: decrypts it.
        base_url: the address to be saved.
        sealed: the encrypted key that the page held.
    """
    try:
        tested_with, key = json.loads(vault.decrypt(sealed, KEPT_S).get_secret_value())
    except (SettingsError, ValueError, TypeError):
        return None
    return str(key) if tested_with == base_url.rstrip("/") else None


def _whose(client: TrackerClient) -> str:
    try:
        return client.call("GET", MYSELF).login or ""
    except TrackerError:
        return ""
