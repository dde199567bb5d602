"""Private ticket tasks and copies follow one setting, however they arrive (SPEC section 3)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.backfill.replay import replay_code
from shared.events.delivery import parse_delivery
from shared.helpdesk.glpi import GlpiLookup
from shared.helpdesk.reconciliation import reconcile
from shared.notices.reasons import Reason
from shared.store.tables.journal import EventState
from tests.support.bridge import Bridge
from tests.support.events import task, task_event
from tests.support.glpi_api import GlpiApi, glpi_api

SPARE_KEY = "the spare key is below the mat"
START = datetime(2026, 11, 1, 8, tzinfo=UTC)
FALLBACK = "Work on helpdesk ticket #4711"


@pytest.fixture
def api() -> Iterator[GlpiApi]:
    with glpi_api() as served:
        served.users = {7: "alice@example.test"}
        yield served


def private(task_id: int = 512, **of_task: Any) -> dict[str, Any]:
    return task_event(of_task=task(task_id, content=SPARE_KEY, is_private=True, **of_task))


def comments(stand_in: StandIn) -> list[str]:
    return [one["comments"] for one in stand_in.state()["time_entries"]]


def test_a_private_task_logs_its_hours_and_nothing_else(bridge: Bridge, stand_in: StandIn) -> None:
    assert bridge.forward(private()) == [EventState.DONE]
    (entry,) = stand_in.state()["time_entries"]
    assert (float(entry["hours"]), entry["comments"]) == (1.5, FALLBACK)
    assert SPARE_KEY not in str(stand_in.state())


def test_a_text_that_was_stored_before_the_setting_changed_is_not_sent(
    bridge: Bridge, stand_in: StandIn
) -> None:
    bridge.configure(private_tasks="send")
    bridge.receive(private())
    bridge.configure(private_tasks="hours_only")
    bridge.sync()
    assert comments(stand_in) == [FALLBACK]


def test_a_private_text_is_sent_if_the_settings_say_so(bridge: Bridge, stand_in: StandIn) -> None:
    bridge.configure(private_tasks="send")
    bridge.forward(private())
    assert comments(stand_in) == [SPARE_KEY]


def test_private_tasks_that_were_skipped_are_logged_by_a_replay_once_the_setting_is_another(
    bridge: Bridge, stand_in: StandIn
) -> None:
    bridge.configure(private_tasks="skip")
    assert bridge.forward(private()) == [EventState.SKIPPED]
    assert not comments(stand_in)
    bridge.configure(private_tasks="hours_only")
    replay_code(bridge.store, EventState.SKIPPED, str(Reason.PRIVATE_TASK))
    bridge.sync()
    assert comments(stand_in) == [FALLBACK]


def test_a_private_task_that_nobody_told_of_logs_its_hours_without_its_text(
    bridge: Bridge, api: GlpiApi, stand_in: StandIn
) -> None:
    api.ticket(4711, START.isoformat(), assigned=7)
    api.task(4711, 512, START.isoformat(), content=SPARE_KEY, is_private=True)
    reconcile(bridge.store, GlpiLookup(api.access), START)
    with bridge.store.transaction() as tx:
        assert not any(SPARE_KEY in row.payload for row in tx.journal.find(limit=None))
    bridge.sync()
    assert comments(stand_in) == [FALLBACK]


def test_private_tasks_are_not_missed_if_they_are_skipped(bridge: Bridge, api: GlpiApi) -> None:
    bridge.configure(private_tasks="skip")
    api.ticket(4711, START.isoformat(), assigned=7)
    api.task(4711, 512, START.isoformat(), is_private=True)
    assert reconcile(bridge.store, GlpiLookup(api.access), START, dry_run=True).missing_tasks == 0


def test_the_settings_decide_on_a_text_and_not_whoever_appends_it(bridge: Bridge) -> None:
    """Code that forgets to check the settings stores no text."""
    with bridge.store.transaction() as tx:
        tx.journal.append([parse_delivery(private(), "one")], datetime.now(UTC))
        (row,) = tx.journal.find(limit=None)
        assert SPARE_KEY not in row.payload


def test_a_copy_logs_no_time_and_its_original_does(bridge: Bridge, stand_in: StandIn) -> None:
    copy = task_event(1, of_task=task(513, copy_of=512))
    assert bridge.forward(task_event(), copy) == [EventState.DONE, EventState.SKIPPED]
    assert len(stand_in.state()["time_entries"]) == 1


def test_a_copy_of_which_the_helpdesk_tells_later_is_not_missing(bridge: Bridge, api: GlpiApi) -> None:
    api.ticket(4711, START.isoformat(), assigned=7)
    api.task(4711, 513, START.isoformat(), source_item_id=4700)
    assert reconcile(bridge.store, GlpiLookup(api.access), START).missing_tasks == 0
