"""A console runs all checks regularly, so that the first page and monitors have results that no person asked for."""

from __future__ import annotations

import pytest

from producer.admin.doctor.finding import CheckResult
from producer.admin.doctor.installation import Installation
from producer.admin.doctor.latest import examined
from producer.console.app import create_console
from producer.console.pages import doctor
from shared.redis.examination import kept
from tests.integration.console.conftest import Console
from tests.support.bridge import Bridge
from tests.support.waiting import until


@pytest.fixture
def fails_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the checks often, and fail the first time."""
    tries = list[str]()

    def failing(installation: Installation) -> list[CheckResult]:
        tries.append("examined")
        if len(tries) == 1:
            raise RuntimeError("a fault of ours")
        return examined(installation)

    monkeypatch.setattr(doctor, "EXAMINED_EVERY_S", 0.05)
    monkeypatch.setattr(doctor, "examined", failing)


@pytest.mark.usefixtures("fails_first")
def test_a_console_keeps_what_it_found_and_goes_on_after_a_fault(bridge: Bridge) -> None:
    running = Console(create_console(bridge.settings))
    running.start()
    try:
        until(lambda: kept(bridge.redis) is not None)
    finally:
        running.stop()
    assert "worker" in {one["check"] for one in kept(bridge.redis) or ()}, "none runs here"
