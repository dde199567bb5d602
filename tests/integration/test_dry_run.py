"""Dry runs over the stand-in, with faults: nothing stays on the tracker, and nothing else is ever deleted."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

import pytest
import requests
from sqlalchemy import update

from deploy.embedded.ports import free_port
from deploy.sandbox.tracker.control import StandIn
from producer.admin.dryrun.results import DryRunRefused
from producer.admin.dryrun.run import DryRuns
from shared.codes.coded import written
from shared.config import PluginConfig
from shared.connection import Connector
from shared.dryrun.cleanup import clean_up
from shared.dryrun.objects import Bench
from shared.errors import (
    OutcomeUnknown,
    SettingsError,
    TemplateError,
    TrackerBusy,
    TrackerClosed,
    TrackerUnreachable,
)
from shared.metadata.synchronisation import sync_metadata
from shared.refusals import records
from shared.send_window import SendWindow
from shared.store.models import DryRunObject
from shared.store.types import clock
from shared.templating.operations import OPERATIONS, Operation
from shared.tracker.client import TrackerClient
from shared.vault import Vault
from tests.support.bridge import Bridge
from tests.support.dry_runs import context_for, dry_run, let_time_pass, make_due
from worker.bootstrap import Worker
from worker.dry_runs import clean_dry_runs

ISSUE, TIME = Operation.ISSUE_CREATE, Operation.TIME_ENTRY_CREATE
STATUS, PROJECT, MEMBER = (
    Operation.ISSUE_UPDATE_STATUS,
    Operation.PROJECT_CREATE,
    Operation.MEMBERSHIP_CREATE,
)
MADE_AT = {ISSUE: "issues", STATUS: "issues", TIME: "issues", PROJECT: "projects", MEMBER: "projects"}
LOST_BEFORE: list[dict[str, Any]] = [
    {"kind": "reset_before"}, {"kind": "close_before"}, {"kind": "status_before", "status": 502},
]  # fmt: skip
LOST_AFTER: list[dict[str, Any]] = [
    {"kind": "reset_after"}, {"kind": "close_after"}, {"kind": "truncated_after"}, {"kind": "garbage_after"},
    {"kind": "status_after", "status": 500},
]  # fmt: skip
DELETE_LOST_AFTER = [one for one in LOST_AFTER if one["kind"] not in ("garbage_after", "truncated_after")]


def kind_of(fault: dict[str, Any]) -> str:
    return str(fault["kind"])


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def runs(bridge: Bridge) -> DryRuns:
    """Dry runs of a deskbridge whose cache is filled."""
    connect = Connector(bridge.store, Vault(bridge.settings.secret_keys)).connect
    _, client = connect()
    sync_metadata(bridge.store, client)
    client.close()
    return DryRuns(bridge.store, connect)


@pytest.fixture
def before(runs: DryRuns, stand_in: StandIn) -> dict[str, Any]:
    """What the tracker held before."""
    return stand_in.state()


def clean(runs: DryRuns) -> int:
    return clean_up(runs.store, runs.connect)


def calls(stand_in: StandIn, method: str, path: str = "") -> list[str]:
    return [one["path"] for one in stand_in.requests() if one["method"] == method and path in one["path"]]


def hide(stand_in: StandIn) -> None:
    """Let nothing be looked up."""
    stand_in.fault("status_before", method="GET", path="/users.json", status=502)


# --- what is tried, and what stays


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_dry_run_leaves_nothing_behind(
    operation: Operation, runs: DryRuns, stand_in: StandIn, before: dict[str, Any]
) -> None:
    told = dry_run(runs, operation)
    assert (told.ok, told.deleted, told.left, told.hints) == (True, True, [], [])
    assert told.status in (201, 204)
    assert told.created
    assert stand_in.state() == before
    assert runs.left() == []


def test_what_is_sent_is_the_rendered_payload_with_a_mark_behind_the_subject(
    runs: DryRuns, stand_in: StandIn
) -> None:
    told = dry_run(runs, ISSUE, {"subject": "x" * 255, "priority_id": 2})
    sent = next(one["body"] for one in stand_in.requests() if one["method"] == "POST")["issue"]
    assert told.payload == {"issue": {"subject": "x" * 255, "priority_id": 2, "project_id": 1}}
    assert (sent | {"subject": ""}) == {"subject": "", "priority_id": 2, "project_id": 1}
    assert len(sent["subject"]) == 255
    assert sent["subject"].startswith("xxx")
    assert " [deskbridge dry run " in sent["subject"]
    assert all(one["as"] is None for one in stand_in.requests())


def test_no_two_dry_runs_have_the_same_mark(runs: DryRuns, stand_in: StandIn) -> None:
    for _ in range(3):
        dry_run(runs, PROJECT)
    sent = [one["body"]["project"] for one in stand_in.requests() if one["method"] == "POST"]
    assert len({one["identifier"] for one in sent}) == 3
    assert all(one["name"].startswith("Support North deskbridge-dry-run-") for one in sent)


def test_time_is_logged_on_an_issue_made_for_it_and_never_on_the_tickets_own(
    runs: DryRuns, stand_in: StandIn
) -> None:
    context = context_for(TIME)
    context["issue"]["id"] = 1
    told = runs.run(TIME, '{"time_entry": {"comments": "{{issue.id}}", "activity_id": 9}}', context, ())
    assert told.ok
    assert told.payload["time_entry"]["issue_id"] == 6
    assert told.payload["time_entry"]["comments"] == "6"
    assert context["issue"]["id"] == 1, "the context is only read"
    assert calls(stand_in, "DELETE") == ["/time_entries/1.json", "/issues/6.json"]


def test_a_membership_is_tried_in_a_project_made_for_it(runs: DryRuns, stand_in: StandIn) -> None:
    assert dry_run(runs, MEMBER, {"user_id": 5, "role_ids": [4]}).ok, "alice is a member of project 1 already"
    assert calls(stand_in, "POST", "/projects/1/") == []


def test_a_status_is_set_on_an_issue_made_for_it(runs: DryRuns, stand_in: StandIn) -> None:
    told = dry_run(runs, STATUS)
    assert (told.method, told.path, told.status, told.answer) == ("PUT", "/issues/6.json", 204, "")


def test_the_answer_is_told_unchanged(runs: DryRuns, stand_in: StandIn) -> None:
    told = dry_run(runs, ISSUE, {"subject": "x", "category_id": 3})
    assert (told.status, told.ok, told.created, told.deleted) == (422, False, None, None)
    assert told.answer == '{"errors":["Category is not included in the list"]}'


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_hints_are_the_same_in_every_language(language: str, runs: DryRuns, stand_in: StandIn) -> None:
    stand_in.patch("users", 1, language=language)
    tried: list[tuple[Operation, dict[str, Any], str]] = [
        (ISSUE, {"subject": "x", "category_id": 3}, records.NOT_THERE),
        (ISSUE, {"subject": "x", "priority_id": 99}, records.NOT_THERE),
        (ISSUE, {"subject": "x", "watcher_user_ids": [5, 999]}, records.WATCHER),
        (ISSUE, {"subject": "x", "project_id": 6}, records.NO_CREATION),
        (ISSUE, {"subject": "x", "custom_fields": [{"id": 4, "value": "Fax"}]}, records.CHOICE),
        (TIME, {"comments": "x", "activity_id": 12}, records.ACTIVITY),
        (PROJECT, {"name": "x", "identifier": "y", "parent_id": 6}, records.PARENT_PROJECT),
        (MEMBER, {"user_id": 999, "role_ids": [4]}, records.MEMBERSHIP),
    ]
    for operation, body, record in tried:
        told = dry_run(runs, operation, body)
        assert not told.ok
        assert [one.record for one in told.hints] == [record], (operation, body, told)


def test_a_required_custom_field_is_the_hint(runs: DryRuns, stand_in: StandIn) -> None:
    stand_in.settings(required_custom_fields=[3])
    sync_metadata(runs.store, runs.connect()[1])
    (hint,) = dry_run(runs, ISSUE, {"subject": "x"}).hints
    assert (hint.field, hint.record) == ("issue.custom_fields[3]", records.REQUIRED_FIELD)


@pytest.mark.parametrize("operation", [TIME, STATUS, MEMBER])
def test_what_the_tracker_requires_of_temporary_objects_is_filled_in(
    operation: Operation, runs: DryRuns, stand_in: StandIn
) -> None:
    stand_in.settings(required_custom_fields=[2, 3, 4])
    sync_metadata(runs.store, runs.connect()[1])
    assert dry_run(runs, operation).ok
    assert runs.left() == []


def test_without_a_temporary_issue_there_is_no_dry_run_and_the_reason_is_told(
    runs: DryRuns, stand_in: StandIn, before: dict[str, Any]
) -> None:
    with pytest.raises(DryRunRefused, match=r"temporary issue.*422.*Project cannot be blank.*KB-HINT-001"):
        dry_run(runs, TIME, tracker_project_id=6)
    assert stand_in.state() == before
    assert runs.left() == []


def test_without_a_tracker_project_there_is_no_dry_run(runs: DryRuns, stand_in: StandIn) -> None:
    asked = len(stand_in.requests())
    for operation in (ISSUE, STATUS, TIME, MEMBER):
        context = context_for(operation) | {"project": {"tracker_project_id": None}}
        with pytest.raises(DryRunRefused, match="no tracker project is known"):
            runs.run(operation, f'{{"{operation.top_key}": {{"hours": 1, "subject": "x"}}}}', context, ())
    assert len(stand_in.requests()) == asked


@pytest.mark.parametrize("body", ["{", '{"issue": {"subject": "{{nothing}}"}}', "[]"])
def test_a_faulty_template_is_told_before_anything_is_sent(
    body: str, runs: DryRuns, stand_in: StandIn
) -> None:
    asked = len(stand_in.requests())
    for operation in (ISSUE, STATUS):
        with pytest.raises(TemplateError):
            runs.run(operation, body, context_for(operation), ())
    assert len(stand_in.requests()) == asked
    assert runs.left() == []


def test_a_template_that_does_not_fit_the_temporary_issue_leaves_nothing(
    runs: DryRuns, stand_in: StandIn, before: dict[str, Any]
) -> None:
    body = '{"time_entry": {"issue_id": 1, "activity_id": 9}}'
    with pytest.raises(TemplateError, match="another issue"):
        runs.run(TIME, body, context_for(TIME), ())
    assert stand_in.state() == before
    assert runs.left() == []


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_outage_is_raised_and_leaves_nothing(
    operation: Operation, runs: DryRuns, bridge: Bridge, stand_in: StandIn, before: dict[str, Any]
) -> None:
    stand_in.settings(rest_enabled=False)
    with pytest.raises(TrackerClosed):
        dry_run(runs, operation)
    stand_in.settings(rest_enabled=True)
    bridge.configure(base_url=f"http://127.0.0.1:{free_port()}")
    with pytest.raises(TrackerUnreachable):
        dry_run(runs, operation)
    assert stand_in.state() == before
    assert runs.left() == []


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_limiter_is_told_and_leaves_nothing(
    operation: Operation, when: str, runs: DryRuns, stand_in: StandIn, before: dict[str, Any]
) -> None:
    stand_in.fault(f"status_{when}", method="POST", status=429, count=1)
    with suppress(TrackerBusy):
        dry_run(runs, operation)
    let_time_pass(runs.store)
    clean(runs)
    assert stand_in.state() == before
    assert runs.left() == []


# --- lost answers


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("fault", LOST_AFTER, ids=kind_of)
def test_a_creation_whose_answer_is_lost_is_found_by_its_mark_and_deleted(
    operation: Operation, fault: dict[str, Any], runs: DryRuns, stand_in: StandIn, before: dict[str, Any]
) -> None:
    stand_in.fault(**fault, method="POST", path=f"/{MADE_AT[operation]}.json", count=1)
    told = dry_run(runs, operation)
    assert (told.deleted, told.left) == (True, [])
    assert told.created
    assert stand_in.state() == before
    assert runs.left() == []


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("fault", LOST_BEFORE, ids=kind_of)
def test_a_creation_that_was_lost_stays_in_the_list_until_it_cannot_come_any_more(
    operation: Operation, fault: dict[str, Any], runs: DryRuns, stand_in: StandIn, before: dict[str, Any]
) -> None:
    stand_in.fault(**fault, method="POST", path=f"/{MADE_AT[operation]}.json", count=1)
    try:
        told = dry_run(runs, operation)
    except (OutcomeUnknown, DryRunRefused):
        assert operation not in (ISSUE, PROJECT)
    else:
        assert (told.ok, told.created, told.deleted, told.left) == (False, None, False, runs.left())
    (left,) = runs.left()
    assert left.tracker_id is None
    assert left.reason
    make_due(runs.store)
    assert clean(runs) == 0
    assert len(runs.left()) == 1, "it may still come"
    let_time_pass(runs.store)
    assert clean(runs) == 1
    assert runs.left() == []
    assert stand_in.state() == before


@pytest.mark.parametrize("kind", ["issue", "project"])
def test_a_creation_that_takes_effect_late_is_found_and_deleted(
    kind: str, runs: DryRuns, stand_in: StandIn, before: dict[str, Any]
) -> None:
    path = f"/{kind}s.json"
    stand_in.fault("reset_before", method="POST", path=path, count=1)
    dry_run(runs, ISSUE if kind == "issue" else PROJECT)
    make_due(runs.store)
    clean(runs)
    body = next(one["body"] for one in stand_in.requests() if one["method"] == "POST")
    real(stand_in, path, body)
    let_time_pass(runs.store)
    assert clean(runs) == 1
    assert stand_in.state() == before


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("fault", DELETE_LOST_AFTER, ids=kind_of)
def test_a_deletion_whose_answer_is_lost_is_confirmed_by_looking(
    operation: Operation, fault: dict[str, Any], runs: DryRuns, stand_in: StandIn, before: dict[str, Any]
) -> None:
    stand_in.fault(**fault, method="DELETE")
    told = dry_run(runs, operation)
    assert (told.ok, told.deleted, told.left) == (True, True, [])
    assert stand_in.state() == before
    assert runs.left() == []


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("fault", [*LOST_BEFORE, {"kind": "status_before", "status": 403}], ids=kind_of)
def test_a_deletion_that_did_not_happen_is_said_loudly_and_tried_again_by_the_sweep(
    operation: Operation, fault: dict[str, Any], runs: DryRuns, stand_in: StandIn, before: dict[str, Any]
) -> None:
    number = stand_in.fault(**fault, method="DELETE")
    told = dry_run(runs, operation)
    assert (told.ok, told.deleted) == (True, False)
    (left,) = told.left
    assert left.tracker_id in (6, 8)
    assert f"#{left.tracker_id}" in str(left)
    deletions = len(calls(stand_in, "DELETE"))
    stand_in.clear_faults(number)
    assert clean(runs) == 0
    assert len(calls(stand_in, "DELETE")) == deletions, "the first one may still take effect"
    make_due(runs.store)
    assert clean(runs) == 1
    assert runs.left() == []
    assert stand_in.state() == before


@pytest.mark.parametrize("fault", [*LOST_BEFORE, *LOST_AFTER], ids=kind_of)
@pytest.mark.parametrize(("operation", "path"), [(TIME, "/time_entries.json"), (MEMBER, "/projects/8/.*")])
def test_what_was_tried_inside_something_temporary_goes_with_it(
    operation: Operation,
    path: str,
    fault: dict[str, Any],
    runs: DryRuns,
    stand_in: StandIn,
    before: dict[str, Any],
) -> None:
    stand_in.fault(**fault, method="POST", path=path, count=1)
    told = dry_run(runs, operation)
    assert (told.deleted, told.left) == (True, [])
    assert stand_in.state() == before


def test_a_status_template_that_renames_the_issue_does_not_take_its_mark(
    runs: DryRuns, stand_in: StandIn, before: dict[str, Any]
) -> None:
    number = stand_in.fault("reset_before", method="DELETE")
    told = dry_run(runs, STATUS, {"status_id": 2, "subject": "Renamed"})
    assert told.payload == {"issue": {"status_id": 2, "subject": "Renamed"}}
    assert told.deleted is False
    stand_in.clear_faults(number)
    let_time_pass(runs.store)
    assert clean(runs) == 1
    assert stand_in.state() == before


# --- nothing else is deleted


def real(stand_in: StandIn, path: str, body: dict[str, Any]) -> int:
    """Somebody makes something; return its id."""
    headers = {"X-Redmine-API-Key": stand_in.api_key}
    answer = requests.post(stand_in.base_url + path, json=body, headers=headers, timeout=5)
    assert answer.status_code == 201, answer.text
    return int(next(iter(answer.json().values()))["id"])


@pytest.mark.parametrize(
    ("operation", "path", "body"),
    [
        (ISSUE, "/issues.json", {"issue": {"project_id": 1, "subject": "Somebody's own"}}),
        (TIME, "/issues.json", {"issue": {"project_id": 2, "subject": "Somebody's own"}}),
        (PROJECT, "/projects.json", {"project": {"name": "Somebody's own", "identifier": "own"}}),
        (MEMBER, "/projects.json", {"project": {"name": "Somebody's own", "identifier": "own"}}),
    ],
)
def test_an_object_that_got_the_same_id_survives(
    operation: Operation, path: str, body: dict[str, Any], runs: DryRuns, stand_in: StandIn
) -> None:
    stand_in.settings(reuse_deleted_ids=True)
    number = stand_in.fault("reset_after", method="DELETE")
    hide(stand_in)
    (left,) = dry_run(runs, operation).left
    made = real(stand_in, path, body)
    assert made == left.tracker_id, "the id was given again"
    stand_in.clear_faults(number)
    stand_in.clear_faults()
    let_time_pass(runs.store)
    assert clean(runs) == 1
    assert runs.left() == []
    assert made in {one["id"] for one in stand_in.state()[path[1:-5]]}


def test_a_deletion_is_not_sent_once_somebody_else_may_be_at_it(
    runs: DryRuns, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process stands still between the creation and the deletion; meanwhile the sweep does its work."""
    stand_in.settings(reuse_deleted_ids=True)
    remove, ended = Bench.remove, []

    def stand_still(bench: Bench, thing: Any) -> None:
        let_time_pass(runs.store)
        assert clean(runs) == 1
        ended.append(
            real(stand_in, "/issues.json", {"issue": {"project_id": 1, "subject": "Somebody's own"}})
        )
        thing.window._ends = 0
        remove(bench, thing)

    monkeypatch.setattr(Bench, "remove", stand_still)
    told = dry_run(runs, ISSUE)
    assert (told.deleted, told.left) == (True, [])
    assert ended == [6], "the id was given again"
    assert 6 in {one["id"] for one in stand_in.state()["issues"]}


