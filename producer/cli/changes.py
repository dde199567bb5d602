"""The audit log: who changed what."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from producer.admin.presenters.moments import when
from producer.cli.failures import WrongUsage
from producer.cli.output import print_json, say, table
from producer.cli.register import Json, add, zoned
from producer.cli.services import open_services
from shared.notices.render import sentence


def register(app: typer.Typer, look: str) -> None:
    """Add the command of this module."""
    add(
        app,
        changes,
        look,
        "deskbridge changes --who claire",
        "deskbridge changes --what accounts --since 2026-11-20T00:00:00Z",
        "deskbridge changes --csv > changes.csv",
    )


def changes(
    who: Annotated[str, typer.Option(metavar="NAME", help="Part of the name of who made it.")] = "",
    what: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="A code, or settings, links, people, decisions, events, templates, recovery, accounts, sessions.",
        ),
    ] = "",
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Not before this time, with its zone.", show_default=False),
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=1_000_000, help="How many at most.")] = 100,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print all that match as CSV.")] = False,
    as_json: Json = False,
) -> None:
    """List what people changed: who, what, before and after.

    The newest change comes first.
    """
    from producer.admin.queries.changes import SUBJECTS, Change, changes_csv, codes_of, latest_changes
    from shared.store.configuration.changes import WantedChanges

    codes = codes_of(what)
    if what and not codes:
        raise WrongUsage(
            f"--what {what}: there is no such subject or code; the subjects are {', '.join(SUBJECTS)}"
        )
    wanted = WantedChanges(who, codes, zoned(since))
    with open_services() as services:
        if as_csv:
            for lines in changes_csv(services.store, wanted):
                sys.stdout.write(lines)
            return
        found = latest_changes(services.store, limit=limit, wanted=wanted)
    if as_json:
        print_json([Change.of(one) for one in found])
    elif not found:
        say("No such change.")
    else:
        table(
            ("Id", "When", "Who", "What"),
            [(one.id, when(one.at), one.who, sentence(one.notice)) for one in found],
        )
