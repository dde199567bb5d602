"""Data of the administration in the store: metadata, runs, project claims, people seen, imported links."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import update

from producer.admin.records.models import ProjectClaim
from producer.admin.records.project_claims import ClaimState
from producer.admin.records.transaction import Store
from shared.events.snapshots import HelpdeskUser
from shared.notices.kinds import Kind
from shared.notices.notice import written
from shared.notices.refusals import Refusal
from shared.store.configuration.mappings import MappingKind
from shared.store.configuration.matching import TrackerPerson
from shared.store.configuration.metadata import RUNS_KEPT, Entry, MetadataKind
from shared.store.tables.types import clock

PROJECT, CATEGORY = MetadataKind.PROJECT, MetadataKind.CATEGORY


def test_entries_are_put_replaced_and_removed_with_every_character(store: Store) -> None:
    first = Entry(PROJECT, 1, "Café 🚒 '%", {"identifier": "cafe", "parent_id": None})
    other = Entry(CATEGORY, 1, "Hardware", {}, 1)
    with store.transaction() as tx:
        tx.metadata.put([])
        tx.metadata.put([first, other])
        tx.metadata.put(
            [Entry(PROJECT, 1, "Renamed", {"identifier": "x"}), Entry(CATEGORY, 2, "Software", {}, 2)]
        )
    with store.transaction() as tx:
        assert tx.metadata.get(PROJECT, 1) == Entry(PROJECT, 1, "Renamed", {"identifier": "x"})
        assert tx.metadata.of_kind(CATEGORY, tracker_project_id=1) == [other]
        assert len(tx.metadata.of_kind(CATEGORY, limit=1)) == 1
        assert tx.metadata.counts()["category"] == 2
        tx.metadata.put([first])
        tx.metadata.remove({other.key, (PROJECT, 99)})
    with store.transaction() as tx:
        assert tx.metadata.all().keys() == {first.key, (CATEGORY, 2)}
        assert tx.metadata.get(PROJECT, 1) == first
        tx.metadata.forget_tracker()
        assert tx.metadata.counts()[PROJECT] == 0


def test_thousands_of_entries_and_people_are_written_at_once(store: Store) -> None:
    people = [TrackerPerson(number, f"user{number}", "Name 🐝") for number in range(1, 3001)]
    with store.transaction() as tx:
        tx.metadata.put(Entry(PROJECT, number, f"P{number}") for number in range(1, 3001))
        tx.people.replace_cache(people)
    with store.transaction() as tx:
        assert tx.metadata.counts()["project"] == tx.people.cached_count() == 3000
        tx.metadata.remove({(PROJECT, number) for number in range(1, 2999)})
        tx.people.replace_cache([*people[:2], TrackerPerson(3, "renamed", "", "New@Mail.test", admin=True)])
    with store.transaction() as tx:
        assert [one.tracker_id for one in tx.metadata.of_kind(PROJECT)] == [2999, 3000]
        assert [one.login for one in tx.people.cached()] == ["renamed", "user1", "user2"]
        assert tx.metadata.needed()[0] == (3,)


def test_runs_are_recorded_newest_first_and_old_ones_forgotten(store: Store) -> None:
    with store.transaction() as tx:
        assert tx.metadata.last_good_run() is None
        for number in range(RUNS_KEPT + 5):
            why = Refusal.METADATA_BUSY() if number % 2 else None
            tx.metadata.record_run(tx.now(), counts={"users": number}, differences={}, why=why)
    with store.transaction() as tx:
        runs = tx.metadata.runs(1000)
        assert len(runs) == RUNS_KEPT
        assert [run.counts["users"] for run in runs[:2]] == [RUNS_KEPT + 4, RUNS_KEPT + 3]
        good = tx.metadata.last_good_run()
        assert good
        assert (good.ok, good.reason, good.counts) == (True, None, {"users": RUNS_KEPT + 4})


def claim(store: Store, attempt: int = 0) -> int | None:
    with store.transaction() as tx:
        return tx.project_claims.claim("lab", MappingKind.ENTITY, 9, attempt=attempt, settling=20)


def test_a_project_is_claimed_by_one_of_many(store: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        claimed = list(pool.map(lambda _: claim(store), range(8)))
    assert sorted(map(str, claimed)) == ["1"] + ["None"] * 7


@pytest.mark.parametrize("state", [ClaimState.FREE, ClaimState.CREATED])
def test_a_claim_goes_on_only_from_what_was_seen(store: Store, state: ClaimState) -> None:
    assert claim(store) == 1
    assert claim(store, 1) is None
    with store.transaction() as tx:
        if state is ClaimState.FREE:
            tx.project_claims.free("lab", 1, written("refused"))
        else:
            tx.project_claims.created("lab", 12)
        seen = tx.project_claims.get("lab")
    assert seen
    assert (seen.state, seen.attempt) == (state, 1 if state is ClaimState.FREE else 2)
    assert claim(store, 0) is None
    assert claim(store, seen.attempt) == seen.attempt + 1


def test_a_claim_that_nobody_answered_for_may_be_taken_after_its_time(store: Store) -> None:
    claim(store)
    with store.database.transaction() as session:
        session.execute(update(ProjectClaim).values(settle_after=clock(-1)))
    assert claim(store, 1) == 2
    with store.transaction() as tx:
        tx.project_claims.free("lab", 1, written("a late refusal of the attempt before"))
        found = tx.project_claims.get("lab")
    assert found
    assert found.state == ClaimState.CLAIMED


def test_people_seen_keep_their_newest_e_mail(store: Store) -> None:
    def see(*users: tuple[int, str | None]) -> None:
        with store.transaction() as tx:
            tx.people.note_seen(HelpdeskUser(id=one, email=email) for one, email in users)

    see()
    see((8, None), (7, "a@example.test"), (7, None))
    see((7, None), (8, "b@\x00example.test"), (9, " "))
    see((7, "new@example.test"))
    with store.transaction() as tx:
        tx.people.put_override(10, 1)
        seen = {one.id: one.email for one in tx.people.seen()}
    assert seen == {7: "new@example.test", 8: "b@\ufffdexample.test", 9: None, 10: None}


def test_two_workers_that_see_the_same_people_do_not_wait_for_each_other_for_ever(store: Store) -> None:
    def see(number: int) -> None:
        order = range(1, 30) if number % 2 else range(29, 0, -1)
        with store.transaction() as tx:
            tx.people.note_seen(HelpdeskUser(id=one, email=f"{number}@example.test") for one in order)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(see, range(24)))
    with store.transaction() as tx:
        assert len(tx.people.seen()) == 29


def test_links_taken_over_are_listed_by_key(store: Store) -> None:
    nothing = {"tracker_project_id": None, "issue_id": None, "author_id": None}
    with store.transaction() as tx:
        for key in range(1200, 0, -1):
            assert tx.issues.take_over(key, key, key + 5000, **nothing)
        assert not tx.issues.take_over(1, 1, 9999, **nothing)
    with store.transaction() as tx:
        assert [row.tracker_id for row in tx.ledger(Kind.TICKET).linked()] == list(range(5001, 6201))
