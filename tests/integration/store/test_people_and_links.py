"""People and their matches in the tracker, project mappings, the configuration, the clock, the ticket history."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from producer.admin.records.transaction import Store
from shared.events.config import PluginConfig
from shared.events.parsing import parse_event
from shared.events.snapshots import HelpdeskUser
from shared.metadata.rows import person
from shared.notices.notice import Notice, written
from shared.notices.steps import What
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.store.configuration.matching import TrackerPerson
from shared.store.journal.trace import Step
from tests.support.events import task_event, ticket

ALICE = TrackerPerson(5, "alice", "Alice", "Alice@Example.test")
BOB = TrackerPerson(6, "bob", "Bob", "bob@example.test")
ADMIN = TrackerPerson(1, "admin", "Admin", None, admin=True)


@pytest.fixture
def people(store: Store) -> Store:
    """A store with alice, bob and an administrator."""
    with store.transaction() as tx:
        tx.people.replace_cache([ALICE, BOB, ADMIN])
    return store


def who(store: Store, user_id: int = 7, email: str | None = None) -> TrackerPerson | None:
    with store.transaction() as tx:
        match = tx.people.match(HelpdeskUser(id=user_id, email=email))
    assert match.why
    return match.person


@pytest.mark.parametrize("email", ["alice@example.test", "ALICE@EXAMPLE.TEST", " alice@example.test\n"])
def test_people_match_by_e_mail_whatever_its_case(people: Store, email: str) -> None:
    assert who(people, email=email) == ALICE


def test_an_override_comes_before_the_e_mail(people: Store) -> None:
    with people.transaction() as tx:
        tx.people.put_override(7, 6)
    assert who(people, 7, "alice@example.test") == BOB
    assert who(people, 8, "alice@example.test") == ALICE
    with people.transaction() as tx:
        tx.people.put_override(7, 5)
        assert tx.people.overrides() == {7: 5}
    assert who(people, 7) == ALICE


def test_an_override_to_nobody_does_not_fall_back_to_the_e_mail(people: Store) -> None:
    with people.transaction() as tx:
        tx.people.put_override(7, 99)
    assert who(people, 7, "alice@example.test") is None


@pytest.mark.parametrize("email", [None, "", "  ", "\x00", "nobody@example.test", "alice@example.tes_", "%"])
def test_without_a_match_it_is_nobody(people: Store, email: str | None) -> None:
    assert who(people, email=email) is None


LOOKALIKES = {
    "a long s": ("test@example.test", "te\u017ft@example.test"),
    "a sharp s": ("strasse@example.test", "stra\u00dfe@example.test"),
    "the sign of Kelvin": ("kim@example.test", "\u212aim@example.test"),
    "a dotless i": ("mia@example.test", "m\u0131a@example.test"),
    "a full-width a": ("alice@example.test", "\uff41lice@example.test"),
    "a NUL inside": ("alice@example.test", "ali\x00ce@example.test"),
    "half of a pair inside": ("alice@example.test", "ali\ud800ce@example.test"),
    "a control inside": ("alice@example.test", "alice@example\x1f.test"),
    "a zero-width space": ("alice@example.test", "alice@exa\u200bmple.test"),
    "a blank of another script around": ("alice@example.test", "\u3000alice@example.test"),
}


@pytest.mark.promise("SEC-44")
@pytest.mark.parametrize("looks", LOOKALIKES.values(), ids=list(LOOKALIKES))
@pytest.mark.parametrize("forged_by", ["helpdesk", "tracker"])
def test_an_address_that_only_looks_alike_is_nobody_s(
    store: Store, looks: tuple[str, str], forged_by: str
) -> None:
    true, forged = looks
    on_tracker, named = (true, forged) if forged_by == "helpdesk" else (forged, true)
    event = parse_event(task_event(of_ticket=ticket(technician={"id": 7, "email": named})))
    assert event.ticket.technician
    at_helpdesk = event.ticket.technician.email
    read = person({"id": 5, "login": "x", "mail": on_tracker}, "/users.json")
    assert read
    with store.transaction() as tx:
        tx.people.replace_cache([read])
        tx.people.note_seen([event.ticket.technician])
        [seen] = tx.people.seen()
    assert who(store, email=at_helpdesk) is None
    assert who(store, email=seen.email) is None, "nor by what is remembered of it"
    assert (who(store, email=true) is None) == (forged_by == "tracker")


def test_the_same_characters_beyond_ascii_are_no_match_either(store: Store) -> None:
    with store.transaction() as tx:
        tx.people.replace_cache([TrackerPerson(5, "zoe", "Zoë", "zo\u00eb@example.test")])
    assert who(store, email="zo\u00eb@example.test") is None


def test_an_e_mail_that_two_people_have_is_nobody_s(people: Store) -> None:
    with people.transaction() as tx:
        tx.people.replace_cache([ALICE, TrackerPerson(9, "alicia", "Alicia", "ALICE@example.test")])
    assert who(people, email="alice@example.test") is None


def test_nobody_is_nobody(people: Store) -> None:
    with people.transaction() as tx:
        assert tx.people.match(None).person is None


def test_the_cache_holds_exactly_who_was_read_last(people: Store) -> None:
    renamed = TrackerPerson(5, "alice2", "Alice", "new@example.test")
    many = [TrackerPerson(number, f"u{number}", "U", None) for number in range(100, 1300)]
    with people.transaction() as tx:
        tx.people.replace_cache([renamed, *many])
        assert tx.people.cached_count() == 1201
    with people.transaction() as tx:
        tx.people.replace_cache([renamed])
        assert tx.people.cached() == [renamed]
        assert not tx.people.is_cached(6)
    assert who(people, email="alice@example.test") is None
    assert who(people, email="new@example.test") == renamed


def test_the_administrators_are_known(people: Store) -> None:
    with people.transaction() as tx:
        assert tx.metadata.needed()[0] == (1,)


def test_memberships_are_remembered_and_forgotten(store: Store) -> None:
    with store.transaction() as tx:
        assert not tx.people.is_member_known(1, 5)
        tx.people.remember_member(1, 5)
        tx.people.remember_member(1, 5)
        assert tx.people.is_member_known(1, 5)
        assert not tx.people.is_member_known(2, 5)
        tx.people.forget_member(1, 5)
        assert not tx.people.is_member_known(1, 5)


def test_another_tracker_has_other_people_but_the_same_overrides(people: Store) -> None:
    with people.transaction() as tx:
        tx.people.put_override(7, 5)
        tx.people.remember_member(1, 5)
        tx.people.forget_tracker()
        assert tx.people.cached() == []
        assert not tx.people.is_member_known(1, 5)
        assert tx.people.overrides() == {7: 5}


def test_a_project_link_comes_before_the_entity_s(store: Store) -> None:
    project, entity = (
        ProjectMapping(MappingKind.PROJECT, 3, 11, 4),
        ProjectMapping(MappingKind.ENTITY, 3, 12, None),
    )
    with store.transaction() as tx:
        tx.mappings.put(project)
        tx.mappings.put(entity)
        assert tx.mappings.resolve(3, 3) == project
        assert tx.mappings.resolve(None, 3) == entity
        assert tx.mappings.resolve(99, 3) == entity, "a project without a link falls through to the entity"
        assert tx.mappings.resolve(3, 99) == project
        assert tx.mappings.resolve(None, 4) is None
        assert tx.mappings.all() == [project, entity]


def test_the_root_entity_is_an_entity_like_any_other(store: Store) -> None:
    with store.transaction() as tx:
        tx.mappings.put(ProjectMapping(MappingKind.ENTITY, 0, 11, None))
        assert tx.mappings.resolve(None, 0) == ProjectMapping(MappingKind.ENTITY, 0, 11, None)
        assert tx.mappings.resolve(None, 1) is None, "the match is exact, never through the entity tree"


def test_a_link_is_replaced_and_removed(store: Store) -> None:
    with store.transaction() as tx:
        tx.mappings.put(ProjectMapping(MappingKind.ENTITY, 3, 11, 4))
        tx.mappings.put(ProjectMapping(MappingKind.ENTITY, 3, 12, None))
        assert tx.mappings.get(MappingKind.ENTITY, 3) == ProjectMapping(MappingKind.ENTITY, 3, 12, None)
        assert tx.mappings.remove(MappingKind.ENTITY, 3) is True
        assert tx.mappings.remove(MappingKind.ENTITY, 3) is False
        assert tx.mappings.all() == []


def test_the_configuration_and_the_key_are_written_apart(store: Store) -> None:
    config = PluginConfig(base_url="https://tracker.test", status_map={1: 2}, default_watcher_ids=(5,))
    with store.transaction() as tx:
        assert tx.configs.get() == (PluginConfig(), None)
        tx.configs.put_api_key("token")
        assert tx.configs.get() == (PluginConfig(), "token")
        tx.configs.put(config)
        assert tx.configs.get() == (config, "token")
        tx.configs.put_api_key("other")
        assert tx.configs.get() == (config, "other")


def test_the_database_s_clock_runs_and_is_aware(store: Store) -> None:
    with store.transaction() as tx:
        first = tx.now()
        time.sleep(0.02)
        second = tx.now()
    assert first.tzinfo is not None
    assert timedelta(milliseconds=10) < second - first < timedelta(seconds=60)
    assert abs(first - datetime.now(UTC)) < timedelta(seconds=60)


def unanswered(why: str) -> Notice:
    """Return a step whose reason is a text from another program."""
    actor = Notice("as_administrator")
    return What.CALL_UNANSWERED(method="GET", path="/issues.json", actor=actor, ms=5, error=written(why))


def test_the_trace_keeps_its_order_and_any_text(store: Store) -> None:
    call = {"method": "POST", "body": {"subject": "a\x00\ud800"}}
    with store.transaction() as tx:
        tx.trace.append(
            [
                Step(1, written("one"), call=call),
                Step(2, written("other")),
                Step(1, unanswered("because"), task_id=9),
            ]
        )
        tx.trace.append([])
    with store.transaction() as tx:
        steps = tx.trace.of_ticket(1)
        assert [(step.what, step.why, step.task_id) for step in steps] == [
            ("one", "", None),
            ("GET /issues.json as the API user got no answer after 5 ms", "because", 9),
        ]
        assert steps[0].call == call


def test_the_trace_is_pruned_past_its_retention(store: Store) -> None:
    old = datetime.now(UTC) - timedelta(days=91)
    with store.transaction() as tx:
        tx.trace.append(
            [Step(1, written("old"), at=old), Step(1, written("old"), at=old), Step(1, written("new"))]
        )
        assert tx.trace.prune(90, 1) == 1
        assert tx.trace.prune(90, 10) == 1
        assert [step.what for step in tx.trace.of_ticket(1)] == ["new"]


ODD = "a\x00b\ud800c€😀"


def test_words_with_nul_and_surrogates_can_be_kept_in_the_trace(store: Store) -> None:
    with store.transaction() as tx:
        tx.trace.append([Step(1, unanswered(ODD))])
    with store.transaction() as tx:
        assert "€😀" in tx.trace.of_ticket(1)[0].why


def test_people_with_nul_and_surrogates_in_their_names_can_be_cached(store: Store) -> None:
    with store.transaction() as tx:
        tx.people.replace_cache([TrackerPerson(5, ODD, ODD, ODD)])
    with store.transaction() as tx:
        assert [person.tracker_user_id for person in tx.people.cached()] == [5]
