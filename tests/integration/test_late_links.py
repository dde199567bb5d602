"""An answer is usually linked in one statement; if its row changed meanwhile, more steps are needed."""

from __future__ import annotations

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.notices.kinds import Kind
from shared.store.tables.ledger import LedgerState
from tests.support.bridge import Bridge
from tests.support.events import task_event
from tests.support.ledger import adopt_as_a_sibling, change, entries, row, stopped


def test_an_answer_whose_row_was_claimed_anew_meanwhile_is_a_possible_duplicate(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row is claimed as usual, but by another attempt."""

    def meanwhile() -> None:
        change(bridge, Kind.TICKET, 4711, attempt=2)

    bridge.receive(task_event())
    with stopped("POST", "/issues.json", meanwhile):
        bridge.sync()
    found = row(bridge, Kind.TICKET, 4711)
    assert (found.state, found.duplicate) == (LedgerState.ON_HOLD, True)
    assert not entries(stand_in)


def test_an_answer_takes_its_object_from_a_row_that_had_adopted_it(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    (event_id,) = bridge.receive(task_event())
    with stopped("POST", "/issues.json", lambda: adopt_as_a_sibling(bridge, event_id)):
        bridge.sync()
    assert row(bridge, Kind.TICKET, 4711).tracker_id == 6
    assert row(bridge, Kind.TICKET, 999).state == LedgerState.IN_DOUBT


def test_an_answer_counts_for_a_row_that_somebody_else_was_at_meanwhile(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The usual single statement does not apply: the row is already in doubt, and its own answer resolves it."""

    def meanwhile() -> None:
        change(bridge, Kind.TICKET, 4711, state=LedgerState.IN_DOUBT)

    bridge.receive(task_event())
    with stopped("POST", "/issues.json", meanwhile):
        bridge.sync()
    assert row(bridge, Kind.TICKET, 4711).state == LedgerState.LINKED
    assert len(entries(stand_in)) == 1
