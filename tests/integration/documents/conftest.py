"""Fixtures for tests of documents: a GLPI, and a deskbridge that sends its documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.store.tables.journal import EventState
from tests.integration.documents import documents_bridge
from tests.support.bridge import Bridge
from tests.support.events import task_event
from tests.support.glpi_api import GlpiApi, glpi_api


@pytest.fixture
def api() -> Iterator[GlpiApi]:
    with glpi_api() as served:
        yield served


@pytest.fixture
def sending(api: GlpiApi, stand_in: StandIn, redis_url: str, tmp_path: Path) -> Iterator[Bridge]:
    """Return a bridge that sends documents."""
    with documents_bridge(api, stand_in, redis_url, tmp_path) as made:
        yield made


@pytest.fixture
def begun(sending: Bridge) -> Bridge:
    """Return the same bridge with a ticket that already has its issue."""
    assert sending.forward(task_event()) == [EventState.DONE]
    return sending
