"""Working on after a backup was restored (docs/how-to/backup.md has the whole runbook)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from producer.cli.failures import WrongUsage
from producer.cli.output import count, print_json, say, warn
from producer.cli.register import Json, add, zoned
from producer.cli.services import open_services

if TYPE_CHECKING:
    from producer.admin.backfill.recovery import Recovering


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands of this module."""
    add(
        app,
        recover,
        panel,
        "deskbridge recover",
        "deskbridge recover --since 2026-11-20T03:00:00Z",
        "deskbridge recover --end",
    )


def recover(
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="When the backup was made, with its zone; left out: as the restored database itself tells.",
            show_default=False,
        ),
    ] = None,
    end: Annotated[
        bool, typer.Option("--end", help="Everything was sent again: create without asking.")
    ] = False,
    as_json: Json = False,
) -> None:
    """After a restore, ask the tracker before each creation.

    To be run before the first worker starts. What was created after the backup is found again and not created a second
    time, however often the helpdesk sends its events again. It lasts until --end.
    """
    from producer.admin.backfill import recovery

    if end and since:
        raise WrongUsage("--end takes no --since")
    moment = zoned(since)
    with open_services() as services:
        days = services.settings.retention_days
        found = recovery.end(services.store) if end else recovery.begin(services.store, days, moment)
    if as_json:
        print_json(_as_json(found, is_on=not end))
    elif found is None:
        say("It was off already: nothing is asked before a creation.")
    elif end:
        _tell_end(found)
    else:
        say(
            f"On since {found.began_at:%Y-%m-%d %H:%M} UTC: before each creation the tracker is asked for what was "
            f"made there since {found.since:%Y-%m-%d %H:%M} UTC.",
            "Now start the producer, have the helpdesk send its events again, start the workers, and look at "
            "`deskbridge held`.",
            "When all is done: `deskbridge recover --end`.",
        )


def _tell_end(found: Recovering) -> None:
    if found.pending:
        warn(f"{count(found.pending, 'event')} still wait: what they create is created without asking")
    if found.held:
        warn(f"issues or time entries that wait for a person: {found.held} (see `deskbridge held`)")
    say("Off: things are created without asking the tracker first.")


def _as_json(found: Recovering | None, *, is_on: bool) -> dict[str, object]:
    if found is None:
        return {"recovering": False}
    return {
        "recovering": is_on,
        "since": found.since,
        "began_at": found.began_at,
        "pending": found.pending,
        "held": found.held,
    }
