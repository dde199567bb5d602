"""Matching all people at once gives the same result as matching them one by one."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import event

from producer.admin.people.people import user_map, user_map_page
from producer.admin.records.transaction import Store
from shared.events.snapshots import HelpdeskUser
from shared.store.configuration.matching import TrackerPerson, who

TRACKER = [
    TrackerPerson(1, "admin", "Admin", "admin@example.net", admin=True),
    TrackerPerson(5, "alice", "Alice", "alice@example.test"),
    TrackerPerson(6, "bob", "Bob", "bob@example.test"),
    TrackerPerson(7, "carol", "Carol", "shared@example.test"),
    TrackerPerson(8, "dora", "Dora", "shared@example.test"),
    TrackerPerson(9, "erin", "Erin", "erin@example.test"),
    TrackerPerson(10, "fred", "Fred", "fred@example.test"),
    TrackerPerson(11, "gina", "Gina", "gina@example.test"),
    TrackerPerson(12, "kate", "Kate", "kate@example.test"),
]
HELPDESK = {
    1: "ALICE@example.test",
    2: "bob@example.test",
    3: "shared@example.test",
    4: "nobody@example.test",
    5: None,
    6: "admin@example.net",
    7: "erin@example.test",
    8: "alice@example.test",
    9: "fred@example.test",
    10: "bob@example.test",
    12: "gina@example.test",
    13: "Kate@example.test",
    14: "\u212aate@example.test",
}


@pytest.fixture
def everybody(store: Store) -> Store:
    """A store that has a person for each way of being matched or not."""
    with store.transaction() as tx:
        tx.people.replace_cache(TRACKER)
        tx.people.note_seen(HelpdeskUser(id=number, email=mail) for number, mail in HELPDESK.items())
        tx.people.put_override(2, 9)
        tx.people.put_override(11, 99)
        for number in (1, 9, 12):
            tx.people.pin(HelpdeskUser(id=number, email=HELPDESK[number]))
        tx.people.confirm(1, 5)
        tx.people.note_seen([HelpdeskUser(id=9, email="bob@example.test")])  # an e-mail that changed
    return store


@pytest.mark.parametrize("administrators", [True, False])
def test_everybody_at_once_is_as_one_by_one(everybody: Store, administrators: bool) -> None:
    with everybody.transaction() as tx:
        one_by_one = [
            (user, tx.people.match(user, administrators=administrators)) for user in tx.people.seen()
        ]
        assert tx.people.match_all(administrators=administrators) == one_by_one
        some = [user for user, _ in one_by_one[::3]]
        assert tx.people.match_all(some, administrators=administrators) == one_by_one[::3]
    codes = {match.why.code for _, match in one_by_one}
    assert len(codes) == (8 if administrators else 9), codes


def test_people_are_pinned_at_once_as_they_are_one_by_one(everybody: Store) -> None:
    """Two people with one address, one with two addresses, and an override in between."""
    named = [HelpdeskUser(id=number, email=mail) for number, mail in HELPDESK.items()]
    named += [HelpdeskUser(id=12, email="fred@example.test"), HelpdeskUser(id=13, email=None)]
    with everybody.transaction() as tx:
        at_once = tx.people.pin_all(named)
    with everybody.transaction() as tx:
        for user in named:
            assert at_once[who(user)].person == tx.people.pin(user).person, user


def test_pins_are_written_in_one_order(store: Store) -> None:
    """Two workers that pin the same people, each in one transaction, never deadlock."""
    pinned: list[int] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        if "INSERT INTO user_pin" in statement:
            values = parameters.values() if isinstance(parameters, dict) else parameters
            pinned.append(next(iter(values)))

    named = [HelpdeskUser(id=number, email=HELPDESK[number]) for number in (12, 7, 9)]
    event.listen(store.database.engine, "before_cursor_execute", note)
    try:
        with store.transaction() as tx:
            tx.people.replace_cache(TRACKER)
            tx.people.pin_all(named)
    finally:
        event.remove(store.database.engine, "before_cursor_execute", note)
    assert pinned == [7, 9, 12]


@pytest.mark.parametrize("administrators", [True, False])
@pytest.mark.parametrize("only", ["", "unmatched", "new"])
@pytest.mark.parametrize("find", ["", "BOB", "erin", "_", "1"])
def test_a_page_of_people_has_who_the_whole_list_has_in_its_order(
    everybody: Store, administrators: bool, only: str, find: str
) -> None:
    with everybody.transaction() as tx:
        config, _ = tx.configs.get()
        tx.configs.put(config.changed({"match_administrators": str(administrators).lower()}))
    whole = user_map(everybody)
    wanted = [
        one
        for one in whole
        if find.lower() in f"{one.helpdesk_user_id} {one.email or ''} {one.login or ''}".lower()
        and (only != "unmatched" or one.by is None)
        and (only != "new" or one.new)
    ]
    assert wanted or find == "_" or (find, only) == ("erin", "new")
    pages = [
        user_map_page(everybody, find=find, only=only, limit=4, after=after) for after in range(0, 16, 4)
    ]
    assert [one for page, _ in pages for one in page] == wanted
    assert {counted for _, counted in pages} == {(len(whole), sum(one.new for one in whole))}


def test_everybody_costs_as_many_statements_as_nobody(store: Store) -> None:
    with store.transaction() as tx:
        tx.people.note_seen(
            HelpdeskUser(id=number, email=f"{number}@example.test") for number in range(1, 501)
        )
    told: list[str] = []
    event.listen(store.database.engine, "before_cursor_execute", lambda *given: told.append(given[2]))
    with store.transaction() as tx:
        assert len(tx.people.match_all()) == 500
    assert len([one for one in told if one.startswith("SELECT")]) <= 6
