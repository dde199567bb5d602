"""A deskbridge that works, in which one thing is then made to fail."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.connection import Connector
from shared.coordination.presence import BEAT, WORKER, Presence
from shared.metadata.synchronisation import sync_metadata
from shared.vault import Vault
from tests.failures.stage import Stage
from tests.integration.conftest import bridge, stand_in, stand_in_process
from tests.support.bridge import Bridge

__all__ = ["bridge", "stand_in", "stand_in_process"]


@pytest.fixture
def stage(bridge: Bridge, stand_in: StandIn) -> Iterator[Stage]:
    """The stage, synchronised a moment ago, so that whatever is staged is newer than the cache."""
    sync_metadata(bridge.store, Connector(bridge.store, Vault(bridge.settings.secret_keys)).connect()[1])
    bridge.configure(membership_for="nobody")
    presence = Presence(bridge.redis)
    presence.mark(WORKER)
    presence.mark(BEAT)
    yield Stage(bridge, stand_in)
    stand_in.clear_faults()
