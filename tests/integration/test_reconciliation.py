"""Comparing the help desk with the journal: what was missed is forwarded, once (SPEC 1.5)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import count, islice
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.backfill.reconcile import compare
from producer.admin.services import Services
from shared.helpdesk.glpi import GlpiLookup
from shared.helpdesk.lookup import Changed, HelpdeskUnreachable
from shared.helpdesk.reconciliation import HoursOf, Reconciled, reconcile
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.store.configuration.mappings import MappingKind
from shared.store.tables.journal import EventState, ReconciliationMark
from shared.store.tables.ledger import LedgerState
from tests.support.bridge import SUPPORT, Bridge
from tests.support.events import followup_event, solution_event, task_event, ticket, ticket_event
from tests.support.events import task as ticket_task
from tests.support.glpi_api import GlpiApi, glpi_api
from tests.support.ledger import notes_of, row

OTHER = 2
START = datetime(2026, 11, 1, 8, tzinfo=UTC)


@pytest.fixture
def api() -> Iterator[GlpiApi]:
    with glpi_api() as served:
        served.users = {7: "alice@example.test", 8: "nobody@example.test"}
        yield served


def at(minutes: float) -> str:
    return (START + timedelta(minutes=minutes)).isoformat()


def run(bridge: Bridge, api: GlpiApi, since: datetime | None = START, **options: object) -> Reconciled:
    found = reconcile(bridge.store, GlpiLookup(api.access), since, **options)  # type: ignore[arg-type]
    if not options.get("dry_run"):
        for ticket_id in found.tickets:
            bridge.sync(ticket_id)
    return found


def hours(stand_in: StandIn) -> float:
    return sum(float(one["hours"]) for one in entries(stand_in))


def entries(stand_in: StandIn) -> list[dict[str, Any]]:
    return stand_in.state()["time_entries"]


def by_project(found: list[dict[str, Any]]) -> dict[int, int]:
    return dict(Counter(one["project_id"] for one in found))


def issues(stand_in: StandIn) -> list[dict[str, Any]]:
    """Return the issues of tickets; the stand-in also has its own."""
    return [one for one in stand_in.state()["issues"] if one["subject"].startswith(("Ticket", "Printer"))]


def test_a_done_task_that_nobody_told_of_is_logged_once(
    bridge: Bridge, api: GlpiApi, stand_in: StandIn
) -> None:
    api.ticket(1, at(0), assigned=7)
    api.task(1, 10, at(0), seconds=5400)
    assert run(bridge, api).missing_tasks == 1
    assert hours(stand_in) == 1.5
    assert run(bridge, api).missing == 0
    assert hours(stand_in) == 1.5


def test_a_new_task_with_the_id_of_a_lost_one_was_missed_too_and_waits_for_a_person(
    bridge: Bridge, api: GlpiApi
) -> None:
    lost = task_event(of_ticket=ticket(1), of_task=ticket_task(10, created_at=at(-90)))
    assert bridge.forward(lost, ticket_id=1) == [EventState.DONE]
    api.ticket(1, at(0))
    api.task(1, 10, at(0), date_creation=at(-89.5))
    assert run(bridge, api).missing_tasks == 1
    assert row(bridge, Kind.TICKET_TASK, 10).state == LedgerState.ON_HOLD
    assert run(bridge, api).missing == 0


def test_what_the_journal_has_is_not_missing(bridge: Bridge, api: GlpiApi) -> None:
    api.ticket(1, at(0))
    api.task(1, 10, at(0))
    event = task_event(of_ticket=ticket(1), of_task=ticket_task(10))
    bridge.receive({**event, "occurred_at": at(0)})
    assert run(bridge, api).missing == 0


def test_a_task_that_was_logged_is_not_missing_after_its_events_are_pruned(
    bridge: Bridge, api: GlpiApi
) -> None:
    api.ticket(1, at(0))
    api.task(1, 10, at(0))
    run(bridge, api)
    with bridge.store.transaction() as tx:
        while tx.journal.prune(-1, 1000):
            pass
    api.tasks[1][0]["date_mod"] = at(50)  # edited since: never logged again
    assert run(bridge, api).missing == 0


def test_a_task_that_is_not_done_is_not_missing(bridge: Bridge, api: GlpiApi) -> None:
    api.ticket(1, at(0))
    api.task(1, 10, at(0), state=1)
    api.task(1, 11, at(0), seconds=0)
    assert run(bridge, api).missing == 0


def test_a_task_of_a_ticket_in_the_bin_is_not_missing_until_that_is_restored(
    bridge: Bridge, api: GlpiApi
) -> None:
    api.ticket(4711, at(0))
    api.task(4711, 512, at(0))
    for is_deleted, missing in ((True, 0), (False, 1)):
        api.tickets[4711]["is_deleted"] = is_deleted
        assert run(bridge, api).missing_tasks == missing


def test_the_newest_status_of_a_known_ticket_is_given(
    bridge: Bridge, api: GlpiApi, stand_in: StandIn
) -> None:
    event = task_event(of_ticket=ticket(1, status=2), of_task=ticket_task(10))
    bridge.receive({**event, "occurred_at": at(0)})
    bridge.sync(1)
    api.ticket(1, at(9), status=5)
    assert run(bridge, api).missing_statuses == 1
    assert [one["status_id"] for one in issues(stand_in)] == [3]
    assert run(bridge, api).missing == 0


def test_a_ticket_that_was_never_heard_of_waits_for_its_first_done_task(bridge: Bridge, api: GlpiApi) -> None:
    api.ticket(1, at(0))
    assert run(bridge, api).missing == 0


def test_each_of_200_dropped_events_is_found_and_none_is_sent_twice(
    bridge: Bridge, api: GlpiApi, stand_in: StandIn
) -> None:
    for number in range(1, 101):  # the first task of each ticket was received, and its first status
        of_ticket, of_task = ticket(number, status=2), ticket_task(number)
        event = task_event(of_ticket=of_ticket, of_task=of_task)
        bridge.receive({**event, "occurred_at": at(number)})
        bridge.sync(number)
        api.ticket(number, at(2000 + number), status=5)
        api.task(number, number, at(number), seconds=5400)
        api.task(number, 1000 + number, at(1000 + number), seconds=3600)
    dry = run(bridge, api, dry_run=True)
    assert (dry.missing_tasks, dry.missing_statuses, dry.missing) == (100, 100, 200)
    done = run(bridge, api)
    assert (done.missing_tasks, done.missing_statuses) == (100, 100)
    assert len(issues(stand_in)) == 100
    assert hours(stand_in) == 100 * (1.5 + 1)
    assert {one["status_id"] for one in issues(stand_in)} == {3}
    assert run(bridge, api).missing == 0


def test_a_dry_run_tells_what_the_first_run_makes_and_changes_nothing(
    bridge: Bridge, api: GlpiApi, stand_in: StandIn
) -> None:
    api.ticket(1, at(0), assigned=7)
    api.task(1, 10, at(0), seconds=3600, user=7)
    api.task(1, 11, at(1), seconds=1800, user=8)
    api.ticket(2, at(2), entity=99)
    api.task(2, 20, at(2), seconds=1800)
    dry = run(bridge, api, dry_run=True)
    assert dict(dry.issues) == {SUPPORT: 1}
    assert dict(dry.seconds) == {HoursOf(SUPPORT, "alice"): 3600, HoursOf(SUPPORT, ""): 1800}
    assert dry.unlinked_tasks == 1
    assert issues(stand_in) == []
    done = run(bridge, api)
    assert (done.issues, done.seconds, done.unlinked_tasks) == (dry.issues, dry.seconds, dry.unlinked_tasks)
    assert len(issues(stand_in)) == 1
    assert hours(stand_in) == 1.5


def test_hours_of_before_a_day_are_left_out(bridge: Bridge, api: GlpiApi, stand_in: StandIn) -> None:
    api.ticket(1, at(0))
    api.task(1, 10, at(0))
    api.task(1, 11, at(2 * 24 * 60))
    found = run(bridge, api, hours_since=date(2026, 11, 2))
    assert (found.missing_tasks, found.left_out) == (1, 1)
    assert len(entries(stand_in)) == 1


def test_the_next_run_goes_on_where_the_last_one_began_with_an_overlap(bridge: Bridge, api: GlpiApi) -> None:
    run(bridge, api)
    now = datetime.now(UTC)
    api.ticket(1, (now - timedelta(hours=20)).isoformat())
    api.task(1, 10, (now - timedelta(hours=20)).isoformat())
    api.ticket(2, (now - timedelta(hours=30)).isoformat())
    api.task(2, 20, (now - timedelta(hours=30)).isoformat())
    assert run(bridge, api, since=None).tickets == {1}


def test_a_helpdesk_that_fails_in_the_middle_moves_no_mark(bridge: Bridge, api: GlpiApi) -> None:
    api.down = True
    with pytest.raises(HelpdeskUnreachable):
        run(bridge, api)
    with bridge.store.transaction() as tx:
        assert tx.reconciliation.get() is None


def test_what_was_missed_is_counted_even_if_the_list_does_not_end(
    bridge: Bridge, api: GlpiApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.helpdesk.reconciliation.AT_ONCE", 2)
    run(bridge, api)
    an_hour_ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    for number in (1, 2):
        api.ticket(number, an_hour_ago)
        api.task(number, 10 * number, an_hour_ago)
    read = GlpiLookup.changed_since

    def broken(self: GlpiLookup, moment: datetime) -> Iterator[Changed]:
        yield from islice(read(self, moment), 2)
        api.down = True
        yield from read(self, moment)

    def missing() -> int | None:
        with bridge.store.transaction() as tx:
            mark = tx.reconciliation.get()
            return mark.missing if mark else None

    with monkeypatch.context() as patch:
        patch.setattr(GlpiLookup, "changed_since", broken)
        with pytest.raises(HelpdeskUnreachable):
            run(bridge, api, since=None)
    assert missing() == 1
    api.down = False
    assert run(bridge, api, since=None).missed == 1
    assert missing() == 1


class Endless(GlpiLookup):
    """A help desk whose list of changed tickets never ends; each has a task that is Done."""

    def _changed_tickets(self, _since: str) -> Iterator[dict[str, Any]]:
        for number in count(1):
            api = GlpiApi()
            api.ticket(number, at(0))
            yield api.tickets[number]

    def _get(self, path: str, *_: Any, **_also: Any) -> Any:
        found = re.fullmatch(r"/v2/Assistance/Ticket/(\d+)/Timeline/Task", path)
        assert found, path
        api = GlpiApi()
        api.task(int(found[1]), 10 * int(found[1]), at(0), user=0)
        return [{"item": one} for one in api.tasks[int(found[1])]]


@pytest.mark.promise("SEC-86")
@pytest.mark.parametrize("limit", [{"seconds": 2.0}, {"most_bytes": 100_000}])
def test_a_list_that_never_ends_is_cut_and_keeps_what_it_had(
    bridge: Bridge, api: GlpiApi, limit: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.helpdesk.reconciliation.AT_ONCE", 5)
    endless = Endless(api.access)
    with pytest.raises(HelpdeskUnreachable, match="too slow or too large"):
        reconcile(bridge.store, endless, START, **limit)
    with bridge.store.transaction() as tx:
        kept = tx.journal.count(EventState.PENDING)
        assert tx.reconciliation.get() is None
    assert 5 <= kept < 20_000
    with pytest.raises(HelpdeskUnreachable):
        reconcile(bridge.store, endless, START, **limit)
    with bridge.store.transaction() as tx:
        known = [row.ticket_id for row in tx.journal.find(limit=None)]
    assert kept <= len(known) == len(set(known)), "the next run appends only what is still missing"


def test_what_is_missing_is_kept_in_the_order_of_its_dates(bridge: Bridge, api: GlpiApi) -> None:
    api.ticket(1, at(5))
    api.task(1, 10, at(5))
    api.ticket(2, at(1))
    api.task(2, 20, at(1))
    reconcile(bridge.store, GlpiLookup(api.access), START)
    with bridge.store.transaction() as tx:
        assert [row.ticket_id for row in reversed(tx.journal.find())] == [2, 1]


def test_ticket_updates_alone_are_taken_for_seen(bridge: Bridge, api: GlpiApi) -> None:
    bridge.receive({**ticket_event(of_ticket=ticket(1, status=5)), "occurred_at": at(9)})
    bridge.sync(1)
    api.ticket(1, at(9), status=5)
    assert run(bridge, api).missing == 0


def test_what_a_dry_run_says_of_80_tasks_is_what_the_tracker_has_afterwards(
    bridge: Bridge, api: GlpiApi, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By project and person: earlier events give every third ticket a project; one person is an administrator."""
    monkeypatch.setattr("shared.helpdesk.reconciliation.AT_ONCE", 15)
    bridge.configure(match_administrators=False)
    bridge.link(MappingKind.PROJECT, 55, OTHER)
    api.users = {
        7: "alice@example.test",
        8: "nobody@example.test",
        9: "admin@example.net",
        10: "bob@example.test",
    }
    for number in range(1, 21):
        if number % 3 == 0:
            told = ticket_event(of_ticket=ticket(number, project_id=55))
            bridge.receive({**told, "occurred_at": at(0)})
            bridge.sync(number)
        api.ticket(number, at(number), assigned=7)
        for part in range(4):
            api.task(number, 10 * number + part, at(number + part), seconds=900 * (part + 1), user=7 + part)
    dry = run(bridge, api, dry_run=True)
    assert dry.missing_tasks == 80
    run(bridge, api)
    assert by_project(issues(stand_in)) == dict(dry.issues)
    logins = {one["id"]: one["login"] for one in stand_in.state()["users"]}
    project_of = {one["id"]: one["project_id"] for one in issues(stand_in)}
    logged: Counter[HoursOf] = Counter()
    for entry in entries(stand_in):
        login = logins[entry["user_id"]]
        who = HoursOf(project_of[entry["issue_id"]], "" if login == "admin" else login)
        logged[who] += round(float(entry["hours"]) * 3600)
    assert logged == dry.seconds
    assert len(entries(stand_in)) == 80
    assert run(bridge, api).missing == 0


