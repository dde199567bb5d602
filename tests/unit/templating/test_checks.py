"""A rendered payload is completed, or refused if it cannot be intended."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shared.errors import TemplateError
from shared.notices.templates import TemplateWarning
from shared.templating.catalogue import catalogue_for, sample
from shared.templating.operations import FIELDS, OPERATIONS, CustomField, Operation, fields_for
from shared.templating.render import Engine, Rendering
from tests.unit.templating.support import context, fault

TIME = Operation.TIME_ENTRY_CREATE
ISSUE = Operation.ISSUE_CREATE


def rendered(
    operation: Operation, members: dict[str, Any], beside: dict[str, Any] | None = None, **changes: Any
) -> Rendering:
    template = json.dumps({operation.top_key: members} | (beside or {}))
    return Engine(catalogue_for(operation)).render(template, context(operation, **changes))


def test_a_missing_project_is_filled_in_and_reported() -> None:
    rendering = rendered(ISSUE, {"subject": "a"})
    assert rendering.payload == {"issue": {"subject": "a", "project_id": 11}}
    assert rendering.filled_in == ("issue.project_id",)
    assert rendering.warnings == ()


def test_a_missing_issue_and_hours_are_filled_in_and_reported() -> None:
    rendering = rendered(TIME, {"comments": "a", "hours": "{{ticket.project_id}}"}, ticket__project_id=None)
    assert rendering.payload == {"time_entry": {"comments": "a", "issue_id": 1042, "hours": 1.5}}
    assert rendering.filled_in == ("time_entry.issue_id", "time_entry.hours")
    assert rendering.pruned == ("time_entry.hours",)


@pytest.mark.parametrize(
    ("title", "subject"),
    [("<b>Ink</b> is\nout", "<b>Ink</b> is out"), (" \u200b ", "Ticket #4711"), ("", "Ticket #4711")],
)
def test_a_missing_or_blank_subject_is_the_one_of_1_x(title: str, subject: str) -> None:
    for members in ({}, {"subject": " "}, {"subject": "{{ticket.title | one_line | default: null}}"}):
        rendering = rendered(ISSUE, {"project_id": 11, **members}, ticket__title=title)
        assert rendering.payload["issue"]["subject"] == subject


def test_what_is_filled_in_has_the_type_that_the_tracker_takes() -> None:
    found = fault('{"issue": {"subject": "a"}}', project__tracker_project_id=[None])
    assert found.message == "project_id must be an integer, not a list"


def test_the_tickets_own_issue_may_be_named() -> None:
    for own in (1042, "1042", "{{issue.id}}", "{{issue.id | string}}", 1042.0):
        assert rendered(TIME, {"issue_id": own}).payload["time_entry"]["issue_id"] == 1042


@pytest.mark.parametrize("other", [1043, "1043", "{{ticket.id}}"])
def test_another_issue_than_the_tickets_is_an_error_at_its_place(other: object) -> None:
    template = '{"time_entry": {\n  "hours": 1,\n  "issue_id": ' + json.dumps(other) + "}}"
    found = fault(template, Engine(catalogue_for(TIME)), issue__id=1042, task={"actiontime": 60})
    assert "the ticket's issue" in found.message
    assert (found.line, found.column) == (3, 15)


def test_another_project_is_allowed_with_a_warning() -> None:
    rendering = rendered(ISSUE, {"subject": "a", "project_id": 12})
    assert rendering.payload["issue"]["project_id"] == 12
    assert rendering.warnings == (TemplateWarning.PROJECT_NOT_LINKED(),)


def test_what_stands_beside_the_top_key_is_never_sent() -> None:
    beside = {"time_entry": {"hours": 5}, "key": "another's"}
    rendering = rendered(Operation.ISSUE_UPDATE_STATUS, {"status_id": 4}, beside)
    assert rendering.payload == {"issue": {"status_id": 4}}
    assert rendering.warnings == (
        TemplateWarning.STANDS_BESIDE(name="time_entry", top="issue"),
        TemplateWarning.STANDS_BESIDE(name="key", top="issue"),
    )


@pytest.mark.parametrize("other", [22, "22", "{{ticket.id}}"])
def test_nobody_elses_time_can_be_logged(other: object) -> None:
    with pytest.raises(TemplateError, match="user_id must be the user of this membership"):
        rendered(TIME, {"user_id": other})


def test_time_may_name_its_own_person_and_anybody_where_nobody_was_matched() -> None:
    assert rendered(TIME, {"user_id": "21"}).payload["time_entry"]["user_id"] == 21
    alone = rendered(TIME, {"user_id": 22}, person__tracker_user_id=None)
    assert alone.payload["time_entry"]["user_id"] == 22


def test_a_status_update_moves_no_issue_to_another_project() -> None:
    with pytest.raises(TemplateError, match="project_id must be the issue's project"):
        rendered(Operation.ISSUE_UPDATE_STATUS, {"status_id": 4, "project_id": 12})


def test_a_membership_is_the_persons_own_and_its_user_and_role_are_filled_in() -> None:
    completed = rendered(Operation.MEMBERSHIP_CREATE, {})
    assert completed.payload == {"membership": {"user_id": 21, "role_ids": [4]}}
    assert completed.filled_in == ("membership.user_id", "membership.role_ids")
    with pytest.raises(TemplateError, match="user_id must be the user of this membership"):
        rendered(Operation.MEMBERSHIP_CREATE, {"user_id": 22})


def test_what_the_tracker_needs_and_nobody_knows_is_warned_of() -> None:
    assert rendered(Operation.MEMBERSHIP_CREATE, {"user_id": 21}, config__default_role_id=None).warnings == (
        TemplateWarning.FIELD_NOT_SENT(field="membership.role_ids"),
    )


@pytest.mark.parametrize(
    ("operation", "name", "value", "sent"),
    [
        (ISSUE, "priority_id", "5", 5),
        (ISSUE, "priority_id", 5.0, 5),
        (ISSUE, "subject", 4711, "4711"),
        (ISSUE, "description", True, "true"),
        (TIME, "hours", "1.25", 1.25),
        (TIME, "hours", 2, 2),
    ],
)
def test_a_value_gets_the_type_that_the_tracker_takes(
    operation: Operation, name: str, value: Any, sent: Any
) -> None:
    found = rendered(operation, {name: value}).payload[operation.top_key][name]
    assert found == sent
    assert type(found) is type(sent)


@pytest.mark.parametrize(
    ("operation", "name", "value", "words"),
    [
        (ISSUE, "project_id", "abc", "must be an integer, not a text"),
        (ISSUE, "priority_id", 1.5, "must be an integer"),
        (ISSUE, "priority_id", True, "not a boolean"),
        (ISSUE, "subject", ["a"], "must be a text, not a list"),
        (ISSUE, "watcher_user_ids", 5, "must be a list"),
        (ISSUE, "project_id", 1e300, "must be an integer"),
        (ISSUE, "custom_field_values", [7], "must be an object"),
        (ISSUE, "custom_fields", [7], "must be a list of objects"),
        (Operation.ISSUE_UPDATE_STATUS, "custom_fields", 5, "must be a list"),
        (Operation.PROJECT_CREATE, "custom_fields", {"7": "a"}, "must be a list"),
        (TIME, "hours", "a lot", "must be a number"),
        (Operation.PROJECT_CREATE, "custom_field_values", [], "must be an object"),
    ],
)
def test_a_value_that_the_tracker_cannot_take_is_an_error(
    operation: Operation, name: str, value: Any, words: str
) -> None:
    template = json.dumps({operation.top_key: {name: value}})
    with pytest.raises(TemplateError, match=words):
        Engine(catalogue_for(operation)).render(template, sample(operation))


UNFIT = pytest.mark.parametrize(
    ("operation", "name", "value"),
    [
        (ISSUE, "start_date", "soon"),
        (ISSUE, "due_date", "2026-02-30"),
        (ISSUE, "due_date", "20261121"),
        (ISSUE, "due_date", 20261121),
        (ISSUE, "is_private", "maybe"),
        (ISSUE, "is_private", 2),
        (ISSUE, "done_ratio", 101),
        (ISSUE, "estimated_hours", -0.5),
        (TIME, "hours", -1),
        (TIME, "hours", "-1"),
        (TIME, "spent_on", "21.11.2026"),
        (Operation.PROJECT_CREATE, "is_public", "yes"),
    ],
)


@UNFIT
def test_a_constant_that_the_tracker_cannot_take_is_told_when_the_template_is_saved(
    operation: Operation, name: str, value: object
) -> None:
    template = json.dumps({operation.top_key: {name: value}})
    with pytest.raises(TemplateError, match=name):
        Engine(catalogue_for(operation)).check(template)


@UNFIT
def test_what_the_rendering_shows_is_told_when_it_is_previewed(
    operation: Operation, name: str, value: object
) -> None:
    tag = "{{'" + str(value) + "' | trim}}"
    with pytest.raises(TemplateError, match=name):
        rendered(operation, {name: tag})


@pytest.mark.parametrize(
    ("operation", "name", "value"),
    [
        (ISSUE, "start_date", "2026-11-21"),
        (ISSUE, "due_date", ""),
        (ISSUE, "is_private", True),
        (ISSUE, "is_private", "1"),
        (ISSUE, "done_ratio", 100),
        (TIME, "hours", 0.25),
    ],
)
def test_a_constant_that_the_tracker_takes_is_no_fault(
    operation: Operation, name: str, value: object
) -> None:
    Engine(catalogue_for(operation)).check(json.dumps({operation.top_key: {name: value}}))
    assert rendered(operation, {name: value}).payload[operation.top_key][name] == value


def test_long_texts_are_cut_to_what_the_tracker_takes() -> None:
    rendering = rendered(ISSUE, {"subject": "s" * 300})
    assert rendering.payload["issue"]["subject"] == "s" * 255
    assert rendering.warnings == (TemplateWarning.FIELD_WAS_CUT(field="issue.subject", most=255),)
    comments = rendered(TIME, {"comments": "c" * 2000}).payload["time_entry"]["comments"]
    assert comments == "c" * 1023 + "…"


def test_a_top_key_that_does_not_become_an_object_is_an_error() -> None:
    assert '"issue" must be an object' in fault('{"issue": "{{ticket.id}}"}').message
    assert (
        '"issue" must be an object'
        in fault('{"issue": "{{ticket.project_id}}"}', ticket__project_id=None).message
    )


def test_every_operation_has_its_fields() -> None:
    assert set(FIELDS) == set(OPERATIONS)
    for operation in OPERATIONS:
        names = [field.name for field in fields_for(operation)]
        assert len(names) == len(set(names))


def test_custom_fields_are_fields_of_their_object() -> None:
    own = (
        CustomField(7, "Cause", "issue", "list", required=True, possible_values=("a",)),
        CustomField(8, "Day", "time_entry", "date"),
        CustomField(9, "Region", "project", multiple=True),
    )
    assert fields_for("issue.create", own)[-1].name == "custom_fields[7]"
    assert fields_for("issue.create", own)[-1].required
    assert fields_for("issue.create", own)[-1].possible_values == ("a",)
    assert fields_for("time_entry.create", own)[-1].type == "date"
    assert fields_for("project.create", own)[-1].name == "custom_field_values.9"
    assert fields_for("project.create", own)[-1].type == "list"
    assert fields_for("membership.create", own) == FIELDS[Operation.MEMBERSHIP_CREATE]
