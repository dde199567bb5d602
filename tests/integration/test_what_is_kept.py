"""A process caches the settings, and the next event sees every change of them by any other process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import text, update
from sqlalchemy.exc import OperationalError

from deploy.sandbox.tracker.control import StandIn
from producer.admin.records.transaction import Transaction
from shared.events.snapshots import HelpdeskUser
from shared.notices.kinds import Kind
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.store.configuration.people import People
from shared.store.tables.configuration import TrackerUser, UserPin
from tests.support.bridge import PEOPLE, STATUS_MAP, SUPPORT, Bridge
from tests.support.events import ALICE, SUPPORT_ENTITY, task, task_event, ticket, ticket_event
from tests.support.ledger import entries, ours, row
from tests.support.statements import listening
from worker.ticket import settings_cache as kept

ALICE_ID, ALICE_THERE, CAROL_THERE, OTHER_PROJECT = 7, 5, 7, 2
STATUSES = [Entry(MetadataKind.STATUS, one, str(one)) for one in STATUS_MAP.values()]


@pytest.fixture(params=["sqlite", "postgresql"])
def desk(request: pytest.FixtureRequest) -> Bridge:
    """A deskbridge over each of the databases with a filled cache: people it matched are read once more."""
    found: Bridge = request.getfixturevalue("bridge" if request.param == "sqlite" else "bridge_on_postgresql")
    change(found, lambda tx: tx.metadata.put(STATUSES))
    forward(found, 1)
    forward(found, 2)
    return found


def forward(desk: Bridge, number: int) -> None:
    """Forward a ticket with its ticket task."""
    event = task_event(number, of_ticket=ticket(number), of_task=task(number))
    assert desk.forward(event, ticket_id=number) == ["done"]


def change(desk: Bridge, do: Callable[[Transaction], Any]) -> None:
    """Change something as another process would."""
    with desk.store.transaction() as tx:
        do(tx)


def test_a_link_that_another_process_has_changed(desk: Bridge, stand_in: StandIn) -> None:
    change(
        desk,
        lambda tx: tx.mappings.put(ProjectMapping(MappingKind.ENTITY, SUPPORT_ENTITY, OTHER_PROJECT, None)),
    )
    forward(desk, 3)
    assert [one["project_id"] for one in ours(stand_in)] == [1, 1, OTHER_PROJECT]


def test_a_link_that_another_process_has_removed(desk: Bridge, stand_in: StandIn) -> None:
    change(desk, lambda tx: tx.mappings.remove(MappingKind.ENTITY, SUPPORT_ENTITY))
    assert desk.forward(task_event(of_ticket=ticket(3), of_task=task(3)), ticket_id=3) == ["skipped"]


def test_a_link_that_was_missing_is_looked_for_each_time(desk: Bridge) -> None:
    """This holds even if the change was not counted."""
    elsewhere = ticket(3, entity_id=99)
    assert desk.forward(task_event(of_ticket=elsewhere, of_task=task(3)), ticket_id=3) == ["skipped"]
    with desk.store.database.transaction() as session:
        session.execute(text("INSERT INTO entity_link (entity_id, tracker_project_id) VALUES (99, 1)"))
    assert desk.forward(task_event(1, of_ticket=elsewhere, of_task=task(4)), ticket_id=3) == ["done"]


def test_a_template_that_another_process_has_activated(desk: Bridge, stand_in: StandIn) -> None:
    def activate(tx: Transaction) -> None:
        body = '{"issue": {"subject": "of the template"}}'
        tx.templates.activate(tx.templates.create("issue.create", "own", body, "a test"), 1, "a test")

    change(desk, activate)
    forward(desk, 3)
    assert [one["subject"] for one in ours(stand_in)][2:] == ["of the template"]


def test_a_project_that_another_process_has_read_by_its_new_name(desk: Bridge, stand_in: StandIn) -> None:
    body = '{"issue": {"subject": "{{project.name}} {{ticket.id}}"}}'

    def activate(tx: Transaction) -> None:
        tx.metadata.put([Entry(MetadataKind.PROJECT, SUPPORT, "Before")])
        tx.templates.activate(tx.templates.create("issue.create", "own", body, "a test"), 1, "a test")

    change(desk, activate)
    forward(desk, 3)
    said = list[str]()
    with listening(desk.store.database.engine, before_cursor_execute=lambda *given: said.append(given[2])):
        forward(desk, 4)
    assert not [one for one in said if "FROM metadata_row" in one], "it is read once"
    change(desk, lambda tx: tx.metadata.put([Entry(MetadataKind.PROJECT, SUPPORT, "After")]))
    forward(desk, 5)
    assert [one["subject"] for one in ours(stand_in)][2:] == ["Before 3", "Before 4", "After 5"]


def test_an_override_that_another_process_has_made(desk: Bridge, stand_in: StandIn) -> None:
    change(desk, lambda tx: tx.people.put_override(ALICE_ID, CAROL_THERE))
    forward(desk, 3)
    change(desk, lambda tx: tx.people.remove_override(ALICE_ID))
    forward(desk, 4)
    assert [one["user"] for one in entries(stand_in)] == ["alice", "alice", "carol", "alice"]


def test_whoever_is_gone_from_the_tracker_by_the_newest_reading(desk: Bridge, stand_in: StandIn) -> None:
    left = [one for one in PEOPLE if one.tracker_user_id != ALICE_THERE]
    change(desk, lambda tx: tx.people.replace_cache(left))
    forward(desk, 3)
    assert [one["user"] for one in entries(stand_in)] == ["alice", "alice", "admin"]


def test_whoever_is_an_administrator_of_the_tracker_by_then(desk: Bridge) -> None:
    with desk.store.database.transaction() as session:
        people = People(session)
        people.replace_cache([one for one in PEOPLE if one.tracker_user_id != 1])
    forward(desk, 3)
    assert (row(desk, Kind.TICKET, 2).authors, row(desk, Kind.TICKET, 3).authors) == ([1, ALICE_THERE], [])


def test_a_match_that_a_person_has_confirmed_meanwhile(desk: Bridge, stand_in: StandIn) -> None:
    desk.configure(membership_for="confirmed")
    forward(desk, 3)
    forward(desk, 4)
    with desk.store.database.transaction() as session:
        session.execute(text("DELETE FROM membership_known"))
    seen = len(stand_in.requests())
    forward(desk, 5)
    assert not memberships(stand_in, seen)
    change(desk, lambda tx: tx.people.confirm(ALICE_ID, ALICE_THERE))
    forward(desk, 6)
    assert memberships(stand_in, seen)


def test_who_was_seen_and_which_memberships_are_known_is_read_once(desk: Bridge) -> None:
    forward(desk, 3)  # the memberships created by the first were unknown when it was loaded
    said = list[str]()
    with listening(desk.store.database.engine, before_cursor_execute=lambda *given: said.append(given[2])):
        forward(desk, 4)
    assert not [one for one in said if "helpdesk_user" in one or "membership_known" in one]


def test_an_address_that_is_another_than_was_seen_is_noted(desk: Bridge) -> None:
    moved = {**ALICE, "email": "alice@elsewhere.test"}
    event = task_event(3, of_ticket=ticket(3, technician=moved), of_task=task(3, user=moved))
    desk.forward(event, ticket_id=3)
    with desk.store.transaction() as tx:
        assert tx.people.email_of(ALICE_ID) == "alice@elsewhere.test"


def memberships(stand_in: StandIn, since: int) -> Sequence[Any]:
    return [one for one in stand_in.requests(since=since) if one["path"].endswith("/memberships.json")]


@pytest.mark.parametrize("is_known", [True, False])
def test_a_status_that_the_tracker_lacks_by_the_newest_reading(
    desk: Bridge, stand_in: StandIn, *, is_known: bool
) -> None:
    if not is_known:
        change(desk, lambda tx: tx.metadata.remove([("status", STATUS_MAP[5])]))
    seen = len(stand_in.requests())
    assert desk.forward(ticket_event(9, of_ticket=ticket(1, status=5)), ticket_id=1) == ["done"]
    asked = [one["path"] for one in stand_in.requests(since=seen)]
    assert ("/issue_statuses.json" in asked) is not is_known


def test_a_match_whose_pin_was_not_committed_is_made_anew(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = People.members, [1]

    def members(people: People, *about: Any) -> Any:
        if left:
            raise OperationalError("SELECT", {}, Exception(left.pop()))
        return real(people, *about)

    monkeypatch.setattr(People, "members", members)
    bridge.receive(task_event())
    with pytest.raises(OperationalError):
        bridge.sync()
    assert bridge.forward(task_event(1)) == ["done"]
    with bridge.store.database.transaction() as session:
        assert session.get(UserPin, ALICE_ID)


def test_what_nobody_has_counted_is_seen_after_a_minute(
    desk: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example changes that a database administrator makes by hand."""
    with desk.store.database.transaction() as session:
        session.execute(update(TrackerUser).where(TrackerUser.tracker_user_id == 5).values(mail_key=None))
    forward(desk, 3)
    monkeypatch.setattr(kept, "KEPT_S", -1.0)
    forward(desk, 4)
    assert [one["user"] for one in entries(stand_in)][2:] == ["alice", "admin"]


def test_a_match_that_was_read_beside_a_new_one_may_not_be_committed_and_is_not_kept(desk: Bridge) -> None:
    """The second spelling of an address finds the pin that the first has just made."""
    known = kept.CachedSettings(basis=1)
    spellings = [HelpdeskUser(id=99, email=one) for one in ("bob@example.test", "Bob@example.test")]
    with pytest.raises(RuntimeError), desk.store.transaction() as tx:
        found = known.people(tx, spellings, administrators=False)
        assert all(one.person for one in found.values())
        raise RuntimeError
    assert known._people == {}
