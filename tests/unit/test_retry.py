"""The delays and limits of retries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from worker.ticket.retry import (
    FIRST_DELAY_S,
    LONGEST_DELAY_S,
    MOST_ATTEMPTS,
    MOST_ROUNDS,
    MOST_SILENT_ROUNDS,
    backoff,
    is_exhausted,
    is_undecidable,
    round_delay,
)


@given(st.integers(0, 10_000), st.floats(0, 1, exclude_max=True))
def test_the_delay_is_bounded_and_never_nothing(attempt: int, chance: float) -> None:
    assert FIRST_DELAY_S / 2 <= backoff(attempt, chance) <= LONGEST_DELAY_S


def test_the_delay_doubles_until_its_bound() -> None:
    assert [backoff(attempt, 0) for attempt in range(5)] == [1, 2, 4, 8, 16]
    assert backoff(50, 0) == LONGEST_DELAY_S / 2


def test_chance_spreads_the_delay_over_its_upper_half() -> None:
    assert backoff(3, 0.0) == 8.0
    assert backoff(3, 0.5) == 12.0
    assert 15.9 < backoff(3, 0.999) < 16


def test_attempts_are_used_up_at_their_number() -> None:
    assert not is_exhausted(MOST_ATTEMPTS - 1)
    assert is_exhausted(MOST_ATTEMPTS)


def test_an_outage_of_a_night_is_survived_before_an_event_fails() -> None:
    assert sum(backoff(attempt, 0) for attempt in range(MOST_ATTEMPTS)) > 15 * 60


def test_what_is_in_doubt_is_asked_about_every_minute_at_least() -> None:
    assert [round_delay(rounds, 0.99) <= 64 for rounds in (0, 5, 6, 50, 99)] == [True] * 5
    assert round_delay(0, 0) == FIRST_DELAY_S / 2


def test_a_person_decides_soon_where_the_question_is_refused_and_late_where_it_is_not_answered() -> None:
    assert is_undecidable(MOST_ROUNDS, refused=True)
    assert not is_undecidable(MOST_ROUNDS, refused=False)
    assert sum(round_delay(rounds, 0) for rounds in range(MOST_SILENT_ROUNDS)) > 45 * 60
    assert is_undecidable(MOST_SILENT_ROUNDS, refused=False)
