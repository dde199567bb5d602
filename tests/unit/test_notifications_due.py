"""People are notified of causes that are new or have grown, and of each at most once an hour."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import fakeredis
import pytest

from shared.diagnosis.redis_facts import RedisFacts
from shared.notices.doctor_service import ServiceFinding
from shared.notices.faults import Detail, Fault
from shared.notices.hints import Hint
from shared.notices.notifications import Told
from shared.notifications import message
from shared.notifications.causes import IN_REDIS, Standing, causes, in_general
from shared.notifications.due import Cause, Remembered, decide
from shared.process.itself import Process
from shared.redis.circuit_breaker import CircuitBreaker, Paused
from shared.redis.heartbeat import ProcessSign
from shared.store.journal.causes import FailureCause

MORNING = datetime(2026, 11, 27, 8, tzinfo=UTC)
REFUSED = Fault.TRACKER_REJECTED(method="POST", path="/issues.json", status=422, errors=["Name is Alice"])
URL = "https://deskbridge.example.test"


def held(count: int = 1) -> Cause:
    return Cause("on_hold", Told.ON_HOLD(count=count), "/console/held", count)


def away(minutes: int = 5) -> Cause:
    what = Told.REDMINE_AWAY(minutes=minutes, reason="")
    return Cause("redmine", what, "/console/doctor", after=timedelta(minutes=minutes))


@dataclass
class Day:
    """The remembered causes in the course of a day."""

    remembered: dict[str, Remembered] = field(default_factory=dict)
    last_message: datetime | None = None

    def at(self, minutes: float, *found: Cause, unknown: Sequence[str] = ()) -> list[str]:
        """Return the causes due for a message at a minute of the day, and treat the message as sent."""
        now = MORNING + timedelta(minutes=minutes)
        decision = decide(now, found, self.remembered, unknown=unknown, last_message=self.last_message)
        self.remembered = dict(decision.remembered)
        if decision.due:
            self.last_message = now
        return [one.key for one in decision.due]


def test_a_new_cause_is_reported_at_once_and_not_again_while_it_stays_as_it_is() -> None:
    day = Day()
    assert day.at(0, held()) == ["on_hold"]
    assert [day.at(minute, held()) for minute in (1, 59, 61, 600)] == [[], [], [], []]


def test_more_of_a_cause_is_reported_after_an_hour_at_the_earliest() -> None:
    day = Day()
    day.at(0, held(1))
    assert day.at(30, held(2)) == []
    assert day.at(60, held(2)) == ["on_hold"]
    assert day.at(130, held(1)) == []
    assert day.at(200, held(2)) == ["on_hold"], "one was decided and another one came"


def test_a_cause_that_came_back_is_reported_again_once_the_hour_is_over() -> None:
    day = Day()
    day.at(0, held())
    assert day.at(10) == []
    assert day.at(20, held()) == []
    assert day.at(61, held()) == ["on_hold"]


def test_a_cause_is_forgotten_an_hour_after_its_last_message() -> None:
    day = Day()
    day.at(0, held())
    day.at(59)
    assert day.remembered
    day.at(61)
    assert not day.remembered


def test_an_outage_is_reported_after_five_minutes_and_not_before() -> None:
    day = Day()
    assert [day.at(minute, away()) for minute in (0, 4.9, 5)] == [[], [], ["redmine"]]


def test_outages_of_less_than_five_minutes_are_not_added_up() -> None:
    day = Day()
    day.at(0, away())
    day.at(4)
    assert day.at(6, away()) == []
    assert day.at(11, away()) == ["redmine"]


def test_what_cannot_be_known_stays_as_it_was() -> None:
    day = Day()
    day.at(0, away())
    day.at(3, unknown=IN_REDIS)
    assert day.at(6, away()) == ["redmine"]


def test_at_most_one_message_is_sent_within_five_minutes_whatever_is_new() -> None:
    day = Day()
    day.at(0, held())
    failures = [Cause(f"failed:{one}", Told.A_TEST(), "/console/events") for one in "abc"]
    assert day.at(1, held(), *failures) == []
    assert day.at(5, held(), *failures) == ["failed:a", "failed:b", "failed:c"]


def seen(seconds: float = 3.0, paused: Paused | None = None) -> RedisFacts:
    return RedisFacts(workers=[ProcessSign(Process.here(), seconds)], paused=paused)


def standing(**values: object) -> Standing:
    usual = {
        "now": MORNING,
        "failures": (),
        "on_hold": 0,
        "waiting": 0,
        "newest": MORNING,
        "quiet": timedelta(hours=24),
        "redis": seen(),
    }
    return Standing(**{**usual, **values})  # type: ignore[arg-type]


PAUSED = Paused(Fault.TRACKER_UNREACHABLE(method="GET", path="/users.json"), 0.0, 5.0)


@pytest.mark.parametrize(
    ("found", "key", "page"),
    [
        (standing(on_hold=2), "on_hold", "/console/held"),
        (
            standing(failures=[FailureCause("c0ffee", REFUSED, 3)]),
            "failed:c0ffee",
            "/console/events?state=failed&cause=c0ffee",
        ),
        (standing(redis=seen(paused=PAUSED), waiting=1), "redmine", "/console/doctor"),
        (standing(redis=seen(91.0)), "worker", "/console/doctor"),
        (standing(redis=RedisFacts()), "worker", "/console/doctor"),
        (
            standing(redis=RedisFacts(fault=ServiceFinding.REDIS_LOADING(error="LOADING"))),
            "redis",
            "/console/doctor",
        ),
        (standing(newest=MORNING - timedelta(hours=25)), "quiet", "/console/doctor"),
    ],
)
def test_each_cause_leads_to_the_page_that_fixes_it(found: Standing, key: str, page: str) -> None:
    assert [(one.key, one.path) for one in causes(found)] == [(key, page)]


def test_nothing_is_reported_if_all_is_well_or_nothing_was_set_up_yet() -> None:
    assert not list(causes(standing()))
    assert not list(causes(standing(newest=None)))
    assert not list(causes(standing(redis=seen(paused=PAUSED)))), "nothing waits for Redmine"


def test_a_message_says_what_fails_in_general_and_holds_nothing_of_a_ticket() -> None:
    assert in_general(REFUSED) == "Redmine rejected the call"
    hint = Detail.EXPLAINED_BY(problem=Hint.ACTIVITY_NOT_USABLE_NOW(project_name="Secret"), record="KB")
    hinted = Fault.TRACKER_REJECTED(method="POST", path="/time_entries.json", hints=[hint])
    assert in_general(hinted) == "activity … is not enabled in Redmine project …"
    assert "Secret" not in in_general(hinted)
    found = list(causes(standing(failures=[FailureCause("c0ffee", REFUSED, 3)])))
    assert "Alice" not in message.title(found) + message.body(found, URL)


@pytest.mark.promise("SEC-91")
@pytest.mark.parametrize(
    "reason",
    [
        {"code": "Your password expired: sign in at evil.example", "params": {}},
        {"code": "as_written", "params": {"text": "Your password expired: sign in at evil.example"}},
        {
            "code": "tracker_unreachable",
            "params": {"method": "Your password expired", "path": "evil.example"},
        },
        {"code": "x", "params": {"why": {"code": "Your password expired", "params": {}}}},
    ],
)
def test_who_writes_to_redis_puts_no_words_into_a_message(reason: dict[str, Any]) -> None:
    with fakeredis.FakeRedis() as redis:
        breaker = CircuitBreaker(redis)
        redis.set(breaker.key, json.dumps({"reason": reason, "until": time.time() + 60, "length": 5}))
        facts = seen(paused=breaker.current())
    assert facts.paused
    found = list(causes(standing(redis=facts, waiting=1)))
    assert len(found) == 1
    text = message.title(found) + message.body(found, URL)
    assert "evil" not in text
    assert "password" not in text


def test_every_cause_in_a_message_has_the_address_of_its_page() -> None:
    text = message.body([held(2), away()], URL)
    assert f"{URL}/console/held" in text
    assert f"{URL}/console/doctor" in text
    assert message.title([held(2)]) == ("deskbridge: 2 creations are on hold and need your decision")
    assert "2 things" in message.title([held(2), away()])


def test_a_long_list_is_cut_and_says_so() -> None:
    many = [Cause(f"failed:{one}", Told.A_TEST(), "/console/events") for one in range(13)]
    text = message.body(many, URL)
    assert "And 3 more" in text
    assert f"{URL}/console\n" in f"{text}\n"


def test_without_the_consoles_address_a_message_names_the_page() -> None:
    text = message.body([held()], None)
    assert "page /console/held" in text
    assert "DESKBRIDGE_CONSOLE_URL" in text
