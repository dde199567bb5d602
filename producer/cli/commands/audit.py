"""The audit log: who changed what."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from producer.admin.presenters.moments import when
from producer.cli.failures import WrongUsage
from producer.cli.output import print_json, say, table
from producer.cli.register import AUDIT, Json, command, moment_option, zoned
from producer.cli.services import open_services
from shared.notices.render import sentence


@command(
    AUDIT,
    "list",
    "deskbridge audit list --who claire",
    "deskbridge audit list --what accounts --since 2026-11-20T00:00:00Z",
    "deskbridge audit list --csv",
    was="changes",
)
def list_changes(
    who: Annotated[str, typer.Option(metavar="NAME", help="Part of the user's name.")] = "",
    what: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="Code or subject: settings, links, people, decisions, events, templates, notifications, recovery, "
            "accounts, sessions.",
        ),
    ] = "",
    since: Annotated[
        str | None, moment_option("Only changes since this day of UTC, or time with time zone.")
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=1_000_000, help="Maximum number of changes to show.")
    ] = 100,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print all matching changes as CSV.")] = False,
    as_json: Json = False,
) -> None:
    """List what people changed, newest first.

    Each entry shows who made the change, and the values before and after.
    """
    from producer.admin.queries.changes import SUBJECTS, Change, changes_csv, codes_of, latest_changes
    from shared.notices.naming import naming
    from shared.store.configuration.changes import WantedChanges

    codes = codes_of(what)
    if what and not codes:
        raise WrongUsage(
            f"--what {what} is neither a code nor a subject. The subjects are {', '.join(SUBJECTS)}"
        )
    wanted = WantedChanges(who, codes, zoned(since))
    with open_services() as services:
        if as_csv:
            sys.stdout.writelines(changes_csv(services.store, wanted))
            return
        found = latest_changes(services.store, limit=limit, wanted=wanted)
        with naming(services.names):
            sentences = {one.id: sentence(one.notice) for one in found}
    if as_json:
        print_json([Change.of(one) for one in found])
    elif not found:
        say("No change matches.")
    else:
        table(
            ("Id", "When", "Who", "What"),
            [(one.id, when(one.at), one.who, sentences[one.id]) for one in found],
        )
