"""A person can adopt only objects that exist in the tracker."""

from __future__ import annotations

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.review.adoption import NotThere, check_there
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.errors import TrackerClosed
from shared.notices.kinds import Kind
from shared.notices.refusals import Refusal
from shared.store.tables.ledger import LedgerRow
from tests.support.bridge import Bridge
from tests.support.events import task_event
from tests.support.refusals import says


def check(bridge: Bridge, kind: Kind, key: int, tracker_id: int) -> None:
    """Check the object that a ledger row is going to adopt."""
    with bridge.store.transaction() as tx:
        row = tx.ledger(kind).get(key)
    assert isinstance(row, LedgerRow)
    _, client = Connector(bridge.store, Vault(bridge.settings.secret_keys)).connect()
    check_there(client, kind, row, tracker_id)


def test_what_exists_can_be_adopted_and_what_does_not_cannot(bridge: Bridge) -> None:
    bridge.forward(task_event())
    check(bridge, Kind.TICKET, 4711, 6)
    check(bridge, Kind.TICKET_TASK, 512, 1)
    with pytest.raises(NotThere, check=says(Refusal.NOT_ON_TRACKER, kind="ticket", tracker_id=99)):
        check(bridge, Kind.TICKET, 4711, 99)
    with pytest.raises(
        NotThere, check=says(Refusal.NOT_ON_TRACKER, kind="ticket-task", tracker_id=2, issue_id=6)
    ):
        check(bridge, Kind.TICKET_TASK, 512, 2)


def test_an_empty_list_for_a_refused_key_is_no_answer(bridge: Bridge, stand_in: StandIn) -> None:
    bridge.forward(task_event())
    stand_in.settings(rest_enabled=False)
    with pytest.raises(TrackerClosed):
        check(bridge, Kind.TICKET, 4711, 6)
