"""Compares GLPI with the journal: after an outage, or for a first import."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from producer.cli.output import count, print_json, say, table
from producer.cli.register import Json, Panel, command, moment_option, zoned
from producer.cli.services import open_services

if TYPE_CHECKING:
    from shared.helpdesk.reconciliation import Reconciled

Day = Annotated[
    datetime | None,
    typer.Option(formats=["%Y-%m-%d"], metavar="DAY", help="Skip tasks dated before this day."),
]


@command(
    Panel.FIX,
    "reconcile",
    "deskbridge reconcile --dry-run",
    "deskbridge reconcile --since 2026-11-01T00:00:00Z --hours-since 2026-11-01 --dry-run",
    "deskbridge reconcile",
)
def reconcile(
    since: Annotated[
        str | None,
        moment_option(
            "Compare changes since this day of UTC, or time with time zone. Default: one day before the last run."
        ),
    ] = None,
    hours_since: Day = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done without doing it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find and forward GLPI changes without an event.

    The command asks GLPI's API for changed tickets and finished tasks, and whether follow-ups and solutions that were
    not sent yet are deleted or private now. Workers do the same once a day. Use --since for a first import. Nothing is
    sent twice.
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
        "withdrawn": found.withdrawn,
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
    say(f"{count(found.seen, 'ticket or task', 'tickets and tasks')} changed since {since}.")
    if found.withdrawn:
        say(f"{count(found.withdrawn, 'note')} not sent, because GLPI deleted it or made it private.")
    if not found.missing:
        say("Nothing is missing.")
        return
    tasks = count(found.missing_tasks, "finished task")
    say(f"Missing: {tasks}, and the newest status of {count(found.missing_statuses, 'ticket')}.")
    if found.unlinked_tasks:
        say(f"{count(found.unlinked_tasks, 'task')} not sent, because no mapping exists.")
    if found.left_out:
        say(f"{count(found.left_out, 'task')} not sent, because of an earlier date (--hours-since).")
    rows = [
        (one.tracker_project_id, one.person or "the API user", f"{seconds / 3600:.2f} h")
        for one, seconds in sorted(
            found.seconds.items(), key=lambda item: (item[0].tracker_project_id, item[0].person)
        )
    ]
    if rows:
        table(("Redmine project", "As", "Time"), rows)
        table(("Redmine project", "New issues"), sorted(found.issues.items()))
    say(
        "Nothing was changed (--dry-run)."
        if dry_run
        else "deskbridge forwards them now (see `deskbridge event list`)."
    )
