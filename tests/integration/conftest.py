"""A deskbridge over a mock Redmine, a real Redis and a real database."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.sandbox.tracker.control import StandIn
from tests.support.bridge import Bridge
from tests.support.tls import Authority


@pytest.fixture(scope="session")
def stand_in_process() -> Iterator[StandIn]:
    """A mock Redmine for the whole session."""
    with StandIn(in_process=True) as stand_in:
        yield stand_in


@pytest.fixture
def stand_in(stand_in_process: StandIn) -> StandIn:
    """A mock Redmine that contains only its seed data."""
    stand_in_process.reset()
    return stand_in_process


@pytest.fixture
def bridge(stand_in: StandIn, redis_url: str, tmp_path: Path) -> Iterator[Bridge]:
    """A deskbridge mapped to the stand-in's project "support"."""
    made = Bridge(f"sqlite:///{tmp_path}/bridge.sqlite3", redis_url, stand_in.base_url, stand_in.api_key)
    yield made
    made.close()


@pytest.fixture
def bridge_on_postgresql(stand_in: StandIn, redis_url: str, emptied_postgres_url: str) -> Iterator[Bridge]:
    """The same deskbridge over PostgreSQL."""
    made = Bridge(emptied_postgres_url, redis_url, stand_in.base_url, stand_in.api_key)
    yield made
    made.close()


@pytest.fixture
def tls_context(tmp_path: Path) -> ssl.SSLContext:
    """The TLS context of a server whose certificate only `authority.pem` vouches for, which no client trusts."""
    return Authority(tmp_path).context()