def test_an_id_is_trusted_only_for_a_moment(
    runs: DryRuns, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove = Bench.remove

    def wait(bench: Bench, thing: Any) -> None:
        thing.fresh._ends = 0
        remove(bench, thing)

    monkeypatch.setattr(Bench, "remove", wait)
    (left,) = dry_run(runs, ISSUE).left
    assert left.tracker_id == 6
    assert calls(stand_in, "DELETE") == []
    make_due(runs.store)
    assert clean(runs) == 1


def test_two_sweeps_at_once_delete_once(runs: DryRuns, stand_in: StandIn, before: dict[str, Any]) -> None:
    number = stand_in.fault("reset_before", method="DELETE")
    for _ in range(3):
        dry_run(runs, ISSUE)
    stand_in.clear_faults(number)
    tried = len(calls(stand_in, "DELETE"))
    let_time_pass(runs.store)
    stand_in.settings(latency_ms=20)
    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(lambda _: clean(runs), range(6))) == 3
    assert len(calls(stand_in, "DELETE")) == tried + 3
    assert stand_in.state() == before


@pytest.mark.parametrize(
    ("operation", "path", "body"),
    [
        (ISSUE, "/issues.json", {"issue": {"project_id": 1, "subject": "below", "parent_issue_id": 6}}),
        (PROJECT, "/projects.json", {"project": {"name": "below", "identifier": "below", "parent_id": 8}}),
        (PROJECT, "/issues.json", {"issue": {"project_id": 8, "subject": "in it"}}),
    ],
)
def test_what_people_put_below_it_meanwhile_is_not_taken_along(
    operation: Operation, path: str, body: dict[str, Any], runs: DryRuns, stand_in: StandIn
) -> None:
    number = stand_in.fault("reset_before", method="DELETE")
    dry_run(runs, operation)
    stand_in.clear_faults(number)
    made = real(stand_in, path, body)
    let_time_pass(runs.store)
    assert clean(runs) == 0
    assert made in {one["id"] for one in stand_in.state()[path[1:-5]]}
    (left,) = runs.left()
    assert "created below it" in str(left.reason) or "created in it" in str(left.reason)


