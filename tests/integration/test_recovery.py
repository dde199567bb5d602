"""Yesterday's backup is restored while the tracker has moved on: nothing is created twice (`restore begin`)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import update

from deploy.sandbox.tracker.control import StandIn
from producer.admin.backfill import recovery
from producer.admin.review.held import decide
from shared.errors import SettingsError
from shared.helpdesk.reconciliation import reconcile
from shared.notices.kinds import Kind
from shared.notices.refusals import Refusal
from shared.store.tables.journal import RecoveryMode, TraceStep
from shared.store.tables.ledger import LEDGERS, LedgerRow
from shared.store.tables.types import moment
from shared.tracker.answers import Answer
from tests.support.bridge import Bridge
from tests.support.calls import Call, around_calls
from tests.support.events import ALICE, BOB, task, task_event, ticket, ticket_event

pytestmark = pytest.mark.promise("OPS-05")

SAME = {"title": "Printer on fire", "content": "burns"}
SEEDED = 5
RETENTION = 90


class Backup:
    """A copy of the bridge's SQLite file, as SQLite's own backup makes it."""

    def __init__(self, bridge: Bridge, directory: Path) -> None:
        self._bridge = bridge
        self._file = str(bridge.store.database.engine.url.database)
        self._copy = str(directory / "backup.sqlite3")
        _copy(self._file, self._copy)

    def restore(self, *, recover: bool = True) -> None:
        self._bridge.store.database.close()
        for name in (self._file, f"{self._file}-wal", f"{self._file}-shm"):
            Path(name).unlink(missing_ok=True)
        _copy(self._copy, self._file)
        if recover:
            recovery.begin(self._bridge.store, RETENTION)


def _copy(source: str, target: str) -> None:
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


Save = Callable[[], Backup]


@pytest.fixture
def backup(bridge: Bridge, tmp_path: Path) -> Save:
    return lambda: Backup(bridge, tmp_path)


def ours(stand_in: StandIn) -> list[dict[str, Any]]:
    return [issue for issue in stand_in.state()["issues"] if issue["id"] > SEEDED]


def entries(stand_in: StandIn) -> list[dict[str, Any]]:
    return stand_in.state()["time_entries"]


def row(bridge: Bridge, kind: Kind, key: int) -> LedgerRow:
    with bridge.store.transaction() as tx:
        found = tx.ledger(kind).get(key)
    assert found is not None
    return found


def until_done(bridge: Bridge, *ticket_ids: int) -> None:
    for _ in range(3):
        bridge.hurry()
        for ticket_id in ticket_ids or (4711,):
            bridge.sync(ticket_id)


def test_what_was_created_after_the_backup_is_found_and_not_created_again(
    bridge: Bridge, stand_in: StandIn, backup: Save
) -> None:
    bridge.forward(task_event(0, of_ticket=ticket(1), of_task=task(1)), ticket_id=1)
    saved = backup()
    later = [
        task_event(1, of_ticket=ticket(1), of_task=task(2, content="more")),
        task_event(2, of_ticket=ticket(2), of_task=task(3)),
        ticket_event(3, of_ticket=ticket(2, status=5)),
    ]
    bridge.receive(*later)
    until_done(bridge, 1, 2)
    before = (ours(stand_in), entries(stand_in))
    assert (len(before[0]), len(before[1])) == (2, 3)
    saved.restore()
    bridge.receive(*later)
    until_done(bridge, 1, 2)
    assert (len(ours(stand_in)), len(entries(stand_in))) == (2, 3)
    assert {one["status_id"] for one in ours(stand_in)} == {one["status_id"] for one in before[0]}
    assert row(bridge, Kind.TICKET, 2).tracker_id == before[0][1]["id"]
    assert row(bridge, Kind.TICKET_TASK, 3).adopted


def test_a_status_that_the_issue_has_already_is_not_given_again(
    bridge: Bridge, stand_in: StandIn, backup: Save
) -> None:
    saved = backup()
    bridge.forward(task_event())
    saved.restore()
    since = len(stand_in.requests())
    assert bridge.forward(task_event()) == ["done"]
    methods = {call["method"] for call in stand_in.requests()[since:]}
    assert "PUT" not in methods


def test_without_recover_it_would_be_created_again(bridge: Bridge, stand_in: StandIn, backup: Save) -> None:
    saved = backup()
    assert bridge.forward(task_event()) == ["done"]
    saved.restore(recover=False)
    bridge.redis.flushall()
    assert bridge.forward(task_event()) == ["done"]
    assert len(ours(stand_in)) == 2, "this is what `restore begin` is for"


def test_what_was_edited_since_is_found_by_the_snapshot_it_was_made_from(
    bridge: Bridge, stand_in: StandIn, backup: Save
) -> None:
    saved = backup()
    first = task_event(0)
    assert bridge.forward(first) == ["done"]
    edited = [
        ticket_event(
            1, of_ticket=ticket(title="Another title", content="Another text", technician=BOB, status=5)
        ),
        task_event(
            2, of_ticket=ticket(title="A third one", status=6), of_task=task(content="edited", actiontime=60)
        ),
    ]
    for event in edited:
        bridge.forward(event)
    assert (ours(stand_in)[0]["subject"], ours(stand_in)[0]["status_id"]) == ("Printer 4711 on fire", 5)
    saved.restore()
    bridge.receive(*edited, first)
    until_done(bridge)
    assert (len(ours(stand_in)), len(entries(stand_in))) == (1, 1)
    assert row(bridge, Kind.TICKET, 4711).adopted
    assert row(bridge, Kind.TICKET_TASK, 512).adopted
    assert ours(stand_in)[0]["status_id"] == 5


def test_what_cannot_be_told_is_held_for_a_person_whose_word_counts(
    bridge: Bridge, stand_in: StandIn, backup: Save
) -> None:
    """The help desk sends only the newest version again: the text that was sent is no longer stored anywhere."""
    saved = backup()
    assert bridge.forward(task_event()) == ["done"]
    saved.restore()
    newest = task_event(1, of_ticket=ticket(content="edited since"))
    assert bridge.forward(newest) == ["on_hold"]
    assert row(bridge, Kind.TICKET, 4711).candidates == [6]
    assert len(ours(stand_in)) == 1
    decide(bridge.store, Kind.TICKET, 4711, 6)
    until_done(bridge)
    assert (len(ours(stand_in)), len(entries(stand_in))) == (1, 1)


def test_create_again_is_heeded_without_asking_once_more(
    bridge: Bridge, stand_in: StandIn, backup: Save
) -> None:
    saved = backup()
    assert bridge.forward(task_event()) == ["done"]
    saved.restore()
    assert bridge.forward(task_event(1, of_ticket=ticket(content="edited since"))) == ["on_hold"]
    decide(bridge.store, Kind.TICKET, 4711, None)
    until_done(bridge)
    assert len(ours(stand_in)) == 2
    assert len(entries(stand_in)) == 2, "its time is logged on the new issue"


def test_equal_tickets_get_one_issue_each_whichever_is_sent_again_first(
    bridge: Bridge, stand_in: StandIn, backup: Save
) -> None:
    saved = backup()
    events = {
        number: task_event(number, of_ticket=ticket(number, **SAME), of_task=task(number))
        for number in (1, 2, 3)
    }
    for number in (1, 2):
        bridge.forward(events[number], ticket_id=number)
    saved.restore()
    for number in (3, 1, 2):
        bridge.receive(events[number])
        bridge.sync(number)
    until_done(bridge, 1, 2, 3)
    assert len(ours(stand_in)) == 3
    assert {row(bridge, Kind.TICKET, key).tracker_id for key in (1, 2, 3)} == {6, 7, 8}
    assert len(entries(stand_in)) == 3


def test_what_is_alike_waits_only_until_its_owner_was_sent_again(
    bridge: Bridge, stand_in: StandIn, backup: Save
) -> None:
    """A new ticket has an old one's title: once the old ticket is sent again, it is clear whose issue it is."""
    saved = backup()
    old = task_event(0, of_ticket=ticket(1, title="Printer"), of_task=task(1, content="the same"))
    bridge.forward(old, ticket_id=1)
    saved.restore()
    new = task_event(
        5, of_ticket=ticket(2, title="Printer", content="another"), of_task=task(2, content="the same")
    )
    assert bridge.forward(new, ticket_id=2) == ["on_hold"]
    bridge.forward(old, ticket_id=1)
    until_done(bridge, 1, 2)
    assert row(bridge, Kind.TICKET, 1).tracker_id == 6
    assert row(bridge, Kind.TICKET, 2).tracker_id == 7
    assert (len(ours(stand_in)), len(entries(stand_in))) == (2, 2)


