"""A dry run whose creation or deletion has no clear answer leaves nothing behind."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.dryrun.results import DryRunRefused
from producer.admin.dryrun.run import DryRuns
from shared.errors import (
    OutcomeUnknown,
)
from shared.notices.render import sentence
from shared.templating.operations import OPERATIONS, Operation
from tests.support.dry_runs import (
    ISSUE,
    MEMBER,
    NOTE,
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

MADE_AT = {
    ISSUE: "issues",
    STATUS: "issues",
    NOTE: "issues",
    TIME: "issues",
    PROJECT: "projects",
    MEMBER: "projects",
}
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
    assert left.why
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
    assert f"#{left.tracker_id}" in sentence(left.notice)
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
