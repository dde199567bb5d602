"""The doctor finds problems, says what to do, and names the article with the details."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr
from redis import Redis
from sqlalchemy import update

from deploy.embedded.ports import free_port
from deploy.embedded.postgres import PostgresServer
from deploy.sandbox.tracker.control import StandIn
from deploy.sandbox.tracker.seed import user_key
from producer.admin.doctor import live
from producer.admin.doctor.examination import examine
from producer.admin.doctor.finding import RECORDS, CheckResult, Status
from producer.admin.doctor.installation import Installation
from producer.admin.people.people import confirm_matches
from producer.admin.records.transaction import Store
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.metadata.synchronisation import sync_metadata
from shared.notices.doctor_service import ServiceFinding
from shared.notices.doctor_setup import Named, SetupFinding
from shared.notices.doctor_tracker import TrackerFinding
from shared.notices.doctor_work import WorkFinding
from shared.notices.notice import Code, written
from shared.notices.steps import Which
from shared.process.itself import Process
from shared.redis.heartbeat import BEAT, WORKER, Heartbeats
from shared.store.configuration.mappings import MappingKind
from shared.store.tables.configuration import MetadataRun
from shared.store.tables.database import Database
from shared.store.tables.journal import JournalEvent
from shared.store.tables.ledger import DryRunObject
from shared.store.tables.types import clock
from shared.tracker import concurrent_reads
from shared.tracker.projects import listed_now
from tests.support.bridge import Bridge
from tests.support.databases import make_tables
from tests.support.events import ALICE, BOB, deletion, task, task_event, ticket, ticket_event

Change = Callable[[Bridge, StandIn], object]


def installation(bridge: Bridge) -> Installation:
    """Return an installation as the administrator's command line has it."""
    vault = Vault(bridge.settings.secret_keys)
    connect = Connector(bridge.store, vault).connect
    return Installation(bridge.settings, bridge.store, bridge.redis, vault, connect, lambda: True)


@pytest.fixture
def healthy(bridge: Bridge) -> Bridge:
    """A deskbridge without problems."""
    sync_metadata(bridge.store, Connector(bridge.store, Vault(bridge.settings.secret_keys)).connect()[1])
    heartbeats = Heartbeats(bridge.redis)
    heartbeats.mark(WORKER)
    heartbeats.mark(BEAT)
    with bridge.store.transaction() as tx:
        tx.producers.mark("here:8080", Process.here(), [])
    bridge.forward(task_event())
    confirm_matches(bridge.store, None)
    bridge.configure(membership_for="confirmed")
    return bridge


def findings(bridge: Bridge) -> list[CheckResult]:
    return list(examine(installation(bridge)))


def wrong(bridge: Bridge) -> dict[str, CheckResult]:
    """Return the results that are not OK, by check."""
    return {one.check: one for one in findings(bridge) if one.status is not Status.OK}


def test_all_is_well_and_every_check_says_so(healthy: Bridge) -> None:
    found = findings(healthy)
    assert [one for one in found if one.status is not Status.OK] == []
    assert {one.check for one in found} == RECORDS.keys()
    assert [one.check for one in found if "which no check can compare" in one.what] == ["text formatting"]
    assert all(one.record is None for one in found)


def test_a_requester_without_an_account_is_nobody_to_map(healthy: Bridge) -> None:
    healthy.configure(sync_followups="public")
    asker = {"id": 99, "email": "stranger@example.test"}
    note = {"event": "followup.added", "followup": {"id": 77, "content": "x", "user": asker}}
    healthy.forward(ticket_event(1, of_ticket=ticket(requester=asker)) | note)
    assert "people" not in wrong(healthy)
    healthy.forward(ticket_event(2, of_ticket=ticket(technician=asker)))
    assert wrong(healthy)["people"].found.code == SetupFinding.PEOPLE_UNKNOWN


def test_a_process_of_another_version_is_named_until_it_has_stopped(healthy: Bridge) -> None:
    with healthy.store.transaction() as tx:
        tx.producers.mark("old:8080", Process("old", 7, "0.0.9", "2026-01-05 09:00 UTC"), [])
    found = wrong(healthy)
    assert found.keys() == {"versions"}
    assert found["versions"].found.code == ServiceFinding.VERSIONS_DIFFER
    assert "old 7 (0.0.9)" in found["versions"].what


def configure(**values: object) -> Change:
    return lambda bridge, _: bridge.configure(**values)


