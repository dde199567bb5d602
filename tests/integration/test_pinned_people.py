"""A match by e-mail is pinned the first time: an address that changes hands gives no access to a project."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.people.people import confirm_matches, map_user, unmap_user, user_map
from shared.errors import NotFound
from shared.notices.reasons import Matching
from shared.store.configuration.mappings import MappingKind
from shared.store.configuration.matching import TrackerPerson
from tests.support.bridge import DEVELOPER, PEOPLE, Bridge
from tests.support.events import ALICE, SUPPORT_ENTITY, task, task_event, ticket

ADMIN, ALICE_ID, BOB_ID, CAROL_ID, ERIN_ID = 1, 5, 6, 7, 8
PRIVATE = 2
MANAGER = 3
NEWCOMER: dict[str, Any] = {"id": 70, "email": "newcomer@example.test"}
ROOT: dict[str, Any] = {"id": 71, "email": "admin@example.net"}


def know(bridge: Bridge, *people: TrackerPerson) -> None:
    """Fill the cache with the usual people, replaced by these where they share an id."""
    known = {one.tracker_user_id: one for one in (*PEOPLE, *people)}
    with bridge.store.transaction() as tx:
        tx.people.replace_cache(known.values())


def with_mail(number: int, mail: str | None) -> TrackerPerson:
    """Return one of the usual people with another address."""
    one = next(person for person in PEOPLE if person.tracker_user_id == number)
    return TrackerPerson(number, one.login, one.name, mail, one.admin)


def work(bridge: Bridge, number: int, who: dict[str, Any]) -> list[str]:
    """Finish a ticket task of the person's own ticket."""
    event = task_event(of_ticket=ticket(number, technician=who), of_task=task(number + 1000, user=who))
    return bridge.forward(event, ticket_id=number)


def authors(stand_in: StandIn) -> list[int]:
    return [one["user_id"] for one in stand_in.state()["time_entries"]]


def members(stand_in: StandIn, project_id: int = PRIVATE) -> set[int]:
    return {one["user_id"] for one in stand_in.state()["memberships"] if one["project_id"] == project_id}


def mapped(bridge: Bridge, number: int) -> Any:
    return next(one for one in user_map(bridge.store) if one.helpdesk_user_id == number)


@pytest.fixture
def private(bridge: Bridge) -> Bridge:
    """A bridge whose entity is mapped to a private tracker project."""
    bridge.link(MappingKind.ENTITY, SUPPORT_ENTITY, PRIVATE)
    return bridge


@pytest.mark.promise("SEC-54")
def test_an_address_that_somebody_else_takes_over_makes_them_nobody(
    private: Bridge, stand_in: StandIn
) -> None:
    assert work(private, 1, ALICE) == ["done"]
    assert authors(stand_in) == [ALICE_ID]
    know(private, with_mail(ALICE_ID, None), with_mail(CAROL_ID, "alice@example.test"))
    before = members(stand_in)
    assert work(private, 2, ALICE) == ["done"]
    assert authors(stand_in) == [ALICE_ID, ADMIN]
    assert members(stand_in) == before
    alice = mapped(private, 7)
    assert (alice.waits, alice.notice.code, alice.login) == (True, Matching.EMAIL_CHANGED, None)
    assert alice.notice.params["tracker_user_id"] == ALICE_ID
    map_user(private.store, 7, CAROL_ID)
    assert work(private, 3, ALICE) == ["done"]
    assert authors(stand_in)[-1] == CAROL_ID


@pytest.mark.promise("SEC-54")
def test_an_address_that_changes_on_the_helpdesk_makes_nobody_somebody_else(
    private: Bridge, stand_in: StandIn
) -> None:
    work(private, 1, ALICE)
    work(private, 2, {**ALICE, "email": "bob@example.test"})
    assert authors(stand_in) == [ALICE_ID, ADMIN]
    work(private, 3, {**ALICE, "email": None})
    assert authors(stand_in)[-1] == ADMIN, "SPEC 5.4: without an e-mail there is no match"
    work(private, 4, ALICE)
    assert authors(stand_in)[-1] == ALICE_ID, "and the first match still holds"


@pytest.mark.promise("SEC-54")
def test_a_second_helpdesk_user_with_somebody_s_address_waits(private: Bridge, stand_in: StandIn) -> None:
    work(private, 1, ALICE)
    work(private, 2, {**NEWCOMER, "email": ALICE["email"]})
    assert authors(stand_in) == [ALICE_ID, ADMIN]
    newcomer = mapped(private, 70)
    assert (newcomer.waits, newcomer.notice.code) == (True, Matching.EMAIL_TAKEN)
    assert newcomer.notice.params["other_id"] == 7
    map_user(private.store, 70, ALICE_ID)
    work(private, 3, {**NEWCOMER, "email": ALICE["email"]})
    assert authors(stand_in)[-1] == ALICE_ID, "a person may say that both are the same"


