"""The doctor is quick and makes a limited number of calls and queries, however many mappings there are."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import event

from deploy.sandbox.tracker.control import StandIn
from producer.admin.doctor import tracker
from producer.admin.doctor.examination import examine
from producer.admin.doctor.installation import Installation
from producer.admin.doctor.latest import examined
from producer.admin.services import Services
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.metadata.synchronisation import sync_metadata
from shared.notices.doctor_service import ServiceFinding
from shared.notices.doctor_tracker import TrackerFinding
from shared.redis.keys import key_of
from shared.redis.rate_limit import KEY as TURNS
from shared.redis.rate_limit import RateLimiter
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from tests.failures.stage import Stage
from tests.support.bridge import Bridge

FIRST = 8
"""The id of the first of the many projects."""
SERIAL = 14
"""Calls other than those for projects: lists of metadata and people, and the checks of the API key."""
STATEMENTS = 150


@pytest.fixture(scope="module")
def large() -> Iterator[StandIn]:
    """Provide a tracker with 2,000 more projects, which takes 10 ms for each answer."""
    with StandIn(arguments=["--extra-projects", "2000", "--latency-ms", "10"]) as tracker:
        yield tracker


@pytest.mark.stand_in
@pytest.mark.parametrize(("links", "calls", "seconds"), [(50, 2 + SERIAL, 2), (2000, 41 + SERIAL, 10)])
def test_the_doctor_is_bounded_in_calls_statements_and_time(
    large: StandIn, redis_url: str, tmp_path: Path, links: int, calls: int, seconds: float
) -> None:
    bridge = Bridge(f"sqlite:///{tmp_path}/large.sqlite3", redis_url, large.base_url, large.api_key)
    sync_metadata(bridge.store, Connector(bridge.store, Vault(bridge.settings.secret_keys)).connect()[1])
    with bridge.store.transaction() as tx:
        for number in range(links):
            tx.mappings.put(ProjectMapping(MappingKind.ENTITY, 1000 + number, FIRST + number, None))
    statements: list[Any] = []
    event.listen(
        bridge.store.database.engine, "before_cursor_execute", lambda *given: statements.append(given[2])
    )
    before = len(large.requests())
    began, used = time.monotonic(), time.process_time()
    found = {one.check: one for one in Stage(bridge, large, lambda *_: None).findings()}
    took, worked = time.monotonic() - began, time.process_time() - used
    bridge.close()
    assert found["links"].status == "ok", found["links"].what
    assert found["links"].found.params["count"] == links + 1
    made = len(large.requests()) - before
    assert made <= calls, made
    assert len(statements) <= STATEMENTS, len(statements)
    assert worked <= seconds / 2, f"{worked:.1f} s of processor time, {took:.1f} s in all"


@pytest.mark.stand_in
def test_with_a_slow_tracker_the_doctor_ends_in_time_and_names_what_it_did_not_reach(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracker, "SLOW_S", 0.2)
    stage.stand_in.fault("delay", method="GET", seconds=0.3)
    patient = stage.installation()
    patient.limit_s = 0.8
    began = time.monotonic()
    found = {one.check: one for one in examine(patient)}
    assert time.monotonic() - began < 3
    assert found["tracker"].found.code == TrackerFinding.TRACKER_SLOW
    assert "took 0.3 s to answer; the timeout is 5 s" in found["tracker"].what
    assert found["links"].found.code == ServiceFinding.NOT_REACHED_IN_TIME
    assert "deskbridge doctor --all" in found["links"].todo
    assert found["pending"].status == "ok", "what the tracker is not needed for is looked at all the same"
    stage.stand_in.clear_faults()


@pytest.mark.stand_in
def test_with_everything_well_the_doctor_takes_at_most_three_seconds(stage: Stage) -> None:
    began = time.monotonic()
    found = list(examine(stage.installation()))
    assert time.monotonic() - began < 3
    assert ServiceFinding.NOT_REACHED_IN_TIME not in {one.found.code for one in found}


@pytest.mark.stand_in
def test_at_four_seconds_an_answer_it_tells_what_it_has_after_ten_seconds(stage: Stage) -> None:
    stage.stand_in.fault("delay", method="GET", seconds=4)
    began = time.monotonic()
    found = {one.check: one for one in examine(stage.installation())}
    took = time.monotonic() - began
    stage.stand_in.clear_faults()
    assert took < 11, took
    assert found["tracker"].found.code == TrackerFinding.TRACKER_SLOW
    assert ServiceFinding.NOT_REACHED_IN_TIME in {one.found.code for one in found.values()}


@pytest.mark.stand_in
def test_the_doctor_takes_no_turns(stage: Stage) -> None:
    """With the environment of the workers, it would wait for the very limit that it must name."""
    RateLimiter(stage.bridge.redis, 0.01).next_turn()
    key = key_of(stage.bridge.redis, TURNS)
    before = stage.bridge.redis.get(key)
    settings = stage.bridge.settings.model_copy(update={"rate_limit": 0.01})
    found = list(examine(Installation.of(Services(settings, stage.bridge.store))))
    assert stage.bridge.redis.get(key) == before, "the next turn is as far ahead as it was"
    assert ServiceFinding.RATE_LIMIT_LOW in {one.found.code for one in found}


@pytest.mark.stand_in
def test_a_redis_that_is_asked_in_tls_and_speaks_none_is_named_within_ten_seconds(stage: Stage) -> None:
    url = stage.bridge.settings.redis_url.get_secret_value().replace("redis://", "rediss://")
    settings = stage.bridge.settings.model_copy(update={"redis_url": SecretStr(url)})
    began = time.monotonic()
    found = {one.check: one for one in examined(Installation.of(Services(settings, stage.bridge.store)))}
    assert time.monotonic() - began < 10
    assert found["redis"].found.code == ServiceFinding.REDIS_WITHOUT_TLS
    assert "write redis:// in DESKBRIDGE_REDIS_URL" in found["redis"].todo