def key(text: str) -> Change:
    def store(bridge: Bridge, _: StandIn) -> None:
        with bridge.store.transaction() as tx:
            tx.configs.put_api_key(Vault(bridge.settings.secret_keys).encrypt(SecretStr(text)))

    return store


def foreign_key(bridge: Bridge, _: StandIn) -> None:
    with bridge.store.transaction() as tx:
        tx.configs.put_api_key(Vault([SecretStr(Fernet.generate_key().decode())]).encrypt(SecretStr("k")))


def may_not_note(bridge: Bridge, stand_in: StandIn) -> None:
    """Send private follow-ups, although the technicians' role may not set notes as private."""
    bridge.configure(sync_followups="all")
    stand_in.patch("roles", 4, permissions=["view_issues", "add_issues", "log_time", "add_issue_notes"])


def work_of(who: dict[str, Any]) -> Change:
    def work(bridge: Bridge, _: StandIn) -> None:
        bridge.forward(ticket_event(5, of_ticket=ticket(4712, technician=who)), ticket_id=4712)

    return work


def required(field_id: int) -> Change:
    return lambda _, stand_in: stand_in.settings(required_custom_fields=[field_id])


def active_template(operation: str, body: str) -> Change:
    """Return a change that activates a template, whatever its text."""

    def put(bridge: Bridge, _: StandIn) -> None:
        with bridge.store.transaction() as tx:
            tx.templates.activate(tx.templates.create(operation, "of the test", body, "a test"), 1, "a test")

    return put


def left_by_a_dry_run(bridge: Bridge, _: StandIn) -> None:
    with bridge.store.database.transaction() as session:
        session.add(
            DryRunObject(
                kind="issue", mark="[deskbridge dry run 1]", tracker_id=17, begun_at=clock(), attempts=0,
                next_attempt_at=clock(),
            )
        )  # fmt: skip


def age(model: type[JournalEvent] | type[MetadataRun], column: str, seconds: float) -> Change:
    def change(bridge: Bridge, _: StandIn) -> None:
        with bridge.store.database.transaction() as session:
            session.execute(update(model).values({column: clock(-seconds)}))

    return change


def wait_long(bridge: Bridge, stand_in: StandIn) -> None:
    bridge.receive(task_event(9))
    age(JournalEvent, "received_at", 7200)(bridge, stand_in)


def dated_ahead(bridge: Bridge, _: StandIn) -> None:
    bridge.receive({**task_event(), "occurred_at": "2999-01-01T00:00:00Z"})


def project_activities(_: Bridge, stand_in: StandIn) -> None:
    """The project overrides the activity with its own row, which is inactive."""
    stand_in.patch("activities", 13, parent_id=9, active=False)


