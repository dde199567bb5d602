"""A tracker that was restored gives the ids of lost objects to new ones: nothing is created twice, and no row lies."""

from __future__ import annotations

import pytest
import requests

from deploy.sandbox.tracker.control import StandIn
from producer.admin.review.held import resolve
from producer.admin.services import Services
from shared.notices.kinds import Kind
from shared.store.tables.ledger import LedgerState
from tests.integration.test_a_tracker_that_changes_texts import add
from tests.support.bridge import Bridge
from tests.support.events import on_ticket, task_event
from tests.support.ledger import entries, ours, row, until_settled

pytestmark = pytest.mark.promise("OPS-30")
ISSUES, TIMES = Kind.TICKET, Kind.TICKET_TASK
LAST = 4713
KEYS = {ISSUES: (4711, LAST), TIMES: (512, 514)}
"""The key of the row whose object is lost, and of the one whose answer is."""


def made(stand_in: StandIn, kind: Kind) -> list[int]:
    return [one["id"] for one in (ours(stand_in) if kind is ISSUES else entries(stand_in))]


def send(bridge: Bridge, kind: Kind, number: int) -> int:
    """Let the help desk ask for the first, second or third object of a kind; return its ticket."""
    ticket_id = 4711 + number if kind is ISSUES else 4711
    bridge.receive(on_ticket(task_event(number), ticket_id, 512 + number))
    bridge.sync(ticket_id)
    return ticket_id


def lose_an_answer(bridge: Bridge, stand_in: StandIn, kind: Kind, *, is_held: bool) -> int:
    """Restore a tracker that has two objects to before them, lose the answer to the next creation; return its id.

    Args:
        bridge: creates the second.
        stand_in: the tracker.
        kind: their kind.
        is_held: whether the bridge also creates the first, whose id the third gets; else a person does.
    """
    if not is_held:
        by_hand = {"subject": "By hand", "description": "x"} if kind is ISSUES else {"comments": "By hand"}
        within = {"project_id": 1} if kind is ISSUES else {"issue_id": 1, "hours": 1.5}
        add(stand_in, kind.path, kind.wire_name, "alice", **within, **by_hand)
    for number in range(1 + is_held):
        send(bridge, kind, number)
    stand_in.settings(reuse_deleted_ids=True, clock_offset=120.0)
    lost = made(stand_in, kind)[-2:]
    for number in reversed(lost):
        delete(stand_in, f"{kind.path.removesuffix('.json')}/{number}.json")
    stand_in.fault("reset_after", method="POST", path=kind.path, count=1)
    ticket_id = send(bridge, kind, 2)
    until_settled(bridge, ticket_id)
    assert made(stand_in, kind) == lost[:1], bridge.steps(ticket_id)
    return lost[0]


def delete(stand_in: StandIn, path: str) -> None:
    headers = {"X-Redmine-API-Key": stand_in.api_key}
    assert requests.delete(f"{stand_in.base_url}{path}", headers=headers, timeout=5).status_code == 204


@pytest.mark.parametrize("is_held", [True, False])
@pytest.mark.parametrize("kind", [ISSUES, TIMES])
def test_what_has_the_id_of_a_lost_object_is_found(
    bridge: Bridge, stand_in: StandIn, kind: Kind, is_held: bool
) -> None:
    tracker_id = lose_an_answer(bridge, stand_in, kind, is_held=is_held)
    before, last = KEYS[kind]
    found = row(bridge, kind, last)
    assert (found.state, found.tracker_id) == (LedgerState.LINKED, tracker_id), bridge.steps(found.ticket_id)
    if is_held:
        assert row(bridge, kind, before).state == LedgerState.GONE


@pytest.mark.parametrize("is_held", [True, False])
@pytest.mark.parametrize("kind", [ISSUES, TIMES])
def test_if_its_text_was_changed_a_person_decides(
    bridge: Bridge, stand_in: StandIn, kind: Kind, is_held: bool
) -> None:
    stand_in.settings(edits_texts=True)
    tracker_id = lose_an_answer(bridge, stand_in, kind, is_held=is_held)
    held = row(bridge, kind, KEYS[kind][1])
    assert (held.state, held.candidates) == (LedgerState.ON_HOLD, [tracker_id]), bridge.steps(held.ticket_id)
    resolve(Services(bridge.settings, bridge.store), kind, held.key, tracker_id)
    until_settled(bridge, held.ticket_id)
    assert row(bridge, kind, held.key).state == LedgerState.LINKED
    assert made(stand_in, kind) == [tracker_id]
