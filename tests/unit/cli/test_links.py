"""`mapping add`, `remove` and `list`, and the replay of events that were skipped without a mapping."""

from __future__ import annotations

import pytest

from shared.store.tables.journal import EventState
from tests.support.events import task_event, ticket, ticket_event
from tests.unit.cli.conftest import Shell

UNNAMED = {"name": None, "project": None}


def test_links_are_listed_with_their_category(shell: Shell) -> None:
    assert shell.ask("mapping", "list") == []
    assert "There are no mappings" in shell.do("mapping", "list")
    shell.do("mapping", "add", "entity", "0", "1")
    shell.do("mapping", "add", "project", "12", "4", "--category", "7")
    assert shell.ask("mapping", "list") == [
        {"kind": "project", "id": 12, "tracker_project_id": 4, "default_category_id": 7, **UNNAMED},
        {"kind": "entity", "id": 0, "tracker_project_id": 1, "default_category_id": None, **UNNAMED},
    ]
    assert "project 12" in shell.do("mapping", "list")


def test_what_is_not_said_of_the_category_is_kept_as_long_as_the_project_is(shell: Shell) -> None:
    def category_after(*arguments: str) -> object:
        told = shell.ask("mapping", "add", "project", "12", *arguments)
        (stored,) = shell.ask("mapping", "list")
        assert told["default_category_id"] == stored["default_category_id"]
        return stored["default_category_id"]

    assert category_after("4", "--category", "7") == 7
    assert category_after("4") == 7
    assert category_after("4", "--replay") == 7
    assert category_after("4", "--no-category") is None
    assert category_after("4", "--category", "8") == 8
    assert category_after("5") is None, "a category belongs to one project"
    shell.fail("mapping", "add", "project", "12", "4", "--category", "7", "--no-category", code=2)


def test_linking_anew_replaces_and_says_what_was_before(shell: Shell) -> None:
    shell.do("mapping", "add", "entity", "3", "1")
    assert "(previously 1)" in shell.do("mapping", "add", "entity", "3", "2")
    assert [one["tracker_project_id"] for one in shell.ask("mapping", "list")] == [2]


def test_a_project_id_that_nothing_confirms_makes_a_warning(shell: Shell) -> None:
    assert "without a check" in shell.type("mapping", "add", "entity", "3", "1").stderr


def test_unlink_removes_and_fails_where_there_is_nothing(shell: Shell) -> None:
    shell.do("mapping", "add", "entity", "3", "1")
    shell.do("mapping", "remove", "entity", "3")
    assert shell.ask("mapping", "list") == []
    assert "has no mapping" in shell.fail("mapping", "remove", "entity", "3")


def test_linking_tells_how_many_events_had_been_skipped_for_want_of_it(shell: Shell) -> None:
    ids = shell.receive(task_event(1), ticket_event(2), task_event(3, of_ticket=ticket(4712)))
    elsewhere = shell.receive(task_event(4, of_ticket=ticket(4713, entity_id=4)))
    shell.skip([*ids, *elsewhere])
    told = shell.do("mapping", "add", "entity", "3", "1")
    assert "3 events of 2 tickets" in told
    assert "deskbridge mapping add entity 3 1 --replay" in told
    assert set(shell.states().values()) == {"skipped"}
    assert shell.notified == []


def test_link_with_replay_replays_and_notifies_exactly_those(shell: Shell) -> None:
    wanted = shell.receive(task_event(1))
    elsewhere = shell.receive(task_event(2, of_ticket=ticket(4713, entity_id=4)))
    otherwise = shell.receive(task_event(3))
    shell.skip([*wanted, *elsewhere])
    shell.end(otherwise, EventState.SKIPPED, "the ticket task is not Done")
    assert shell.ask("mapping", "add", "entity", "3", "1", "--replay")["skipped_events"] == 1
    assert shell.states() == {wanted[0]: "pending", elsewhere[0]: "skipped", otherwise[0]: "skipped"}
    assert shell.notified == [4711]


def test_a_helpdesk_project_replays_by_the_tickets_newest_snapshot(shell: Shell) -> None:
    before = shell.receive(task_event(1))
    moved = shell.receive(ticket_event(2, of_ticket=ticket(project_id=12)))
    shell.skip([*before, *moved])
    shell.do("mapping", "add", "project", "12", "4", "--replay")
    assert set(shell.states().values()) == {"pending"}


@pytest.mark.parametrize(
    "arguments", [("project", "0", "1"), ("entity", "3", "0"), ("entity", "-1", "1"), ("team", "1", "1")]
)
def test_ids_that_cannot_be_are_wrong_usage(shell: Shell, arguments: tuple[str, ...]) -> None:
    shell.fail("mapping", "add", *arguments, code=2)