@pytest.mark.parametrize(
    ("change", "check", "status", "code"),
    [
        (lambda b, _: b.redis.flushdb(), "worker", "failure", ServiceFinding.NO_WORKER),
        (lambda b, _: b.redis.flushdb(), "beat", "warning", ServiceFinding.NO_BEAT),
        (lambda _, s: s.settings(clock_offset=600.0), "clock", "failure", ServiceFinding.CLOCKS_DIFFER),
        (lambda _, s: s.settings(clock_offset=20.0), "clock", "warning", ServiceFinding.CLOCKS_DIFFER),
        (dated_ahead, "clock", "warning", ServiceFinding.EVENTS_DATED_AHEAD),
        (foreign_key, "api key", "failure", SetupFinding.API_KEY_UNREADABLE),
        (configure(base_url=None), "tracker", "failure", TrackerFinding.TRACKER_NOT_SET_UP),
        (
            configure(base_url=f"http://127.0.0.1:{free_port()}"),
            "tracker",
            "failure",
            TrackerFinding.TRACKER_NOT_REACHED,
        ),
        (
            lambda _, s: s.fault("status_before", status=500),
            "tracker",
            "failure",
            ServiceFinding.TRACKER_NOT_USABLE,
        ),
        (key("0" * 40), "administrator", "failure", TrackerFinding.KEY_NOT_KNOWN),
        (key(user_key("mallory")), "administrator", "failure", TrackerFinding.KEY_NOT_ADMINISTRATOR),
        (
            lambda _, s: s.settings(rest_enabled=False),
            "administrator",
            "failure",
            TrackerFinding.REST_API_OFF,
        ),
        (
            lambda _, s: s.fault("switch_ignored", path="/trackers.json"),
            "impersonation",
            "failure",
            TrackerFinding.IMPERSONATION_IGNORED,
        ),
        (
            lambda b, _: b.link(MappingKind.ENTITY, 9, 6),
            "links",
            "failure",
            TrackerFinding.LINKED_PROJECT_CLOSED,
        ),
        (lambda b, _: b.link(MappingKind.ENTITY, 9, 1, 3), "links", "failure", TrackerFinding.CATEGORY_GONE),
        (configure(default_role_id=99), "role", "failure", SetupFinding.CONFIG_ID_UNKNOWN),
        (configure(default_role_id=None), "role", "warning", SetupFinding.ROLE_NOT_SET),
        (may_not_note, "notes", "warning", SetupFinding.NOTES_LACK_RIGHTS),
        (configure(text_formatting=None), "text formatting", "warning", SetupFinding.FORMATTING_NOT_SET),
        (configure(default_activity_id=12), "activity", "failure", SetupFinding.CONFIG_ID_UNKNOWN),
        (configure(default_activity_id=None), "activity", "warning", SetupFinding.ACTIVITY_NOT_SET),
        (project_activities, "activity", "failure", TrackerFinding.ACTIVITY_NOT_USABLE),
        (configure(default_tracker_id=99), "ids", "failure", SetupFinding.CONFIG_ID_UNKNOWN),
        (configure(default_watcher_ids=(99,)), "ids", "failure", SetupFinding.CONFIG_ID_UNKNOWN),
        (configure(status_map={2: 99}), "statuses", "failure", SetupFinding.STATUS_MAP_WRONG),
        (configure(status_map={1: 1}), "statuses", "warning", SetupFinding.STATUSES_NOT_MAPPED),
        (required(3), "custom fields", "warning", WorkFinding.CUSTOM_FIELDS_NOT_SENT),
        (required(5), "custom fields", "warning", WorkFinding.CUSTOM_FIELDS_NOT_SENT),
        (
            active_template("issue.create", '{"issue": {"subject": "{{a}}"}}'),
            "templates",
            "warning",
            WorkFinding.TEMPLATE_NOT_RENDERED,
        ),
        (left_by_a_dry_run, "dry runs", "warning", WorkFinding.DRY_RUNS_LEFT),
        (age(MetadataRun, "ended_at", 86400), "metadata", "warning", SetupFinding.METADATA_OLD),
        (
            lambda b, _: b.forward(
                ticket_event(5, of_ticket=ticket(4712, technician={"id": 77})), ticket_id=4712
            ),
            "people",
            "warning",
            SetupFinding.PEOPLE_UNKNOWN,
        ),
        (work_of(BOB), "people", "warning", SetupFinding.MATCHES_NEW),
        (work_of({**ALICE, "email": BOB["email"]}), "people", "warning", SetupFinding.MATCHES_WAIT),
        (configure(membership_for="matched"), "role", "warning", SetupFinding.MEMBERSHIP_BY_EMAIL),
        (wait_long, "pending", "failure", WorkFinding.EVENTS_PENDING),
    ],
)
def test_what_is_wrong_is_found(
    healthy: Bridge, stand_in: StandIn, change: Change, check: str, status: str, code: Code
) -> None:
    change(healthy, stand_in)
    found = wrong(healthy)[check]
    assert found.status == status
    assert found.found.code == code
    assert found.todo
    assert found.record == RECORDS[check]


@pytest.mark.promise("SEC-94")
def test_administrators_of_redmine_who_were_matched_by_e_mail_are_named_until_that_is_confirmed(
    healthy: Bridge, stand_in: StandIn
) -> None:
    def named() -> list[str]:
        code = SetupFinding.ADMINISTRATORS_MATCHED
        return [one.what for one in findings(healthy) if one.found.code == code]

    work_of(BOB)(healthy, stand_in)
    assert named() == []
    work_of({"id": 99, "email": "admin@example.net"})(healthy, stand_in)
    (text,) = named()
    assert "99 (admin@example.net): admin" in text
    with healthy.store.transaction() as tx:
        tx.people.confirm(99, tx.people.pins()[99])
    assert named() == []


def test_tasks_of_technicians_who_did_not_write_them_are_counted(healthy: Bridge) -> None:
    healthy.forward(
        task_event(6, of_task=task(513, technician=BOB)), task_event(7, of_task=task(514, technician=ALICE))
    )
    healthy.forward(task_event(8, of_task=task(513, technician=BOB)))
    counted = [one for one in findings(healthy) if one.found.code == SetupFinding.TASK_AUTHORS]
    assert [(one.status, one.found.params["count"]) for one in counted] == [("ok", 1)]


