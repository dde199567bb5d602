"""The console's first page says that all is well only if it is; otherwise the worst problem comes first."""

from __future__ import annotations

from contextlib import suppress

import pytest
from sqlalchemy import update

from producer.admin.doctor.latest import examined
from producer.admin.naming.names import Names
from producer.admin.people.people import confirm_matches
from producer.admin.queries.overview import overview
from producer.admin.services import Services
from shared.errors import TrackerError
from shared.metadata.synchronisation import synchronise as recorded
from shared.notices.faults import Fault
from shared.notices.naming import naming
from shared.redis.examination import KEY as EXAMINATION
from shared.redis.heartbeat import WORKER, Heartbeats
from shared.redis.keys import key_of
from shared.store.tables.journal import JournalEvent
from shared.store.tables.types import clock
from tests.failures.stage import Act, Stage, both, configure, patch, settings
from tests.failures.test_a_monitor_is_told import calls_take, of_nobody, status_refused, synchronise
from tests.integration.conftest import bridge_on_postgresql
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge
from tests.support.events import task, task_event

__all__ = ["bridge_on_postgresql"]
WELL, WORKS = "All systems operational", "Working, with"
NO_SUCCESS = "Events are waiting, and none has been forwarded for five minutes."


def aged(seconds: float) -> Act:
    """Receive an event that has been waiting this long."""

    def act(stage: Stage) -> None:
        stage.bridge.receive(task_event())
        with stage.bridge.store.database.transaction() as session:
            session.execute(update(JournalEvent).values(received_at=clock(-seconds)))

    return act


def metadata_refused(stage: Stage) -> None:
    """Make the synchronisation of the metadata fail."""
    services = Services(stage.bridge.settings, stage.bridge.store)
    stage.stand_in.fault("status_before", status=500)
    with suppress(TrackerError):
        recorded(services.store, services.locks, services.connector.connect)
    stage.stand_in.clear_faults()


CASES = [
    pytest.param(calls_take(4.0), WORKS, "took 4.0 s on average", id="an answer takes four seconds"),
    pytest.param(of_nobody, WORKS, "1 issue or time entry has the wrong author", id="hours stand under another name"),
    pytest.param(status_refused, "1 event failed", "Redmine did not accept the status", id="a status was not taken"),
    pytest.param(
        both(configure(default_priority_id=2), patch("priorities", 2, active=False), synchronise),
        WORKS, "2 (Normal) is disabled in Redmine", id="a default was switched off",
    ),
    pytest.param(metadata_refused, WORKS, "the last attempt", id="the metadata could not be read"),
    pytest.param(aged(40), "Some events are not forwarded yet.", "", id="an event waits for 40 seconds"),
    pytest.param(aged(400), NO_SUCCESS, "", id="an event waits for more than five minutes"),
]  # fmt: skip


@pytest.mark.stand_in
@pytest.mark.parametrize(("act", "headline", "words"), CASES)
def test_it_is_not_said_that_all_is_well(
    stage: Stage, pages: Visitor, act: Act, headline: str, words: str
) -> None:
    assert WELL in pages.open("/console")
    act(stage)
    Heartbeats(stage.bridge.redis).mark(WORKER)
    shown = pages.open("/console")
    assert WELL not in shown
    assert "being forwarded" not in shown
    assert headline in shown
    assert words in shown
    settings(closed_moves=[])(stage)


@pytest.mark.stand_in
def test_what_was_done_since_the_oldest_came_in_is_success(stage: Stage, pages: Visitor) -> None:
    aged(400)(stage)
    stage.bridge.forward(task_event(2, of_task=task(2)), ticket_id=4711)
    assert NO_SUCCESS not in pages.open("/console")


@pytest.mark.stand_in
def test_what_keeps_everything_from_being_sent_comes_before_what_failed(stage: Stage, pages: Visitor) -> None:
    status_refused(stage)
    assert "1 event failed" in pages.open("/console")
    stage.bridge.breaker.begin(Fault.TRACKER_AWAY(method="GET", path="/users.json"))
    shown = pages.open("/console")
    assert "All events are waiting for Redmine." in shown
    assert shown.index("All events are waiting") < shown.index("1 event")
    settings(closed_moves=[])(stage)


def test_both_databases_tell_how_everything_stands(bridge_on_postgresql: Bridge) -> None:
    bridge = bridge_on_postgresql
    bridge.forward(task_event())
    found = overview(Services(bridge.settings, bridge.store))
    assert (found.counts.linked, found.noted, found.is_stuck, found.delayed) == (True, [], False, None)


@pytest.mark.stand_in
@pytest.mark.parametrize(
    "value",
    [
        "a text",
        "[1, null]",
        "{}",
        '[{"check": "links", "status": "failure"}]',
        '[{"check": "nothing of ours", "status": "failure", "code": "x", "params": {}}]',
        '[{"check": "links", "status": "ok", "code": "links_usable", "params": {}}]',
        '[{"check": "links", "status": [], "code": {}, "params": 5}]',
    ],
)
def test_what_no_doctor_has_written_is_not_shown(stage: Stage, pages: Visitor, value: str) -> None:
    stage.bridge.redis.set(key_of(stage.bridge.redis, EXAMINATION), value)
    assert WELL in pages.open("/console")


@pytest.mark.stand_in
def test_the_first_page_tells_as_many_things_as_the_doctor(stage: Stage, pages: Visitor) -> None:
    stage.work()
    confirm_matches(stage.bridge.store, None)
    configure(default_tracker_id=2)(stage)
    settings(required_custom_fields=[5])(stage)
    found = [one for one in examined(stage.installation()) if one.status in ("warning", "failure")]
    shown = pages.open("/console")
    assert len(found) == 2
    with naming(Names(stage.bridge.store)):
        assert [one.what for one in found if one.what not in shown] == []
    settings(required_custom_fields=[])(stage)
    configure(default_tracker_id=1)(stage)
    examined(stage.installation())
    assert WELL in pages.open("/console")
