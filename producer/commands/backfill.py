"""Moves the link stores between installations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from producer.commands.desk import open_desk
from producer.commands.output import console, count, print_json, say, warn
from producer.commands.register import Json, add


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands of this module."""
    add(
        app, export_links, panel, "deskbridge export-links links.csv", "deskbridge export-links - > links.csv"
    )
    add(app, import_links, panel, "deskbridge import-links links.csv")


def export_links(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; `-` is standard output.")] = Path(
        "-"
    ),
) -> None:
    """Write every link as CSV.

    Those of helpdesk projects, entities, tickets and ticket tasks. What is still in doubt or held is not written:
    settle that first.
    """
    from producer.admin.backfill import export_links as export

    with open_desk() as desk:
        if str(file) == "-":
            written, undecided = export(desk.store, sys.stdout)
        else:
            with file.open("w", encoding="utf-8", newline="") as out:
                written, undecided = export(desk.store, out)
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
    as_json: Json = False,
) -> None:
    """Add every link of a CSV file.

    All or nothing, and safe to repeat. Refused is what would give a ticket a second issue, a ticket task a second time
    entry, or one issue to two tickets.
    """
    from producer.admin.backfill import import_links as carry_out

    with open_desk() as desk:
        if str(file) == "-":
            done = carry_out(desk.store, sys.stdin, same_tracker=same_tracker)
        else:
            with file.open(encoding="utf-8-sig", newline="") as text:
                done = carry_out(desk.store, text, same_tracker=same_tracker)
        desk.ring(done.tickets)
    if as_json:
        print_json({"added": done.added, "unchanged": done.unchanged})
    else:
        say(f"{count(done.added, 'link')} added; {done.unchanged} were here already.")
