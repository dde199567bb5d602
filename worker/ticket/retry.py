"""Delays and limits of retries: pure functions of the attempt (SPEC section 8 leaves retries to us)."""

from __future__ import annotations

MOST_ATTEMPTS = 12
MOST_ROUNDS = 5
MOST_SILENT_ROUNDS = 100
SLOWEST_ROUND = 5
FIRST_DELAY_S = 2.0
LONGEST_DELAY_S = 900.0


def backoff(attempt: int, chance: float) -> float:
    """Return the seconds to wait before the next attempt: doubling, bounded, with jitter.

    Args:
        attempt: how many attempts have failed, from 0.
        chance: a random number in [0, 1); spreads the delay over its upper half.
    """
    longest = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0 ** min(attempt, 30))
    return longest * (0.5 + chance / 2)


def round_delay(rounds: int, chance: float) -> float:
    """Return the seconds until the tracker is searched again for a row in doubt: about a minute at most.

    A search changes nothing, and the whole ticket waits for its result.

    Args:
        rounds: the number of searches without a decision.
        chance: as for `backoff`.
    """
    return backoff(min(rounds, SLOWEST_ROUND), chance)


def is_undecidable(rounds: int, *, refused: bool) -> bool:
    """Return whether a person must decide on a row in doubt, after too many searches without a decision.

    Args:
        rounds: the number of searches.
        refused: whether the tracker refused the search; if it gave no clear answer, it may do so after an outage.
    """
    return rounds >= (MOST_ROUNDS if refused else MOST_SILENT_ROUNDS)


def is_given_up(unclear: int) -> bool:
    """Return whether a person must decide on a creation, after too many attempts without a clear answer."""
    return unclear >= MOST_ATTEMPTS


def is_exhausted(attempts: int) -> bool:
    """Return whether an event has used up its attempts, so that it becomes `failed` and can be replayed."""
    return attempts >= MOST_ATTEMPTS
