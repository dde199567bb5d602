"""The plan decides which ticket-task events log time (SPEC sections 3 and 8)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.events.config import PluginConfig
from shared.events.event import Deletion
from shared.events.filter import why_filtered
from shared.events.parsing import parse, parse_event
from shared.notices.kinds import Kind
from shared.notices.reasons import Reason
from tests.support.events import moment, task, task_event, ticket, ticket_event
from worker.ticket.plan import KnownEvent, Pending, plan_times

CONFIG = PluginConfig()
TIME = (Kind.TICKET_TASK, 512)


def pending(event_id: int, **of_task: Any) -> Pending:
    return Pending(event_id, parse_event(task_event(event_id, of_task=task(**of_task))))


def deletion() -> Deletion:
    deleted = parse(
        {"event": "ticket_task.deleted", "occurred_at": moment(2), "ticket": {"id": 1}, "task": {"id": 512}}
    )
    assert isinstance(deleted, Deletion)
    return deleted


def test_done_with_time_passes_the_gate() -> None:
    assert why_filtered(pending(1).event, CONFIG) is None
    assert why_filtered(pending(1, actiontime=1).event, CONFIG) is None


@pytest.mark.parametrize("state", [0, 1, 3, -2])
def test_a_task_that_is_not_done_logs_nothing_and_says_so(state: int) -> None:
    reason = why_filtered(pending(1, state=state).event, CONFIG)
    assert reason == Reason.NOT_DONE(state=state, done_state=2)


@pytest.mark.parametrize("actiontime", [0, -1, -3600])
def test_a_task_without_time_logs_nothing_and_says_so(actiontime: int) -> None:
    reason = why_filtered(pending(1, actiontime=actiontime).event, CONFIG)
    assert reason == Reason.NO_TIME()


@pytest.mark.parametrize(("private_tasks", "is_skipped"), [("hours_only", 0), ("send", 0), ("skip", 1)])
def test_a_private_task_is_skipped_if_the_settings_say_so(private_tasks: str, is_skipped: int) -> None:
    config = PluginConfig.model_validate({"private_tasks": private_tasks})
    private, public = pending(1, is_private=True), pending(2, id=513, is_private=False)
    plan = plan_times([private, public], {}, config)
    assert plan.skipped == ({1: Reason.PRIVATE_TASK()} if is_skipped else {})
    assert [one.task.id for one in plan.wanted] == [512, 513][is_skipped:]


def test_a_copy_is_skipped_whatever_became_of_its_original() -> None:
    copy = pending(2, id=513, copy_of=512)
    for logged in ({}, {TIME: 40}):
        plan = plan_times([pending(1), copy], logged, CONFIG)
        assert plan.skipped == {2: Reason.COPY_OF_ANOTHER(original=512)}
    assert why_filtered(pending(2, copy_of=512, state=1).event, CONFIG) == Reason.COPY_OF_ANOTHER(
        original=512
    )


def test_a_copy_whose_original_is_not_known_is_skipped_and_named_after_its_ticket() -> None:
    copied = pending(1, copied_from_ticket=4710)
    assert plan_times([copied], {}, CONFIG).skipped == {1: Reason.COPIED_FROM_TICKET(ticket=4710)}


def test_the_state_that_means_done_is_configured() -> None:
    config = PluginConfig(done_state=7)
    assert why_filtered(pending(1, state=7).event, config) is None
    assert why_filtered(pending(1, state=2).event, config) is not None


def test_time_comes_from_the_newest_done_snapshot_and_supersedes_the_older() -> None:
    older, newer = pending(1, actiontime=60), pending(2, actiontime=120)
    plan = plan_times([older, newer], {}, CONFIG)
    assert [(wanted.task.id, wanted) for wanted in plan.wanted] == [(512, newer)]
    assert plan.superseded == {1: 2}


def test_a_task_that_is_not_done_any_more_logs_nothing() -> None:
    undone = pending(2, state=1)
    plan = plan_times([pending(1), undone], {}, CONFIG, {TIME: KnownEvent(2, undone.event)})
    assert not plan.wanted
    assert plan.superseded == {1: 2}
    assert set(plan.skipped) == {2}


def test_an_older_event_that_comes_late_does_not_log_a_task_that_was_undone_since() -> None:
    plan = plan_times([pending(1)], {}, CONFIG, {TIME: KnownEvent(2, pending(2, state=1).event)})
    assert not plan.wanted
    assert plan.superseded == {1: 2}


def test_an_older_event_with_the_text_of_a_task_that_is_private_now_is_not_logged() -> None:
    private = pending(2, is_private=True)
    plan = plan_times([pending(1)], {}, CONFIG, {TIME: KnownEvent(2, private.event)})
    assert (plan.wanted, plan.superseded) == ([], {1: 2})


def test_done_again_logs_the_newest_time() -> None:
    again = pending(3, actiontime=3600)
    plan = plan_times(
        [pending(1), pending(2, state=1), again], {}, CONFIG, {TIME: KnownEvent(3, again.event)}
    )
    assert [(wanted.id, wanted.task.actiontime) for wanted in plan.wanted] == [(3, 3600)]


def test_a_task_that_the_helpdesk_has_deleted_logs_nothing() -> None:
    plan = plan_times([pending(1)], {}, CONFIG, {TIME: KnownEvent(2, deletion())})
    assert not plan.wanted
    assert plan.skipped == {1: Reason.DELETED_THERE()}


def test_what_was_logged_of_a_deleted_task_stays() -> None:
    plan = plan_times([pending(1)], {TIME: 40}, CONFIG, {TIME: KnownEvent(2, deletion())})
    assert (plan.logged, plan.skipped) == ({1: 40}, {})


def test_nothing_is_logged_of_a_deleted_ticket_and_what_would_have_been_says_so() -> None:
    events = [pending(1), pending(2), pending(3, id=513, state=1), pending(4, id=514)]
    plan = plan_times(events, {(Kind.TICKET_TASK, 514): 40}, CONFIG, is_ticket_deleted=True)
    assert not plan.wanted
    assert plan.skipped == {2: Reason.TICKET_DELETED(), 3: Reason.NOT_DONE(state=1, done_state=2)}
    assert (plan.superseded, plan.logged) == ({1: 2}, {4: 40})


def test_a_task_that_moved_to_another_ticket_is_logged_there_only() -> None:
    moved = parse_event(task_event(2, of_ticket=ticket(99)))
    plan = plan_times([pending(1)], {}, CONFIG, {TIME: KnownEvent(2, moved)})
    assert not plan.wanted
    assert plan.superseded == {1: 2}


def test_a_task_edited_after_logging_sends_nothing() -> None:
    plan = plan_times([pending(1, actiontime=7200)], {TIME: 99}, CONFIG)
    assert plan.logged == {1: 99}
    assert not plan.wanted


def test_each_task_of_a_ticket_logs_its_own_time_in_order() -> None:
    plan = plan_times([pending(1, id=9), pending(2, id=3), pending(3, id=9)], {}, CONFIG)
    assert [(wanted.task.id, wanted.id) for wanted in plan.wanted] == [(9, 3), (3, 2)]


def test_an_event_without_a_task_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="no ticket task"):
        _ = Pending(1, parse_event(ticket_event())).task


snapshots = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from([1, 2]), st.sampled_from([0, 60, 3600])), max_size=12
)


@given(snapshots, st.sets(st.integers(1, 3)))
def test_every_event_gets_exactly_one_verdict(rows: list[tuple[int, int, int]], done: set[int]) -> None:
    events = [
        pending(number, id=task_id, state=state, actiontime=seconds)
        for number, (task_id, state, seconds) in enumerate(rows, 1)
    ]
    plan = plan_times(events, {(Kind.TICKET_TASK, task_id): 1 for task_id in done}, CONFIG)
    decisions = [*(wanted.id for wanted in plan.wanted), *plan.skipped, *plan.logged, *plan.superseded]
    assert sorted(decisions) == [event.id for event in events]
    assert len({wanted.task.id for wanted in plan.wanted}) == len(plan.wanted)
    assert not {wanted.task.id for wanted in plan.wanted} & done
