"""The two guarantees in thousands of interleavings: one issue per ticket, one time entry per Done ticket task."""

from __future__ import annotations

import pytest

from tests.model.machine import PROFILE, Bridge

pytestmark = [pytest.mark.promise("OPS-14", "OPS-16"), pytest.mark.timeout(900)]

TestBridge = Bridge.TestCase
TestBridge.settings = PROFILE
