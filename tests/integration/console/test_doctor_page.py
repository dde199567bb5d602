"""The doctor's page queries the tracker only now and then, however many people load it, and blocks no other page."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.records.rights import Right
from tests.integration.console.conftest import ComeIn, Console
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge

AT_ONCE = 60


@pytest.fixture
def visitor(come_in: ComeIn) -> Visitor:
    return come_in(Right.VIEWER)


@pytest.mark.promise("SEC-78")
def test_sixty_loads_at_once_examine_once_and_keep_no_other_page_waiting(
    visitor: Visitor, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on, begun = threading.Event(), []

    def examine(_: Any) -> Iterator[Any]:
        begun.append(time.monotonic())
        assert may_go_on.wait(90)
        return iter(())

    monkeypatch.setattr("producer.admin.doctor.examination.examine", examine)

    def load(_: int) -> str:
        one = Visitor(console.base_url)
        one.http.cookies.update(visitor.http.cookies)
        try:
            return one.open("/console/doctor")
        finally:
            one.close()

    with ThreadPoolExecutor(AT_ONCE) as at_once:
        loads = [at_once.submit(load, number) for number in range(AT_ONCE)]
        while not begun:
            time.sleep(0.01)
        for _ in range(5):
            assert "Audit log" in visitor.open("/console/changes")
        assert not any(one.done() for one in loads)
        may_go_on.set()
        assert all("All checks passed" in one.result(90) for one in loads)
    assert len(begun) == 1
    visitor.open("/console/doctor")
    assert len(begun) == 1, "it is kept for some seconds"
    monkeypatch.setattr(console.app.state.examinations, "_fresh_s", 0.0)
    visitor.open("/console/doctor")
    assert len(begun) == 2


def test_what_an_examination_finds_is_said_in_each_visitors_language(visitor: Visitor) -> None:
    assert "What to do" in visitor.open("/console/doctor")
    visitor.do("/console/language", {"language": "fr"})
    assert "What to do" not in visitor.open("/console/doctor")


def test_causes_come_first_and_what_they_keep_from_being_checked_is_folded(
    visitor: Visitor, bridge: Bridge, stand_in: StandIn
) -> None:
    stand_in.fault("status_before", status=500)
    visitor.open("/console/doctor")
    table, _, folded = visitor.page.partition('id="not-checked"')
    assert ">Redmine</th>" in table
    assert "a prerequisite is missing" not in table
    assert "checks could not be run until the failures are fixed" in folded
    assert "a prerequisite is missing" in folded
