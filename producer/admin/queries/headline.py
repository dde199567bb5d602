"""The state of a ticket in one sentence, for people who have never seen the code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from producer.admin.queries.story import IssueOfTicket, TicketTask, TicketTrace
from shared.notices.render import sentence
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerState

WORDS: dict[str, str] = {
    LedgerState.LINKED: "logged",
    EventState.DONE: "logged",
    EventState.SKIPPED: "not to be logged",
    EventState.SUPERSEDED: "not to be logged",
    EventState.FAILED: "failed",
    LedgerState.ON_HOLD: "for a person to decide",
    LedgerState.GONE: "for a person to decide",
}
SETTLED = ("logged", "not to be logged")


def headline(trace: TicketTrace) -> str:
    """Return one sentence about the ticket's issue, its ticket tasks and its status."""
    parts = [_issue(trace), _tasks(trace.ticket_tasks), _status(trace)]
    return "; ".join(part for part in parts if part) + "."


def _issue(trace: TicketTrace) -> str:
    ticket = f"Ticket {trace.ticket_id}"
    link = trace.link
    if link is None:
        why = trace.why(trace.last_event) if trace.last_event else None
        reason = sentence(why) if why else None
        if trace.last_event and trace.last_event.state == EventState.PENDING:
            return f"{ticket} has no issue yet: {reason or 'its newest event waits for a worker'}"
        return f"{ticket} has no issue" + (f": {reason}" if reason else "")
    return f"{ticket} {_standing(link)}"


def _standing(link: IssueOfTicket) -> str:
    project = f" in Redmine project {link.tracker_project_id}" if link.tracker_project_id else ""
    if link.state == LedgerState.LINKED:
        author = f", written by {link.author}" if link.author else ""
        adopted = " (adopted)" if link.adopted else ""
        return f"is issue #{link.tracker_issue_id}{project}{author}{adopted}"
    if link.state == LedgerState.GONE:
        return f"was issue #{link.tracker_issue_id}{project}, which a person must decide on: {link.reason}"
    if link.state == LedgerState.ON_HOLD:
        return f"waits for a person to say which issue it is: {link.reason}"
    if link.state == LedgerState.IN_DOUBT:
        return f"may have an issue{project} or not, and deskbridge will look in Redmine: {link.reason}"
    return f"is just getting its issue{project}"


def _tasks(tasks: Sequence[TicketTask]) -> str:
    if not tasks:
        return "no ticket task is known"
    counts = Counter(_word(task.state) for task in tasks)
    first, *others = [f"{count} {word}" for word, count in counts.most_common()]
    number, _, word = first.partition(" ")
    told = ", ".join([f"{number} ticket task{'' if number == '1' else 's'} {word}", *others])
    unsettled = next((task for task in tasks if task.reason and _word(task.state) not in SETTLED), None)
    return told + (f" (ticket task {unsettled.task_id}: {unsettled.reason})" if unsettled else "")


def _word(state: str) -> str:
    """Return a task's state as a person would say it."""
    return WORDS.get(state, "waiting")


def _status(trace: TicketTrace) -> str:
    state = trace.state
    if state is None or trace.link is None or trace.link.state != LedgerState.LINKED:
        return ""
    if state.status_due:
        return f"its status {state.status} is still to be given" + (
            f": {state.status_reason}" if state.status_reason else ""
        )
    return f"its status {state.status} was not given: {state.status_reason}" if state.status_reason else ""
