"""What a help desk reports about its spool in a header of its events becomes a metric, and affects nothing else."""

from __future__ import annotations

import time

import pytest

from tests.integration.producer.conftest import RunningProducer, refused
from tests.support.events import task_event
from tests.support.serving import samples

PARKED = 'deskbridge_helpdesk_spool_events{secret="0",state="parked"}'
WAITING = 'deskbridge_helpdesk_spool_events{secret="0",state="waiting"}'
TOLD = 'deskbridge_helpdesk_spool_told_timestamp_seconds{secret="0"}'


def shown(producer: RunningProducer) -> list[float]:
    found = samples(producer.get("/metrics").text)
    return [found[WAITING], found[PARKED]]


def tell(producer: RunningProducer, told: str, status: int = 202) -> None:
    answer = producer.send(task_event(), headers={"deskbridge-spool": told})
    assert answer.status_code == status


def test_what_is_told_is_shown_until_something_else_is(producer: RunningProducer) -> None:
    before = int(time.time())
    tell(producer, "waiting=12, parked=3")
    assert shown(producer) == [12, 3]
    assert before <= samples(producer.get("/metrics").text)[TOLD] <= time.time()
    assert producer.send(task_event()).status_code == 202
    assert shown(producer) == [12, 3], "who tells nothing says nothing"
    tell(producer, "waiting=0,parked=0")
    assert shown(producer) == [0, 0]


@pytest.mark.parametrize(
    "nonsense",
    [
        "waiting=1, parked=1, parked-tickets=",
        "waiting=1, parked=1, parked-tickets=" + " ".join(["1"] * 21),
        "waiting=1, parked=1, parked-tickets=1, more=2",
        "",
        "waiting=1",
        "waiting=-1, parked=1",
        "waiting=1, parked=1e9",
        f"waiting={10**9}, parked=1",
    ],
)
def test_what_makes_no_sense_changes_nothing_and_refuses_nothing(
    producer: RunningProducer, nonsense: str
) -> None:
    tell(producer, "waiting=2, parked=2")
    tell(producer, nonsense)
    assert shown(producer) == [2, 2]


def test_who_has_no_secret_tells_nothing(producer: RunningProducer) -> None:
    tell(producer, "waiting=2, parked=2")
    refused(
        producer.post(b"{}", **{"deskbridge-spool": "waiting=9, parked=9"}),
        401,
    )
    assert shown(producer) == [2, 2]
