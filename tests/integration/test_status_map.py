"""A status that the tracker got from a wrong status map is set again once the map is right."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.backfill.replay import replay_events
from producer.admin.configuration.configuration import change
from producer.admin.projects.mappings import MappingResult, add_mapping, remove_mapping
from shared.metadata.synchronisation import refresh
from shared.notices.reasons import Reason
from shared.store.configuration.mappings import MappingKind
from shared.store.configuration.metadata import MetadataKind
from shared.tracker.answers import Answer
from shared.tracker.lists import TrackerLists
from tests.support.bridge import STATUS_MAP, Bridge
from tests.support.calls import Call, around_calls
from tests.support.events import SUPPORT_ENTITY, task, task_event, ticket, ticket_event
from tests.support.ledger import let_leases_run_out, ours, until_settled
from tests.support.workflows import going_on, kill, workflow_up_to
from worker.ticket.context import ChangeIfCurrent
from worker.ticket.create import Link
from worker.ticket.status import Given
from worker.ticket.steps import Step, drive

NOT_THERE = 77


@pytest.fixture
def given_in_vain(bridge: Bridge) -> int:
    """An update whose status does not exist in the tracker: it answers 204 and keeps the old one."""
    bridge.configure(status_map={**STATUS_MAP, 5: NOT_THERE})
    assert bridge.forward(task_event()) == ["done"]
    (event_id,) = bridge.receive(ticket_event(1, of_ticket=ticket(status=5)))
    bridge.sync()
    assert bridge.event(event_id).state == "failed"
    return event_id


def fill_the_cache(bridge: Bridge) -> None:
    with bridge.store.transaction() as tx:
        _, client = bridge.service.connect(tx)
    refresh(bridge.store, TrackerLists(client), MetadataKind.STATUS)


def test_a_replay_gives_a_status_that_was_not_taken_once_the_map_is_repaired(
    bridge: Bridge, stand_in: StandIn, given_in_vain: int
) -> None:
    assert ours(stand_in)[0]["status"] in (2, "In Progress")
    bridge.configure(status_map=STATUS_MAP)
    replay_events(bridge.store, [given_in_vain])
    bridge.sync()
    assert ours(stand_in)[0]["status"] in (3, "Resolved"), bridge.event(given_in_vain).reason


def test_a_changed_map_offers_to_give_what_was_given_by_the_old_one(
    bridge: Bridge, stand_in: StandIn, given_in_vain: int
) -> None:
    right = '{"1": 1, "2": 2, "5": 3, "6": 5}'
    assert bridge.forward(task_event(of_ticket=ticket(2), of_task=task(2)), ticket_id=2) == ["done"]
    offered = change(bridge.store, {"status_map": right})
    assert (offered.owed, offered.replayed) == ([4711], False), (
        "the other ticket has what the new map says, too"
    )
    bridge.sync()
    assert ours(stand_in)[0]["status"] in (2, "In Progress"), "only offered"
    given = change(bridge.store, {"status_map": right}, replay=True)
    assert (given.owed, given.replayed) == ([4711], True)
    bridge.sync()
    assert ours(stand_in)[0]["status"] in (3, "Resolved")
    assert change(bridge.store, {"status_map": right}).owed == []


def test_a_status_that_is_mapped_later_is_given_where_it_is_due(bridge: Bridge, stand_in: StandIn) -> None:
    bridge.configure(status_map={2: 2})
    assert bridge.forward(task_event()) == ["done"]
    (skipped,) = bridge.receive(ticket_event(1, of_ticket=ticket(status=5)))
    bridge.sync()
    assert bridge.event(skipped).notice == Reason.STATUS_NOT_MAPPED(status=5)
    changed = change(bridge.store, {"status_map": '{"2": 2, "5": 3}'}, replay=True)
    assert changed.owed == [4711]
    until_settled(bridge)
    assert ours(stand_in)[0]["status"] in (3, "Resolved")
    assert bridge.event(skipped).state == "done"


def test_a_status_mapped_to_what_the_issue_has_is_not_owed(bridge: Bridge) -> None:
    bridge.configure(status_map={2: 2})
    assert bridge.forward(task_event()) == ["done"]
    assert bridge.forward(ticket_event(1, of_ticket=ticket(status=5))) == ["skipped"]
    assert change(bridge.store, {"status_map": '{"2": 2, "5": 2}'}).owed == []


def test_a_status_that_the_cache_does_not_hold_is_read_afresh_before_it_is_sent(
    bridge: Bridge, stand_in: StandIn
) -> None:
    assert bridge.forward(task_event()) == ["done"]
    fill_the_cache(bridge)
    with bridge.store.transaction() as tx:
        tx.metadata.remove([(MetadataKind.STATUS, 3)])
    assert bridge.forward(ticket_event(1, of_ticket=ticket(status=5))) == ["done"]
    assert ours(stand_in)[0]["status"] in (3, "Resolved")
    with bridge.store.transaction() as tx:
        assert tx.metadata.get(MetadataKind.STATUS, 3), "what the tracker has is cached again"


def test_a_status_that_the_tracker_does_not_have_is_not_sent_and_can_be_replayed(
    bridge: Bridge, stand_in: StandIn
) -> None:
    assert bridge.forward(task_event()) == ["done"]
    fill_the_cache(bridge)
    bridge.configure(status_map={**STATUS_MAP, 5: NOT_THERE})
    (event_id,) = bridge.receive(ticket_event(1, of_ticket=ticket(status=5)))
    bridge.sync()
    event = bridge.event(event_id)
    assert (event.state, str(NOT_THERE) in (event.reason or "")) == ("failed", True)
    assert not any("77" in step for step in bridge.steps() if step.startswith("PUT"))
    bridge.configure(status_map=STATUS_MAP)
    replay_events(bridge.store, [event_id])
    bridge.sync()
    assert ours(stand_in)[0]["status"] in (3, "Resolved")


def test_statuses_are_not_read_afresh_while_the_cache_holds_them(bridge: Bridge) -> None:
    fill_the_cache(bridge)
    assert bridge.forward(task_event(), ticket_event(1, of_ticket=ticket(status=5))) == ["done", "done"]
    assert not [step for step in bridge.steps() if "issue_statuses" in step]


@pytest.mark.parametrize("path", ["/issues.json", "/time_entries.json"])
def test_a_map_that_is_changed_while_an_issue_comes_to_be_counts_for_it(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """A person who changes the map is offered the statuses set before, but cannot see the one being sent."""
    bridge.configure(status_map={1: 1})

    def changing(call: Call) -> Answer:
        answer = call.make(True)
        if (call.method, call.path) == ("POST", path):
            change(bridge.store, {"status_map": '{"1": 1, "2": 2, "5": 3, "6": 5}'}, replay=True)
        return answer

    with around_calls(changing):
        assert bridge.forward(task_event(of_ticket=ticket(status=5))) == ["done"]
    bridge.sync()
    assert ours(stand_in)[0]["status"] in (3, "Resolved")


def test_a_map_that_is_changed_while_a_pass_finds_another_tickets_issue_counts_for_that_one(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issues of equal text that are in doubt are resolved together, by whichever sync comes first."""
    bridge.configure(status_map={1: 1})
    for ticket_id in (7, 8):
        stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
        same = ticket(ticket_id, title="Same", status=5)
        bridge.receive(task_event(of_ticket=same, of_task=task(ticket_id * 10)))
        bridge.sync(ticket_id)

    def changing(call: Call) -> Answer:
        answer = call.make(True)
        if (call.method, call.path) == ("GET", "/issues.json"):
            change(bridge.store, {"status_map": '{"1": 1, "2": 2, "5": 3, "6": 5}'}, replay=True)
        return answer

    with around_calls(changing):
        bridge.hurry()
        bridge.sync(7)
    for ticket_id in (7, 8):
        until_settled(bridge, ticket_id)
    assert [one["status"] in (3, "Resolved") for one in ours(stand_in)] == [True, True]


