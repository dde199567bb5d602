"""A status transition that was confirmed within the hour need not be read back."""

from __future__ import annotations

from worker.ticket.confirmed import SEEN_S, Confirmed, Transition

SOLVED = Transition(project_id=1, issue_type="1", before=2, after=3)


def test_a_transition_that_was_seen_is_known_for_an_hour() -> None:
    now = [0.0]
    seen = Confirmed(lambda: now[0])
    assert not seen.is_known(SOLVED)
    seen.note(SOLVED)
    now[0] = SEEN_S
    assert seen.is_known(SOLVED)
    now[0] = SEEN_S + 1
    assert not seen.is_known(SOLVED)


def test_the_same_change_of_another_type_or_project_or_from_another_status_is_another() -> None:
    seen = Confirmed()
    seen.note(SOLVED)
    for other in (
        SOLVED._replace(project_id=2),
        SOLVED._replace(issue_type="2"),
        SOLVED._replace(before=None),
        SOLVED._replace(after=5),
    ):
        assert not seen.is_known(other)
