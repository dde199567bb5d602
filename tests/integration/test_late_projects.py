"""Which of a ticket's projects decides, and what happens to events skipped before one was mapped (SPEC section 1)."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.projects.mappings import add_mapping
from shared.notices.reasons import Reason
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.store.tables.journal import EventState
from tests.support.bridge import SUPPORT, Bridge
from tests.support.events import task, task_event, ticket, ticket_event
from tests.support.ledger import entries, ours

ELSEWHERE = 99
"""An entity without a mapping."""
OTHER = 2
"""Another project of the stand-in."""
SOLVED = 5


@pytest.fixture(params=["sqlite", "postgresql"])
def either(request: pytest.FixtureRequest) -> Bridge:
    """A deskbridge over each kind of database."""
    found: Bridge = request.getfixturevalue("bridge" if request.param == "sqlite" else "bridge_on_postgresql")
    return found


def placed(**of_ticket: Any) -> dict[str, Any]:
    return ticket(**{"entity_id": ELSEWHERE, **of_ticket})


@pytest.mark.parametrize(
    ("linked", "place", "expected"),
    [
        ((40, 41), {"project_id": 40, "other_project_ids": [41]}, 40),
        ((41,), {"project_id": 40, "other_project_ids": [41]}, 41),
        ((42,), {"project_id": 40, "other_project_ids": [41, 42]}, 42),
        ((42, 41), {"project_id": 40, "other_project_ids": [41, 42]}, 41),
        ((41,), {"project_id": 40, "other_project_ids": [41], "entity_id": 3}, 41),
        ((), {"project_id": 40, "other_project_ids": [41], "entity_id": 3}, 3),
        ((), {"project_id": 40, "other_project_ids": [41]}, None),
    ],
)
def test_the_first_of_a_tickets_projects_that_is_linked_decides_before_its_entity(
    either: Bridge, stand_in: StandIn, linked: tuple[int, ...], place: dict[str, Any], expected: int | None
) -> None:
    for project_id in linked:
        either.link(MappingKind.PROJECT, project_id, SUPPORT if project_id == expected else OTHER)
    state = EventState.DONE if expected else EventState.SKIPPED
    assert either.forward(task_event(of_ticket=placed(**place))) == [state]
    assert [one["project_id"] for one in ours(stand_in)] == [SUPPORT] * bool(expected)


def test_tasks_that_were_skipped_are_logged_once_their_ticket_has_a_linked_project(
    either: Bridge, stand_in: StandIn
) -> None:
    either.link(MappingKind.PROJECT, 40, SUPPORT)
    ids = either.receive(*(task_event(of_ticket=placed(), of_task=task(one)) for one in (512, 513)))
    either.sync()
    assert [either.event(one).notice for one in ids] == [Reason.NO_LINK()] * 2
    either.forward(ticket_event(1, of_ticket=placed(project_id=40)))
    assert [either.event(one).state for one in ids] == [EventState.DONE] * 2
    assert len(entries(stand_in)) == 2


def test_a_further_project_is_enough(either: Bridge, stand_in: StandIn) -> None:
    either.link(MappingKind.PROJECT, 41, SUPPORT)
    either.forward(task_event(of_ticket=placed(project_id=40)))
    either.forward(ticket_event(1, of_ticket=placed(project_id=40, other_project_ids=[41])))
    assert len(entries(stand_in)) == 1


def test_what_was_skipped_is_not_sent_by_a_link_of_which_a_person_said_that_it_is_for_what_comes(
    either: Bridge, stand_in: StandIn
) -> None:
    """A person was asked and chose not to replay: a later event of the ticket does not override that."""
    either.forward(task_event(of_ticket=placed()))
    add_mapping(either.store, ProjectMapping(MappingKind.ENTITY, ELSEWHERE, SUPPORT, None), replay=False)
    either.forward(task_event(1, of_ticket=placed(), of_task=task(513)))
    assert [one["comments"] for one in entries(stand_in)] == ["Extinguished 513"]


def test_a_status_that_was_dropped_for_want_of_a_link_is_given_once_there_is_one(
    either: Bridge, stand_in: StandIn
) -> None:
    either.forward(task_event())
    either.forward(ticket_event(1, of_ticket=placed(status=SOLVED)))
    assert ours(stand_in)[0]["status_id"] != 3
    either.link(MappingKind.PROJECT, 40, SUPPORT)
    either.forward(task_event(2, of_ticket=placed(status=SOLVED, project_id=40), of_task=task(513, state=1)))
    assert ours(stand_in)[0]["status_id"] == 3


def test_a_link_replays_tickets_of_which_it_is_a_further_project(either: Bridge, stand_in: StandIn) -> None:
    either.forward(task_event(of_ticket=placed(project_id=40, other_project_ids=[41])))
    made = add_mapping(either.store, ProjectMapping(MappingKind.PROJECT, 41, SUPPORT, None), replay=True)
    assert made.tickets == [4711]
    either.sync()
    assert len(entries(stand_in)) == 1


def test_an_event_that_knows_no_project_is_taken_for_one_of_all_that_are_known(
    either: Bridge, stand_in: StandIn
) -> None:
    either.link(MappingKind.PROJECT, 41, SUPPORT)
    either.forward(ticket_event(of_ticket=placed(project_id=40, other_project_ids=[41])))
    lacking = task_event(1, of_ticket=placed(), incomplete=["ticket.project_id"])
    assert either.forward(lacking) == [EventState.DONE]
    assert len(entries(stand_in)) == 1
