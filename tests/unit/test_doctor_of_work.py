"""The doctor recognises whether the cause of a failed event has been fixed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from producer.admin.doctor.work import _is_fixed
from producer.admin.presenters.refused_calls import where_to_look
from shared.notices.doctor_work import WorkFinding
from shared.notices.faults import Fault
from shared.notices.hints import Hint
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.render import because


def is_fixed(**params: Any) -> bool:
    """Return whether a closed project counts as fixed if only project 5 is mapped and the check of mappings is OK."""
    installation: Any = SimpleNamespace(projects={5: object()}, well={"links": True})
    return _is_fixed(Notice(Hint.TIME_PROJECT_CLOSED, params), installation)


@pytest.mark.parametrize(
    ("params", "fixed"),
    [
        ({"project_id": 5, "project_name": "Lab"}, True),
        ({"project_id": 55}, False),
        ({}, False),
    ],
)
def test_a_cause_is_fixed_if_its_project_is_linked_and_well(params: dict[str, Any], fixed: bool) -> None:
    assert is_fixed(**params) is fixed


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/issues.json", "Workflow, Fields permissions"),
        ("/issues/5.json", "Workflow, Fields permissions"),
        ("/time_entries.json", "Settings, Time tracking"),
        ("/uploads.json", "Settings, Files"),
    ],
)
def test_a_refusal_that_only_redmines_message_explains_says_where_to_look(path: str, place: str) -> None:
    cause = Fault.TRACKER_REJECTED(method="POST", path=path, status=422, errors=["Non"])
    for notice in (cause, Reason.DOCUMENT_AWAITED(because=cause)):
        finding = WorkFinding.EVENTS_FAILED_FOR(
            count=1, cause=cause, code="tracker_rejected", where=where_to_look(notice)
        )
        assert "; Redmine's message names the cause (" in because(finding)
        assert place in because(finding)


@pytest.mark.parametrize(
    "cause",
    [
        None,
        Hint.SUBJECT_EMPTY(),
        Fault.TRACKER_REJECTED(method="POST", path="/issues.json", status=404),
        Fault.TRACKER_REJECTED(method="POST", path="/projects.json", status=422),
    ],
    ids=["none", "a hint", "not found", "a project"],
)
def test_any_other_cause_names_no_place(cause: Notice | None) -> None:
    assert where_to_look(cause) is None
    todo = because(WorkFinding.EVENTS_FAILED_FOR(count=1, cause=cause, code="x", where=None))
    assert todo.endswith("`deskbridge event replay --state failed --code x`")
