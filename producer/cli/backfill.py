"""Moves the link stores between installations."""

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
from producer.cli.register import Json, add
from producer.cli.services import open_services

Table1x = Literal["ticket-issue", "task-time", "project", "entity", "user-map"]
PREVIEWED = 5


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands of this module."""
    add(
        app, export_links, panel, "deskbridge export-links links.csv", "deskbridge export-links - > links.csv"
    )
    add(
        app,
        import_links,
        panel,
        "deskbridge import-links links.csv",
        "deskbridge import-links --table ticket-issue --columns id=tickets_id,tracker_id=issue_id tickets.csv",
    )


def export_links(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; `-` is standard output.")] = Path(
        "-"
    ),
) -> None:
    """Write every link as CSV.

    Those of helpdesk projects, entities, tickets and ticket tasks. What is still in doubt or held is not written:
    settle that first.
    """
    from producer.admin.backfill.backfill import export_links as export

    with open_services() as services:
        if str(file) == "-":
            written, undecided = export(services.store, sys.stdout)
        else:
            with file.open("w", encoding="utf-8", newline="") as out:
                written, undecided = export(services.store, out)
    console(stderr=True).print(f"{count(written, 'link')} written.", style="dim")
    if undecided:
        warn(f"{count(undecided, 'row')} still undecided (see `deskbridge held`) and not written")


def import_links(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="As export-links wrote it; `-` is standard input.")
    ],
    same_tracker: Annotated[
        bool, typer.Option("--same-tracker", help="The file's tracker is ours under another address.")
    ] = False,
    table: Annotated[
        Table1x | None, typer.Option(help="The file is this table of plugin 1.x, as its database exports it.")
    ] = None,
    columns: Annotated[
        str,
        typer.Option(metavar="OURS=THEIRS,…", help="With --table: which column of the file is what."),
    ] = "",
    delimiter: Annotated[str, typer.Option(help="With --table: what stands between two cells.")] = ",",
    preview: Annotated[
        bool, typer.Option("--preview", help="Only show how the first lines would be read.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Add every link of a CSV file.

    All or nothing, and safe to repeat. Refused is what would give a ticket a second issue, a ticket task a second time
    entry, or one issue to two tickets.

    A table of plugin 1.x: ticket-issue needs the columns id (the ticket) and tracker_id (the issue), task-time id,
    ticket_id and tracker_id (the time entry), project and entity id and tracker_project_id, user-map id and tracker_id
    (the tracker's user).
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
        warn(f"{issues} imported without a tracker project, which is asked for later: {done.failure}")
    if as_json:
        print_json({"added": done.added, "unchanged": done.unchanged})
    else:
        say(f"{count(done.added, 'link')} added; {done.unchanged} were here already.")


def _of_version_one(text: Iterable[str], table: str, columns: str, delimiter: str) -> Iterable[str]:
    from producer.admin.backfill.version_one import Table, as_links

    if len(delimiter) != 1:
        raise WrongUsage("--delimiter: expected one character")
    pairs = [part.partition("=") for part in columns.split(",") if part.strip()]
    if any(not ours.strip() or not theirs.strip() for ours, _, theirs in pairs):
        raise WrongUsage("--columns: expected OURS=THEIRS,… such as id=tickets_id,tracker_id=issue_id")
    named = {ours.strip(): theirs.strip() for ours, _, theirs in pairs}
    return as_links(text, Table(table), named, delimiter=delimiter)


def _lines(file: Path) -> AbstractContextManager[TextIO]:
    if str(file) == "-":
        return nullcontext(TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline=""))
    return file.open(encoding="utf-8-sig", newline="")
