"""Hints explain a refusal from the payload and the metadata cache alone."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from shared.notices.hints import Hint
from shared.refusals import issue_hints
from shared.refusals.hints import explain, hints, ignored
from shared.refusals.known import Explanation, KnownMetadata
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.templating.operations import OPERATIONS, Operation
from shared.tracker.projects import ProjectNow, ProjectState

TODAY = date(2026, 11, 26)
KNOWLEDGE = Path(__file__).resolve().parents[3] / "producer" / "admin" / "knowledge" / "records"
ISSUE, TIME = Operation.ISSUE_CREATE, Operation.TIME_ENTRY_CREATE
STATUS, PROJECT, MEMBER = (
    Operation.ISSUE_UPDATE_STATUS,
    Operation.PROJECT_CREATE,
    Operation.MEMBERSHIP_CREATE,
)


def entries(kind: MetadataKind, *ids: int, **details: Any) -> dict[int, Entry]:
    return {one: Entry(kind, one, f"{kind} {one}", details) for one in ids}


def custom_field(field_id: int, customized_type: str, **details: Any) -> Entry:
    values = {
        "customized_type": customized_type, "field_format": "string", "is_required": False, "multiple": False,
        "default_value": None, "possible_values": [], "tracker_ids": [], **details,
    }  # fmt: skip
    return Entry(MetadataKind.CUSTOM_FIELD, field_id, f"field {field_id}", values)


def choices(*values: str) -> list[dict[str, str]]:
    return [{"value": one, "label": one} for one in values]


FIELDS = [
    custom_field(1, "project", is_required=True),
    custom_field(2, "issue", is_required=True, tracker_ids=[3]),
    custom_field(3, "issue", field_format="list", possible_values=choices("Phone", "Mail")),
    custom_field(4, "time_entry", is_required=True),
    custom_field(5, "issue", field_format="int"),
    custom_field(6, "issue", field_format="date"),
    custom_field(7, "issue", field_format="bool"),
    custom_field(8, "issue", is_required=True, default_value="set"),
    custom_field(9, "issue", field_format="list", multiple=True, possible_values=choices("a", "b")),
    custom_field(10, "issue", field_format="float"),
]
KNOWN = KnownMetadata(
    tracker_project_id=1,
    projects={
        1: Entry(MetadataKind.PROJECT, 1, "Support", {"identifier": "support", "activity_ids": [9, 13]}),
        2: Entry(MetadataKind.PROJECT, 2, "Other", {"identifier": "other"}),
    },
    issue_types=entries(MetadataKind.ISSUE_TYPE, 1, 3),
    statuses=entries(MetadataKind.STATUS, 1, 2),
    priorities=entries(MetadataKind.PRIORITY, 4, 5),
    activities={
        **entries(MetadataKind.ACTIVITY, 9, 10, active=True),
        **entries(MetadataKind.ACTIVITY, 12, active=False),
    },
    roles=entries(MetadataKind.ROLE, 3, 4),
    categories={
        **entries(MetadataKind.CATEGORY, 1),
        **entries(MetadataKind.CATEGORY, 7, assigned_to_id=10, assigned_to="Dave Dunn"),
        **entries(MetadataKind.CATEGORY, 8, assigned_to_id=6, assigned_to="Bob Baker"),
    },
    custom_fields={one.tracker_id: one for one in FIELDS},
    users={5: "alice", 6: "bob"},
)
FINE_ISSUE = {"project_id": 1, "subject": "It does not print", "priority_id": 4, "tracker_id": 1}
FINE_ENTRY = {
    "issue_id": 1, "hours": 1.5, "comments": "x", "activity_id": 9, "custom_fields": [{"id": 4, "value": "x"}],
}  # fmt: skip
FINE_PROJECT = {"name": "North", "identifier": "north", "custom_field_values": {"1": "x"}}
FINE: dict[Operation, dict[str, Any]] = {
    ISSUE: FINE_ISSUE,
    STATUS: {"status_id": 2},
    Operation.NOTE_CREATE: {"notes": "seen"},
    TIME: FINE_ENTRY,
    PROJECT: FINE_PROJECT,
    MEMBER: {"user_id": 5, "role_ids": [4]},
}
CASES: list[tuple[Operation, dict[str, Any], str, str]] = [
    (ISSUE, {"project_id": 6}, "issue.project_id", "KB-HINT-001"),
    (ISSUE, {"project_id": None}, "issue.project_id", "KB-HINT-001"),
    (ISSUE, {"subject": " "}, "issue.subject", "KB-HINT-012"),
    (ISSUE, {"subject": "x" * 256}, "issue.subject", "KB-HINT-012"),
    (ISSUE, {"priority_id": 99}, "issue.priority_id", "KB-HINT-014"),
    (ISSUE, {"priority_id": None}, "issue.priority_id", "KB-HINT-014"),
    (ISSUE, {"category_id": 2}, "issue.category_id", "KB-HINT-014"),
    (ISSUE, {"category_id": 7}, "issue.category_id", "KB-HINT-016"),
    (ISSUE, {"tracker_id": 2, "custom_fields": []}, "issue.tracker_id", "KB-HINT-015"),
    (ISSUE, {"status_id": 9}, "issue.status_id", "KB-HINT-015"),
    (ISSUE, {"watcher_user_ids": [5, 77]}, "issue.watcher_user_ids", "KB-HINT-011"),
    (ISSUE, {"assigned_to_id": 77}, "issue.assigned_to_id", "KB-HINT-016"),
    (ISSUE, {"start_date": "tomorrow"}, "issue.start_date", "KB-HINT-017"),
    (ISSUE, {"due_date": "2026-02-30"}, "issue.due_date", "KB-HINT-017"),
    (ISSUE, {"start_date": "2026-11-21", "due_date": "2026-11-20"}, "issue.due_date", "KB-HINT-017"),
    (ISSUE, {"estimated_hours": -1}, "issue.estimated_hours", "KB-HINT-017"),
    (ISSUE, {"done_ratio": 101}, "issue.done_ratio", "KB-HINT-017"),
    (ISSUE, {"tracker_id": 3}, "issue.custom_fields[2]", "KB-HINT-003"),
    (ISSUE, {"custom_fields": [{"id": 8, "value": ""}]}, "issue.custom_fields[8]", "KB-HINT-003"),
    (ISSUE, {"custom_fields": [{"id": 3, "value": "phone"}]}, "issue.custom_fields[3]", "KB-HINT-004"),
    (ISSUE, {"custom_fields": [{"id": 9, "value": ["a", "c"]}]}, "issue.custom_fields[9]", "KB-HINT-004"),
    (ISSUE, {"custom_field_values": {"5": "x"}}, "issue.custom_fields[5]", "KB-HINT-018"),
    (ISSUE, {"custom_fields": [{"id": 6, "value": "21.11.2026"}]}, "issue.custom_fields[6]", "KB-HINT-018"),
    (ISSUE, {"custom_fields": [{"id": 7, "value": "yes"}]}, "issue.custom_fields[7]", "KB-HINT-018"),
    (ISSUE, {"custom_fields": [{"id": 10, "value": "1,5"}]}, "issue.custom_fields[10]", "KB-HINT-018"),
    (ISSUE, {"custom_fields": [{"id": 3, "value": ["Mail", "Phone"]}]}, "issue.custom_fields[3]", "KB-HINT-018"),
    (ISSUE, {"custom_fields": [{"id": 99, "value": "x"}]}, "issue.custom_fields[99]", "KB-HINT-015"),
    (ISSUE, {"custom_fields": [{"id": 2, "value": "x"}]}, "issue.custom_fields[2]", "KB-HINT-015"),
    (STATUS, {"status_id": 9}, "issue.status_id", "KB-HINT-015"),
    (STATUS, {"status_id": None}, "issue.status_id", "KB-HINT-015"),
    (TIME, {"activity_id": 10}, "time_entry.activity_id", "KB-HINT-002"),
    (TIME, {"activity_id": 12}, "time_entry.activity_id", "KB-HINT-002"),
    (TIME, {"activity_id": None}, "time_entry.activity_id", "KB-HINT-002"),
    (TIME, {"comments": "x" * 1025}, "time_entry.comments", "KB-HINT-005"),
    (TIME, {"hours": -1}, "time_entry.hours", "KB-HINT-006"),
    (TIME, {"hours": 1000}, "time_entry.hours", "KB-HINT-006"),
    (TIME, {"hours": None}, "time_entry.hours", "KB-HINT-006"),
    (TIME, {"spent_on": "today"}, "time_entry.spent_on", "KB-HINT-017"),
    (TIME, {"custom_fields": []}, "time_entry.custom_fields[4]", "KB-HINT-003"),
    (PROJECT, {"name": ""}, "project.name", "KB-HINT-019"),
    (PROJECT, {"name": "x" * 256}, "project.name", "KB-HINT-019"),
    (PROJECT, {"identifier": "North"}, "project.identifier", "KB-HINT-009"),
    (PROJECT, {"identifier": "123"}, "project.identifier", "KB-HINT-009"),
    (PROJECT, {"identifier": "new"}, "project.identifier", "KB-HINT-009"),
    (PROJECT, {"identifier": ""}, "project.identifier", "KB-HINT-009"),
    (PROJECT, {"identifier": "a" * 101}, "project.identifier", "KB-HINT-009"),
    (PROJECT, {"identifier": "support"}, "project.identifier", "KB-HINT-009"),
    (PROJECT, {"parent_id": 6}, "project.parent_id", "KB-HINT-010"),
    (PROJECT, {"custom_field_values": {}}, "project.custom_field_values.1", "KB-HINT-003"),
    (MEMBER, {"role_ids": [1]}, "membership.role_ids", "KB-HINT-008"),
    (MEMBER, {"role_ids": []}, "membership.role_ids", "KB-HINT-008"),
    (MEMBER, {"user_id": 77}, "membership.user_id", "KB-HINT-008"),
    (MEMBER, {"user_id": None}, "membership.user_id", "KB-HINT-008"),
]  # fmt: skip


def payload(operation: Operation, changes: dict[str, Any]) -> dict[str, Any]:
    fields = {**FINE[operation], **changes}
    return {operation.top_key: {name: value for name, value in fields.items() if value is not None}}


@pytest.mark.parametrize(("operation", "changes", "field", "record"), CASES)
def test_what_the_cache_can_tell_is_told_with_its_field_and_record(
    operation: Operation, changes: dict[str, Any], field: str, record: str
) -> None:
    found = hints(operation, payload(operation, changes), KNOWN)
    assert [(one.field, one.record) for one in found] == [(field, record)]
    assert found[0].why.code in set(Hint)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_payload_that_fits_has_no_hints(operation: Operation) -> None:
    assert hints(operation, payload(operation, {}), KNOWN) == []
    assert explain(operation, payload(operation, {}), KNOWN, 201) == []


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_empty_cache_denies_nothing(operation: Operation) -> None:
    sent = payload(operation, {"priority_id": 99, "user_id": 77, "custom_fields": [{"id": 1, "value": "x"}]})
    assert hints(operation, sent, KnownMetadata()) == []


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_refusal_that_nothing_explains_gets_guesses_that_say_so(operation: Operation) -> None:
    guesses = explain(operation, payload(operation, {}), KNOWN, 422)
    assert guesses
    assert all(one.why.code.startswith("maybe_") or one.why.code == Hint.NO_REASON_GIVEN for one in guesses)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_beside_the_tracker_s_own_words_nothing_is_guessed(operation: Operation) -> None:
    sent = payload(operation, {"watcher_user_ids": [5], "parent_id": 1, "spent_on": str(TODAY)})
    now = replace(KNOWN, project_now=ProjectNow(1, ProjectState.ACTIVE, activities={9: "x"}), today=TODAY)
    for known in (KNOWN, now, replace(now, is_issue_closed=False)):
        assert explain(operation, sent, known, 422, said=True) == []


@pytest.mark.parametrize(
    ("changes", "known", "code"),
    [
        ({}, {"is_issue_closed": True}, Hint.MAYBE_ISSUE_CLOSED),
        ({"spent_on": str(TODAY + timedelta(days=1))}, {"today": TODAY}, Hint.MAYBE_DAY_NOT_OPEN),
        ({"hours": 24.5}, {}, Hint.MAYBE_TOO_MANY_HOURS_IN_A_DAY),
        ({"comments": " "}, {}, Hint.MAYBE_COMMENT_REQUIRED),
        ({"hours": 0.001}, {}, Hint.MAYBE_HOURS_ROUND_TO_ZERO),
    ],
)
def test_what_was_looked_at_is_said_beside_them(
    changes: dict[str, Any], known: dict[str, Any], code: Hint
) -> None:
    told = explain(TIME, payload(TIME, changes), replace(KNOWN, **known), 422, said=True)
    assert [one.why.code for one in told] == [code]


def test_a_refusal_that_is_explained_gets_no_guesses() -> None:
    sent = payload(TIME, {"activity_id": 10, "comments": ""})
    assert [one.record for one in explain(TIME, sent, KNOWN, 422)] == ["KB-HINT-002"]


def test_what_the_tracker_only_ignores_explains_no_refusal() -> None:
    sent = payload(ISSUE, {"status_id": 9})
    assert [one.record for one in explain(ISSUE, sent, KNOWN, 422)] == ["KB-HINT-015", "KB-HINT-001"]


def test_guesses_are_made_for_refused_payloads_only() -> None:
    for status in (201, 403, 404, 500):
        assert explain(ISSUE, payload(ISSUE, {}), KNOWN, status) == []


def test_a_project_that_was_made_is_still_judged_by_the_identifier_that_was_not_sent() -> None:
    found = explain(PROJECT, payload(PROJECT, {"identifier": "North", "parent_id": 6}), KNOWN, 201)
    assert [one.record for one in found] == ["KB-HINT-009"]


def test_time_in_a_project_that_is_not_active_is_told() -> None:
    closed = KnownMetadata(tracker_project_id=6, projects=KNOWN.projects)
    assert [one.record for one in hints(TIME, payload(TIME, {}), closed)] == ["KB-HINT-007"]


@pytest.mark.parametrize("activity_id", [10, 13])
def test_where_the_projects_activities_were_not_read_only_those_of_the_tracker_count(
    activity_id: int,
) -> None:
    unread = KnownMetadata(tracker_project_id=2, projects=KNOWN.projects, activities=KNOWN.activities)
    refused = hints(TIME, payload(TIME, {"activity_id": activity_id}), unread)
    assert bool(refused) is (activity_id == 13)
    guessed = explain(TIME, payload(TIME, {"activity_id": 10}), unread, 422)
    assert "KB-HINT-002" in {one.record for one in guessed}


@pytest.mark.parametrize(
    "strange",
    [{}, {"issue": None}, {"issue": []}, {"issue": {"custom_fields": [None, 1, {"id": "x"}, {"id": []}]}},
     {"issue": {"custom_field_values": {"x": [], "٣": 1}, "watcher_user_ids": "x", "subject": [1], "project_id": {}}},
     {"issue": {"tracker_id": True, "done_ratio": "x", "start_date": 7, "custom_fields": {"id": 1}}}],
)  # fmt: skip
def test_no_payload_breaks_the_rules(strange: dict[str, Any]) -> None:
    for operation in OPERATIONS:
        inner = strange.get("issue", {})
        for status in (201, 422):
            explain(operation, {operation.top_key: inner}, KNOWN, status)
            explain(operation, strange, KNOWN, status)


def test_what_the_tracker_made_otherwise_than_asked_is_told_from_its_answer() -> None:
    sent = payload(
        ISSUE, {"status_id": 2, "custom_fields": [{"id": 3, "value": "Mail"}, {"id": 99, "value": "x"}]}
    )
    made = {
        "tracker": {"id": 1},
        "status": {"id": 1, "name": "New"},
        "custom_fields": [{"id": 3, "value": "Mail"}],
    }
    found = ignored(ISSUE, sent, {"issue": made})
    assert [(one.field, one.record) for one in found] == [
        ("issue.status_id", "KB-HINT-015"), ("issue.custom_fields[99]", "KB-HINT-015"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "answer", [None, [], "x", {}, {"issue": []}, {"issue": {"status": 1, "custom_fields": 2}}]
)
def test_an_answer_that_is_no_object_tells_nothing(answer: Any) -> None:
    assert ignored(ISSUE, payload(ISSUE, {"status_id": 2}), answer) == []


def all_hints() -> list[Explanation]:
    found = [
        one
        for operation, changes, _, _ in CASES
        for one in hints(operation, payload(operation, changes), KNOWN)
    ]
    for operation in OPERATIONS:
        found += explain(operation, payload(operation, {}), KNOWN, 422)
    return found


def test_every_record_that_a_hint_names_exists_and_every_hint_record_is_named_by_a_hint() -> None:
    there = {path.stem for path in KNOWLEDGE.glob("KB-HINT-*.md")}
    assert {one.record for one in all_hints()} == there


def test_every_hint_has_a_record_and_comes_up() -> None:
    assert all(hint.article for hint in Hint)
    refused = {one.why.code for one in all_hints()}
    maybe = {
        "assigned_to_id": 5,
        "fixed_version_id": 1,
        "parent_issue_id": 1,
        "watcher_user_ids": [5],
        "parent_id": 1,
        "spent_on": "2090-01-01",
    }
    for operation in OPERATIONS:
        sent = payload(operation, {**maybe, "comments": "", "hours": 0.001})
        known = KnownMetadata(is_issue_closed=True, today=TODAY) if operation is TIME else KNOWN
        refused |= {one.why.code for one in explain(operation, sent, known, 422)}
    refused |= {one.why.code for one in explain(TIME, payload(TIME, {"hours": 25}), KNOWN, 422)}
    sent = payload(ISSUE, {"status_id": 2, "custom_fields": [{"id": 99, "value": "x"}]})
    answer = {"issue": {"status": {"id": 1}, "custom_fields": []}}
    refused |= {one.why.code for one in ignored(ISSUE, sent, answer)}
    sent = payload(TIME, {})
    refused |= {one.why.code for one in explain(TIME, sent, KnownMetadata(6, projects=KNOWN.projects), 422)}
    for now in (
        *(ProjectNow(1, standing) for standing in ProjectState),
        ProjectNow(1, ProjectState.ACTIVE, modules=frozenset(), activities={}),
    ):
        for operation in (ISSUE, TIME):
            known = replace(KNOWN, project_now=now)
            refused |= {one.why.code for one in explain(operation, payload(operation, {}), known, 422)}
    usable_elsewhere = replace(KNOWN, project_now=ProjectNow(1, ProjectState.ACTIVE, activities={9: "x"}))
    sent = payload(TIME, {"activity_id": 12})
    refused |= {one.why.code for one in explain(TIME, sent, usable_elsewhere, 422)}
    by_the_worker = {
        Hint.DEFAULT_ROLE_GONE
    }  # not about a payload; see tests/failures/test_the_steps_of_records.py
    assert set(Hint) - refused == by_the_worker


@pytest.mark.parametrize(
    ("seconds", "may_be_zero"), [(0, True), (17, True), (18, True), (29, True), (30, False), (5400, False)]
)
def test_time_that_some_version_rounds_to_zero_is_told(seconds: int, *, may_be_zero: bool) -> None:
    told = explain(TIME, payload(TIME, {"hours": seconds / 3600}), KNOWN, 422)
    assert (Hint.MAYBE_HOURS_ROUND_TO_ZERO in {one.why.code for one in told}) == may_be_zero


def test_hints_never_look_at_the_trackers_words() -> None:
    package = Path(issue_hints.__file__).parent
    for name in ("hints.py", "issue_hints.py", "other_hints.py", "custom_field_hints.py", "judging.py"):
        text = (package / name).read_text("utf-8")
        assert not re.search(r"cannot be blank|is invalid|not included|errors\b", text), name


@pytest.mark.parametrize(
    "changes", [{"category_id": 8}, {"category_id": 7, "assigned_to_id": 6}, {"category_id": 1}]
)
def test_a_category_with_an_active_assignee_or_none_is_no_cause(changes: dict[str, Any]) -> None:
    told = explain(ISSUE, payload(ISSUE, changes), KNOWN, 422)
    assert Hint.CATEGORY_ASSIGNEE_LOCKED not in {one.why.code for one in told}
