"""The audit log: who changed what, with the values before and after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import Request
from starlette.responses import Response

from producer.admin.queries.changes import SUBJECTS, change_of, changes_csv, codes_of, latest_changes
from producer.admin.services import Services
from producer.console.auth.answers import Id, WithServices
from producer.console.pages.filters import filters_of, is_filtered, period_of
from producer.console.pages.parts import PAGE, download, newest_first, page_router, show
from producer.console.rendering.addresses import address
from shared.notices.changes import Did
from shared.store.configuration.changes import WantedChanges
from shared.store.tables.configuration import ChangeRecord
from shared.values.ids import LARGEST

router = page_router()
PATH = "/console/changes"
OF_USERS = "tracker_user_id"
NAMES_USERS = (Did.PERSON_MAPPED, Did.PERSON_UNMAPPED, Did.AUTHOR_CORRECTED)
"""Changes whose values before and after are ids of Redmine users."""
FILTERS = ("who", "what")


@router.get("/changes")
def changes(request: Request, services: WithServices, below: int | None = None) -> Response:
    """List changes, newest first."""
    below = min(below, LARGEST) if below is not None else None
    given = filters_of(request.query_params, FILTERS)
    found = latest_changes(services.store, limit=PAGE + 1, below=below, wanted=_wanted(given))
    return show(
        request,
        "changes",
        **newest_first(found, PATH, lambda one: one.id, **given),
        given=given,
        is_filtered=is_filtered(given),
        below=below,
        newest=address(PATH, **given),
        csv=address(f"{PATH}.csv", **given),
        subjects={name: label for name, (label, _) in SUBJECTS.items()},
        diff=_differences(services),
    )


@router.get("/changes.csv")
def export(request: Request, services: WithServices) -> Response:
    """Return the matching changes as CSV."""
    found = changes_csv(services.store, _wanted(filters_of(request.query_params, FILTERS)))
    return download(found, "deskbridge-changes.csv")


@router.get("/changes/{change_id}")
def change(request: Request, services: WithServices, change_id: Id) -> Response:
    """Show one change; for a replay, also the results of its events."""
    found, became = change_of(services.store, change_id)
    return show(request, "change", one=found, became=became, diff=_differences(services))


def _wanted(given: dict[str, str]) -> WantedChanges:
    return WantedChanges(given["who"], codes_of(given["what"]), *period_of(given))


def _differences(services: Services) -> Callable[[ChangeRecord], list[tuple[str, Any, Any]]]:
    """Return a function that lists a change's differences, with names instead of ids."""

    def differences(one: ChangeRecord) -> list[tuple[str, Any, Any]]:
        field = OF_USERS if one.code in NAMES_USERS else ""
        return [
            (name, *(services.names.value(name or field, value) for value in (was, now)))
            for name, was, now in _diff(one.before, one.after)
        ]

    return differences


def _diff(before: Any, after: Any) -> list[tuple[str, Any, Any]]:
    """Return the differences as (name, before, after)."""
    if isinstance(before, dict) or isinstance(after, dict):
        was = before if isinstance(before, dict) else {}
        now = after if isinstance(after, dict) else {}
        names = dict.fromkeys([*was, *now])
        return [(name, was.get(name), now.get(name)) for name in names if was.get(name) != now.get(name)]
    return [("", before, after)] if before is not None or after is not None else []
