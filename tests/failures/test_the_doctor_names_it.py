"""`deskbridge doctor` names a failure that no event has met yet, or one that stops everything."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import update

from deploy.embedded.ports import free_port
from deploy.sandbox.tracker.seed import user_key
from producer.admin.backfill.replay import replay_state
from producer.admin.doctor.finding import RECORDS
from producer.admin.people.people import map_user
from producer.admin.review.forgotten_links import forget_link
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.metadata.synchronisation import sync_metadata
from shared.notices.doctor_helpdesk import HelpdeskFinding
from shared.notices.doctor_service import ServiceFinding
from shared.notices.doctor_setup import SetupFinding
from shared.notices.doctor_tracker import TrackerFinding
from shared.notices.doctor_work import WorkFinding
from shared.notices.faults import Detail
from shared.notices.kinds import Kind
from shared.notices.reasons import Reason
from shared.notices.refusals import Refusal
from shared.process.itself import Process
from shared.redis.heartbeat import BEAT, CONSOLE, WORKER, Heartbeats
from shared.store.configuration.mappings import MappingKind
from shared.store.tables.journal import EventState, ProducerSign
from shared.store.tables.types import clock
from shared.tracker.projects import listed_now
from tests.failures.stage import (
    Act,
    Failure,
    Stage,
    both,
    configure,
    key,
    own_key,
    patch,
    remove,
    settings,
    staged,
    template,
)
from tests.support.events import deletion, task_event, ticket, ticket_event

ADDED = "ticket_task.added"
LIST_TEMPLATE = '{"issue": {"subject": "{{ticket.title}}", "custom_fields": [{"id": 4, "value": "Fax"}]}}'
GONE_TEMPLATE = '{"issue": {"subject": "{{ticket.title}}", "custom_fields": [{"id": 77, "value": "x"}]}}'


def seen(email: str | None, number: int = 77) -> Act:
    technician = {"id": number, "email": email}
    event = ticket_event(5, of_ticket=ticket(4712, technician=technician))
    return lambda stage: stage.bridge.forward(event, ticket_id=4712)


def heard(*events: dict[str, Any]) -> Act:
    return lambda stage: stage.bridge.forward(*events)


def sent_after_all(stage: Stage) -> None:
    forget_link(stage.bridge.store, Kind.TICKET_TASK, 512)
    replay_state(stage.bridge.store, EventState.DONE, Reason.LOGGED_BEFORE)
    stage.bridge.sync()


def synchronise(stage: Stage) -> None:
    vault = Vault(stage.bridge.settings.secret_keys)
    sync_metadata(stage.bridge.store, Connector(stage.bridge.store, vault).connect()[1])


def nobody_linked(stage: Stage) -> None:
    with stage.bridge.store.transaction() as tx:
        tx.mappings.remove(MappingKind.ENTITY, 3)


def dated_ahead(stage: Stage) -> None:
    stage.bridge.receive({**ticket_event(), "occurred_at": "2999-01-01T00:00:00Z"})


def full_redis(stage: Stage) -> None:
    stage.bridge.redis.config_set("maxmemory", 1)


def locked_redis(stage: Stage) -> None:
    stage.bridge.redis.config_set("requirepass", "secret")
    stage.bridge.redis.connection_pool.disconnect()


def open_redis(stage: Stage) -> None:
    url = stage.bridge.settings.redis_url.get_secret_value()
    with Redis.from_url(url, password="secret") as redis:
        redis.config_set("requirepass", "")


def worker_of_another_key(stage: Stage) -> None:
    """Let a worker fail to decrypt the API key; the test changes the stored key, and restores it."""
    stage.api_key(stage.tracker.api_key, foreign=True)
    assert stage.work() == EventState.PENDING
    own_key(stage)


def restarted(stage: Stage) -> None:
    """Restart the worker with the right environment."""
    Heartbeats(stage.bridge.redis).able(WORKER)
    stage.replay()


def roomy_redis(stage: Stage) -> None:
    stage.bridge.redis.config_set("maxmemory", 0)


def broker(*, answers: bool) -> Act:
    return lambda stage: setattr(stage, "is_broker_answering", answers)


def silent(name: str) -> Act:
    return lambda stage: stage.bridge.redis.delete(Heartbeats(stage.bridge.redis)._key(name))


def alive(name: str) -> Act:
    return lambda stage: Heartbeats(stage.bridge.redis).mark(name)


def gone(name: str, seconds: float = 40) -> Act:
    """Make a process's heartbeat older by this many seconds."""

    def act(stage: Stage) -> None:
        key, redis = Heartbeats(stage.bridge.redis)._key(name), stage.bridge.redis
        members: list[Any] = redis.zrange(key, 0, -1)
        for one in members:
            redis.zincrby(key, -seconds, one)

    return act