def test_hours_of_before_the_day_stay_left_out_in_later_runs(bridge: Bridge, api: GlpiApi) -> None:
    api.ticket(1, at(0))
    api.task(1, 10, at(0))
    assert run(bridge, api, hours_since=date(2026, 11, 2)).left_out == 1
    assert (run(bridge, api).left_out, run(bridge, api).missing) == (1, 0)
    assert run(bridge, api, hours_since=date(2026, 11, 1)).missing == 1


def test_only_what_should_have_come_in_since_the_last_run_was_missed(bridge: Bridge, api: GlpiApi) -> None:
    api.ticket(1, at(0))
    api.task(1, 10, at(0))
    first = run(bridge, api)
    assert (first.missing, first.missed) == (1, 0), "the first import is no fault of a webhook"
    hour_ago, just_now = datetime.now(UTC) - timedelta(hours=1), datetime.now(UTC)
    for number, changed in ((2, START), (3, hour_ago), (4, just_now)):
        api.ticket(number, changed.isoformat())
        api.task(number, 10 * number, changed.isoformat())
    second = run(bridge, api)
    assert (second.missing, second.missed) == (3, 1)
    with bridge.store.transaction() as tx:
        mark = tx.reconciliation.get()
        assert mark is not None
        assert mark.missing == 1


