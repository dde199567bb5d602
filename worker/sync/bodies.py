"""The request body of an operation: the active template's, or the 1.x body (SPEC section 9); told in the trace."""

from __future__ import annotations

from collections.abc import Callable

from shared.payloads import Body
from shared.templating import Operation
from shared.templating.contexts import Context
from shared.usecases.precedence import Chosen, choose
from shared.usecases.template_contexts import About, engine_for, ticket_context
from worker.sync.run import Run


def body_for(run: Run, operation: Operation, about: About, plain: Callable[[], Body]) -> Chosen:
    """Return the body to send; a template that fails is told in the trace and stops nothing.

    Args:
        run: the drain.
        operation: what is to be sent.
        about: what the template is rendered from.
        plain: returns the 1.x body.
    """
    template = run.templates.get(operation)
    task_id = about.task.id if about.task else None

    def context() -> Context:
        with run.store.transaction() as tx:
            return ticket_context(tx, run.config, about)

    chosen = choose(template, lambda: engine_for(operation), context, plain)
    if chosen.fault:
        run.warn(
            f"Template for {operation} failed; the standard body is sent",
            f"{template}: {chosen.fault}",
            task_id=task_id,
        )
    elif chosen.template:
        run.note(f"Body of {operation} from {chosen.template}", "; ".join(chosen.warnings), task_id=task_id)
    return chosen