def test_an_issue_that_is_open_though_its_ticket_was_deleted_is_named_until_it_is_closed(
    healthy: Bridge, stand_in: StandIn
) -> None:
    healthy.forward(deletion(20, "ticket.deleted"))
    expected = TrackerFinding.DELETED_BUT_OPEN(
        count=1, issues=[Named.ISSUE_OF_TICKET(issue_id=6, ticket_id=4711)]
    )
    assert wrong(healthy)["issue statuses"].found == expected
    stand_in.patch("issues", 6, status_id=5)
    assert "issue statuses" not in wrong(healthy)


def test_a_role_that_may_read_private_notes_is_no_fault_since_requesters_do_not_get_it(
    healthy: Bridge,
) -> None:
    healthy.configure(sync_followups="all", sync_solutions="on", membership_for="matched")
    assert "notes" not in wrong(healthy)


@pytest.mark.parametrize(
    "members",
    [
        {"custom_fields": [{"id": 3, "value": "x"}]},
        {"custom_fields": [{"id": "3", "value": "x"}, {"id": [1]}, {"value": "y"}]},
        {"custom_field_values": {"3": "x", "²": "y"}},
    ],
)
def test_a_required_custom_field_that_a_template_fills_is_no_fault(
    healthy: Bridge, stand_in: StandIn, members: dict[str, Any]
) -> None:
    required(3)(healthy, stand_in)
    active_template("issue.create", json.dumps({"issue": members}))(healthy, stand_in)
    assert "custom fields" not in wrong(healthy)


def test_what_failed_or_is_held_is_counted(healthy: Bridge) -> None:
    healthy.receive(task_event(8))
    with healthy.store.database.transaction() as session:
        session.execute(update(JournalEvent).where(JournalEvent.state == "pending").values(state="failed"))
    with healthy.store.transaction() as tx:
        tx.issues.hold(4711, None, written("a test"))
    found = wrong(healthy)
    assert found["failed"].found == WorkFinding.EVENTS_FAILED(count=1)
    assert found["held"].found == WorkFinding.ROWS_HELD(count=1)


def test_what_is_held_for_nothing_is_found(healthy: Bridge) -> None:
    with healthy.store.database.transaction() as session:
        session.execute(update(JournalEvent).values(state="on_hold"))
    assert wrong(healthy)["held"].found == WorkFinding.HELD_FOR_NOTHING(count=1)


@pytest.mark.parametrize(
    ("change", "check", "code"),
    [
        (
            lambda s: s.patch("projects", 1, modules=["issue_tracking"]),
            "modules",
            TrackerFinding.MODULES_MISSING,
        ),
        (lambda s: s.patch("projects", 1, status=5), "links", TrackerFinding.LINKED_PROJECT_CLOSED),
        (lambda s: s.patch("projects", 1, status=9), "links", TrackerFinding.LINKED_PROJECT_ARCHIVED),
        (lambda s: s.patch("activities", 9, active=False), "activity", SetupFinding.CONFIG_ID_UNKNOWN),
        (
            lambda s: s.settings(required_custom_fields=[3]),
            "custom fields",
            WorkFinding.CUSTOM_FIELDS_NOT_SENT,
        ),
    ],
)
def test_what_changed_on_the_tracker_is_found_at_once(
    healthy: Bridge, stand_in: StandIn, change: Callable[[StandIn], object], check: str, code: Code
) -> None:
    change(stand_in)
    assert wrong(healthy)[check].found.code == code