def test_a_look_back_over_less_than_what_is_due_moves_no_mark(bridge: Bridge, api: GlpiApi) -> None:
    run(bridge, api)
    with bridge.store.database.transaction() as session:
        mark = session.get_one(ReconciliationMark, 1)
        mark.read_until -= timedelta(days=5)
        before = mark.read_until
    run(bridge, api, since=datetime.now(UTC) - timedelta(hours=1))
    with bridge.store.transaction() as tx:
        after = tx.reconciliation.get()
        assert after is not None
        assert after.read_until == before
    run(bridge, api, since=None)
    with bridge.store.transaction() as tx:
        moved = tx.reconciliation.get()
        assert moved is not None
        assert moved.read_until > before


@pytest.mark.parametrize("dry_run", [True, False])
def test_what_a_person_compares_is_notified_unless_nothing_is_to_be_done(
    bridge: Bridge, api: GlpiApi, monkeypatch: pytest.MonkeyPatch, dry_run: bool
) -> None:
    api.ticket(1, at(0), assigned=7)
    api.task(1, 10, at(0), seconds=5400)
    notified: list[int] = []
    monkeypatch.setattr(
        "producer.admin.backfill.reconcile.configured_lookup", lambda _: GlpiLookup(api.access)
    )
    monkeypatch.setattr(Services, "notify", lambda _, ticket_ids: notified.extend(ticket_ids))
    compare(Services(bridge.settings, bridge.store), START, hours_since=None, dry_run=dry_run)
    assert notified == ([] if dry_run else [1])


