"""A client for the configured tracker."""

from __future__ import annotations

import threading

from shared.connection.vault import Vault
from shared.errors import SettingsError
from shared.events.config import PluginConfig
from shared.notices.refusals import Refusal
from shared.process.outbound import DIRECT, Outbound
from shared.store.transaction import Store, Transaction
from shared.tracker.client import RateLimiter, Target, TrackerClient
from shared.tracker.meter import Meter


class Connector:
    """Reads the configuration and keeps one client as long as the tracker's address and key stay the same.

    Args:
        store: where the configuration is.
        vault: decrypts the API key.
        rate_limiter: limits the rate of calls to the tracker; None: no limit.
        allow_link_local: whether the tracker may be at a link-local or cloud-metadata address.
        meter: counts the calls.
        outbound: trusted authorities and the proxy.
    """

    def __init__(
        self,
        store: Store,
        vault: Vault,
        rate_limiter: RateLimiter | None = None,
        *,
        allow_link_local: bool = False,
        meter: Meter | None = None,
        outbound: Outbound = DIRECT,
    ) -> None:
        self._store = store
        self._vault = vault
        self._rate_limiter = rate_limiter
        self._allow_link_local = allow_link_local
        self._meter = meter
        self._outbound = outbound
        self._lock = threading.Lock()
        self._made_of: tuple[object, ...] | None = None
        self._client: TrackerClient | None = None

    def connect(self, tx: Transaction | None = None) -> tuple[PluginConfig, TrackerClient]:
        """Return the current configuration and a client for its tracker.

        Args:
            tx: open transaction to read it in; None opens a new one.

        Raises:
            SettingsError: if the address or the key is missing, or the key cannot be decrypted.
        """
        if tx is None:
            with self._store.transaction() as own:
                return self.connect(own)
        config, encrypted = tx.configs.get()
        if config.base_url is None:
            raise SettingsError(Refusal.TRACKER_NOT_CONFIGURED())
        if encrypted is None:
            raise SettingsError(Refusal.API_KEY_NOT_STORED())
        return config, self._client_for(config.base_url, encrypted, config)

    def _client_for(self, base_url: str, encrypted: str, config: PluginConfig) -> TrackerClient:
        made_of = (base_url, encrypted, config.header_prefix, config.verify_tls)
        with self._lock:
            if self._client is None or made_of != self._made_of:
                key = self._vault.decrypt(encrypted)
                target = Target(
                    base_url,
                    key,
                    config.header_prefix,
                    config.verify_tls,
                    self._allow_link_local,
                    self._outbound,
                )
                self._client = TrackerClient(target, rate_limiter=self._rate_limiter, meter=self._meter)
                self._made_of = made_of
            return self._client
