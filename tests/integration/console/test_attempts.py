"""A ticket's history is folded: one line per attempt, the newest one open, and reads kept in the background."""

from __future__ import annotations

import re

import pytest

from producer.admin.records.rights import Right
from tests.integration.console.conftest import ComeIn
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge
from tests.support.events import task_event

ATTEMPT = re.compile(
    r'<details class="attempt( bad)?" id="attempt-(\d+)"( open data-was)?><summary>(.*?)</summary>', re.S
)


@pytest.fixture
def visitor(come_in: ComeIn) -> Visitor:
    return come_in(Right.OPERATOR)


def shown(page: str) -> list[tuple[str, bool, bool, str]]:
    """Return each attempt on a page: its number, whether it failed, whether it is open, and its line."""
    return [
        (number, bool(bad), bool(is_open), re.sub(r"<[^>]*>", "", line))
        for bad, number, is_open, line in ATTEMPT.findall(page)
    ]


def history(visitor: Visitor) -> str:
    """Return the HTML of the ticket's page."""
    visitor.open("/console/tickets/4711")
    return visitor.page


def test_each_attempt_has_a_line_that_says_how_it_ended_and_the_newest_is_open(
    visitor: Visitor, bridge: Bridge
) -> None:
    bridge.configure(default_activity_id=77)
    assert bridge.forward(task_event()) == ["failed"]
    bridge.configure(default_activity_id=9)
    visitor.open("/console/tickets/4711")
    visitor.do("/console/tickets/4711/replay")
    bridge.sync(4711)
    newest, first = shown(history(visitor))
    assert (newest[:3], first[:3]) == (("2", False, True), ("1", True, False))
    assert "1.50 h logged" in newest[3], newest
    assert "Event 1: failed" in first[3], first


def test_reads_of_one_attempt_that_follow_each_other_are_folded(visitor: Visitor, bridge: Bridge) -> None:
    bridge.configure(default_activity_id=77)
    bridge.forward(task_event())
    page = history(visitor)
    assert re.search(r'<li class="probe"><details><summary>\d+ read requests to Redmine</summary>', page)
    assert '<li class="bad"><details>' in page, "the refusal is not folded"
