"""A person is matched by an additional address of the tracker or of the help desk, if no main address matches."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from deploy.sandbox.tracker.control import StandIn
from producer.admin.people.misattributed import misattributed
from producer.admin.people.people import user_map, user_map_page
from producer.admin.privacy.forgetting import forget
from shared.notices.reasons import Reason
from shared.store.tables.journal import EventState, JournalEvent
from tests.support.bridge import Bridge
from tests.support.events import BOB, task, task_event, ticket
from tests.support.ledger import entries

ALICES_ID, BOBS_ID = 5, 6
AT_HOME = "bob.home@elsewhere.test"
OTHERWISE = {"id": 8, "email": AT_HOME}


def log(bridge: Bridge, user: dict[str, Any], number: int = 512) -> list[str]:
    of_ticket = ticket(4000 + number, technician=user)
    return bridge.forward(
        task_event(number, of_ticket=of_ticket, of_task=task(number, user=user)), ticket_id=4000 + number
    )


def authors(stand_in: StandIn) -> list[int]:
    return [entry["user_id"] for entry in entries(stand_in)]


def questions(stand_in: StandIn) -> int:
    return sum(one["path"] == "/users.json" and "mail=" in one["query"] for one in stand_in.requests())


@pytest.fixture
def of_bob(bridge: Bridge, stand_in: StandIn) -> Bridge:
    """A bridge to a tracker on which bob has an additional address."""
    stand_in.settings(redmine="6.1")
    stand_in.patch("users", BOBS_ID, further_mails=[AT_HOME])
    return bridge


def test_the_tracker_is_asked_whose_additional_address_it_is(of_bob: Bridge, stand_in: StandIn) -> None:
    assert log(of_bob, OTHERWISE) == ["done"]
    assert log(of_bob, OTHERWISE, 513) == ["done"]
    assert authors(stand_in) == [BOBS_ID] * 2
    assert misattributed(of_bob.store) == []
    (known,) = [one for one in user_map(of_bob.store) if one.helpdesk_user_id == 8]
    assert (known.login, known.new) == ("bob", True)
    assert [one.helpdesk_user_id for one in user_map_page(of_bob.store, only="new", limit=9)[0]] == [8]
    assert user_map_page(of_bob.store, only="unmatched", limit=9)[0] == []


def test_an_older_redmine_that_finds_parts_of_addresses_proves_nothing(
    of_bob: Bridge, stand_in: StandIn
) -> None:
    stand_in.settings(redmine="5.0")
    log(of_bob, OTHERWISE)
    assert authors(stand_in) == [1]


def test_an_address_that_no_one_has_is_asked_for_once(of_bob: Bridge, stand_in: StandIn) -> None:
    for number in (512, 513, 514):
        log(of_bob, {"id": 8, "email": "nobody@elsewhere.test"}, number)
    log(of_bob, BOB, 515)
    assert questions(stand_in) == 1


def test_a_part_of_an_address_matches_no_one(of_bob: Bridge, stand_in: StandIn) -> None:
    log(of_bob, {"id": 8, "email": AT_HOME[1:]})
    log(of_bob, {"id": 9, "email": f"{AT_HOME}|x@elsewhere.test"}, 513)
    assert authors(stand_in) == [1, 1]


def test_a_user_who_is_another_persons_is_not_matched(of_bob: Bridge, stand_in: StandIn) -> None:
    log(of_bob, {**BOB, "id": 21})
    log(of_bob, OTHERWISE, 513)
    assert authors(stand_in) == [BOBS_ID, 1]


def test_an_address_that_two_users_have_matches_no_one(of_bob: Bridge, stand_in: StandIn) -> None:
    stand_in.patch("users", ALICES_ID, further_mails=[AT_HOME])
    log(of_bob, OTHERWISE)
    assert authors(stand_in) == [1]


def test_an_additional_address_of_the_help_desk_matches_if_the_default_does_not(
    bridge: Bridge, stand_in: StandIn
) -> None:
    emails = [AT_HOME, BOB["email"]]
    log(bridge, {**OTHERWISE, "emails": emails})
    log(bridge, OTHERWISE, 513)  # such as an older event; the match is kept
    assert authors(stand_in) == [BOBS_ID] * 2


def test_the_default_address_decides_and_two_users_of_the_others_match_no_one(
    bridge: Bridge, stand_in: StandIn
) -> None:
    both = ["alice@example.test", str(BOB["email"])]
    log(bridge, {"id": 8, "email": both[0], "emails": both})
    log(bridge, {"id": 9, "email": AT_HOME, "emails": [AT_HOME, *both]}, 513)
    assert authors(stand_in) == [ALICES_ID, 1]


def test_an_erased_person_is_erased_with_all_addresses(bridge: Bridge) -> None:
    bridge.configure(base_url="http://127.0.0.1:9")  # nothing is sent to a tracker, which would keep it
    named = {"id": 8, "email": BOB["email"], "emails": [BOB["email"], AT_HOME]}
    log(bridge, named)
    of_ticket = ticket(5000, title=f"Write to {AT_HOME}", technician=None)
    bridge.receive(task_event(of_ticket=of_ticket, of_task=task(520, user=None, state=1)))
    bridge.sync(5000)
    with bridge.store.transaction() as tx:
        tx.journal.end([1, 2], EventState.SKIPPED, Reason.NO_TIME())
    forget(bridge.store, 8, None)
    with bridge.store.database.transaction() as session:
        assert [
            text for text in session.scalars(select(JournalEvent.payload)) if AT_HOME in (text or "")
        ] == []
