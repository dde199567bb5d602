"""An installation as processes, over a stand-in tracker of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.sandbox.tracker.control import StandIn
from tests.support.fleet import Fleet


@pytest.fixture
def new_fleet(tmp_path: Path, postgres_url: str, redis_url: str) -> Iterator[Fleet]:
    """A fleet that is to be started, and is stopped after the test."""
    with StandIn() as stand_in:
        made = Fleet(tmp_path, postgres_url, redis_url, stand_in)
        try:
            yield made
        finally:
            made.stop()
