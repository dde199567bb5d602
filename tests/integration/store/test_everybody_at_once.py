"""Who everybody is, read at once, is what it is one by one."""

from __future__ import annotations

import pytest
from sqlalchemy import event

from shared.events import HelpdeskUser
from shared.store.people import TrackerPerson
from tests.support.bridge import Bridge

TRACKER = [
    TrackerPerson(1, "admin", "Admin", "admin@example.net", admin=True),
    TrackerPerson(5, "alice", "Alice", "alice@example.test"),
    TrackerPerson(6, "bob", "Bob", "bob@example.test"),
    TrackerPerson(7, "carol", "Carol", "shared@example.test"),
    TrackerPerson(8, "dora", "Dora", "shared@example.test"),
    TrackerPerson(9, "erin", "Erin", "erin@example.test"),
    TrackerPerson(10, "fred", "Fred", "fred@example.test"),
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
}


@pytest.mark.parametrize("administrators", [True, False])
def test_everybody_at_once_is_as_one_by_one(bridge: Bridge, administrators: bool) -> None:
    with bridge.store.transaction() as tx:
        tx.people.replace_cache(TRACKER)
        tx.people.note_seen(HelpdeskUser(id=number, email=mail) for number, mail in HELPDESK.items())
        tx.people.put_override(2, 9)
        tx.people.put_override(11, 99)
        for number in (1, 9):
            tx.people.pin(HelpdeskUser(id=number, email=HELPDESK[number]))
        tx.people.confirm(1, 5)
        tx.people.note_seen([HelpdeskUser(id=9, email="bob@example.test")])  # an e-mail that changed
        one_by_one = [
            (user, tx.people.match(user, administrators=administrators)) for user in tx.people.seen()
        ]
        assert tx.people.match_all(administrators=administrators) == one_by_one
    codes = {match.why.code for _, match in one_by_one}
    assert len(codes) == (8 if administrators else 9), codes


def test_everybody_costs_as_many_statements_as_nobody(bridge: Bridge) -> None:
    with bridge.store.transaction() as tx:
        tx.people.note_seen(
            HelpdeskUser(id=number, email=f"{number}@example.test") for number in range(1, 501)
        )
    told: list[str] = []
    event.listen(bridge.store.database.engine, "before_cursor_execute", lambda *given: told.append(given[2]))
    with bridge.store.transaction() as tx:
        assert len(tx.people.match_all()) == 500
    assert len([one for one in told if one.startswith("SELECT")]) <= 6
