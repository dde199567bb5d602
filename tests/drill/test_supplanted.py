"""The drill's oracle reports what is written to an issue of somebody else that has the id of a ticket's issue."""

from __future__ import annotations

from typing import Any

import pytest

from tests.drill.expect import expect
from tests.drill.oracle import Oracle
from tests.drill.test_oracle import TWO_TASKS, State, entry, issue


def others(**changes: Any) -> dict[str, Any]:
    times = {"created_on": "2026-03-01T12:00:00Z", "updated_on": "2026-03-01T12:00:00Z"}
    return {**issue(6, "Payroll", author="carol", status=1), **times, "journals": [], **changes}


WRITTEN: dict[str, State] = {
    "a note": {"issues": [others(journals=[{"id": 1, "notes": "x"}])], "time_entries": []},
    "a status": {"issues": [others(updated_on="2026-03-01T12:00:01Z")], "time_entries": []},
    "hours": {"issues": [others()], "time_entries": [entry(1, 6, "Extinguished 70")]},
}


def supplanted(state: State) -> list[str]:
    return Oracle(expect(TWO_TASKS, "5.0"), state, {7: 6}, supplanted={6}).differences()


def test_an_issue_of_somebody_else_with_the_id_of_a_tickets_issue_must_stay_as_it_is() -> None:
    assert supplanted({"issues": [others()], "time_entries": []}) == []


@pytest.mark.parametrize("what", WRITTEN)
def test_what_is_written_to_an_issue_of_somebody_else_is_seen(what: str) -> None:
    assert supplanted(WRITTEN[what])
