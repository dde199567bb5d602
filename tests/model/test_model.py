"""The two guarantees in thousands of interleavings: one issue per ticket, one time entry per Done ticket task."""

from __future__ import annotations

from tests.model.machine import PROFILE, Bridge

TestBridge = Bridge.TestCase
TestBridge.settings = PROFILE