def producer(stage: Stage, seconds: float = 0) -> None:
    with stage.bridge.store.transaction() as tx:
        tx.producers.mark("here:8080", Process.here(), [])
        tx.session.execute(update(ProducerSign).values(seen_at=clock(-seconds)))


FAILURES = [
    Failure(
        "no worker runs",
        silent(WORKER),
        ServiceFinding.NO_WORKER,
        "start `deskbridge worker`",
        ("deskbridge beat",),
        alive(WORKER),
    ),
    Failure(
        "no beat runs",
        silent(BEAT),
        ServiceFinding.NO_BEAT,
        "start `deskbridge beat`",
        ("deskbridge worker",),
        alive(BEAT),
    ),
    Failure(
        "a worker was killed 40 s ago",
        gone(WORKER), ServiceFinding.NO_WORKER, "start `deskbridge worker`",
        ("deskbridge beat", "deskbridge console", "deskbridge producer"), alive(WORKER),
    ),
    Failure(
        "a beat was killed 40 s ago",
        gone(BEAT), ServiceFinding.NO_BEAT, "start `deskbridge beat`",
        ("deskbridge worker", "deskbridge console", "deskbridge producer"), alive(BEAT),
    ),
    Failure(
        "the console was killed 40 s ago",
        both(alive(CONSOLE), gone(CONSOLE)), ServiceFinding.NO_CONSOLE, "start `deskbridge console`",
        ("deskbridge worker", "deskbridge beat", "deskbridge producer"), alive(CONSOLE),
    ),
    Failure(
        "the producer was killed 40 s ago",
        lambda stage: producer(stage, 40), ServiceFinding.NO_PRODUCER, "start `deskbridge producer`",
        ("deskbridge worker", "deskbridge beat", "deskbridge console"), producer,
    ),
    Failure(
        "the API key was changed on the tracker",
        key("0" * 40), TrackerFinding.KEY_NOT_KNOWN, "config set-api-key", ("REST",), own_key,
    ),
    Failure(
        "the API key is no administrator's",
        key(user_key("alice")), TrackerFinding.KEY_NOT_ADMINISTRATOR, "set-api-key", ("REST",), own_key,
    ),
    Failure(
        "the REST API was switched off",
        settings(rest_enabled=False), TrackerFinding.REST_API_OFF, "enable it", ("key",),
        settings(rest_enabled=True),
    ),
    Failure(
        "the key was encrypted with another secret key",
        lambda stage: stage.api_key("x", foreign=True),
        SetupFinding.API_KEY_UNREADABLE, "DESKBRIDGE_SECRET_KEYS", ("REST",), own_key,
    ),
    Failure(
        "no tracker is configured",
        configure(base_url=None), TrackerFinding.TRACKER_NOT_SET_UP, "connect Redmine first",
    ),
    Failure(
        "nothing listens at base_url",
        configure(base_url=f"http://127.0.0.1:{free_port()}"),
        Detail.CONNECTION_REFUSED, "check that the web server is running, and that the port is correct", ("REST",),
    ),
    Failure(
        "the tracker answers 500",
        lambda stage: stage.stand_in.fault("status_before", status=500),
        ServiceFinding.TRACKER_NOT_USABLE, "check that Redmine is running", ("REST",),
        lambda stage: stage.tracker.clear_faults(), real=False,
    ),
    Failure(
        "a proxy drops the header of impersonation",
        lambda stage: stage.stand_in.fault("switch_ignored", path="/trackers.json"),
        TrackerFinding.IMPERSONATION_IGNORED, "header_prefix", (),
        lambda stage: stage.tracker.clear_faults(), real=False,
    ),
    Failure(
        "a linked project was closed",
        patch("projects", 1, status=5), TrackerFinding.LINKED_PROJECT_CLOSED, "reopen it",
        ("archived", "deleted", "does not exist"), patch("projects", 1, status=1),
    ),
    Failure(
        "a linked project was archived",
        patch("projects", 1, status=9), TrackerFinding.LINKED_PROJECT_ARCHIVED, "unarchive it",
        ("closed", "deleted", "does not exist"), patch("projects", 1, status=1),
    ),
    Failure(
        "a linked project was deleted",
        lambda stage: stage.bridge.link(MappingKind.ENTITY, 9, 99), TrackerFinding.LINKED_PROJECT_GONE,
        "deskbridge mapping remove entity 9", ("closed", "archived"),
        lambda stage: stage.bridge.link(MappingKind.ENTITY, 9, 1),
    ),
    Failure(
        "a link's category was deleted",
        lambda stage: stage.bridge.link(MappingKind.ENTITY, 9, 1, 3), TrackerFinding.CATEGORY_GONE, "--category",
        ("closed",), lambda stage: stage.bridge.link(MappingKind.ENTITY, 9, 1, 2),
    ),
    Failure(
        "the assignee of a link's category was locked",
        both(
            lambda stage: stage.bridge.link(MappingKind.ENTITY, 9, 1, 2),
            patch("categories", 2, assigned_to_id=6), patch("users", 6, status=3), synchronise,
        ),
        TrackerFinding.CATEGORY_ASSIGNEE_LOCKED, "2 (Software)", ("closed",), patch("users", 6, status=1),
    ),
    Failure(
        "a linked project lacks time tracking",
        patch("projects", 1, modules=["issue_tracking"]), TrackerFinding.MODULES_MISSING,
        "enable the modules in the project's settings", ("closed",),
        patch("projects", 1, modules=["issue_tracking", "time_tracking"]),
    ),
    Failure(
        "a linked project lacks issue tracking",
        patch("projects", 1, modules=["time_tracking"]), TrackerFinding.MODULES_MISSING,
        "enable the modules in the project's settings", ("closed",),
        patch("projects", 1, modules=["issue_tracking", "time_tracking"]),
    ),
    Failure(
        "the default activity was switched off in the project",
        patch("activities", 13, parent_id=9, active=False), TrackerFinding.ACTIVITY_NOT_USABLE,
        "change default_activity_id", ("closed",), patch("activities", 13, parent_id=10),
    ),
    Failure(
        "the default activity was switched off on the whole tracker",
        patch("activities", 9, active=False), SetupFinding.CONFIG_ID_UNKNOWN, "config set default_activity_id",
        ("closed",), patch("activities", 9, active=True),
    ),
    Failure(
        "the default role was deleted",
        remove("roles", 4), SetupFinding.CONFIG_ID_UNKNOWN, "config set default_role_id", ("closed",),
        configure(default_role_id=5),
    ),
    Failure(
        "a status of status_map was deleted",
        remove("statuses", 5), SetupFinding.STATUS_MAP_WRONG, "status_map", ("closed",),
        configure(status_map={1: 1, 2: 2, 5: 3, 6: 6}),
    ),
    Failure(
        "the default priority was deleted",
        both(configure(default_priority_id=4), remove("priorities", 4)), SetupFinding.CONFIG_ID_UNKNOWN,
        "config set default_priority_id", ("closed",), configure(default_priority_id=2),
    ),
    Failure(
        "the default priority was switched off",
        both(configure(default_priority_id=2), patch("priorities", 2, active=False)), Refusal.ID_SWITCHED_OFF,
        "config set default_priority_id", ("does not work",),
        patch("priorities", 2, active=True),
    ),
    Failure(
        "the default issue type was deleted",
        both(configure(default_tracker_id=3), patch("projects", 1, tracker_ids=[1]), remove("issue_types", 3)),
        SetupFinding.CONFIG_ID_UNKNOWN, "config set default_tracker_id", ("closed",), configure(default_tracker_id=1),
    ),
    Failure(
        "a default watcher was locked",
        both(configure(default_watcher_ids=(6,)), patch("users", 6, status=3)), SetupFinding.CONFIG_ID_UNKNOWN,
        "config set default_watcher_ids", ("closed",), patch("users", 6, status=1),
    ),
    Failure(
        "a custom field of issues was made required",
        settings(required_custom_fields=[3]), WorkFinding.CUSTOM_FIELDS_NOT_SENT, "set a default value in Redmine",
        ("closed",), settings(required_custom_fields=[]),
    ),
    Failure(
        "a custom field of time entries was made required",
        settings(required_custom_fields=[5]), WorkFinding.CUSTOM_FIELDS_NOT_SENT, "template generate",
        ("closed",), settings(required_custom_fields=[]),
    ),
    Failure(
        "a template gives a list a value that it does not have",
        template("issue.create", LIST_TEMPLATE), WorkFinding.TEMPLATE_OUT_OF_DATE, "template save", ("closed",),
        patch("custom_fields", 4, possible_values=["Fax"]),
    ),
    Failure(
        "a template fills a custom field that was deleted",
        template("issue.create", GONE_TEMPLATE), WorkFinding.TEMPLATE_OUT_OF_DATE, "template save",
    ),
    Failure(
        "a template cannot be rendered",
        template("issue.create", '{"issue": {"subject": "{{a}}"}}'), WorkFinding.TEMPLATE_NOT_RENDERED,
        "template preview",
    ),
    Failure(
        "a restored GLPI gave the id of a deleted ticket to another one",
        heard(deletion(1, "ticket.deleted"), ticket_event(30)), HelpdeskFinding.EVENTS_AFTER_DELETION,
        "deskbridge ticket highest", ("closed",), heard(deletion(31, "ticket.restored")),
    ),
    Failure(
        "a restored GLPI gave the id of a ticket task to a new one",
        both(heard(task_event(event=ADDED)), heard(task_event(40, event=ADDED))), HelpdeskFinding.ADDED_AGAIN,
        "deskbridge ticket forget", ("closed",), sent_after_all,
    ),
    Failure(
        "a technician was locked on the tracker",
        seen("dave@example.test"), SetupFinding.PEOPLE_LOCKED, "unlock these users", ("these users are not active",),
        patch("users", 10, status=1),
    ),
    Failure(
        "a technician is mapped to a locked user",
        both(
            lambda stage: map_user(stage.bridge.store, 77, 6), patch("users", 6, status=3), seen(None),
        ),
        SetupFinding.PEOPLE_LOCKED, "user map", ("these users are not active",), patch("users", 6, status=1),
    ),
    Failure(
        "a technician is nobody on the tracker",
        seen("nobody@example.test"), SetupFinding.PEOPLE_UNKNOWN, "user map", ("locked",),
        lambda stage: map_user(stage.bridge.store, 77, 6),
    ),
    Failure(
        "the default issue type is not switched on in a linked project",
        configure(default_tracker_id=2), TrackerFinding.ISSUE_TYPE_NOT_USABLE, "enable it", ("does not have",),
        configure(default_tracker_id=3),
    ),
    Failure(
        "base_url leads beside the tracker",
        lambda stage: stage.bridge.configure(base_url=f"{stage.tracker.base_url}/elsewhere"),
        TrackerFinding.NOT_A_TRACKER, "config set base_url", ("rejected the call",),
        lambda stage: stage.bridge.configure(base_url=stage.tracker.base_url),
    ),
    Failure(
        "a worker has another encryption key than the command line",
        worker_of_another_key, ServiceFinding.WORKER_CANNOT_OPEN_KEY, "with the same DESKBRIDGE_SECRET_KEYS",
        ("keeps running", "set-api-key"), restarted,
    ),
    Failure(
        "Redis was given a password",
        locked_redis, ServiceFinding.REDIS_REFUSES, "DESKBRIDGE_REDIS_URL", ("cannot be reached", "no heartbeat"),
        open_redis,
    ),
    Failure("nothing is linked", nobody_linked, TrackerFinding.NOTHING_LINKED, "deskbridge mapping add entity"),
    Failure(
        "the memory of Redis is full",
        full_redis, ServiceFinding.REDIS_FULL, "raise `maxmemory`", ("no heartbeat",), roomy_redis,
    ),
    Failure(
        "the broker is down",
        broker(answers=False), ServiceFinding.BROKER_UNREACHABLE, "DESKBRIDGE_BROKER_URL", (), broker(answers=True),
    ),
    Failure(
        "the tracker's clock is ten minutes ahead",
        settings(clock_offset=600.0), ServiceFinding.CLOCKS_DIFFER, "NTP", (), settings(clock_offset=0.0), real=False,
    ),
    Failure(
        "the clock of the help desk dates an event ahead",
        dated_ahead, ServiceFinding.EVENTS_DATED_AHEAD, "NTP",
    ),
    Failure(
        "a ticket status is not mapped",
        both(configure(status_map={1: 1}), seen("alice@example.test", 7)), SetupFinding.STATUSES_NOT_MAPPED,
        "status_map", (), configure(status_map={1: 1, 2: 2}),
    ),
]  # fmt: skip