SEES_ALL, SEES_NONE = 8193, 0
"""Rights of GLPI's API user on follow-ups."""


def shown_note(number: int, *, is_private: bool = False) -> dict[str, Any]:
    """Return a follow-up as GLPI's API shows it."""
    return {"id": number, "content": "…", "is_private": is_private}


@pytest.mark.promise("SEC-84")
@pytest.mark.parametrize(
    ("left", "rights", "reason", "count"),
    [
        ([shown_note(77, is_private=True)], SEES_ALL, Reason.PRIVATE_THERE(), 1),
        ([shown_note(78)], SEES_ALL, Reason.DELETED_THERE(), 1),
        ([shown_note(77)], SEES_ALL, None, 0),
        ([], SEES_ALL, Reason.DELETED_THERE(), 1),
        ([shown_note(78)], SEES_NONE, None, 0),
    ],
    ids=["private", "deleted", "public", "the only one was deleted", "the user may see no follow-ups"],
)
def test_a_follow_up_that_was_not_sent_yet_and_is_private_or_gone_is_not_sent(
    bridge: Bridge,
    api: GlpiApi,
    stand_in: StandIn,
    left: list[dict[str, Any]],
    rights: int,
    reason: Notice | None,
    count: int,
) -> None:
    bridge.configure(sync_followups="public")
    (event_id,) = bridge.receive(followup_event())
    bridge.sync()
    api.ticket(4711, at(0))
    api.notes[4711, "Followup"], api.rights = left, rights
    assert run(bridge, api, dry_run=True).withdrawn == count
    assert run(bridge, api).withdrawn == count
    assert run(bridge, api).withdrawn == 0 or reason is None
    bridge.forward(task_event())
    bridge.sync()
    assert len(notes_of(stand_in)) == (0 if reason else 1)
    assert reason in (None, bridge.event(event_id).notice)


@pytest.mark.promise("SEC-84")
def test_the_only_solution_that_is_gone_is_not_sent_because_glpi_hides_no_solutions(
    bridge: Bridge, api: GlpiApi, stand_in: StandIn
) -> None:
    bridge.configure(sync_solutions="on")
    (event_id,) = bridge.receive(solution_event())
    bridge.sync()
    api.ticket(4711, at(0))
    assert run(bridge, api).withdrawn == 1
    bridge.forward(task_event())
    bridge.sync()
    assert notes_of(stand_in) == []
    assert bridge.event(event_id).notice == Reason.DELETED_THERE()


def test_only_changed_tickets_with_notes_to_send_are_compared(bridge: Bridge, api: GlpiApi) -> None:
    bridge.configure(sync_followups="all")
    bridge.forward(task_event())
    bridge.forward(followup_event(1))
    api.ticket(4711, at(0))
    run(bridge, api)
    assert not [one for one in api.calls if "Followup" in one]
