"""Moves mappings and links between installations."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal, TextIO

import typer

from producer.cli.failures import WrongUsage
from producer.cli.output import console, count, print_json, say, warn
from producer.cli.register import MAPPING, Json, command
from producer.cli.services import open_services

Table1x = Literal["ticket-issue", "task-time", "project", "entity", "user-map"]
PREVIEWED = 5


@command(
    MAPPING,
    "export",
    "deskbridge mapping export links.csv",
    "deskbridge mapping export - | gzip > links.csv.gz",
    was="export-links",
)
def export(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Output file; `-` for standard output.")
    ] = Path("-"),
) -> None:
    """Export mappings and links as CSV.

    The file contains the mappings of GLPI projects and entities, and the links of tickets, tasks, follow-ups, solutions
    and documents. It contains no events, and no creations in doubt or on hold: the command warns of them. It contains
    no settings, user mappings or templates either.
    """
    from producer.admin.backfill.backfill import export_links

    with open_services() as services:
        if str(file) == "-":
            done = export_links(services.store, sys.stdout)
        else:
            with file.open("w", encoding="utf-8", newline="") as out:
                done = export_links(services.store, out)
    console(stderr=True).print(f"{count(done.rows, 'row')} written.", style="dim")
    if done.undecided:
        warn(
            f"{count(done.undecided, 'creation')} in doubt or on hold not written (see `deskbridge hold list`)"
        )
    for state, number in ("pending", done.pending), ("failed", done.failed):
        if number:
            warn(
                f"{count(number, 'event')} {state}: another installation will not have them (`deskbridge event list "
                f"--state {state}`)"
            )


@command(
    MAPPING,
    "import",
    "deskbridge mapping import links.csv",
    "deskbridge mapping import --table ticket-issue --columns id=tickets_id,tracker_id=issue_id tickets.csv",
    was="import-links",
)
def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File of `mapping export`; `-` for standard input.")
    ],
    same_tracker: Annotated[
        bool,
        typer.Option("--same-tracker", help="The file comes from the same Redmine under a different URL."),
    ] = False,
    table: Annotated[
        Table1x | None, typer.Option(help="Import this table of plugin 1.x, exported as CSV.")
    ] = None,
    columns: Annotated[
        str,
        typer.Option(metavar="OURS=THEIRS,…", help="With --table: which column of the file has which value."),
    ] = "",
    delimiter: Annotated[str, typer.Option(help="With --table: column delimiter.")] = ",",
    preview: Annotated[
        bool, typer.Option("--preview", help="Only show how deskbridge reads the first lines.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Import mappings and links from a CSV file.

    Safe to repeat. The command imports all rows or none. It refuses a second issue for a ticket, a second time entry
    for a task, and an issue that belongs to two tickets.

    Each table of plugin 1.x needs its columns. ticket-issue: id (ticket), tracker_id (issue). task-time: id (task),
    ticket_id, tracker_id (time entry). project and entity: id, tracker_project_id. user-map: id (GLPI user), tracker_id
    (Redmine user).
    """
    from producer.admin.backfill.backfill import import_links as carry_out

    with open_services() as services, _lines(file) as text:
        lines = _of_version_one(text, table, columns, delimiter) if table else text
        if preview:
            say(
                *(line.rstrip("\n") for line in islice(lines, PREVIEWED + 1)),
                "Nothing was imported (--preview).",
            )
            return
        done = carry_out(services, lines, same_tracker=same_tracker)
    if done.unasked:
        issues = count(done.unasked, "issue")
        warn(
            f"{issues} imported without the Redmine project, which deskbridge looks up later: {done.failure}"
        )
    if as_json:
        print_json({"added": done.added, "unchanged": done.unchanged})
    else:
        say(f"{count(done.added, 'row')} added, {done.unchanged} already present.")


def _of_version_one(text: Iterable[str], table: str, columns: str, delimiter: str) -> Iterable[str]:
    from producer.admin.backfill.version_one import Table, as_links

    if len(delimiter) != 1:
        raise WrongUsage("--delimiter must be one character")
    pairs = [part.partition("=") for part in columns.split(",") if part.strip()]
    if any(not ours.strip() or not theirs.strip() for ours, _, theirs in pairs):
        raise WrongUsage("--columns must be OURS=THEIRS,… such as id=tickets_id,tracker_id=issue_id")
    named = {ours.strip(): theirs.strip() for ours, _, theirs in pairs}
    return as_links(text, Table(table), named, delimiter=delimiter)


def _lines(file: Path) -> AbstractContextManager[TextIO]:
    if str(file) == "-":
        return nullcontext(TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline=""))
    return file.open(encoding="utf-8-sig", newline="")
