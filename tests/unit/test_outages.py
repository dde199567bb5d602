"""Unclear answers to several tickets in a row count as an outage."""

from __future__ import annotations

import pytest

from shared.notices.faults import Detail, Fault
from shared.notices.notice import Notice
from shared.tracker.client import CallRecord
from worker.ticket.outages import TICKETS, WINDOW_S, UnclearAnswers


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_unclear_answers_to_several_tickets_are_an_outage() -> None:
    answers = UnclearAnswers()
    assert [answers.unclear(ticket_id) for ticket_id in range(TICKETS + 1)] == [
        *[False] * (TICKETS - 1),
        True,
        True,
    ]


def test_one_ticket_alone_is_none_however_often_it_gets_one() -> None:
    answers = UnclearAnswers()
    assert not any(answers.unclear(4711) for _ in range(100))


def test_a_good_answer_begins_a_new_series() -> None:
    answers = UnclearAnswers()
    for ticket_id in range(100):
        assert not answers.unclear(ticket_id)
        answers.good()


def test_what_lies_far_apart_is_none() -> None:
    clock = Clock()
    answers = UnclearAnswers(clock)
    for ticket_id in range(100):
        assert not answers.unclear(ticket_id)
        clock.now += WINDOW_S


def test_a_ticket_that_comes_again_and_again_counts_from_its_last_answer() -> None:
    clock = Clock()
    answers = UnclearAnswers(clock)
    for _ in range(10):
        assert not answers.unclear(1)
        clock.now += WINDOW_S
    assert not answers.unclear(1)
    assert not answers.unclear(2)
    assert answers.unclear(3)


@pytest.mark.parametrize(
    ("status", "error", "unclear", "clear"),
    [
        (201, None, False, True),
        (422, Fault.TRACKER_REJECTED(), False, True),
        (404, None, False, True),
        (422, Fault.OUTCOME_UNKNOWN(detail=Detail.EDIT_CONFLICT()), False, True),
        (502, Fault.OUTCOME_UNKNOWN(), True, False),
        (503, Fault.OUTCOME_UNKNOWN(), True, False),
        (200, Fault.OUTCOME_UNKNOWN(detail=Detail.NOT_JSON()), True, False),
        (None, Fault.OUTCOME_UNKNOWN(detail=Detail.TIME_OUT()), True, False),
        (None, Fault.OUTCOME_UNKNOWN(detail=Detail.CONNECTION_LOST()), True, False),
        (None, Fault.TRACKER_UNREACHABLE(), False, False),
        (None, None, False, False),
    ],
)
def test_an_answer_is_clear_where_it_is_the_tracker_s_own(
    status: int | None, error: Notice | None, unclear: bool, clear: bool
) -> None:
    record = CallRecord("POST", "/issues.json", None, None, status, 1, error)
    assert (record.is_unclear, record.is_clear) == (unclear, clear)
