"""A moved issue is recognised by its journals, whatever they contain."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from shared.errors import OutcomeUnknown
from shared.notices.kinds import Kind
from shared.tracker.answers import Answer
from worker.ticket.context import TicketContext
from worker.ticket.match import sent_essence
from worker.ticket.search import look_up
from worker.ticket.steps import drive

HERE, ELSEWHERE = 1, 4
TEXT = {"subject": "Printer", "description": "burns"}
SENT = sent_essence(Kind.TICKET, {"issue": {"project_id": HERE, **TEXT}})
LISTED = {"id": 14, "project": {"id": ELSEWHERE}, "created_on": "2026-01-05T09:00:00Z", **TEXT}


def moved(*old_values: Any) -> list[Any]:
    return [
        {"details": [{"name": "status_id", "old_value": "7"}, {"name": "project_id", "old_value": old}]}
        for old in old_values
    ]


def found(answer: Any, **changes: Any) -> list[int]:
    asked: list[str] = []

    async def get(path: str, _params: Any, **_: object) -> Answer:
        asked.append(path)
        return Answer(200, answer, None)

    async def search(*_: object, **__: object) -> list[Any]:
        return [{**LISTED, **changes}]

    ctx = cast("TicketContext", SimpleNamespace(tracker=SimpleNamespace(search=search, get=get)))
    rows, _ = drive(look_up(ctx, Kind.TICKET, HERE, datetime(2026, 1, 5, tzinfo=UTC), [SENT]))
    assert set(asked) <= {"/issues/14.json"}
    return [row["id"] for row in rows]


@pytest.mark.parametrize(
    ("journals", "ids"),
    [
        (moved("1"), [14]),
        (moved("1", "3"), [14]),
        (moved("3", "1"), []),
        ([], []),
        ([None, 7, {"details": None}, {"details": 5}, {"details": [None, "x"]}, *moved("1")], [14]),
        (moved("²"), []),
        (moved("9" * 5000), []),
        (moved({"deep": []}), []),
    ],
)
def test_it_counts_where_it_was_created_in_the_project_of_the_creation(
    journals: list[Any], ids: list[int]
) -> None:
    assert found({"issue": {"journals": journals}}) == ids


@pytest.mark.parametrize("issue_id", ["14", "../users/1", None])
def test_a_row_without_a_number_for_an_id_is_no_issue(issue_id: Any) -> None:
    assert found({"issue": {"journals": moved("1")}}, id=issue_id) == []


@pytest.mark.parametrize("answer", [None, [], {}, {"issue": []}, {"issue": {}}, {"issue": {"journals": {}}}])
def test_an_answer_without_journals_tells_nothing(answer: Any) -> None:
    with pytest.raises(OutcomeUnknown):
        found(answer)
