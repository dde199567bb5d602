"""The request body of an operation: the active template's, or the 1.x body (SPEC section 9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from shared.bodies.contexts import RenderInput, engine_for, ticket_context
from shared.bodies.precedence import RenderedBody, choose
from shared.events.payloads import Body
from shared.notices.steps import What
from shared.templating.catalogue import Context
from shared.templating.operations import Operation
from worker.ticket.context import TicketContext

P = ParamSpec("P")
T = TypeVar("T")


async def built(ctx: TicketContext, build: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Build a body or a creation: at once, or in a thread if that may take long.

    Rendering a template takes time. A project that was not known when the ticket was loaded, and people who must be
    matched again, are read from the store.
    """
    if takes_long(ctx):
        return await ctx.blocking(build, *args, **kwargs)
    return build(*args, **kwargs)


def takes_long(ctx: TicketContext) -> bool:
    """Return whether building the body may take long, or query the store."""
    return bool(ctx.templates or ctx.moved or not ctx.people)


def choose_body(
    ctx: TicketContext, operation: Operation, about: RenderInput, plain: Callable[[], Body]
) -> RenderedBody:
    """Return the body to send; if the template fails, the 1.x body.

    Args:
        ctx: the ticket's context.
        operation: the operation of the body.
        about: the data that the template is rendered from.
        plain: returns the 1.x body.
    """

    def context() -> Context:
        name = ctx.cached.project_name(ctx.store, about.project_id)
        return ticket_context(name, ctx.config, about)

    return choose(ctx.templates.get(operation), lambda: engine_for(operation), context, plain)


def note_choice(
    ctx: TicketContext, operation: Operation, chosen: RenderedBody, task_id: int | None = None
) -> None:
    """Record in the ticket history which template was used, or failed."""
    if chosen.fault:
        template = str(ctx.templates[operation])
        failed = What.TEMPLATE_FAILED(operation=operation, template=template, because=chosen.fault.notice)
        ctx.warn(failed, task_id=task_id)
    elif chosen.template:
        template, warnings = str(chosen.template), list(chosen.warnings) or None
        made = What.BODY_FROM_TEMPLATE(operation=operation, template=template, warnings=warnings)
        ctx.note(made, task_id=task_id)


def body_for(ctx: TicketContext, operation: Operation, about: RenderInput, plain: Callable[[], Body]) -> Body:
    """Return the body to send, as `choose_body` does, and record the choice."""
    chosen = choose_body(ctx, operation, about, plain)
    note_choice(ctx, operation, chosen)
    return chosen.body
