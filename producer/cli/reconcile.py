"""Comparing the helpdesk with the journal: after an outage, from time to time, and before the first day."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from producer.cli.output import count, print_json, say, table
from producer.cli.register import Json, add, zoned
from producer.cli.services import open_services

if TYPE_CHECKING:
    from shared.helpdesk.reconciliation import Reconciled

Day = Annotated[
    datetime | None,
    typer.Option(formats=["%Y-%m-%d"], metavar="DAY", help="Leave out ticket tasks of an earlier day."),
]


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands of this module."""
    add(
        app,
        reconcile,
        panel,
        "deskbridge reconcile --dry-run",
        "deskbridge reconcile --since 2026-11-01T00:00:00Z --hours-since 2026-11-01 --dry-run",
        "deskbridge reconcile",
    )


def reconcile(
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="How far to look back, with its zone; left out: since the last run, less a day.",
            show_default=False,
        ),
    ] = None,
    hours_since: Day = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done, and change nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find what the helpdesk has and no event told of, and forward it.

    Asks GLPI's API for changed tickets and finished ticket tasks. Workers do the same once a day. With --since it is
    also the first import. What was sent before is not sent twice.
    """
    from producer.admin.backfill.reconcile import compare

    moment = zoned(since)
    with open_services() as services:
        day = hours_since.date() if hours_since else None
        found = compare(services, moment, hours_since=day, dry_run=dry_run)
    if as_json:
        print_json(_as_json(found, dry_run=dry_run))
    else:
        _tell(found, dry_run=dry_run)


def _as_json(found: Reconciled, *, dry_run: bool) -> dict[str, Any]:
    return {
        "since": found.since,
        "dry_run": dry_run,
        "seen": found.seen,
        "missing_statuses": found.missing_statuses,
        "missing_tasks": found.missing_tasks,
        "unlinked_tasks": found.unlinked_tasks,
        "left_out": found.left_out,
        "issues": [
            {"tracker_project_id": project, "count": number}
            for project, number in sorted(found.issues.items())
        ],
        "hours": [
            {
                "tracker_project_id": one.tracker_project_id,
                "person": one.person or None,
                "hours": seconds / 3600,
            }
            for one, seconds in found.seconds.items()
        ],
        "tickets": sorted(found.tickets),
    }


def _tell(found: Reconciled, *, dry_run: bool) -> None:
    since = f"{found.since.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    say(f"{count(found.seen, 'ticket or ticket task')} changed since {since}.")
    if not found.missing:
        say("Nothing is missing.")
        return
    tasks = count(found.missing_tasks, "finished ticket task")
    say(f"Missing: {tasks}, and the newest status of {count(found.missing_statuses, 'ticket')}.")
    if found.unlinked_tasks:
        say(f"{count(found.unlinked_tasks, 'ticket task')} lead to no tracker project and send nothing.")
    if found.left_out:
        say(f"{count(found.left_out, 'ticket task')} left out: of an earlier day.")
    rows = [
        (one.tracker_project_id, one.person or "the administrator", f"{seconds / 3600:.2f} h")
        for one, seconds in sorted(
            found.seconds.items(), key=lambda item: (item[0].tracker_project_id, item[0].person)
        )
    ]
    if rows:
        table(("Tracker project", "As", "Time"), rows)
        table(("Tracker project", "New issues"), sorted(found.issues.items()))
    say("Nothing was changed (--dry-run)." if dry_run else "It is being forwarded; see `deskbridge events`.")