def test_a_status_that_was_dropped_for_want_of_a_link_is_given_when_the_link_is_back(
    bridge: Bridge, stand_in: StandIn
) -> None:
    """This holds even if the newest event ended on its own: its ticket task is not Done."""
    assert bridge.forward(task_event()) == ["done"]
    link = remove_mapping(bridge.store, MappingKind.ENTITY, SUPPORT_ENTITY)
    bridge.forward(ticket_event(1, of_ticket=ticket(status=5)))
    bridge.forward(task_event(2, of_ticket=ticket(status=5), of_task=task(9, state=1)))
    add_mapping(bridge.store, link, replay=True)
    bridge.sync()
    assert ours(stand_in)[0]["status"] in (3, "Resolved")


def test_a_status_that_the_map_owed_while_no_project_was_linked_is_given_when_the_link_is_back(
    bridge: Bridge, stand_in: StandIn
) -> None:
    """No event was skipped together with it: the ticket's own had ended long before."""
    assert bridge.forward(task_event()) == ["done"]
    assert bridge.forward(ticket_event(1, of_ticket=ticket(status=5))) == ["done"]
    link = remove_mapping(bridge.store, MappingKind.ENTITY, SUPPORT_ENTITY)
    assert change(bridge.store, {"status_map": '{"2": 2, "5": 4}'}, replay=True).owed == [4711]
    bridge.sync()
    assert any(step.startswith("Issue #6 kept its status") for step in bridge.steps()), "somebody may ask"
    made = add_mapping(bridge.store, link, replay=True)
    assert (made.tickets, made.events) == ([4711], 0)
    bridge.sync()
    assert ours(stand_in)[0]["status_id"] == 4