@staged(FAILURES)
def test_the_doctor_names_the_cause_and_the_next_step(stage: Stage, failure: Failure) -> None:
    assert failure.code not in stage.doctor().codes, "it is well before"
    stage.fail(failure)
    try:
        stage.named_by(failure, stage.doctor)
    finally:
        failure.repair(stage)
    if failure.repair is not Failure.__dataclass_fields__["repair"].default:
        assert failure.code not in stage.doctor().codes, "repaired, it is well again at once"


def test_a_default_priority_that_is_switched_off_is_a_warning_since_all_is_forwarded(stage: Stage) -> None:
    configure(default_priority_id=2)(stage)
    patch("priorities", 2, active=False)(stage)
    found = {one.status for one in stage.findings() if one.found.code == SetupFinding.CONFIG_ID_UNKNOWN}
    assert found == {"warning"}
    assert stage.work() == EventState.DONE
    patch("priorities", 2, active=True)(stage)


@pytest.mark.stand_in
def test_what_could_not_be_looked_at_is_unknown_and_never_ok(stage: Stage) -> None:
    stage.stand_in.fault("status_before", status=500)
    found = {one.check: one.status for one in stage.findings()}
    assert found.keys() == RECORDS.keys()
    depends = (
        "links",
        "modules",
        "role",
        "activity",
        "ids",
        "statuses",
        "custom fields",
        "templates",
        "people",
    )
    assert {check: str(found[check]) for check in depends} == dict.fromkeys(depends, "unknown")


