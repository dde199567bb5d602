"""Loads the system's authorities once, instead of 50 ms for each connection of each test."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator

import pytest

from shared.process import outbound
from shared.process.outbound import Outbound


@pytest.fixture(scope="session", autouse=True)
def _authorities_loaded_once() -> Iterator[None]:
    """Share one TLS context between connections that trust only the system's authorities; others get their own."""
    load = Outbound.tls
    loaded: dict[object, ssl.SSLContext] = {}

    def tls(self: Outbound, *, verify: bool = True) -> ssl.SSLContext:
        if self.ca_file:
            return load(self, verify=verify)
        places = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"), outbound._has_authorities
        key = (verify, *places)
        if key not in loaded:
            loaded[key] = load(self, verify=verify)
        return loaded[key]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Outbound, "tls", tls)
        yield