def test_what_was_skipped_by_a_link_of_before_is_not_left_behind_by_whoever_makes_it(
    bridge: Bridge, stand_in: StandIn
) -> None:
    link = remove_mapping(bridge.store, MappingKind.ENTITY, SUPPORT_ENTITY)
    (event_id,) = bridge.receive(task_event())
    workflow, action = workflow_up_to(bridge, ChangeIfCurrent)
    add_mapping(bridge.store, link, replay=True)
    drive(going_on(workflow, action.carry_out()))
    assert (bridge.event(event_id).state, len(ours(stand_in))) == ("done", 1)


@pytest.mark.parametrize("kind", [Given, Link])
def test_a_process_that_dies_after_it_gave_a_status_by_a_map_of_before_leaves_it_due(
    bridge: Bridge, stand_in: StandIn, kind: type[Step[Any]]
) -> None:
    """A person changed the map between the worker's call and the recording of its result."""
    if kind is Given:
        assert bridge.forward(task_event()) == ["done"]
        bridge.receive(ticket_event(1, of_ticket=ticket(status=5)))
    else:
        bridge.configure(status_map={5: 1})
        bridge.receive(task_event(of_ticket=ticket(status=5)))
    workflow, action = workflow_up_to(bridge, kind)
    change(bridge.store, {"status_map": '{"2": 2, "5": 4}'}, replay=True)
    action.carry_out()
    kill(workflow)
    with bridge.store.transaction() as tx:
        assert tx.statuses.due_tickets(10) == [4711]
    let_leases_run_out(bridge)
    until_settled(bridge)
    assert ours(stand_in)[0]["status_id"] == 4


def test_whoever_makes_a_link_waits_for_what_is_being_skipped_for_want_of_it(
    bridge_on_postgresql: Bridge,
) -> None:
    desk = bridge_on_postgresql
    link, made = remove_mapping(desk.store, MappingKind.ENTITY, SUPPORT_ENTITY), list[MappingResult]()
    (event_id,) = desk.receive(task_event())
    workflow, action = workflow_up_to(desk, ChangeIfCurrent)
    making = threading.Thread(target=lambda: made.append(add_mapping(desk.store, link, replay=True)))
    with desk.store.transaction() as tx:
        ChangeIfCurrent.execute_many(tx, [action])
        making.start()
        making.join(0.5)
        assert making.is_alive()
    making.join(30)
    kill(workflow)
    assert [(one.tickets, one.events) for one in made] == [([4711], 1)]
    assert desk.event(event_id).state == "pending"