def test_an_equal_ticket_waits_while_the_other_one_is_in_doubt(
    bridge: Bridge, stand_in: StandIn, backup: Save
) -> None:
    backup().restore()
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
    for number in (1, 2):
        bridge.receive(task_event(number, of_ticket=ticket(number, **SAME), of_task=task(number)))
        bridge.service.sync(number)
    with bridge.store.transaction() as tx:
        assert tx.issues.get(2) is None, "it must not take what the other one has just made"
    until_done(bridge, 1, 2)
    assert [row(bridge, Kind.TICKET, number).tracker_id for number in (1, 2)] == [6, 7]


def test_time_of_another_person_with_the_same_hours_is_no_reason_to_wait(
    bridge: Bridge, stand_in: StandIn, backup: Save
) -> None:
    bridge.forward(task_event(0, of_task=task(1, content="first")))
    saved = backup()
    bridge.forward(task_event(1, of_task=task(2, content="second", user=ALICE)))
    saved.restore()
    assert bridge.forward(task_event(2, of_task=task(3, content="third", user=BOB))) == ["done"]
    assert bridge.forward(task_event(3, of_task=task(4, content="fourth", user=ALICE))) == ["on_hold"]
    assert bridge.forward(task_event(1, of_task=task(2, content="second", user=ALICE)))[0] == "done"
    until_done(bridge)
    assert sorted(one["comments"] for one in entries(stand_in)) == ["first", "fourth", "second", "third"]


