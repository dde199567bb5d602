"""The drill's day and faults depend on the seed alone, and cover every kind of event, document and fault."""

from __future__ import annotations

from collections import Counter

import pytest

from shared.events.delivery import parse_delivery
from tests.drill.day import make_day
from tests.drill.documents import SIZES, TOO_LARGE, why_not_at_once, why_not_once_fetched
from tests.drill.inject import ACTIONS
from tests.drill.plan import ATTACHES, KINDS, UPLOADS, make_faults, version_of
from tests.drill.profiles import PROFILES, Profile
from tests.drill.skipped import UNSENT

PROFILE = PROFILES["short"]


def test_the_same_seed_makes_the_same_day_and_the_same_faults() -> None:
    assert make_day(5, PROFILE) == make_day(5, PROFILE)
    assert make_faults(5, PROFILE) == make_faults(5, PROFILE)


def test_another_seed_makes_another_day_and_other_faults() -> None:
    assert make_day(5, PROFILE) != make_day(6, PROFILE)
    assert make_faults(5, PROFILE) != make_faults(6, PROFILE)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_every_kind_of_fault_comes_while_the_load_lasts(profile: object) -> None:
    assert isinstance(profile, type(PROFILE))
    faults = make_faults(1, profile)
    assert len(faults) == profile.faults
    assert {fault.kind for fault in faults} == {kind.name for kind in KINDS}
    assert all(0 < fault.at < profile.seconds for fault in faults)
    assert {fault.action for fault in faults} <= set(ACTIONS)


def test_the_long_drill_plans_at_least_a_thousand_faults() -> None:
    assert PROFILES["long"].faults >= 1000


@pytest.mark.parametrize(
    "kind", ["tracker: 5xx storm", "tracker: resets for a while", "Redis: READONLY", "Redis: MISCONF"]
)
def test_the_long_drill_has_storms_and_a_redis_that_refuses_with_every_seed(kind: str) -> None:
    for seed in range(20):
        assert any(fault.kind == kind for fault in make_faults(seed, PROFILES["long"]))


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_a_day_has_about_as_many_events_as_its_profile_says(profile: Profile) -> None:
    assert len(make_day(5, profile).events) == pytest.approx(profile.events, rel=0.1)


def test_the_long_drill_has_hundreds_of_notes_and_loses_the_answers_to_some() -> None:
    events = make_day(1, PROFILES["long"]).events.values()
    names = [event["event"] for event in events]
    assert min(names.count("followup.added"), names.count("solution.added")) > 300
    assert any(event.get("followup", {}).get("is_private") for event in events)
    faults = [one.options for one in make_faults(1, PROFILES["long"]) if one.options.get("method") == "PUT"]
    assert {"reset_after", "timeout_after", "garbage_after", "status_before"} <= {
        one["kind"] for one in faults
    }


def test_the_long_drill_has_documents_of_each_kind_and_most_of_them_must_arrive() -> None:
    day = make_day(1, PROFILES["long"])
    documents = {
        event["document"]["id"]: event["document"]
        for event in day.events.values()
        if event["event"] == "document.added"
    }
    ends = Counter(
        why_not_at_once(one) or why_not_once_fetched(day.files.get(number))
        for number, one in documents.items()
    )
    assert set(ends) == {None, *UNSENT}
    assert 500 < ends[None] < ends.total()
    sizes = {len(day.files[number]) for number in documents if number in day.files}
    assert sizes >= {*SIZES, TOO_LARGE}
    holders = {
        event["document"]["item"]["type"]
        for event in day.events.values()
        if event["event"] == "document.added"
    }
    assert holders == {"Ticket", "ITILFollowup"}


def test_every_profile_has_documents_that_must_arrive_and_some_that_must_not() -> None:
    for profile in PROFILES.values():
        day = make_day(3, profile)
        added = [event["document"] for event in day.events.values() if event["event"] == "document.added"]
        is_sent = [not why_not_at_once(one) and bool(day.files.get(one["id"])) for one in added]
        assert is_sent.count(True) > 20
        assert is_sent.count(False) > 3


def test_the_long_drill_loses_the_answers_to_uploads_and_to_what_attaches_them() -> None:
    options = [one.options for one in make_faults(1, PROFILES["long"])]
    of_uploads = {one["kind"] for one in options if one.get("path") == UPLOADS}
    of_attaching = {one["kind"] for one in options if one.get("text") == ATTACHES}
    lost = {"reset_after", "timeout_after", "garbage_after", "status_after", "status_before", "reset_before"}
    assert (lost - of_uploads, lost - of_attaching) == (set(), set())


def test_a_storm_is_long_enough_to_be_an_outage_and_acts_or_not() -> None:
    storms = [
        one.options
        for seed in range(20)
        for one in make_faults(seed, PROFILES["long"])
        if one.kind == "tracker: 5xx storm"
    ]
    assert {one["kind"] for one in storms} == {"status_before", "status_after"}
    assert {one["status"] for one in storms} == {500, 502, 503, 504}
    assert all(one["lasts"] >= 5 for one in storms)


def test_every_profile_withdraws_some_items_of_each_kind() -> None:
    for profile in PROFILES.values():
        names = Counter(event["event"] for event in make_day(3, profile).events.values())
        withdrawals = ("followup.updated", "followup.deleted", "solution.deleted", "document.deleted")
        assert all(names[one] for one in withdrawals), names


def test_every_event_is_valid_and_delivered_one_to_three_times() -> None:
    day = make_day(1, PROFILE)
    assert len(day.events) > 1500
    times = dict.fromkeys(day.events, 0)
    for posting in day.postings:
        for event in posting.events:
            times[event["delivery_id"]] += 1
    assert set(times.values()) == {1, 2, 3}
    for delivery_id, event in day.events.items():
        parse_delivery(event, delivery_id)


def test_deliveries_come_out_of_order() -> None:
    day = make_day(1, PROFILE)
    numbers = [
        int(event["delivery_id"].rsplit("-", 1)[1])
        for posting in day.postings
        for event in posting.events
        if event["ticket"]["id"] == 7
    ]
    assert numbers != sorted(numbers)


def test_some_tickets_cannot_be_told_apart_by_their_text() -> None:
    titles = {
        event["ticket"]["id"]: event["ticket"]["title"]
        for event in make_day(1, PROFILE).events.values()
        if "title" in event["ticket"]
    }
    assert len(set(titles.values())) < len(titles) - 20


def test_every_version_of_the_tracker_has_its_seeds() -> None:
    assert {version_of(seed) for seed in range(3)} == {"5.0", "6.0", "6.1"}