def test_what_a_tracker_told_that_closed_meanwhile_is_not_believed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def then_closed(*given: Any) -> Any:
        settings(rest_enabled=False)(stage)
        return listed_now(*given)

    monkeypatch.setattr("producer.admin.doctor.live.listed_now", then_closed)
    stage.tracker.remove("roles", 5)
    with stage.bridge.store.transaction() as tx:
        before = tx.metadata.all(), tx.people.cached()
    found = {one.check: one.status for one in stage.findings()}
    assert (found["tracker"], found["links"], found["role"]) == ("failure", "unknown", "unknown")
    with stage.bridge.store.transaction() as tx:
        assert (tx.metadata.all(), tx.people.cached()) == before


@pytest.mark.stand_in
def test_before_the_first_synchronisation_nothing_claims_that_links_are_active(stage: Stage) -> None:
    stage.bridge.link(MappingKind.ENTITY, 9, 6)
    with stage.bridge.store.transaction() as tx:
        tx.metadata.forget_tracker()
    assert TrackerFinding.LINKED_PROJECT_CLOSED in stage.doctor().codes
    stage.stand_in.fault("status_before", status=500)
    assert TrackerFinding.LINKS_USABLE not in {one.found.code for one in stage.findings()}


def test_a_beat_leaves_its_own_sign_of_life_without_any_worker(stage: Stage, redis_url: str) -> None:
    stage.bridge.redis.flushdb()
    environ = {"DESKBRIDGE_REDIS_URL": redis_url}
    command = [sys.executable, "-m", "worker", "beat"]
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as beat:
        try:
            until = time.monotonic() + 60
            while Heartbeats(stage.bridge.redis).seconds_since(BEAT) is None:
                assert time.monotonic() < until, "no heartbeat"
                time.sleep(0.1)
            assert {ServiceFinding.NO_WORKER} == stage.doctor().codes & {
                ServiceFinding.NO_WORKER,
                ServiceFinding.NO_BEAT,
            }
        finally:
            beat.terminate()
