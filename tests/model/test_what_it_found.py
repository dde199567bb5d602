"""Runs in which the state machine once found a fault now pass."""

from __future__ import annotations

import pytest

from producer.admin.review.held import decide, rows_on_hold
from tests.model.machine import Bridge
from tests.model.stage import END
from tests.model.tracker import Fate
from tests.model.world import Rules
from tests.support.events import ALICE, DONE

pytestmark = pytest.mark.promise("OPS-15")


def test_a_late_answer_that_names_what_a_sibling_adopted_is_not_held_as_created_twice() -> None:
    """Ticket 1's creation was lost and it adopted ticket 2's issue; ticket 2 got another before its own answer came."""
    state = Bridge()
    state.begin(Rules(), 2, (END, "answered POST"), (Fate.LOST_BEFORE, Fate.ANSWERED))
    state.time_passes(61, sweeps=False)
    state.another_worker_syncs(1, [])
    state.another_worker_syncs(2, [])
    state.worker_ends(1, dies=False)
    assert [row.reason for _, row in rows_on_hold(state.world.store)] == []
    state.teardown()


def test_time_on_an_issue_that_a_person_gives_up_for_another_is_not_lost() -> None:
    """One ticket has two issues; the person keeps the second and deletes the first with the time logged on it."""
    state = Bridge()
    rules = Rules(overstretch=True, keeps_first=False)
    state.begin(rules, 1, ("sending POST", END), (Fate.ANSWERED, Fate.ANSWERED))
    state.teardown()


def test_a_status_that_is_set_long_after_the_call_was_given_up_does_not_outlive_a_newer_one() -> None:
    """The tracker carries out a call late; the newer status is not set until that can no longer happen."""
    state = Bridge()
    state.begin(Rules(), 2, (END, END), (Fate.ANSWERED, Fate.ANSWERED))
    state.helpdesk_updates(1, "Printer", 5, 1.0)
    state.another_worker_syncs(1, [("PUT", Fate.LATE)])
    state.helpdesk_updates(1, "Printer", 1, 2.0)
    state.another_worker_syncs(1, [])
    state.teardown()


def test_an_event_of_a_moved_ticket_task_goes_on_once_its_time_entry_is_decided() -> None:
    """The time entry is on hold for ticket 1; the task has moved to ticket 2, where its event waits."""
    state = Bridge()
    state.begin(Rules(policy="hold"), 2, (END, END), (Fate.ANSWERED, Fate.ANSWERED))
    state.helpdesk_logs(1, 1, 0, "Printer", 2, 1.0, ALICE, DONE, None)
    state.another_worker_syncs(1, [("POST", Fate.BROKEN_AFTER)])
    state.time_passes(61, sweeps=True)
    state.helpdesk_logs(1, 1, 0, "Printer", 2, 2.0, ALICE, DONE, None, moved=True)
    state.another_worker_syncs(2, [])
    assert [(row.key, row.ticket_id) for _, row in rows_on_hold(state.world.store)] == [(12, 1)]
    state.teardown()


def test_time_of_a_moved_ticket_task_may_be_created_again_for_the_ticket_that_it_left() -> None:
    """Nothing is pending on the ticket that the time entry was claimed for; the newest event is on the other ticket."""
    state = Bridge()
    state.begin(Rules(policy="hold"), 2, (END, END), (Fate.ANSWERED, Fate.ANSWERED))
    state.helpdesk_logs(1, 1, 0, "Printer", 2, 1.0, ALICE, DONE, None)
    state.worker_moves(0, 1, "before POST", Fate.ANSWERED, together=False)
    state.worker_ends(0, dies=True)
    state.helpdesk_logs(1, 1, 0, "Printer", 2, 2.0, ALICE, DONE, None, moved=True)
    state.time_passes(61, sweeps=False)
    state.another_worker_syncs(1, [])
    ((kind, row),) = rows_on_hold(state.world.store)
    decide(state.world.store, kind, row.key, None)
    state.teardown()


def test_a_status_that_a_sibling_gave_an_issue_before_its_own_answer_came_is_corrected() -> None:
    """Ticket 1's creation was lost; it adopted ticket 2's issue and closed it; then ticket 2's own answer came."""
    state = Bridge()
    state.begin(Rules(), 2, (END, "answered POST"), (Fate.LOST_BEFORE, Fate.ANSWERED))
    state.helpdesk_logs(2, 0, 0, "Printer", 1, 0.0, ALICE, 1, None)
    state.helpdesk_logs(1, 0, 0, "Printer", 5, 1e6, ALICE, DONE, None)
    state.teardown()


def test_by_hold_a_person_looks_themselves_for_one_that_an_unclear_attempt_may_have_created() -> None:
    """A worker that was stopped beyond every lease gets an answer; the result of the attempt after it is unknown."""
    state = Bridge()
    rules = Rules(policy="hold", overstretch=True, keeps_first=False, siblings=False)
    state.begin(rules, 1, ("before POST", "before POST"), (Fate.BROKEN_AFTER, Fate.ANSWERED))
    state.worker_takes_over(0, 1, "sending POST", Fate.ANSWERED, 21.4, together=False)
    state.time_passes(61, sweeps=True)
    state.person_decides()
    state.another_worker_syncs(1, [])
    state.teardown()


def test_hours_without_an_answer_on_an_issue_that_turns_out_to_be_a_siblings_are_logged_on_the_own_one() -> (
    None
):
    """A person adopts the issue that a worker has just created for the other ticket; only then does its answer come."""
    state = Bridge()
    rules = Rules(policy="hold", keeps_first=False)
    state.begin(rules, 1, ("before POST", "before POST"), (Fate.GARBAGE, Fate.NEVER_SENT))
    state.another_worker_syncs(2, [])
    state.worker_moves(0, 1, "before POST", Fate.ANSWERED, together=True)
    state.worker_takes_over(0, 1, "answered POST", Fate.BUSY, 21.4, together=True)
    state.person_decides()
    state.another_worker_syncs(1, [("POST", Fate.LOST_AFTER)])
    state.redis_is_flushed()
    state.another_worker_syncs(2, [])
    state.redis_is_flushed()
    state.person_decides()
    state.time_passes(1, sweeps=True)
    state.teardown()


def test_a_note_on_an_issue_that_a_person_gives_up_for_another_is_not_lost() -> None:
    """One ticket has two issues; the person keeps the second and deletes the first with the note on it."""
    state = Bridge()
    rules = Rules(overstretch=True, keeps_first=False)
    state.begin(rules, 1, ("sending POST", END), (Fate.ANSWERED, Fate.ANSWERED))
    state.helpdesk_notes(1, 0, "Ordered", 2, 1.0, ALICE, is_private=False)
    state.another_worker_syncs(1, [])
    state.teardown()
