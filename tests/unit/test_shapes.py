"""The API and --json show the same members, each in its established order."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from producer.admin.presenters.shapes import Answer, reason_json
from producer.admin.queries.story import IssueOfTicket, Step
from producer.cli.output import print_json
from shared.notices.reasons import Reason

AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
STEP = Step.of(AT, Reason.NO_LINK())
ISSUE = IssueOfTicket(
    state="linked",
    tracker_issue_id=6,
    tracker_project_id=1,
    author_id=None,
    author=None,
    adopted=False,
    since=AT,
    candidates=[],
    **reason_json(Reason.NO_LINK()),
)


@pytest.mark.parametrize(
    ("answer", "printed"),
    [
        (STEP, ["at", "code", "params", "what", "why", "call"]),
        (
            ISSUE,
            [
                *(
                    "state",
                    "tracker_issue_id",
                    "tracker_project_id",
                    "author_id",
                    "author",
                    "adopted",
                    "since",
                ),
                *("candidates", "code", "params", "reason"),
            ],
        ),
    ],
)
def test_a_code_is_first_in_the_api_and_beside_its_sentence_in_json(
    answer: Answer, printed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    print_json([answer])
    (shown,) = json.loads(capsys.readouterr().out)
    served: dict[str, Any] = json.loads(answer.model_dump_json())
    assert list(shown) == printed
    assert list(served)[:2] == ["code", "params"]
    assert shown == served


def test_a_reason_comes_back_as_the_notice_that_it_was() -> None:
    assert ISSUE.notice == Reason.NO_LINK()
