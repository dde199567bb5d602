"""Finds out by facts what a person may do, and so whether a 422 is about their rights (decision 27).

The tracker answers 422 to a person who may not, and to content that it does not take, in words of any language.
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
    """What a person may do where something is to be created."""

    ENOUGH = auto()
    """To create it: a refusal is about what was sent."""
    NOT_MEMBER = auto()
    LACKING = auto()
    """A member, none of whose roles may create it."""
    UNSEEING = auto()
    """May log time in the project, and does not see the issue."""


class Found(NamedTuple):
    """What was found of a person's rights.

    Attributes:
        rights: what the person may do.
        roles: names of the roles that the person has in the project.
        right: the name of the right that is needed.
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
        issue_id: the issue to which something is to be added; None: an issue is to be created.
        needed: the right that is needed, a key of `RIGHT_TO`.

    Raises:
        TrackerError: an outage, or no clear answer.
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
    """Return whether one of some roles has a right."""
    for role_id in roles:
        if needed in await _permissions(ctx, role_id):
            return True
    return False


async def default_role_gone(ctx: TicketContext) -> Notice | None:
    """Return that the tracker does not have the role that people are given, as far as the cache tells."""
    role_id = ctx.config.default_role_id
    roles = await ctx.db.change(lambda tx: tx.metadata.of_kind(MetadataKind.ROLE))
    if role_id is None or not roles or role_id in {one.tracker_id for one in roles}:
        return None
    return Hint.DEFAULT_ROLE_GONE(role_id=role_id, **choices_of(roles))


async def is_deleted(ctx: TicketContext, person: TrackerPerson) -> bool:
    """Return whether a person, whose login no active user has, was deleted: a locked one is still there.

    Raises:
        TrackerError: an outage, or no clear answer.
    """
    try:
        await ctx.tracker.get(f"/users/{person.tracker_user_id}.json")
    except TrackerRejected as refused:
        return refused.status == 404
    return False


async def _permissions(ctx: TicketContext, role_id: int) -> frozenset[str]:
    """Return what a role may do, as it was read within the last minute."""
    known = ctx.known.permissions
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
