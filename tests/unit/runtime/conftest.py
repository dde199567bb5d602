"""The fixture `stage` of the tests of the worker's runtime."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.runtime.scheduling import Stage


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A stage, whose schedulers are closed at the end."""
    made = Stage()
    yield made
    made.close()