def test_what_was_in_flight_when_the_backup_was_made_is_settled(
    bridge: Bridge, stand_in: StandIn, backup: Save
) -> None:
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
    bridge.receive(task_event())
    bridge.sync()
    saved = backup()
    until_done(bridge)
    assert len(entries(stand_in)) == 1
    saved.restore()
    until_done(bridge)
    assert (len(ours(stand_in)), len(entries(stand_in))) == (1, 1)


def test_where_the_policy_is_hold_a_person_decides_on_what_is_found(
    bridge: Bridge, stand_in: StandIn, backup: Save
) -> None:
    bridge.configure(in_doubt_policy="hold")
    saved = backup()
    assert bridge.forward(task_event()) == ["done"]
    saved.restore()
    assert bridge.forward(task_event()) == ["on_hold"]
    assert row(bridge, Kind.TICKET, 4711).candidates == [6]


def test_a_tracker_that_is_away_or_unclear_creates_nothing(
    bridge: Bridge, stand_in: StandIn, backup: Save
) -> None:
    saved = backup()
    assert bridge.forward(task_event()) == ["done"]
    saved.restore()
    stand_in.fault("status_before", method="GET", path="/issues.json", status=500, count=2)
    assert bridge.forward(task_event()) == ["pending"]
    assert len(ours(stand_in)) == 1
    until_done(bridge)
    assert len(ours(stand_in)) == 1


