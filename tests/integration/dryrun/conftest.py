"""Dry runs of a deskbridge whose metadata cache is filled."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from deploy.sandbox.tracker.control import StandIn
from producer.admin.dryrun.run import DryRuns
from producer.admin.records.transaction import Store
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.metadata.synchronisation import sync_metadata
from tests.support.bridge import KEY, Bridge, fill
from tests.support.databases import made_file


@cache
def _synchronised(base_url: str, api_key: str) -> bytes:
    def synchronise(store: Store) -> None:
        fill(store, base_url, api_key)
        _, client = Connector(store, Vault((SecretStr(KEY),))).connect()
        sync_metadata(store, client)

    return made_file(synchronise)


@pytest.fixture
def bridge(stand_in: StandIn, redis_url: str, tmp_path: Path) -> Iterator[Bridge]:
    """A deskbridge whose metadata cache is filled."""
    url = f"sqlite:///{tmp_path}/bridge.sqlite3"
    made = Bridge(url, redis_url, stand_in.base_url, stand_in.api_key, content=_synchronised)
    yield made
    made.close()


@pytest.fixture
def runs(bridge: Bridge) -> DryRuns:
    """The dry runs of that deskbridge."""
    return DryRuns(bridge.store, Connector(bridge.store, Vault(bridge.settings.secret_keys)).connect)


@pytest.fixture
def before(runs: DryRuns, stand_in: StandIn) -> dict[str, Any]:
    """The tracker's data before the test."""
    return stand_in.state()