def test_an_address_of_somebody_who_was_mapped_by_hand_names_nobody_else(
    private: Bridge, stand_in: StandIn
) -> None:
    map_user(private.store, 99, ALICE_ID)
    work(private, 1, ALICE)
    assert authors(stand_in) == [ADMIN]
    assert mapped(private, 7).notice.code == Matching.EMAIL_TAKEN


def test_looking_pins_nobody(private: Bridge) -> None:
    work(private, 1, NEWCOMER)
    know(private, with_mail(CAROL_ID, "newcomer@example.test"))
    assert mapped(private, 70).login == "carol"
    know(private, with_mail(ERIN_ID, "newcomer@example.test"))
    assert mapped(private, 70).login == "erin"


@pytest.mark.promise("SEC-54")
def test_a_match_is_new_until_a_person_confirms_it(private: Bridge) -> None:
    work(private, 1, ALICE)
    assert mapped(private, 7).new
    assert [one.login for one in confirm_matches(private.store, [7])] == ["alice"]
    assert not mapped(private, 7).new
    assert confirm_matches(private.store, None) == []
    with pytest.raises(NotFound):
        confirm_matches(private.store, [99])


def test_what_waits_for_a_person_is_not_confirmed_but_mapped(private: Bridge) -> None:
    work(private, 1, ALICE)
    know(private, with_mail(ALICE_ID, None), with_mail(CAROL_ID, "alice@example.test"))
    with pytest.raises(NotFound):
        confirm_matches(private.store, [7])


def test_what_a_person_takes_back_is_matched_as_if_for_the_first_time(
    private: Bridge, stand_in: StandIn
) -> None:
    work(private, 1, ALICE)
    know(private, with_mail(ALICE_ID, None), with_mail(CAROL_ID, "alice@example.test"))
    unmap_user(private.store, 7)
    assert mapped(private, 7).new
    work(private, 2, ALICE)
    assert authors(stand_in)[-1] == CAROL_ID
    unmap_user(private.store, 7)
    with pytest.raises(NotFound):
        unmap_user(private.store, 7)


@pytest.mark.promise("SEC-55")
@pytest.mark.parametrize(
    ("setting", "confirmed", "is_member"),
    [
        ("matched", False, True),
        ("matched", True, True),
        ("confirmed", False, False),
        ("confirmed", True, True),
        ("nobody", True, False),
    ],
)
def test_a_setting_says_who_is_made_a_member(
    private: Bridge, stand_in: StandIn, setting: str, confirmed: bool, is_member: bool
) -> None:
    private.configure(membership_for=setting)
    if confirmed:
        with private.store.transaction() as tx:
            tx.people.confirm(80, ERIN_ID)
    assert ERIN_ID not in members(stand_in)
    assert work(private, 1, {"id": 80, "email": "erin@example.test"}) == ["done"]
    assert (ERIN_ID in members(stand_in)) == is_member
    assert authors(stand_in) == [ERIN_ID if is_member else ADMIN]


def test_an_override_is_a_person_s_word(private: Bridge, stand_in: StandIn) -> None:
    private.configure(membership_for="confirmed")
    map_user(private.store, 80, ERIN_ID)
    work(private, 1, {"id": 80, "email": None})
    assert ERIN_ID in members(stand_in)


@pytest.mark.promise("SEC-55")
@pytest.mark.parametrize("by_hand", [False, True])
def test_an_administrator_of_the_tracker_is_never_made_a_member(
    private: Bridge, stand_in: StandIn, by_hand: bool
) -> None:
    if by_hand:
        map_user(private.store, 71, ADMIN)
    before = len(stand_in.requests())
    assert work(private, 1, ROOT) == ["done"]
    assert authors(stand_in) == [ADMIN]
    assert not [one for one in stand_in.requests()[before:] if one["path"].endswith("/memberships.json")]


def test_administrators_are_matched_by_e_mail_unless_a_setting_says_no(private: Bridge) -> None:
    work(private, 1, ROOT)
    assert mapped(private, 71).login == "admin"
    private.configure(match_administrators=False)
    assert mapped(private, 71).notice.code == Matching.NO_ADMINISTRATORS
    map_user(private.store, 71, ADMIN)
    assert mapped(private, 71).login == "admin"


@pytest.mark.promise("SEC-56")
@pytest.mark.parametrize("allowed", [False, True])
def test_a_membership_template_gives_no_role_that_no_setting_allows(
    private: Bridge, stand_in: StandIn, allowed: bool
) -> None:
    private.configure(template_role_ids=[MANAGER] if allowed else [])
    with private.store.transaction() as tx:
        body = f'{{"membership": {{"role_ids": [{MANAGER}]}}}}'
        tx.templates.activate(tx.templates.create("membership.create", "roles", body, "test"), 1, "test")
    assert work(private, 1, {"id": 80, "email": "erin@example.test"}) == ["done"]
    mine = [one for one in stand_in.state()["memberships"] if one["user_id"] == ERIN_ID]
    roles = [one["role_ids"] for one in mine if one["project_id"] == PRIVATE]
    assert roles == [[MANAGER if allowed else DEVELOPER]]
