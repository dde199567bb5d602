"""Makes a technician a member of a tracker project, since the tracker accepts creations by members only."""

from __future__ import annotations

from dataclasses import replace

from shared.bodies.contexts import RenderInput
from shared.errors import TrackerRejected
from shared.events.payloads import Body, membership_body, roles_beyond
from shared.notices.steps import What
from shared.store.configuration.matching import TrackerPerson
from shared.templating.operations import Operation
from worker.ticket.bodies import body_for, built
from worker.ticket.context import TicketContext

IS_MEMBER = 422
"""In any language, this mostly means "is already a member"."""


async def add_member(
    ctx: TicketContext, person: TrackerPerson, about: RenderInput, *, is_claimed: bool
) -> None:
    """Make a person a member with the default role, and remember that they are one; a refusal is only recorded.

    Args:
        ctx: the ticket's context.
        person: the person.
        about: the data that a template is rendered from; it names the project.
        is_claimed: whether the creation is claimed already; its lease then replaces the check of the settings.

    Raises:
        NotYet, OutcomeUnknown: if it is not known whether they are a member.
        Outdated, LockBusy: if the settings have changed, or the ticket's lock was lost; nothing was sent.
        TrackerError: on an outage.
    """
    role_id = ctx.config.default_role_id
    if role_id is None:
        return
    plain = membership_body(person.tracker_user_id, role_id)
    operation = Operation.MEMBERSHIP_CREATE
    body = await built(ctx, body_for, ctx, operation, replace(about, person=person), lambda: plain)
    if beyond := roles_beyond(body, ctx.config):
        ctx.warn(What.TEMPLATE_ROLES_REFUSED(roles=[str(role) for role in beyond]))
        body = plain
    try:
        await _create(
            ctx, f"/projects/{about.project_id}/memberships.json", body, plain, is_claimed=is_claimed
        )
        ctx.note(What.MADE_MEMBER(login=person.login, tracker_project_id=about.project_id))
    except TrackerRejected as rejection:
        if rejection.status != IS_MEMBER:
            ctx.warn(What.NOT_MADE_MEMBER(login=person.login, because=rejection.notice))
            return
    member = about.project_id, person.tracker_user_id
    await ctx.db.change(lambda tx: tx.people.remember_member(*member))
    ctx.members[member] = True


async def forget_member(ctx: TicketContext, person: TrackerPerson, project_id: int) -> None:
    """Forget that a person is a member of a project."""
    member = project_id, person.tracker_user_id
    await ctx.db.change(lambda tx: tx.people.forget_member(*member))
    ctx.cached.forget_member(*member)
    ctx.members[member] = False


async def _create(ctx: TicketContext, path: str, body: Body, plain: Body, *, is_claimed: bool) -> None:
    """Create a membership; if a template's body is refused, perhaps for one of its roles, send the 1.x body.

    Raises:
        TrackerError: if the last call fails.
    """
    call = ctx.tracker.call_as_api_user if is_claimed else ctx.call_unclaimed
    try:
        await call("POST", path, body, expected=(IS_MEMBER,))
    except TrackerRejected as rejection:
        if rejection.status != IS_MEMBER or body == plain:
            raise
        await call("POST", path, plain, expected=(IS_MEMBER,))
