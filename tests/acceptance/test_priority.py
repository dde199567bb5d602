"""A ticket that a person waits for starts at once, however long the backlog is."""

from __future__ import annotations

import pytest

from tests.support.fleet import Fleet
from tests.support.replayed import replay_behind_a_backlog

pytestmark = pytest.mark.slow


def test_a_replay_behind_two_thousand_tickets_starts_within_two_seconds(new_fleet: Fleet) -> None:
    assert replay_behind_a_backlog(new_fleet.start()) < 2
