"""A request is built again if its inputs were changed, and only then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from producer.admin.configuration.api_key import rotate_keys
from producer.admin.privacy.erasure import Erasure
from producer.admin.privacy.scrubbing import Person
from shared.connection.vault import Vault
from shared.events.snapshots import HelpdeskUser
from shared.metadata.synchronisation import keep_kinds
from shared.store.configuration.basis import CHANGES
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.store.configuration.matching import TrackerPerson
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.store.tables.configuration import PluginConfigRecord, TemplateVersion
from tests.support.bridge import Bridge

MAIL = "alice@example.test"
PERSON = Person(frozenset({7}), frozenset({MAIL}), frozenset({5}), frozenset())
Do = Callable[[Bridge], Any]


@pytest.fixture(params=["sqlite", "postgresql"])
def desk(request: pytest.FixtureRequest) -> Bridge:
    """A deskbridge over each of the databases."""
    found: Bridge = request.getfixturevalue("bridge" if request.param == "sqlite" else "bridge_on_postgresql")
    return found


def changes(desk: Bridge, do: Do) -> int:
    """Return how many changes an action counts as."""
    counts = list[int]()
    for what in (lambda _: None, do):
        what(desk)
        with desk.store.database.transaction() as session:
            counts.append(session.scalar(select(CHANGES)) or 0)
    return counts[1] - counts[0]


def link(project_id: int, category_id: int | None) -> Do:
    return lambda desk: desk.link(MappingKind.PROJECT, 77, project_id, category_id)


def override(tracker_user_id: int) -> Do:
    def do(desk: Bridge) -> None:
        with desk.store.transaction() as tx:
            tx.people.put_override(7, tracker_user_id)

    return do


def configure(**values: Any) -> Do:
    return lambda desk: desk.configure(**values)


def erase(desk: Bridge) -> None:
    with desk.store.database.transaction() as session:
        Erasure(session).delete_records(PERSON)


def scrub(model: type[PluginConfigRecord | TemplateVersion]) -> Do:
    def do(desk: Bridge) -> None:
        with desk.store.database.transaction() as session:
            Erasure(session).scrub(model.__table__, PERSON, None)  # type: ignore[arg-type]

    return do


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (link(1, None), link(2, None)),
        (link(1, None), link(1, 3)),
        (link(1, 3), link(1, None)),
        (override(5), override(6)),
        (configure(status_map={5: 3}), configure(status_map={5: 4})),
    ],
)
def test_what_is_there_already_is_no_change(desk: Bridge, first: Do, other: Do) -> None:
    assert changes(desk, first) == 1
    assert changes(desk, first) == 0
    assert changes(desk, other) == 1
    assert changes(desk, first) == 1, "it is there"


def test_a_link_that_is_no_change_is_there_still(desk: Bridge) -> None:
    for _ in range(2):
        link(1, 3)(desk)
        with desk.store.transaction() as tx:
            assert tx.mappings.get(MappingKind.PROJECT, 77) == ProjectMapping(MappingKind.PROJECT, 77, 1, 3)


def test_the_same_key_encrypted_anew_is_no_change_another_is(desk: Bridge) -> None:
    def store_key(desk: Bridge) -> None:
        with desk.store.transaction() as tx:
            tx.configs.put_api_key(tx.configs.get()[1] or "")

    assert changes(desk, lambda one: rotate_keys(one.store, Vault(one.settings.secret_keys))) == 0
    assert changes(desk, store_key) == 1


def pin(desk: Bridge) -> None:
    with desk.store.transaction() as tx:
        tx.people.confirm(7, 5)


def seen(desk: Bridge) -> None:
    """Workers cache the people named in events (`worker.ticket.settings_cache`)."""
    with desk.store.transaction() as tx:
        tx.people.note_seen([HelpdeskUser(id=7, email="alice@example.test")])


@pytest.mark.parametrize("known_by", [override(5), pin, seen])
def test_whom_nobody_is_sent_for_any_more_is_a_change(desk: Bridge, known_by: Do) -> None:
    erase(desk)
    known_by(desk)
    assert changes(desk, erase) == 1
    assert changes(desk, erase) == 0, "there is nothing left"


def template_with_mail(desk: Bridge) -> None:
    with desk.store.transaction() as tx:
        tx.templates.create("issue.create", "own", f'{{"issue": {{"subject": "{MAIL}"}}}}', "a test")


def config_with_mail(desk: Bridge) -> None:
    with desk.store.database.transaction() as session:
        record = session.get(PluginConfigRecord, 1)
        assert record
        record.values = {**record.values, "of a newer version": MAIL}


@pytest.mark.parametrize(
    ("named", "scrubbed"),
    [(template_with_mail, scrub(TemplateVersion)), (config_with_mail, scrub(PluginConfigRecord))],
)
def test_a_template_or_setting_without_the_one_that_is_forgotten_is_a_change(
    desk: Bridge, named: Do, scrubbed: Do
) -> None:
    named(desk)
    assert changes(desk, scrubbed) == 1
    assert changes(desk, scrubbed) == 0


def people(name: str) -> Do:
    def do(desk: Bridge) -> None:
        with desk.store.transaction() as tx:
            tx.people.replace_cache([TrackerPerson(5, "alice", name)])

    return do


def statuses(*numbers: int) -> Do:
    def do(desk: Bridge) -> None:
        now = {one.key: one for one in (Entry(MetadataKind.STATUS, number, "a status") for number in numbers)}
        with desk.store.transaction() as tx:
            keep_kinds(tx, [MetadataKind.STATUS], now)

    return do


@pytest.mark.parametrize(
    ("first", "other"),
    [(people("Alice"), people("Alice Archer")), (statuses(1), statuses(1, 2)), (statuses(1, 2), statuses(1))],
)
def test_what_is_read_from_the_tracker_is_a_change_where_it_differs(
    desk: Bridge, first: Do, other: Do
) -> None:
    assert changes(desk, first) == 1
    assert changes(desk, first) == 0
    assert changes(desk, other) == 1


def test_whom_a_person_confirms_is_a_change(desk: Bridge) -> None:
    assert changes(desk, pin) == 1


def test_a_tracker_user_that_is_forgotten_is_a_change(desk: Bridge) -> None:
    erase(desk)
    people("Alice")(desk)
    assert changes(desk, erase) == 1