def test_a_refusal_by_a_map_of_before_does_not_keep_what_the_new_one_gives(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The map is repaired while refusals arrive: a status still due is not among those offered to set again."""
    assert bridge.forward(task_event()) == ["done"]
    fault = stand_in.fault("status_before", method="PUT", path="/issues/6.json", status=403)
    (event_id,) = bridge.receive(ticket_event(1, of_ticket=ticket(status=5)))
    workflow, action = workflow_up_to(bridge, ChangeIfCurrent)
    stand_in.clear_faults(fault)
    assert change(bridge.store, {"status_map": '{"2": 2, "5": 4}'}, replay=True).owed == []
    drive(going_on(workflow, action.carry_out()))
    until_settled(bridge)
    assert ours(stand_in)[0]["status_id"] == 4
    assert bridge.event(event_id).state == "done"


def test_an_event_is_not_failed_by_a_map_of_before_once_its_status_is_given_again(
    bridge: Bridge, stand_in: StandIn
) -> None:
    assert bridge.forward(task_event()) == ["done"]
    fault = stand_in.fault("status_before", method="PUT", path="/issues/6.json", status=403)
    (event_id,) = bridge.receive(ticket_event(1, of_ticket=ticket(status=5)))
    workflow, action = workflow_up_to(bridge, ChangeIfCurrent)
    action.carry_out()
    stand_in.clear_faults(fault)
    assert change(bridge.store, {"status_map": '{"2": 2, "5": 4}'}, replay=True).owed == [4711]
    drive(going_on(workflow, None))
    until_settled(bridge)
    assert bridge.event(event_id).state == "done"


def test_of_two_who_change_the_settings_at_once_neither_takes_back_what_the_other_did(
    bridge_on_postgresql: Bridge,
) -> None:
    store = bridge_on_postgresql.store
    second = threading.Thread(target=lambda: change(store, {"done_state": "3"}))
    with store.transaction() as tx:
        config, _ = tx.configs.get()
        tx.configs.put(config.model_copy(update={"status_map": {**STATUS_MAP, 5: 4}}))
        second.start()
        second.join(0.5)
        assert second.is_alive()
    second.join(30)
    with store.transaction() as tx:
        config, _ = tx.configs.get()
    assert (config.status_map[5], config.done_state) == (4, 3)


def test_an_issue_whose_template_left_the_status_as_it_was_is_given_that_of_a_map_that_was_changed_meanwhile(
    bridge: Bridge, stand_in: StandIn
) -> None:
    with bridge.store.transaction() as tx:
        made = tx.templates.create("issue.create", "own", '{"issue": {"subject": "x"}}', "a test")
        tx.templates.activate(made, 1, "a test")
    bridge.receive(task_event())
    workflow, action = workflow_up_to(bridge, Link)
    change(bridge.store, {"status_map": '{"2": 4}'}, replay=True)
    drive(going_on(workflow, action.carry_out()))
    until_settled(bridge)
    assert ours(stand_in)[0]["status_id"] == 4


def test_a_status_without_an_event_is_looked_at_again_at_once_where_its_link_was_made_meanwhile(
    bridge: Bridge, stand_in: StandIn
) -> None:
    assert bridge.forward(task_event()) == ["done"]
    link = remove_mapping(bridge.store, MappingKind.ENTITY, SUPPORT_ENTITY)
    change(bridge.store, {"status_map": '{"2": 4}'}, replay=True)
    workflow, action = workflow_up_to(bridge, ChangeIfCurrent)
    add_mapping(bridge.store, link, replay=True)
    drive(going_on(workflow, action.carry_out()))
    assert ours(stand_in)[0]["status_id"] == 4
