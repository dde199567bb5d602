"""Objects that a dry run could not delete stay in a list, and the sweep cleans them up."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
import requests

from deploy.sandbox.tracker.control import StandIn
from producer.admin.dryrun.run import DryRuns
from shared.dryrun.cleanup import clean_up
from shared.dryrun.objects import DryRunSession
from shared.errors import LeaseExpired, SettingsError
from shared.events.config import PluginConfig
from shared.notices.notice import written
from shared.notices.refusals import Refusal
from shared.store.ledger.send_window import SendWindow
from shared.templating.operations import OPERATIONS, Operation
from shared.tracker.client import TrackerClient
from tests.support.bridge import Bridge
from tests.support.dry_runs import (
    ISSUE,
    PROJECT,
    calls,
    clean,
    dry_run,
    let_time_pass,
)
from worker.app import Worker
from worker.dry_runs import clean_dry_runs


class Killed(BaseException):
    """The process is killed here."""


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

    monkeypatch.setattr(DryRunSession, "delete", killed)
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
    with pytest.raises(LeaseExpired):
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
    (left,) = runs.left()
    assert left.why
    assert left.why.params["status"] == 403
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
        "breaker": bridge.breaker,
        "connector": connector,
    }
    worker = cast(Worker, SimpleNamespace(**parts))
    bridge.breaker.begin(written("the tracker is away"))
    asked = len(stand_in.requests())
    assert clean_dry_runs(worker) == 0
    assert len(stand_in.requests()) == asked
    bridge.breaker.end()

    def fail() -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(connector, "connect", fail)
    assert clean_dry_runs(worker) == 0
    monkeypatch.undo()
    let_time_pass(runs.store)
    assert clean_dry_runs(worker) == 1


def test_a_tracker_without_a_key_is_no_reason_to_fail(runs: DryRuns, bridge: Bridge) -> None:
    def unconfigured() -> tuple[PluginConfig, TrackerClient]:
        raise SettingsError(Refusal.API_KEY_NOT_STORED())

    assert clean_up(bridge.store, unconfigured) == 0
    with bridge.store.transaction() as tx:
        tx.dry_runs.begin("issue", "[deskbridge dry run 1]", 1, lease=-1)
    assert clean_up(bridge.store, unconfigured) == 0
    with pytest.raises(SettingsError):
        dry_run(DryRuns(bridge.store, unconfigured), ISSUE)
