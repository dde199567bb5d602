"""Times and counts in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from producer.admin.shapes import stamp
from producer.commands.output import count, in_words, plain

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "now"),
        (1, "1 second ago"),
        (59.9, "59 seconds ago"),
        (120, "2 minutes ago"),
        (3600, "1 hour ago"),
        (6 * 86400, "6 days ago"),
        (8 * 86400, "2026-11-13 09:30"),
        (-5, "in 5 seconds"),
        (-7200, "in 2 hours"),
    ],
)
def test_times_are_said_as_a_person_would(seconds: float, words: str) -> None:
    assert in_words(NOW - timedelta(seconds=seconds), NOW) == words


def test_no_time_is_no_words() -> None:
    assert in_words(None) == ""


def test_json_times_are_utc_with_z() -> None:
    assert stamp(NOW.astimezone(timezone(timedelta(hours=2)))) == "2026-11-21T09:30:00Z"
    with pytest.raises(TypeError):
        stamp(object())


def test_counts_have_their_noun() -> None:
    assert (count(1, "event"), count(2, "event"), count(0, "event")) == ("1 event", "2 events", "0 events")


def test_what_a_terminal_would_obey_is_left_out() -> None:
    assert plain("a\x1b[31mb\x07\x9b\ud800 ü\n") == "a[31mb ü\n"
    assert plain(None) == ""
