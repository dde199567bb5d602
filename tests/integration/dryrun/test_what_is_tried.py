"""What a dry run tries, and that it leaves nothing behind."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from deploy.embedded.ports import free_port
from deploy.sandbox.tracker.control import StandIn
from producer.admin.dryrun.results import DryRunRefused
from producer.admin.dryrun.run import DryRuns
from shared.errors import (
    TemplateError,
    TrackerBusy,
    TrackerClosed,
    TrackerUnreachable,
)
from shared.metadata.synchronisation import sync_metadata
from shared.notices.faults import Detail
from shared.notices.hints import Hint
from shared.notices.invalid import Invalid
from shared.notices.templates import TemplateRefusal
from shared.templating.operations import OPERATIONS, Operation
from tests.support.bridge import Bridge
from tests.support.dry_runs import (
    ISSUE,
    MEMBER,
    PROJECT,
    STATUS,
    TIME,
    calls,
    clean,
    context_for,
    dry_run,
    let_time_pass,
)
from tests.support.refusals import says


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
        (ISSUE, {"subject": "x", "category_id": 3}, "KB-HINT-014"),
        (ISSUE, {"subject": "x", "priority_id": 99}, "KB-HINT-014"),
        (ISSUE, {"subject": "x", "watcher_user_ids": [5, 999]}, "KB-HINT-011"),
        (ISSUE, {"subject": "x", "project_id": 6}, "KB-HINT-001"),
        (ISSUE, {"subject": "x", "custom_fields": [{"id": 4, "value": "Fax"}]}, "KB-HINT-004"),
        (TIME, {"comments": "x", "activity_id": 12}, "KB-HINT-002"),
        (PROJECT, {"name": "x", "identifier": "y", "parent_id": 6}, "KB-HINT-010"),
        (MEMBER, {"user_id": 999, "role_ids": [4]}, "KB-HINT-008"),
    ]
    for operation, body, record in tried:
        told = dry_run(runs, operation, body)
        assert not told.ok
        assert [one.record for one in told.hints] == [record], (operation, body, told)


def test_a_required_custom_field_is_the_hint(runs: DryRuns, stand_in: StandIn) -> None:
    stand_in.settings(required_custom_fields=[3])
    sync_metadata(runs.store, runs.connect()[1])
    (hint,) = dry_run(runs, ISSUE, {"subject": "x"}).hints
    assert (hint.field, hint.record) == ("issue.custom_fields[3]", "KB-HINT-003")


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
    with pytest.raises(
        DryRunRefused,
        check=says(
            TemplateRefusal.TEMPORARY_REFUSED,
            Detail.EXPLAINED_BY(record="KB-HINT-001"),
            Hint.PROJECT_NOT_ACTIVE,
            kind="issue",
            status=422,
        ),
    ) as refused:
        dry_run(runs, TIME, tracker_project_id=6)
    assert any("Project cannot be blank" in one for one in refused.value.notice.params["errors"])
    assert stand_in.state() == before
    assert runs.left() == []


def test_without_a_tracker_project_there_is_no_dry_run(runs: DryRuns, stand_in: StandIn) -> None:
    asked = len(stand_in.requests())
    for operation in (ISSUE, STATUS, TIME, MEMBER):
        context = context_for(operation) | {"project": {"tracker_project_id": None}}
        with pytest.raises(DryRunRefused, check=says(TemplateRefusal.NO_PROJECT_FOR_DRY_RUN)):
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
    with pytest.raises(TemplateError, match="issue_id must be the ticket's issue"):
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


def test_a_temporary_issue_that_is_refused_without_a_reason_is_told_so(
    runs: DryRuns, stand_in: StandIn
) -> None:
    stand_in.fault("conflict", method="POST", path="/issues.json")
    without = says(TemplateRefusal.TEMPORARY_REFUSED, Invalid.NO_REASON_TOLD, status=422)
    with pytest.raises(DryRunRefused, check=without):
        dry_run(runs, TIME)
