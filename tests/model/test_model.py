"""Both guarantees hold in thousands of interleavings: one issue per ticket, one time entry per Done ticket task."""

from __future__ import annotations

import pytest

from tests.model.machine import PROFILE, Bridge

AT_MOST_S = 15 * PROFILE.max_examples
"""A generous bound: the long profile takes hours on a slow machine."""

pytestmark = [pytest.mark.promise("OPS-14", "OPS-16"), pytest.mark.timeout(AT_MOST_S)]

TestBridge = Bridge.TestCase
TestBridge.settings = PROFILE
