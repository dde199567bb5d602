"""Dry runs of a deskbridge whose cache is filled."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.dryrun.run import DryRuns
from shared.connection import Connector
from shared.metadata.synchronisation import sync_metadata
from shared.vault import Vault
from tests.support.bridge import Bridge


@pytest.fixture
def runs(bridge: Bridge) -> DryRuns:
    """Dry runs of a deskbridge whose cache is filled."""
    connect = Connector(bridge.store, Vault(bridge.settings.secret_keys)).connect
    _, client = connect()
    sync_metadata(bridge.store, client)
    client.close()
    return DryRuns(bridge.store, connect)


@pytest.fixture
def before(runs: DryRuns, stand_in: StandIn) -> dict[str, Any]:
    """What the tracker held before."""
    return stand_in.state()
