"""Problems that the doctor finds reach a monitor too: the alert holds until the cause is fixed."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import yaml
from prometheus_client.registry import Collector

from producer.admin.doctor.latest import examined
from producer.admin.people.people import map_user
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.metadata.synchronisation import sync_metadata
from shared.monitoring.state_metrics import StateMetricsCollector
from shared.redis.heartbeat import WORKER, Heartbeats
from shared.redis.keys import INSTALLATIONS, key_of
from shared.redis.latency import KEY as LATENCY
from shared.redis.latency import note_calls, seconds_per_call
from shared.redis.rate_limit import RateLimiter, discard_slots
from shared.store.tables.ledger import Misattributed
from tests.deployment.prometheus import RULES
from tests.failures.rows.environment import other_secret, others_there, refused
from tests.failures.stage import Act, Stage, both, configure, patch, settings
from tests.support.events import task_event, ticket, ticket_event

SIMPLE = re.compile(
    r"max\((?P<metric>deskbridge_\w+)\) (?P<how>[<>]) (?:max\((?P<other>\w+)\)|(?P<number>[\d.]+))"
)
HOW: dict[str, Callable[[float, float], bool]] = {">": operator.gt, "<": operator.lt}


@dataclass(frozen=True)
class Told:
    """A failure that a monitor reports."""

    alert: str
    stage: Act
    repair: Act


def synchronise(stage: Stage) -> None:
    vault = Vault(stage.bridge.settings.secret_keys)
    sync_metadata(stage.bridge.store, Connector(stage.bridge.store, vault).connect()[1])


def calls_take(seconds: float) -> Act:
    """Record calls of a worker that took this long."""

    def act(stage: Stage) -> None:
        note_calls(stage.bridge.redis, {"POST issues": (1, seconds), "GET users": (1, seconds)})

    return act


def later(stage: Stage) -> None:
    """Delete the recorded calls, as if they had expired."""
    for key in stage.bridge.redis.scan_iter(f"{key_of(stage.bridge.redis, LATENCY)}*"):
        stage.bridge.redis.delete(key)


def status_refused(stage: Stage) -> None:
    """Make the tracker refuse a change of status."""
    settings(closed_moves=[[2, 3]])(stage)
    stage.bridge.forward(task_event())
    stage.bridge.forward(ticket_event(1, of_ticket=ticket(status=5)))


def status_taken(stage: Stage) -> None:
    """Fix the workflow and replay."""
    settings(closed_moves=[])(stage)
    stage.replay()


def came_in(seconds: float) -> Act:
    """Receive an event and make it this many seconds old."""

    def act(stage: Stage) -> None:
        stage.bridge.receive(task_event())
        stage.bridge.age(seconds)

    return act


def of_nobody(stage: Stage) -> None:
    """Finish a ticket task as a technician who has no user on the tracker."""
    stage.work(user={"id": 99, "email": "nobody@example.test"})


def corrected(stage: Stage) -> None:
    """Map the technician and delete the wrong authors, as `deskbridge author correct` does at the end."""
    map_user(stage.bridge.store, 99, 6)
    with stage.bridge.store.database.transaction() as session:
        session.query(Misattributed).delete()


def look_at_everything(stage: Stage) -> None:
    """Run the doctor, as a console does every five minutes."""
    examined(stage.installation())


TOLD = [
    Told("DeskbridgeTrackerSlow", calls_take(4), both(later, calls_take(0.05))),
    Told("DeskbridgeStatusesNotTaken", status_refused, status_taken),
    Told(
        "DeskbridgeDefaultsNotUsable",
        both(configure(default_priority_id=2), patch("priorities", 2, active=False), synchronise),
        both(patch("priorities", 2, active=True), synchronise),
    ),
    Told(
        "DeskbridgePartsFailing",
        both(patch("projects", 1, status=5), look_at_everything),
        both(patch("projects", 1, status=1), look_at_everything),
    ),
    Told("DeskbridgeNoDeliveryAccepted", refused(other_secret(4)), refused([])),
    Told("DeskbridgeWrongAuthors", of_nobody, corrected),
    Told("DeskbridgeSilent", came_in(3 * 86400), came_in(60)),
    Told(
        "DeskbridgeWorkerClockOff",
        lambda stage: Heartbeats(stage.bridge.redis).mark(WORKER, ahead_s=600),
        lambda stage: Heartbeats(stage.bridge.redis).mark(WORKER, ahead_s=0.1),
    ),
    Told(
        "DeskbridgeRateLimitHoldsBack",
        lambda stage: RateLimiter(stage.bridge.redis, 0.01).next_turn(),
        lambda stage: discard_slots(stage.bridge.redis),
    ),
    Told(
        "DeskbridgeSharesRedis",
        others_there,
        lambda stage: stage.bridge.redis.zremrangebyrank(INSTALLATIONS, 1, -1),
    ),
]


@pytest.mark.stand_in
@pytest.mark.parametrize("told", TOLD, ids=[one.alert for one in TOLD])
def test_an_alert_holds_until_its_cause_is_put_right(stage: Stage, told: Told) -> None:
    Heartbeats(stage.bridge.redis).mark(WORKER)
    assert not holds(stage, told.alert)
    told.stage(stage)
    assert holds(stage, told.alert)
    told.repair(stage)
    assert not holds(stage, told.alert)


def holds(stage: Stage, alert: str) -> bool:
    """Tell whether an alert's expression is true for the metrics of a console."""
    (group,) = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    (expression,) = (one["expr"] for one in group["rules"] if one["alert"] == alert)
    asked = SIMPLE.fullmatch(expression)
    assert asked, expression
    looks: Collector = StateMetricsCollector(stage.bridge.redis, stage.bridge.store, quiet_s=86400.0)
    shown = {one.name: one.value for family in looks.collect() for one in family.samples}
    if (value := shown.get(asked["metric"])) is None:
        return False
    limit = shown[asked["other"]] if asked["other"] else float(asked["number"])
    return HOW[asked["how"]](value, limit)


@pytest.mark.stand_in
@pytest.mark.parametrize(
    "value", ["a text", {"count": "many", "us": "-1"}, {"count": "9" * 40, "us": "1"}, None]
)
def test_what_nobody_of_ours_wrote_is_no_latency_and_workers_go_on(stage: Stage, value: object) -> None:
    redis = stage.bridge.redis
    note_calls(redis, {"GET users": (2, 8.0)})
    for key in redis.scan_iter(f"{key_of(redis, LATENCY)}*"):
        redis.delete(key)
        if isinstance(value, dict):
            redis.hset(key, mapping=value)
        elif value:
            redis.set(key, str(value))
    assert seconds_per_call(redis) is None
    for _ in range(2):
        note_calls(redis, {"GET users": (2, 8.0)})
    if not isinstance(value, dict) or value["count"] == "many":
        assert seconds_per_call(redis) == pytest.approx(4.0)


@pytest.mark.stand_in
def test_a_slow_tracker_is_what_an_event_waits_for(stage: Stage) -> None:
    stage.bridge.receive(task_event())
    before = stage.trace().text
    calls_take(4.0)(stage)
    assert "took 4.0 s on average" not in before
    for ask in (stage.trace, stage.events, stage.doctor):
        assert "took 4.0 s on average" in ask().text
