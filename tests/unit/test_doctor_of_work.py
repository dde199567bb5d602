"""The doctor recognises whether the cause of a failed event has been fixed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from producer.admin.doctor.work import _is_fixed
from shared.notices.hints import Hint
from shared.notices.notice import Notice


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
