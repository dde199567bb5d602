"""What may explain a refusal, for the trace: the tracker's own words are in its language, and name no field."""

from __future__ import annotations

from shared.codes.steps import What
from shared.errors import TrackerRejected
from shared.kinds import Kind
from shared.payloads import Body
from shared.refusals.hints import explain
from shared.refusals.known import known_of
from shared.templating import Operation
from worker.sync.run import Run

OPERATIONS = {Kind.TICKET: Operation.ISSUE_CREATE, Kind.TICKET_TASK: Operation.TIME_ENTRY_CREATE}


def tell_why(run: Run, kind: Kind, key: int, body: Body, project_id: int, refusal: TrackerRejected) -> None:
    """Note what the payload and the cached metadata tell of a refusal, each with its knowledge record.

    Args:
        run: the drain.
        kind: issue or time entry.
        key: ticket id or ticket-task id.
        body: what was sent.
        project_id: the tracker project it was for.
        refusal: the tracker's answer.
    """
    with run.store.transaction() as tx:
        known = known_of(tx, project_id)
    for hint in explain(OPERATIONS[kind], body, known, refusal.status or 422):
        task_id = key if kind is Kind.TICKET_TASK else None
        told = What.PERHAPS_REFUSED_FOR(field=hint.field, problem=hint.why, record=hint.record)
        run.warn(told, task_id=task_id)
