"""A creation whose answer is lost is found again and not repeated, even if the tracker rounds its hours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.notices.kinds import Kind
from shared.store.configuration.mappings import MappingKind
from shared.store.tables.ledger import LedgerState
from tests.contract.lossy import LossyProxy
from tests.contract.support import Json, Tracker
from tests.support.bridge import Bridge
from tests.support.events import BOB, task, task_event, ticket

pytestmark = [pytest.mark.every_version, pytest.mark.promise("OPS-27")]

ENTITY = 77
ROUNDS = 4
AROUND_A_HALF_MINUTE = (5415, 5429, 5430, 5445, 5453, 5454, 5460)


@pytest.fixture
def proxy(tracker: Tracker) -> Iterator[LossyProxy]:
    """The proxy between deskbridge and the tracker, which loses the answers that a test selects."""
    with LossyProxy(tracker.base_url) as made:
        yield made


@pytest.fixture
def bridge(
    proxy: LossyProxy, tracker: Tracker, redis_url: str, tmp_path: Path, project: Json
) -> Iterator[Bridge]:
    """A deskbridge that reaches the tracker through the proxy, with its entity mapped to a fresh project."""
    made = Bridge(f"sqlite:///{tmp_path}/bridge.sqlite3", redis_url, proxy.url, tracker.api_key)
    made.link(MappingKind.ENTITY, ENTITY, int(project["id"]))
    yield made
    made.close()


def entries(tracker: Tracker, project: Json) -> list[Json]:
    """Return the time entries of the project."""
    found: list[Json] = tracker.read(f"/time_entries.json?project_id={project['id']}&limit=100")[
        "time_entries"
    ]
    return found


def forward_and_lose(bridge: Bridge, proxy: LossyProxy, *seconds: int) -> None:
    """Forward one Done ticket task for each duration, all with the same text; the first answers are lost."""
    proxy.loses = lambda request: request == "POST /time_entries.json" and len(proxy.lost) < len(seconds)
    for number, spent in enumerate(seconds):
        done = task(600 + number, content="the same", actiontime=spent, user=BOB)
        bridge.receive(task_event(number, of_ticket=ticket(entity_id=ENTITY), of_task=done))
    bridge.sync()
    for _ in range(ROUNDS):
        bridge.hurry()
        bridge.sync()


@pytest.mark.parametrize(
    ("before", "after"),
    [("plain", "textile"), ("textile", "common_mark"), ("markdown", "textile"), ("common_mark", "textile")],
)
@pytest.mark.parametrize("content", ["<p># a<br>b</p>", "<p>a<br>b</p><p>c</p>"], ids=["fence", "prose"])
def test_an_issue_is_found_by_the_text_that_was_sent_though_the_formatting_has_changed_since(
    bridge: Bridge, proxy: LossyProxy, tracker: Tracker, project: Json, before: str, after: str, content: str
) -> None:
    bridge.configure(text_formatting=before)
    proxy.loses = lambda request: request == "POST /issues.json" and not proxy.lost
    bridge.receive(task_event(of_ticket=ticket(entity_id=ENTITY, content=content)))
    bridge.sync()
    bridge.configure(text_formatting=after)
    for _ in range(ROUNDS):
        bridge.hurry()
        bridge.sync()
    assert proxy.lost == ["POST /issues.json"]
    (made,) = tracker.read(f"/issues.json?project_id={project['id']}&status_id=*")["issues"]
    with bridge.store.transaction() as tx:
        row = tx.ledger(Kind.TICKET).get(4711)
    assert row is not None
    assert (row.state, row.tracker_id, row.attempt) == (LedgerState.LINKED, made["id"], 1), bridge.steps()
    assert len(entries(tracker, project)) == 1


@pytest.mark.parametrize("seconds", [17, 29, 5429, 5430, 5445])
def test_time_whose_answer_was_lost_is_logged_once(
    bridge: Bridge, proxy: LossyProxy, tracker: Tracker, project: Json, seconds: int
) -> None:
    forward_and_lose(bridge, proxy, seconds)
    assert proxy.lost == ["POST /time_entries.json"]
    assert len(entries(tracker, project)) == 1, bridge.steps()


def test_entries_of_one_text_and_nearly_equal_hours_each_have_their_own(
    bridge: Bridge, proxy: LossyProxy, tracker: Tracker, project: Json
) -> None:
    forward_and_lose(bridge, proxy, *AROUND_A_HALF_MINUTE)
    assert len(proxy.lost) == len(AROUND_A_HALF_MINUTE)
    made = {entry["id"]: entry["hours"] for entry in entries(tracker, project)}
    with bridge.store.transaction() as tx:
        rows = [tx.ledger(Kind.TICKET_TASK).get(600 + number) for number in range(len(AROUND_A_HALF_MINUTE))]
    assert {row.state for row in rows if row} == {LedgerState.LINKED}, bridge.steps()
    assert sorted(row.tracker_id or 0 for row in rows if row) == sorted(made)
    for row, spent in zip(rows, AROUND_A_HALF_MINUTE, strict=True):
        assert row is not None
        assert abs(made[row.tracker_id or 0] - spent / 3600) <= 1 / 120 + 0.005
