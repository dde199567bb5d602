"""The issue of a deleted ticket gets the status that the settings name for it, and its own back with the ticket."""

from __future__ import annotations

import json
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.configuration.configuration import change
from producer.admin.projects.mappings import add_mapping, remove_mapping
from shared.notices.kinds import Kind
from shared.notices.reasons import Reason
from shared.store.configuration.mappings import MappingKind
from shared.store.journal.ticket_queries import Desired
from shared.store.tables.ledger import LedgerState
from tests.support.bridge import STATUS_MAP, Bridge
from tests.support.events import SUPPORT_ENTITY, deletion, task_event, ticket, ticket_event
from tests.support.ledger import CLOSED, a_sweep, entries, ours, row, until_settled

REJECTED, IN_PROGRESS, RESOLVED, NOT_THERE = 6, 2, 3, 999
NEW, SOLVED = 1, 5
ISSUE = "/issues/6.json"


@pytest.fixture(params=["sqlite", "postgresql"])
def desk(request: pytest.FixtureRequest) -> Bridge:
    """A deskbridge over each kind of database, with an issue; the issues of deleted tickets are rejected."""
    made: Bridge = request.getfixturevalue("bridge" if request.param == "sqlite" else "bridge_on_postgresql")
    made.configure(deleted_status_id=REJECTED)
    assert made.forward(task_event()) == ["done"]
    return made


def status(stand_in: StandIn) -> int:
    (issue,) = ours(stand_in)
    return int(issue["status_id"])


def updates(stand_in: StandIn) -> list[dict[str, Any]]:
    """Return the issue in the body of each status update."""
    sent = [one for one in stand_in.requests() if (one["method"], one["path"]) == ("PUT", ISSUE)]
    return [one["body"]["issue"] for one in sent]


def state(desk: Bridge) -> Desired:
    with desk.store.transaction() as tx:
        found = tx.statuses.get(4711)
    assert found is not None
    return found


def test_a_deleted_ticket_gives_its_issue_a_status_once_and_a_restored_one_its_own(
    desk: Bridge, stand_in: StandIn
) -> None:
    before = len(updates(stand_in))
    assert desk.forward(deletion(1, "ticket.deleted")) == ["skipped"]
    assert updates(stand_in)[before:] == [{"status_id": REJECTED}]
    assert any(
        "set to Redmine status 6 (the ticket was deleted or merged in GLPI" in one for one in desk.steps()
    )
    until_settled(desk)
    assert desk.forward(task_event(2, of_ticket=ticket(status=SOLVED))) != ["failed"]
    assert status(stand_in) == REJECTED
    assert desk.forward(deletion(3, "ticket.restored")) == ["done"]
    assert status(stand_in) == RESOLVED
    until_settled(desk)
    assert status(stand_in) == RESOLVED


def test_a_deletion_alone_is_sent_once_however_often_the_ticket_is_synced(
    desk: Bridge, stand_in: StandIn
) -> None:
    desk.forward(deletion(1, "ticket.deleted"))
    sent = len(stand_in.requests())
    until_settled(desk)
    assert len(stand_in.requests()) == sent
    assert (state(desk).status_due, state(desk).given_status_id) == (False, REJECTED)


def test_without_the_setting_nothing_is_sent(desk: Bridge, stand_in: StandIn) -> None:
    desk.configure(deleted_status_id=None)
    sent, before = len(stand_in.requests()), state(desk)
    desk.forward(deletion(1, "ticket.deleted"))
    assert (len(stand_in.requests()), state(desk)) == (sent, before)


def test_a_restored_ticket_gets_its_status_back_without_another_event(
    desk: Bridge, stand_in: StandIn
) -> None:
    desk.forward(deletion(1, "ticket.deleted"), deletion(2, "ticket.restored"))
    assert status(stand_in) == IN_PROGRESS
    desk.forward(deletion(3, "ticket.deleted"))
    assert status(stand_in) == REJECTED
    desk.forward(deletion(4, "ticket.restored"))
    assert status(stand_in) == IN_PROGRESS


def test_a_snapshot_in_the_bin_is_a_deletion_too(desk: Bridge, stand_in: StandIn) -> None:
    """GLPI's own webhooks do this."""
    desk.forward(ticket_event(1, of_ticket=ticket(status=SOLVED, is_deleted=True)))
    assert status(stand_in) == REJECTED
    desk.forward(ticket_event(2, of_ticket=ticket(status=SOLVED, is_deleted=False)))
    assert status(stand_in) == RESOLVED


def test_an_unclear_answer_is_repeated_after_the_settling_time(desk: Bridge, stand_in: StandIn) -> None:
    stand_in.fault("reset_before", method="PUT", path=ISSUE, count=1)
    desk.forward(deletion(1, "ticket.deleted"))
    desk.sync()
    assert (status(stand_in), state(desk).status_due) == (IN_PROGRESS, True)
    assert state(desk).status_next_at is not None, "the call may still take effect"
    until_settled(desk)
    assert status(stand_in) == REJECTED


def test_the_status_of_the_ticket_that_may_still_take_effect_does_not_come_last(
    desk: Bridge, stand_in: StandIn
) -> None:
    stand_in.fault("reset_after", method="PUT", path=ISSUE, count=1)
    desk.forward(ticket_event(1, of_ticket=ticket(status=SOLVED)))
    sent = len(updates(stand_in))
    desk.forward(deletion(2, "ticket.deleted"))
    assert len(updates(stand_in)) == sent, "not before the settling time"
    until_settled(desk)
    assert updates(stand_in)[sent:] == [{"status_id": REJECTED}]


