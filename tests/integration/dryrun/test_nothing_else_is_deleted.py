"""A dry run never deletes what people meanwhile create, copy or add below its objects."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import update

from deploy.sandbox.tracker.control import StandIn
from producer.admin.dryrun.run import DryRuns
from shared.dryrun.objects import DryRunSession
from shared.notices.reasons import Reason
from shared.store.tables.ledger import DryRunObject
from shared.store.tables.types import clock
from shared.templating.operations import Operation
from tests.support.dry_runs import (
    ISSUE,
    MEMBER,
    PROJECT,
    STATUS,
    TIME,
    calls,
    clean,
    dry_run,
    let_time_pass,
    make_due,
    real,
)


def hide(stand_in: StandIn) -> None:
    """Let every lookup fail."""
    stand_in.fault("status_before", method="GET", path="/users.json", status=502)


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
    """A process stops between creation and deletion; meanwhile the sweep cleans up."""
    stand_in.settings(reuse_deleted_ids=True)
    remove, ended = DryRunSession.remove, []

    def stand_still(bench: DryRunSession, thing: Any) -> None:
        let_time_pass(runs.store)
        assert clean(runs) == 1
        ended.append(
            real(stand_in, "/issues.json", {"issue": {"project_id": 1, "subject": "Somebody's own"}})
        )
        thing.window._ends = 0
        remove(bench, thing)

    monkeypatch.setattr(DryRunSession, "remove", stand_still)
    told = dry_run(runs, ISSUE)
    assert (told.deleted, told.left) == (True, [])
    assert ended == [6], "the id was given again"
    assert 6 in {one["id"] for one in stand_in.state()["issues"]}


def test_an_id_is_trusted_only_for_a_moment(
    runs: DryRuns, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove = DryRunSession.remove

    def wait(bench: DryRunSession, thing: Any) -> None:
        thing.fresh._ends = 0
        remove(bench, thing)

    monkeypatch.setattr(DryRunSession, "remove", wait)
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
    ("operation", "path", "body", "because"),
    [
        (
            ISSUE,
            "/issues.json",
            {"issue": {"project_id": 1, "subject": "below", "parent_issue_id": 6}},
            Reason.ISSUE_BELOW,
        ),
        (
            PROJECT,
            "/projects.json",
            {"project": {"name": "below", "identifier": "below", "parent_id": 8}},
            Reason.PROJECT_BELOW,
        ),
        (
            PROJECT,
            "/issues.json",
            {"issue": {"project_id": 8, "subject": "in it"}},
            Reason.ISSUES_WITHIN,
        ),
    ],
)
def test_what_people_put_below_it_meanwhile_is_not_taken_along(
    operation: Operation,
    path: str,
    body: dict[str, Any],
    because: Reason,
    runs: DryRuns,
    stand_in: StandIn,
) -> None:
    number = stand_in.fault("reset_before", method="DELETE")
    dry_run(runs, operation)
    stand_in.clear_faults(number)
    made = real(stand_in, path, body)
    let_time_pass(runs.store)
    assert clean(runs) == 0
    assert made in {one["id"] for one in stand_in.state()[path[1:-5]]}
    (left,) = runs.left()
    assert left.why == Reason.IN_USE(because=because())


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
    """Let the waiting time pass for objects that dry runs have released, but not for those that they still use."""
    with runs.store.database.transaction() as session:
        given_back = update(DryRunObject).where(DryRunObject.code.is_not(None))
        session.execute(given_back.values(next_attempt_at=clock(-1), begun_at=clock(-1000)))
