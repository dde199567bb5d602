"""One event needs few database statements, and every event the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from deploy.sandbox.tracker.control import StandIn
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket
from tests.support.ledger import entries, stopped
from tests.support.statements import listening

KEPT = (
    "payload_template",
    "project_link",
    "entity_link",
    "user_map",
    "tracker_user",
    "user_pin",
    "metadata_row",
)
"""These tables are read again only after a change."""

NEW = 1
"""The status of a newly created issue."""


@contextmanager
def statements(bridge: Bridge) -> Iterator[list[str]]:
    """Record the statements and commits of a block."""
    engine, said = bridge.store.database.engine, list[str]()

    def note(*arguments: object) -> None:
        said.append(str(arguments[2]))

    def note_commit(_connection: object) -> None:
        said.append("COMMIT")

    with listening(engine, before_cursor_execute=note, commit=note_commit):
        yield said


def test_one_event_takes_few_statements_and_commits(bridge_on_postgresql: Bridge, stand_in: StandIn) -> None:
    """Issue and time entry: load, claim, link, claim, link, leave; no other transaction, and nothing is read twice."""
    bridge = bridge_on_postgresql
    for number in (1, 2):
        bridge.forward(
            task_event(of_ticket=ticket(number, status=NEW), of_task=task(number)), ticket_id=number
        )
    bridge.receive(task_event(1, of_ticket=ticket(3, status=NEW), of_task=task(3)))
    with statements(bridge) as said:
        bridge.sync(3)
    assert len(entries(stand_in)) == 3
    assert said.count("COMMIT") == 6, said
    # in a group, the group's first statement takes the lock on the settings
    assert len(said) - said.count("COMMIT") <= 19, said
    assert len(set(said)) == len(said) - 5 - 1, "only commits, and what appends to the trace, come again"


def test_every_event_is_asked_about_in_the_same_words(bridge_on_postgresql: Bridge) -> None:
    """Building a new statement for each event would cost more than executing it.

    The first event creates the matches, and the second loads them: from then on they are cached.
    """
    bridge, heard = bridge_on_postgresql, list[list[str]]()
    for number in (1, 2, 3, 4):
        bridge.receive(task_event(number, of_ticket=ticket(number, status=NEW), of_task=task(number)))
        with statements(bridge) as said:
            bridge.sync(number)
        heard.append(said)
    assert heard[2] == heard[3]
    assert not [one for one in heard[3] if any(f"FROM {table}" in one for table in KEPT)]


def test_what_comes_in_during_a_pass_is_seen_to_after_it(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own queue message found the lock taken."""
    bridge.receive(task_event())
    with stopped("POST", "/issues.json", lambda: bridge.receive(task_event(1, of_task=task(513)))):
        bridge.service.sync(4711)
    assert len(entries(stand_in)) == 2