def test_a_worker_that_dies_before_it_sends_leaves_the_status_to_the_next_sweep(
    desk: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dies(*_: object) -> None:
        raise KeyboardInterrupt

    desk.receive(deletion(1, "ticket.deleted"))
    with monkeypatch.context() as patch:
        patch.setattr("worker.ticket.sync.give_status", dies)
        with pytest.raises(KeyboardInterrupt):
            desk.sync()
    desk.redis.flushdb()
    assert a_sweep(desk).notify_due() == 1
    desk.sync()
    assert status(stand_in) == REJECTED


def test_an_issue_that_was_in_doubt_gets_the_status_when_it_is_linked(
    bridge: Bridge, stand_in: StandIn
) -> None:
    bridge.configure(deleted_status_id=REJECTED)
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
    bridge.forward(task_event(of_ticket=ticket(status=NEW)))
    bridge.forward(deletion(1, "ticket.deleted"))
    until_settled(bridge)
    assert row(bridge, Kind.TICKET, 4711).state == LedgerState.LINKED
    assert status(stand_in) == REJECTED


def test_a_refused_status_can_be_replayed_and_a_restored_ticket_gets_its_own(
    desk: Bridge, stand_in: StandIn
) -> None:
    desk.forward(ticket_event(1, of_ticket=ticket(status=SOLVED)))
    desk.configure(deleted_status_id=NOT_THERE)
    desk.forward(deletion(2, "ticket.deleted"))
    until_settled(desk)
    assert status(stand_in) == RESOLVED
    assert state(desk).status_code == Reason.STATUS_REFUSED
    with desk.store.transaction() as tx:
        _, ((_, event_id, _),) = tx.statuses.not_given(10)
        tx.journal.replay([event_id])
    desk.configure(deleted_status_id=REJECTED)
    desk.sync()
    assert status(stand_in) == REJECTED
    desk.configure(deleted_status_id=NOT_THERE)
    desk.forward(deletion(3, "ticket.restored"))
    desk.forward(deletion(4, "ticket.deleted"))
    assert state(desk).status_code == Reason.STATUS_REFUSED
    desk.forward(deletion(5, "ticket.restored"))
    assert (status(stand_in), state(desk).status_code) == (RESOLVED, None)


def test_a_ticket_that_is_not_mapped_sends_nothing_until_it_is(desk: Bridge, stand_in: StandIn) -> None:
    mapping = remove_mapping(desk.store, MappingKind.ENTITY, SUPPORT_ENTITY)
    sent = len(stand_in.requests())
    desk.forward(deletion(1, "ticket.deleted"))
    until_settled(desk)
    assert len(stand_in.requests()) == sent
    add_mapping(desk.store, mapping, replay=True)
    desk.sync()
    assert status(stand_in) == REJECTED


def test_trial_mode_sends_it_afterwards(desk: Bridge, stand_in: StandIn) -> None:
    desk.configure(trial=True)
    desk.forward(deletion(1, "ticket.deleted"))
    assert status(stand_in) == IN_PROGRESS
    desk.configure(trial=False)
    until_settled(desk)
    assert status(stand_in) == REJECTED


def test_a_changed_status_map_is_not_sent_for_a_deleted_ticket(desk: Bridge, stand_in: StandIn) -> None:
    desk.forward(deletion(1, "ticket.deleted"))
    changed = change(desk.store, {"status_map": json.dumps({**STATUS_MAP, 2: CLOSED})}, replay=True)
    assert changed.owed == []
    desk.forward(deletion(2, "ticket.restored"))
    assert status(stand_in) == CLOSED


def test_a_purge_from_the_bin_does_not_overwrite_what_a_person_did_since(
    desk: Bridge, stand_in: StandIn
) -> None:
    desk.forward(deletion(1, "ticket.deleted"))
    sent = len(updates(stand_in))
    assert desk.forward(deletion(2, "ticket.deleted")) == ["skipped"]
    assert len(updates(stand_in)) == sent


MERGED = ticket(status=SOLVED, is_merged=True)


def test_a_merged_ticket_gets_the_status_too_and_what_waits_is_still_logged(
    bridge: Bridge, stand_in: StandIn
) -> None:
    """GLPI's plugin sends a merged ticket so: it is in the bin, but work that was done before stays valid."""
    bridge.configure(deleted_status_id=REJECTED)
    assert bridge.forward(task_event(), ticket_event(1, of_ticket=MERGED)) == ["done", "done"]
    assert (status(stand_in), len(entries(stand_in))) == (REJECTED, 1)
    until_settled(bridge)
    assert [one["status_id"] for one in updates(stand_in)] == [REJECTED]


def test_a_restored_ticket_is_not_merged_any_more(desk: Bridge, stand_in: StandIn) -> None:
    assert desk.forward(ticket_event(1, of_ticket=MERGED)) == ["done"]
    assert status(stand_in) == REJECTED
    desk.forward(deletion(2, "ticket.restored"), ticket_event(2.1, of_ticket=ticket(status=SOLVED)))
    assert status(stand_in) == RESOLVED


def test_a_merged_ticket_with_a_status_that_is_not_mapped_ends_its_event_as_done(
    desk: Bridge, stand_in: StandIn
) -> None:
    assert desk.forward(ticket_event(1, of_ticket={**MERGED, "status": 4})) == ["done"]
    assert status(stand_in) == REJECTED


def test_without_the_setting_a_merged_ticket_keeps_its_own_status(desk: Bridge, stand_in: StandIn) -> None:
    desk.configure(deleted_status_id=None)
    assert desk.forward(ticket_event(1, of_ticket=MERGED)) == ["done"]
    assert status(stand_in) == RESOLVED
