"""The right that a request needs: viewer to read, administrator to change, with the exceptions listed here."""

from __future__ import annotations

from starlette.requests import Request

from producer.admin.records.rights import Right
from producer.http.problems import Problem
from shared.notices.access import AccessRefusal

OPERATOR_MAY = {
    "/api/user-map/{helpdesk_user_id}",
    "/api/user-map/{helpdesk_user_id}/confirm",
    "/api/metadata/sync",
    "/console/events/replay",
    "/console/tickets/{ticket_id}/replay",
    "/console/tickets/{ticket_id}/forget-link",
    "/console/tickets/{ticket_id}/take-back",
    "/console/held/{kind}/{key}",
    "/console/authors",
    "/console/authors/{task_id}",
    "/console/people/{helpdesk_user_id}",
    "/console/people/confirm",
    "/console/settings/metadata",
}
"""Routes by which an operator may make changes."""

VIEWER_ROUTES = {
    "/console/sign-out",
    "/console/language",
    "/console/account/password",
    "/console/account/sign-out",
    "/console/templates/preview",
    "/ajax/template_test.php",
}
"""POST routes that change at most the user's own account; a dry run checks its right itself."""

TICKETS = "/api/tickets"
OF_HELPDESKS = ("/api/links", TICKETS)
"""Data that a help desk shows on its pages: a token with the right `links` reads only this."""


def needed_for(method: str, path: str) -> Right:
    """Return the right that a route needs.

    Args:
        method: HTTP method.
        path: path of the route, with the names of its parameters.
    """
    if method in ("GET", "HEAD"):
        return Right.LINKS if any(_is_below(path, top) for top in OF_HELPDESKS) else Right.VIEWER
    if path in VIEWER_ROUTES:
        return Right.VIEWER
    return Right.OPERATOR if path in OPERATOR_MAY else Right.ADMINISTRATOR


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top}/")


def require(request: Request, needed: Right | None = None) -> None:
    """Refuse a request that lacks the right `needed`, or else its route's.

    Raises:
        Problem: 403 if the right is missing.
    """
    needed = needed or needed_for(request.method, request.scope["route"].path)
    has: Right = request.state.right
    if not has.covers(needed):
        raise Problem(
            403,
            "Not allowed",
            why=AccessRefusal.RIGHT_NEEDED(needed=str(needed), has=str(has)),
        )


async def allowed(request: Request) -> None:
    """Refuse a request that lacks its route's right; a dependency of the API's routes and the pages."""
    require(request)
