"""After a person is forgotten, no stored data names them, and what is linked stays linked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import MetaData, delete, inspect, select

from deploy.sandbox.tracker.control import StandIn
from producer.admin.privacy.forgetting import Forgotten, StillNeeded, forget
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.errors import NotFound
from shared.events.snapshots import HelpdeskUser
from shared.metadata.synchronisation import sync_metadata
from shared.notices.invalid import Invalid
from shared.notices.kinds import Kind
from shared.notices.notice import written
from shared.notices.refusals import Refusal
from shared.store.configuration.matching import TrackerPerson
from shared.store.tables.configuration import HelpdeskPerson
from shared.store.tables.journal import EventState
from tests.support.bridge import PEOPLE, Bridge
from tests.support.events import ALICE, BOB, stored_event, task, task_event, ticket, ticket_event
from tests.support.refusals import says

pytestmark = pytest.mark.promise("OPS-06")

OLD_ADDRESS = "Alice.Before@Example.test"
REFLECTED: dict[str, MetaData] = {}
"""The reflected schema of each kind of database: the same in every test."""
TRACES = ("alice@example.test", "alice.before@example.test", "alice archer", "alice")


@pytest.fixture(params=["sqlite", "postgresql"])
def bridge(
    request: pytest.FixtureRequest, stand_in: StandIn, redis_url: str, tmp_path: Path
) -> Iterator[Bridge]:
    """A deskbridge over either database."""
    url = f"sqlite:///{tmp_path}/bridge.sqlite3"
    if request.param == "postgresql":
        url = request.getfixturevalue("emptied_postgres_url")
    made = Bridge(url, redis_url, stand_in.base_url, stand_in.api_key)
    yield made
    made.close()


def dump(bridge: Bridge) -> dict[str, list[str]]:
    """Return every row of every table in the database, as text."""
    engine = bridge.store.database.engine
    reflected = REFLECTED.setdefault(engine.dialect.name, MetaData())
    if not reflected.tables:
        reflected.reflect(engine)
    assert set(reflected.tables) == set(inspect(engine).get_table_names())
    with engine.connect() as connection:
        return {
            name: [str(row) for row in connection.execute(select(table))]
            for name, table in reflected.tables.items()
        }


def found(bridge: Bridge, *texts: str) -> list[str]:
    """Return the rows that still contain any of the texts."""
    return [
        f"{name}: {row}"
        for name, rows in dump(bridge).items()
        for row in rows
        if any(text in row.lower() for text in texts)
    ]


def live(bridge: Bridge, stand_in: StandIn) -> None:
    """Leave traces of alice everywhere: done, refused, in texts, with an older address, in every table."""
    with bridge.store.transaction() as tx:
        tx.people.replace_cache([])
    sync_metadata(bridge.store, Connector(bridge.store, Vault(bridge.settings.secret_keys)).connect()[1])
    text = "<p>Call me: ALICE@example.test, or malice@example.test.au</p>"
    events = [
        task_event(0, of_ticket=ticket(technician={"id": 7, "email": OLD_ADDRESS})),
        task_event(
            1,
            of_ticket=ticket(content=text),
            of_task=task(513, content=text),
            requester={"id": 7, "name": "Al", "email": "alice@example.test"},
        ),
        ticket_event(2, of_ticket=ticket(status=5)),
        task_event(
            3, of_ticket=ticket(7, technician=BOB, content=f"Or {OLD_ADDRESS}?"), of_task=task(7, user=BOB)
        ),
    ]
    for event in events:
        bridge.receive(event)
        bridge.sync(event["ticket"]["id"])
    stand_in.fault("status_before", method="POST", path="/time_entries.json", status=403, count=20)
    bridge.forward(task_event(4, of_ticket=ticket(4712), of_task=task(514)), ticket_id=4712)
    stand_in.clear_faults()
    with bridge.store.transaction() as tx:
        tx.people.put_override(7, 5)


def test_what_was_found_out_since_and_what_could_not_be_read_forget_the_person_too(bridge: Bridge) -> None:
    bridge.forward(task_event(of_ticket=ticket(technician=BOB)))
    lacking = task_event(
        1, of_ticket=ticket(technician=BOB), of_task=task(513, user={"id": 7, "email": None})
    )
    bridge.forward(lacking | {"incomplete": ["task.user.email"]})
    assert any("task.user.email" in line for line in found(bridge, *TRACES)), "it is kept with the event"
    with bridge.store.transaction() as tx:
        tx.journal.park(
            "id",
            "glpi/ticket",
            b'{"by": "alice@example.test", "x": "\xff"}',
            [("item", Invalid.FIELD_REQUIRED())],
        )
    forget(bridge.store, 7, None)
    assert found(bridge, "alice@example.test") == []


def test_an_event_that_waits_keeps_whom_it_was_completed_with(bridge: Bridge) -> None:
    with bridge.store.transaction() as tx:
        tx.people.note_seen([HelpdeskUser(id=7, email="alice@example.test")])
    bridge.configure(base_url="http://127.0.0.1:9")
    lacking = task_event(of_ticket=ticket(technician=BOB), of_task=task(user={"id": 7, "email": None}))
    assert bridge.forward(lacking | {"incomplete": ["task.user.email"]}) == ["pending"]
    with bridge.store.database.transaction() as session:
        session.execute(delete(HelpdeskPerson))
    with pytest.raises(StillNeeded):
        forget(bridge.store, None, "alice@example.test")


def states(bridge: Bridge) -> list[str]:
    with bridge.store.transaction() as tx:
        return [row.state for row in reversed(tx.journal.find(limit=None))]


@pytest.mark.parametrize("by", [(7, None), (None, "alice@EXAMPLE.test")], ids=["id", "e-mail"])
def test_a_forgotten_person_is_nowhere_in_the_database(
    bridge: Bridge, stand_in: StandIn, by: tuple[int | None, str | None]
) -> None:
    live(bridge, stand_in)
    assert states(bridge) == ["done", "done", "done", "done", "failed"]
    assert {line.partition(":")[0] for line in found(bridge, *TRACES)} >= {
        "journal",
        "ticket_state",
        "trace_step",
        "task_time_link",
        "helpdesk_user",
        "tracker_user",
        "metadata_run",
    }
    done = forget(bridge.store, *by)
    left = found(bridge, "alice@example.test", "alice.before@example.test", "alice archer")
    assert [line for line in left if "malice@example.test" not in line] == []
    assert found(bridge, " as alice ", "is alice'", "alice was") == []
    assert found(bridge, "'alice'") == [], "logins among the differences of a synchronisation"
    assert_all_kept(bridge, done)
    with pytest.raises(NotFound):
        forget(bridge.store, *by)


def assert_all_kept(bridge: Bridge, done: Forgotten) -> None:
    """Assert that the data of other people and every link are still there."""
    text = "\n".join(row for rows in dump(bridge).values() for row in rows)
    assert "malice@example.test.au" in text, "another's address that only ends alike"
    assert "bob@example.test" in text.lower()
    assert '"id": 7' in text, "the ticket and the ticket task of the same number"
    with bridge.store.transaction() as tx:
        events = [stored_event(row.payload) for row in tx.journal.find(limit=None)]
        people = [event.ticket.technician for event in events] + [
            event.task.user for event in events if event.task
        ]
        assert {person.id if person else None for person in people} == {None, 8}
        assert {row.tracker_id for row in tx.issues.linked()} == {6, 7, 8}
        assert len(list(tx.times.linked())) == 3
        assert tx.people.overrides() == {}
        assert 5 not in {one.tracker_user_id for one in tx.people.cached()}
        assert not tx.people.is_member_known(1, 5)
        assert (6 in {one.tracker_user_id for one in tx.people.cached()}) is True
    assert len(done.failed_events) == 1


def test_after_it_nothing_is_created_twice_and_a_replay_is_the_administrator_s(
    bridge: Bridge, stand_in: StandIn
) -> None:
    live(bridge, stand_in)
    before = stand_in.state()
    forget(bridge.store, 7, None)
    with bridge.store.transaction() as tx:
        tx.journal.replay([row.id for row in tx.journal.find(limit=None)])
    for ticket_id in (4711, 4712, 7):
        bridge.sync(ticket_id)
    after = stand_in.state()
    assert len(after["issues"]) == len(before["issues"])
    assert len(after["time_entries"]) == len(before["time_entries"]) + 1, "the failed one, now that it may"
    assert after["time_entries"][-1]["user"] == "admin"


def test_while_something_of_theirs_is_not_done_nothing_is_touched(bridge: Bridge, stand_in: StandIn) -> None:
    bridge.forward(task_event())
    bridge.receive(task_event(1, of_ticket=ticket(4712), of_task=task(513)))
    before = dump(bridge)
    with pytest.raises(StillNeeded, check=says(Refusal.DATA_STILL_NEEDED, examples=[4712])):
        forget(bridge.store, None, "alice@example.test")
    assert dump(bridge) == before
    bridge.sync(4712)
    assert forget(bridge.store, None, "alice@example.test").changed["journal"] == 2


def test_a_creation_in_doubt_that_is_theirs_is_waited_for(bridge: Bridge, stand_in: StandIn) -> None:
    """A lookup needs the exact text and the possible authors, even if the events have ended meanwhile."""
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    with bridge.store.transaction() as tx:
        tx.journal.end([event_id], EventState.DONE, written("a test"))
    with pytest.raises(StillNeeded, check=says(Refusal.DATA_STILL_NEEDED, examples=[4711])):
        forget(bridge.store, 7, None)
    with bridge.store.transaction() as tx:
        row = tx.ledger(Kind.TICKET).get(4711)
        assert row is not None
        assert row.authors == [1, 5]


def test_somebody_else_s_events_are_no_reason_to_wait(bridge: Bridge) -> None:
    bridge.forward(task_event())
    bridge.receive(task_event(1, of_ticket=ticket(7, technician=BOB), of_task=task(7, user=BOB)))
    assert forget(bridge.store, 7, None).person.tracker_ids == {5}


def test_nobody_can_be_forgotten_who_is_not_known(bridge: Bridge) -> None:
    with pytest.raises(NotFound):
        forget(bridge.store, 99, None)
    with pytest.raises(NotFound):
        forget(bridge.store, None, "nobody@example.test")


def test_the_next_synchronisation_brings_back_whom_the_tracker_still_has(bridge: Bridge) -> None:
    """As the documentation says: a person has to be removed from the tracker first."""
    forget(bridge.store, None, str(ALICE["email"]))
    connect: Any = Connector(bridge.store, Vault(bridge.settings.secret_keys)).connect
    sync_metadata(bridge.store, connect()[1])
    with bridge.store.transaction() as tx:
        assert any(one.login == "alice" for one in tx.people.cached())


def test_an_address_outside_ascii_is_found_in_escaped_json(bridge: Bridge) -> None:
    address = "jürgen@exämple.test"
    bridge.forward(
        task_event(of_ticket=ticket(technician={"id": 9, "email": address}, content=address.upper()))
    )
    bridge.forward(
        task_event(1, of_ticket=ticket(1, content=f"Ask {address}!"), of_task=task(1)), ticket_id=1
    )
    with bridge.store.transaction() as tx:
        tx.people.replace_cache([*PEOPLE, TrackerPerson(9, "jürgen", "Jürgen Ö", address)])
    forget(bridge.store, None, address)
    assert found(bridge, "rgen@ex") == []