def test_a_copy_that_somebody_made_of_it_is_not_ours(runs: DryRuns, stand_in: StandIn) -> None:
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
    hide(stand_in)
    (left,) = dry_run(runs, ISSUE).left
    assert left.tracker_id is None
    stand_in.clear_faults()
    copy = real(stand_in, "/issues.json", {"issue": {"project_id": 1, "subject": f"Copy of {left.mark}"}})
    let_time_pass(runs.store)
    assert clean(runs) == 1
    assert copy in {one["id"] for one in stand_in.state()["issues"]}
    assert 6 not in {one["id"] for one in stand_in.state()["issues"]}


def test_what_people_make_at_the_same_time_survives_every_dry_run(runs: DryRuns, stand_in: StandIn) -> None:
    stand_in.settings(reuse_deleted_ids=True, latency_ms=2)
    stand_in.fault("reset_after", method="DELETE", probability=0.4, seed=1)
    stand_in.fault("reset_before", method="DELETE", probability=0.3)
    stand_in.fault("status_before", method="GET", path="/users.json", probability=0.4, status=502)

    def try_out() -> None:
        for operation in (ISSUE, TIME, STATUS) * 5:
            dry_run(runs, operation)

    with ThreadPoolExecutor(6) as pool:
        tries = [pool.submit(try_out) for _ in range(3)]

        def go_on() -> bool:
            time.sleep(0.01)
            return not all(one.done() for one in tries)

        def work() -> list[int]:
            made: list[int] = []
            while go_on() and len(made) < 300:
                body = {"issue": {"project_id": 1, "subject": f"Somebody's own {len(made)}"}}
                made.append(real(stand_in, "/issues.json", body))
            return made

        def sweep() -> None:
            while go_on():
                let_time_pass_of_those_put_off(runs)
                clean(runs)

        workers, sweeper = [pool.submit(work) for _ in range(2)], pool.submit(sweep)
        made = [issue_id for one in workers for issue_id in one.result(60)]
        for one in (*tries, sweeper):
            one.result(60)
    stand_in.clear_faults()
    for _ in range(30):
        let_time_pass(runs.store)
        clean(runs)
    assert runs.left() == []
    assert {one["id"] for one in stand_in.state()["issues"]} == {1, 2, 3, 4, 5, *made}