def test_a_list_that_grows_while_it_is_read_is_no_obstacle(
    bridge: Bridge, stand_in: StandIn, backup: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other workers go on creating: with a hundred new issues an hour, no lookup would ever finish."""
    monkeypatch.setattr("shared.tracker.lists.PAGE_SIZE", 2)
    saved = backup()
    for number in range(1, 6):
        bridge.forward(task_event(number, of_ticket=ticket(number), of_task=task(number)), ticket_id=number)
    saved.restore()
    client = bridge.service.connect(None)[1]  # type: ignore[arg-type]
    made: list[object] = []

    def grow(call: Call) -> Answer:
        answer = call.make(True)
        if (call.method, call.path) == ("GET", "/issues.json") and len(made) < 4:
            made.append(
                client.call("POST", call.path, body={"issue": {"project_id": 1, "subject": "by hand"}})
            )
        return answer

    bridge.receive(task_event(1, of_ticket=ticket(1), of_task=task(1)))
    with around_calls(grow):
        bridge.service.sync(1)
    assert made
    assert row(bridge, Kind.TICKET, 1).tracker_id == SEEDED + 1


def test_recovery_is_begun_once_looks_only_further_back_and_ends(bridge: Bridge) -> None:
    bridge.forward(task_event())
    first = recovery.begin(bridge.store, RETENTION)
    assert first.since < first.began_at - recovery.MARGIN + recovery.MARGIN / 2
    bridge.receive(ticket_event(9))
    again = recovery.begin(bridge.store, RETENTION)
    assert again.since <= first.since
    earlier = recovery.begin(bridge.store, RETENTION, first.since - recovery.MARGIN)
    assert (earlier.since, earlier.began_at) == (first.since - recovery.MARGIN, first.began_at)
    assert recovery.end(bridge.store, nothing_lost=True)
    assert recovery.end(bridge.store) is None
    assert recovery.status(bridge.store) is None


def test_what_arrives_before_the_restore_is_known_does_not_make_the_backup_younger(bridge: Bridge) -> None:
    """GLPI's events are accepted at once, days before somebody runs `restore begin`."""
    bridge.forward(task_event())
    days = 3 * 86400
    with bridge.store.database.transaction() as session:
        for model in LEDGERS:
            session.execute(update(model).values(changed_at=moment(-days)))
        session.execute(update(TraceStep).values(at=moment(-days)))
    bridge.receive(task_event(1))
    begun = recovery.begin(bridge.store, RETENTION)
    assert begun.began_at - begun.since >= timedelta(days=4) - timedelta(minutes=1)


class TestEnd:
    """Recovery mode stays on until a ticket that was not sent again cannot have an issue that is unknown."""

    def begun(self, bridge: Bridge, days: float) -> None:
        """Begin recovery mode with a backup of this age."""
        with bridge.store.transaction() as tx:
            backup_at = tx.now() - timedelta(days=days)
        recovery.begin(bridge.store, RETENTION, backup_at)

    def on_for(self, bridge: Bridge, days: float) -> None:
        with bridge.store.database.transaction() as session:
            mode = session.get(RecoveryMode, 1)
            assert mode is not None
            assert mode.backup_at is not None
            ago = timedelta(days=days)
            mode.began_at, mode.backup_at = mode.began_at - ago, mode.backup_at - ago

    def refused(self, bridge: Bridge) -> str:
        with pytest.raises(SettingsError) as error:
            recovery.end(bridge.store)
        assert recovery.status(bridge.store), "the mode is still on"
        return str(error.value.notice.code)

    def test_a_ticket_that_was_not_sent_again_gets_no_second_issue(
        self, bridge: Bridge, stand_in: StandIn, backup: Save
    ) -> None:
        saved = backup()
        bridge.forward(task_event(0, of_ticket=ticket(2), of_task=task(2)), ticket_id=2)
        saved.restore(recover=False)
        self.begun(bridge, 2)
        assert self.refused(bridge) == Refusal.RECOVERY_NEEDED_UNTIL
        later = task_event(1, of_ticket=ticket(2), of_task=task(22, content="weeks later"))
        bridge.forward(later, ticket_id=2)
        assert len(ours(stand_in)) == 1

    def test_it_ends_once_it_was_on_for_as_long_as_the_backup_was_old(self, bridge: Bridge) -> None:
        self.begun(bridge, 2)
        self.on_for(bridge, 1.9)
        assert self.refused(bridge) == Refusal.RECOVERY_NEEDED_UNTIL
        self.on_for(bridge, 0.2)
        assert recovery.end(bridge.store)

    def test_it_ends_once_the_help_desk_was_compared_over_that_time(self, bridge: Bridge) -> None:
        helpdesk = SimpleNamespace(changed_since=lambda _since: iter(()))
        self.begun(bridge, 2)
        with bridge.store.transaction() as tx:
            yesterday = tx.now() - timedelta(days=1)
        reconcile(bridge.store, helpdesk, yesterday)
        assert self.refused(bridge) == Refusal.RECOVERY_NEEDED_UNTIL, "the first day was not compared"
        reconcile(bridge.store, helpdesk, None)
        assert recovery.end(bridge.store)

    def test_a_comparison_before_the_restore_does_not_count(self, bridge: Bridge) -> None:
        reconcile(bridge.store, SimpleNamespace(changed_since=lambda _since: iter(())), None)
        self.begun(bridge, 2)
        assert self.refused(bridge) == Refusal.RECOVERY_NEEDED_UNTIL

    def test_what_is_pending_is_processed_first(self, bridge: Bridge) -> None:
        self.begun(bridge, 0)
        bridge.receive(task_event())
        assert self.refused(bridge) == Refusal.RECOVERY_NEEDED_BY_PENDING
        bridge.sync()
        assert recovery.end(bridge.store)

    def test_a_person_who_knows_may_end_it(self, bridge: Bridge) -> None:
        self.begun(bridge, 2)
        assert recovery.end(bridge.store, nothing_lost=True)
        assert recovery.status(bridge.store) is None


def test_with_nothing_known_it_looks_back_over_the_whole_retention(bridge: Bridge) -> None:
    begun = recovery.begin(bridge.store, RETENTION)
    assert abs((begun.began_at - begun.since).days - RETENTION) <= 1
