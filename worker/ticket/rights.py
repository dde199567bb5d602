"""Finds out what a person may do, to tell whether a 422 is about their rights (decision 27).

The tracker answers 422 to a person without the right and also to content that it rejects, with texts in any language.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import Any, NamedTuple

from shared.errors import ImpersonationRefused, OutcomeUnknown, TrackerRejected
from shared.notices.faults import Detail
from shared.notices.hints import Hint
from shared.notices.notice import Notice
from shared.refusals.judging import choices_of
from shared.store.configuration.matching import TrackerPerson
from shared.store.configuration.metadata import MetadataKind
from shared.tracker.rights import RIGHT_TO
from shared.values.ids import id_in
from worker.ticket.context import TicketContext


class Rights(Enum):
    """The rights of a person in the place where something is created."""

    ENOUGH = auto()
    """May create it, so that a refusal is about the content."""
    NOT_MEMBER = auto()
    LACKING = auto()
    """A member without a role that may create it."""
    UNSEEING = auto()
    """Has the right in the project, but does not see the issue."""


class Found(NamedTuple):
    """The rights of a person, as read from the tracker.

    Attributes:
        rights: what the person may do.
        roles: names of the person's roles in the project.
        right: the name of the required right.
    """

    rights: Rights
    roles: Sequence[str]
    right: str


async def rights_of(
    ctx: TicketContext,
    person: TrackerPerson,
    login: str,
    project_id: int,
    issue_id: int | None,
    needed: str,
) -> Found:
    """Return what a person may do.

    Args:
        ctx: the ticket's context.
        person: the person.
        login: the person's login now.
        project_id: the tracker project.
        issue_id: the issue to which something is added; None if an issue is created.
        needed: the required right, a key of `RIGHT_TO`.

    Raises:
        TrackerError: on an outage, or without a clear answer.
    """
    path = f"/users/{person.tracker_user_id}.json"
    found = (await ctx.tracker.get(path, {"include": "memberships"})).data
    user = found.get("user") if isinstance(found, dict) else None
    if not isinstance(user, dict):
        raise OutcomeUnknown("GET", path, detail=Detail.NO_LIST(name="memberships"))
    roles = {
        role_id: str(role.get("name"))
        for membership in _dicts(user.get("memberships"))
        if id_in(membership.get("project")) == project_id
        for role in _dicts(membership.get("roles"))
        if (role_id := id_in(role)) is not None
    }
    if user.get("admin") is True:
        rights = Rights.ENOUGH
    elif not roles:
        rights = Rights.NOT_MEMBER
    elif not await _may(ctx, roles, needed):
        rights = Rights.LACKING
    elif issue_id is not None and not await _sees(ctx, login, issue_id):
        rights = Rights.UNSEEING
    else:
        rights = Rights.ENOUGH
    return Found(rights, list(roles.values()), RIGHT_TO[needed])


async def _may(ctx: TicketContext, roles: Iterable[int], needed: str) -> bool:
    """Return whether any of the roles has the right."""
    for role_id in roles:
        if needed in await _permissions(ctx, role_id):
            return True
    return False


async def default_role_gone(ctx: TicketContext) -> Notice | None:
    """Return a hint if the tracker does not have the default role according to the cache, else None."""
    role_id = ctx.config.default_role_id
    roles = await ctx.db.change(lambda tx: tx.metadata.of_kind(MetadataKind.ROLE))
    if role_id is None or not roles or role_id in {one.tracker_id for one in roles}:
        return None
    return Hint.DEFAULT_ROLE_GONE(role_id=role_id, **choices_of(roles))


async def is_deleted(ctx: TicketContext, user_id: int) -> bool:
    """Return whether a user of the tracker was deleted: a locked user still exists.

    Raises:
        TrackerError: on an outage, or without a clear answer.
    """
    try:
        await ctx.tracker.get(f"/users/{user_id}.json")
    except TrackerRejected as refused:
        return refused.status == 404
    return False


async def _permissions(ctx: TicketContext, role_id: int) -> frozenset[str]:
    """Return the permissions of a role, as they were read within the last minute."""
    known = ctx.cached.permissions
    if role_id not in known:
        path = f"/roles/{role_id}.json"
        try:
            found = (await ctx.tracker.get(path)).data
        except TrackerRejected as refused:
            if refused.status != 404:
                raise
            found = {}
        role = found.get("role") if isinstance(found, dict) else None
        listed = role.get("permissions") if isinstance(role, dict) else None
        known[role_id] = frozenset(map(str, listed)) if isinstance(listed, list) else frozenset()
    return known[role_id]


async def _sees(ctx: TicketContext, login: str, issue_id: int) -> bool:
    try:
        await ctx.tracker.call("GET", f"/issues/{issue_id}.json", login=login)
    except ImpersonationRefused:
        return False
    return True


def _dicts(listed: Any) -> list[dict[str, Any]]:
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
