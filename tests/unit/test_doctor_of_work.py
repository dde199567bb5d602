"""Whether the cause of what failed is fixed is told of rows of the version before, too."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from producer.admin.doctor.work import _is_fixed
from shared.notices.hints import Hint
from shared.notices.notice import Notice


def is_fixed(**params: Any) -> bool:
    """Tell whether a closed project is reopened, where project 5 alone is linked and every link is well."""
    installation: Any = SimpleNamespace(projects={5: object()}, well={"links": True})
    return _is_fixed(Notice(Hint.TIME_PROJECT_CLOSED, params), installation)


@pytest.mark.parametrize(
    ("params", "fixed"),
    [
        ({"project_id": 5, "project_name": "Lab"}, True),
        ({"project_id": 55}, False),
        ({"project": "5 (Lab)"}, True),
        ({"project": "5"}, True),
        ({"project": "55 (5)"}, False),
        ({"project": "Lab (5)"}, False),
        ({"project": "9" * 40}, False),
        ({}, False),
    ],
)
def test_a_cause_names_its_project_in_either_form(params: dict[str, Any], fixed: bool) -> None:
    assert is_fixed(**params) is fixed
