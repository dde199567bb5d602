"""A month's hours in GLPI and in Redmine."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from producer.cli.failures import WrongUsage
from producer.cli.output import print_json, say, table, warn
from producer.cli.register import Json, Panel, command
from producer.cli.services import open_services


@command(
    Panel.WATCH,
    "hours",
    "deskbridge hours --month 2026-11",
    "deskbridge hours --month 2026-11 --csv > hours.csv",
    "deskbridge hours --month 2026-11 --tasks --csv > tasks.csv",
)
def hours(
    month: Annotated[str, typer.Option(metavar="YYYY-MM", help="The month.", show_default=False)],
    tasks: Annotated[bool, typer.Option("--tasks", help="List the ticket tasks that differ.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_json: Json = False,
) -> None:
    """Compare a month's hours in GLPI and in Redmine.

    Counts finished ticket tasks in GLPI, and time entries in Redmine that deskbridge has logged, by person. If Redmine
    cannot be read, it counts what deskbridge has logged.
    """
    from producer.admin.queries.hours import WORDS, differences_csv, hours_csv, hours_of
    from producer.admin.queries.redmine_hours import month_of

    try:
        month_of(month)
    except ValueError:
        raise WrongUsage(f"--month {month}: expected a month such as 2026-11") from None
    with open_services() as services:
        report = hours_of(services, month, seconds=float("inf"))
    if not report.live and not as_json:
        warn(
            f"Redmine could not be read, so the hours are those that deskbridge has logged: {report.why_not_live}"
        )
    if as_json:
        print_json(report)
    elif as_csv:
        sys.stdout.writelines(differences_csv(report) if tasks else hours_csv(report))
    elif not report.people:
        say(f"No hours are known of {month}.")
    elif tasks:
        rows = [
            (one.person, one.ticket_id, one.task_id, one.glpi_hours, one.redmine_hours, WORDS[one.why])
            for one in report.differences
        ]
        table(("Person", "Ticket", "Task", "GLPI", "Redmine", "Why"), rows)
    else:
        sums = [
            (
                one.person or "(no user is named in GLPI)",
                one.glpi_hours,
                one.redmine_hours,
                one.difference or "",
                ", ".join(f"{WORDS[why]}: {hours:g}" for why, hours in one.reasons.items()),
            )
            for one in report.people
        ]
        table(("Person", "GLPI", "Redmine", "Difference", "Why"), sums)
