"""The doctor names the entities whose tickets were skipped for lack of a mapping, with numbers and names."""

from __future__ import annotations

from typing import Any

from producer.admin.backfill.replay import replay_state
from shared.notices.doctor_helpdesk import HelpdeskFinding
from shared.store.configuration.mappings import MappingKind
from shared.store.tables.journal import EventState
from tests.failures.stage import Stage
from tests.support.bridge import Bridge
from tests.support.events import ticket, ticket_event


def raise_tickets(bridge: Bridge, count: int, entity_id: int, first: int, **of_ticket: Any) -> None:
    for number in range(first, first + count):
        event = ticket_event(number, of_ticket=ticket(number, entity_id=entity_id, **of_ticket))
        bridge.forward(event, ticket_id=number)


def unlinked(stage: Stage) -> list[dict[str, Any]]:
    codes = (HelpdeskFinding.TICKETS_UNLINKED, HelpdeskFinding.LINKED_SINCE)
    return [dict(one.found.params) for one in stage.findings() if one.found.code in codes]


def test_entities_whose_tickets_were_skipped_are_told_with_numbers_and_names(stage: Stage) -> None:
    assert unlinked(stage) == []
    raise_tickets(stage.bridge, 3, 44, 5000, entity_name="Root > Customers > Acme")
    raise_tickets(stage.bridge, 1, 45, 6000)
    assert unlinked(stage) == [
        {"id": 44, "name": "Root > Customers > Acme", "count": 3, "tickets": [5000]},
        {"id": 45, "name": None, "count": 1, "tickets": [6000]},
    ]
    told = stage.doctor().text
    assert (
        "entity 44 (Root > Customers > Acme) has no mapping: 3 tickets of the last week were not forwarded"
        in told
    )
    assert "`deskbridge mapping add entity 44 REDMINE_PROJECT_ID --replay`" in told
    assert "1 tickets" not in told


def test_linked_since_and_replayed_it_goes_on(stage: Stage) -> None:
    raise_tickets(stage.bridge, 2, 44, 5000)
    stage.bridge.link(MappingKind.ENTITY, 44, 1)
    told = stage.doctor()
    assert HelpdeskFinding.LINKED_SINCE in told.codes
    assert HelpdeskFinding.TICKETS_UNLINKED not in told.codes
    assert "`deskbridge event replay --state skipped --code no_link`" in told.text
    for ticket_id in replay_state(stage.bridge.store, EventState.SKIPPED, "no_link").tickets:
        stage.bridge.sync(ticket_id)
    assert HelpdeskFinding.LINKED_SINCE not in stage.doctor().codes