def impatient(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> Installation:
    """Return an installation whose tracker takes longer for one project than the doctor waits for all of them."""
    asked = list[Any]()

    def taking_long(*given: Any) -> Any:
        asked.append(given)
        return listed_now(*given)

    clock = SimpleNamespace(monotonic=lambda: float(len(asked)))
    for module in (live, concurrent_reads):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(live, "listed_now", taking_long)
    monkeypatch.setattr(live, "IN_ONE_CALL", 1)
    monkeypatch.setattr(live, "LONG_ANSWERS", 1)
    return replace(installation(bridge), patience_s=0.5)


def test_where_the_tracker_takes_too_long_projects_of_the_newest_tickets_come_first_and_others_are_unknown(
    healthy: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    healthy.link(MappingKind.ENTITY, 7, 2)
    healthy.link(MappingKind.ENTITY, 8, 3)
    healthy.forward(task_event(7, of_ticket=ticket(4713, entity_id=8), of_task=task(600)), ticket_id=4713)
    stand_in.patch("projects", 2, status=5)
    found = list(examine(impatient(healthy, monkeypatch)))
    assert [(one.check, one.found.params["read"]) for one in found if one.status is Status.UNKNOWN] == [
        ("links", 1),
        ("modules", 1),
    ]
    stand_in.patch("projects", 3, status=5)
    found = list(examine(impatient(healthy, monkeypatch)))
    closed = {
        one.found.params["id"] for one in found if one.found.code == TrackerFinding.LINKED_PROJECT_CLOSED
    }
    assert closed == {8}, "that of the newest ticket was looked at, the others were not"


def test_with_patience_each_linked_project_is_looked_at(
    healthy: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    healthy.link(MappingKind.ENTITY, 7, 2)
    stand_in.patch("projects", 2, status=9)
    found = list(examine(replace(impatient(healthy, monkeypatch), patience_s=None)))
    assert {one.check: one.found.code for one in found}["links"] == TrackerFinding.LINKED_PROJECT_ARCHIVED


def test_a_database_without_tables_or_servers_that_are_down_end_in_findings(
    bridge: Bridge, tmp_path: Path
) -> None:
    down = Redis(port=free_port(), socket_connect_timeout=1)
    ill = installation(bridge)
    ill.redis, ill.is_broker_answering = down, lambda: False
    (tmp_path / "empty.sqlite3").touch()
    ill.store = Store(Database(f"sqlite:///{tmp_path}/empty.sqlite3"))
    found = {one.check: one.status for one in examine(ill)}
    ill.store.database.close()
    looked_at = {check: status for check, status in found.items() if status is not Status.UNKNOWN}
    assert found.keys() == RECORDS.keys(), "what could not be looked at is unknown"
    assert looked_at == {
        "database": Status.OK,
        "migrations": Status.FAILURE,
        "redis": Status.FAILURE,
    }


def test_a_database_that_cannot_be_used_is_told_with_the_drivers_own_cause(
    bridge: Bridge, postgres_server: PostgresServer, postgres_url: str
) -> None:
    told = {}
    with Store(Database(postgres_server.url)).database.engine.begin() as connection:
        connection.exec_driver_sql("DROP ROLE IF EXISTS crowded")
        connection.exec_driver_sql("CREATE ROLE crowded LOGIN CONNECTION LIMIT 0")
    for name, url in {
        "missing": postgres_server.database_url("nowhere"),
        "crowded": postgres_url.replace("//postgres:", "//crowded:"),
        "down": f"postgresql+psycopg2://postgres@127.0.0.1:{free_port()}/x",
        "is set to read-only, so no event can be stored": postgres_url,
    }.items():
        store = Store(Database(url))
        if name == "is set to read-only, so no event can be stored":
            make_tables(store.database)
            with store.database.engine.begin() as connection:
                database = connection.engine.url.database
                connection.exec_driver_sql(
                    f"ALTER DATABASE {database} SET default_transaction_read_only = on"
                )
            store.database.engine.dispose()
        ill = installation(bridge)
        ill.store = store
        told[name] = next(examine(ill))
        store.database.close()
    assert {one.status for one in told.values()} == {Status.FAILURE}
    assert 'database "nowhere" does not exist' in told["missing"].what
    assert "too many connections" in told["crowded"].what
    assert "accepts more connections" in told["crowded"].todo
    assert "refused" in told["down"].what
    assert (
        told["is set to read-only, so no event can be stored"].found.code == ServiceFinding.DATABASE_READ_ONLY
    )
    assert not any("OperationalError" in one.what or "cannot be reached" in one.what for one in told.values())


def test_what_is_well_says_nothing_to_do(healthy: Bridge) -> None:
    assert [one.check for one in findings(healthy) if one.status is Status.OK and one.todo] == []


def test_what_a_finding_names_is_said_in_the_language_of_whoever_reads_it(
    healthy: Bridge, stand_in: StandIn
) -> None:
    stand_in.patch("projects", 1, status=5)
    found = wrong(healthy)["links"].found
    assert found.params["link"] == Which.LINK_OF(kind="entity", id=found.params["id"])
    assert found.params["project_id"] == 1
    stand_in.patch("projects", 1, status=1)
    left_by_a_dry_run(healthy, stand_in)
    (left,) = wrong(healthy)["dry runs"].found.params["objects"]
    assert left.code in (Named.LEFT_ON_TRACKER, Named.LEFT_WITHOUT_NUMBER)
    required(3)(healthy, stand_in)
    (field,) = wrong(healthy)["custom fields"].found.params["fields"]
    assert (field.code, field.params["id"]) == (Named.FIELD_REQUIRED_THERE, 3)