def let_time_pass_of_those_put_off(runs: DryRuns) -> None:
    """Let the time pass for what dry runs have given back, not for what they are still at work on."""
    with runs.store.database.transaction() as session:
        given_back = update(DryRunObject).where(DryRunObject.code.is_not(None))
        session.execute(given_back.values(next_attempt_at=clock(-1), begun_at=clock(-1000)))


# --- the list


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("after", [True, False], ids=["sent", "not sent"])
def test_a_process_that_is_killed_during_the_creation_leaves_its_row_and_the_sweep_cleans(
    operation: Operation,
    after: bool,
    runs: DryRuns,
    stand_in: StandIn,
    before: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = TrackerClient.raw

    def killed(*args: Any, **options: Any) -> Any:
        if after:
            raw(*args, **options)
        raise Killed

    monkeypatch.setattr(TrackerClient, "raw", killed)
    with pytest.raises(Killed):
        dry_run(runs, operation)
    monkeypatch.undo()
    assert len(runs.left()) == 1
    assert clean(runs) == 0, "whoever asked for it may still be at work"
    let_time_pass(runs.store)
    assert clean(runs) == 1
    assert runs.left() == []
    assert stand_in.state() == before


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_process_that_is_killed_before_the_deletion_leaves_its_row_and_the_sweep_cleans(
    operation: Operation,
    runs: DryRuns,
    stand_in: StandIn,
    before: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def killed(*_: Any, **__: Any) -> Any:
        raise Killed

    monkeypatch.setattr(Bench, "delete", killed)
    with pytest.raises(Killed):
        dry_run(runs, operation)
    monkeypatch.undo()
    (left,) = runs.left()
    assert left.tracker_id in (6, 8)
    let_time_pass(runs.store)
    assert clean(runs) == 1
    assert stand_in.state() == before


def test_a_creation_is_not_sent_once_its_row_may_be_forgotten(
    runs: DryRuns, stand_in: StandIn, before: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = TrackerClient.raw

    def late(*args: Any, before_send: Callable[[], None], **options: Any) -> Any:
        assert isinstance(before_send.__self__, SendWindow)  # type: ignore[attr-defined]
        before_send.__self__._ends = 0  # type: ignore[attr-defined]
        return raw(*args, before_send=before_send, **options)

    monkeypatch.setattr(TrackerClient, "raw", late)
    with pytest.raises(Exception, match="lease ran out"):
        dry_run(runs, ISSUE)
    assert runs.left() == []
    assert stand_in.state() == before


@pytest.mark.parametrize("operation", [ISSUE, PROJECT])
def test_while_the_tracker_answers_as_for_anybody_nothing_is_taken_for_gone(
    operation: Operation, runs: DryRuns, stand_in: StandIn, before: dict[str, Any]
) -> None:
    stand_in.settings(rest_enabled=True)
    number = stand_in.fault("reset_before", method="DELETE")
    dry_run(runs, operation)
    stand_in.clear_faults(number)
    stand_in.settings(rest_enabled=False)
    let_time_pass(runs.store)
    assert clean(runs) == 0
    assert len(runs.left()) == 1
    stand_in.settings(rest_enabled=True)
    let_time_pass(runs.store)
    assert clean(runs) == 1
    assert stand_in.state() == before


def left_behind(runs: DryRuns, stand_in: StandIn, project_id: int) -> None:
    number = stand_in.fault("reset_before", method="DELETE")
    dry_run(runs, ISSUE, tracker_project_id=project_id)
    stand_in.clear_faults(number)
    let_time_pass(runs.store)


def admin(stand_in: StandIn, method: str, path: str) -> None:
    headers = {"X-Redmine-API-Key": stand_in.api_key}
    assert requests.request(method, stand_in.base_url + path, headers=headers, timeout=5).status_code == 204


def test_what_is_left_in_a_project_that_was_deleted_is_gone(runs: DryRuns, stand_in: StandIn) -> None:
    left_behind(runs, stand_in, 4)
    admin(stand_in, "DELETE", "/projects/4.json")
    assert clean(runs) == 1
    assert runs.left() == []


def test_a_creation_in_doubt_in_a_project_that_was_deleted_ends(runs: DryRuns, stand_in: StandIn) -> None:
    stand_in.fault("reset_before", method="POST", count=1)
    dry_run(runs, ISSUE, tracker_project_id=4)
    admin(stand_in, "DELETE", "/projects/4.json")
    let_time_pass(runs.store)
    assert clean(runs) == 1
    assert runs.left() == []


def test_what_is_left_in_a_project_that_was_archived_stays_in_the_list_until_it_can_be_deleted(
    runs: DryRuns, stand_in: StandIn, before: dict[str, Any]
) -> None:
    left_behind(runs, stand_in, 4)
    admin(stand_in, "PUT", "/projects/4/archive.json")
    assert clean(runs) == 0
    assert "403" in str(runs.left()[0].reason)
    admin(stand_in, "PUT", "/projects/4/unarchive.json")
    let_time_pass(runs.store)
    assert clean(runs) == 1
    assert stand_in.state()["issues"] == before["issues"]


def test_a_project_left_and_then_closed_is_deleted_all_the_same(
    runs: DryRuns, stand_in: StandIn, before: dict[str, Any]
) -> None:
    number = stand_in.fault("reset_before", method="DELETE")
    dry_run(runs, PROJECT)
    stand_in.clear_faults(number)
    admin(stand_in, "PUT", "/projects/8/close.json")
    let_time_pass(runs.store)
    assert clean(runs) == 1
    assert stand_in.state() == before


def test_a_sweep_does_a_few_at_a_time_and_stops_at_an_outage(runs: DryRuns, stand_in: StandIn) -> None:
    number = stand_in.fault("reset_before", method="DELETE")
    for _ in range(5):
        dry_run(runs, ISSUE)
    let_time_pass(runs.store)
    tried = len(calls(stand_in, "DELETE"))
    assert clean(runs) == 0
    assert len(calls(stand_in, "DELETE")) == tried + 1
    stand_in.clear_faults(number)
    let_time_pass(runs.store)
    assert [clean(runs), clean(runs), clean(runs)] == [3, 2, 0]


def test_attempts_that_fail_are_further_and_further_apart(runs: DryRuns, stand_in: StandIn) -> None:
    stand_in.fault("reset_before", method="DELETE")
    dry_run(runs, ISSUE)
    waits = []
    for _ in range(10):
        let_time_pass(runs.store)
        clean(runs)
        with runs.store.transaction() as tx:
            waits.append(round((tx.dry_runs.all()[0].next_attempt_at - tx.now()).total_seconds()))
    assert waits == sorted(waits)
    assert 20 < waits[0] < 120
    assert 3590 < waits[-1] < 3610


def test_the_sweep_task_cleans_up_but_not_in_a_pause_and_survives_everything(
    runs: DryRuns, bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = stand_in.fault("reset_before", method="DELETE")
    dry_run(runs, ISSUE)
    stand_in.clear_faults(number)
    let_time_pass(runs.store)
    connector = SimpleNamespace(connect=runs.connect)
    parts = {
        "store": bridge.store,
        "settings": bridge.settings,
        "pause": bridge.pause,
        "connector": connector,
    }
    worker = cast(Worker, SimpleNamespace(**parts))
    bridge.pause.begin(written("the tracker is away"))
    asked = len(stand_in.requests())
    assert clean_dry_runs(worker) == 0
    assert len(stand_in.requests()) == asked
    bridge.pause.end()

    def fail() -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(connector, "connect", fail)
    assert clean_dry_runs(worker) == 0
    monkeypatch.undo()
    let_time_pass(runs.store)
    assert clean_dry_runs(worker) == 1


def test_a_tracker_without_a_key_is_no_reason_to_fail(runs: DryRuns, bridge: Bridge) -> None:
    def unconfigured() -> tuple[PluginConfig, TrackerClient]:
        raise SettingsError("no API key is stored")

    assert clean_up(bridge.store, unconfigured) == 0
    with bridge.store.transaction() as tx:
        tx.dry_runs.begin("issue", "[deskbridge dry run 1]", 1, lease=-1)
    assert clean_up(bridge.store, unconfigured) == 0
    with pytest.raises(SettingsError):
        dry_run(DryRuns(bridge.store, unconfigured), ISSUE)
