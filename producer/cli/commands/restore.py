"""Continuing after a backup was restored (docs/how-to/backup.md has all the steps)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from producer.cli.failures import WrongUsage
from producer.cli.output import count, print_json, say, warn
from producer.cli.register import RESTORE, Json, Panel, command, moment_option, zoned
from producer.cli.services import open_services

if TYPE_CHECKING:
    from producer.admin.backfill.recovery import Recovering

Since = Annotated[
    str | None,
    moment_option(
        "Time of the backup, with time zone. Default: one day before the last work of a worker in the database."
    ),
]


@command(
    RESTORE, "begin", "deskbridge restore begin", "deskbridge restore begin --since 2026-11-20T03:00:00Z"
)
def begin(since: Since = None, as_json: Json = False) -> None:
    """Turn on recovery mode after a restore.

    Run this command before you start the first worker. Until then, workers that notice the restore send nothing. In
    recovery mode, deskbridge looks in Redmine before creating anything. It finds what it created after the backup, even
    if GLPI sends its events again. Recovery mode lasts until `deskbridge restore end`.
    """
    from producer.admin.backfill import recovery

    moment = zoned(since, is_exact=True)
    with open_services() as services:
        seconds = recovery.seconds_since_worker(services.redis)
        found = recovery.begin(services.store, services.settings.retention_days, moment)
        recovery.forget_newest(services.redis)
    if seconds is not None:
        warn(
            f"a worker was running {seconds:.0f} seconds ago: stop all workers before you restore. Unless it noticed "
            "the restore, it may have created duplicates"
        )
    if as_json:
        print_json(_as_json(found, is_on=True))
        return
    say(
        f"Recovery mode is on since {found.began_at:%Y-%m-%d %H:%M} UTC. deskbridge now looks in Redmine for objects "
        f"created since {found.since:%Y-%m-%d %H:%M} UTC.",
        "1. Start the producer, and let GLPI send its events again.",
        "2. Start the workers, and look at `deskbridge hold list`.",
        "3. Run `deskbridge reconcile`, which finds what GLPI has not sent again.",
        "4. When nothing is pending, run `deskbridge restore end`.",
    )


@command(RESTORE, "end", "deskbridge restore end", "deskbridge restore end --nothing-lost")
def end(
    nothing_lost: Annotated[
        bool,
        typer.Option(
            "--nothing-lost",
            help="The database lacks nothing, for example because it was only moved: end or skip recovery mode now.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Turn off recovery mode.

    Run this command when no event is pending. Before it, compare GLPI with `deskbridge reconcile`, or let recovery mode
    stay on for as long as the backup was old. deskbridge then creates without looking in Redmine first.
    """
    from producer.admin.backfill import recovery
    from producer.admin.doctor.work import doubt_of_database
    from shared.errors import SettingsError
    from shared.notices.refusals import Refusal

    with open_services() as services:
        found = recovery.end(services.store, nothing_lost=nothing_lost)
        if found is None and not nothing_lost:
            days = services.settings.retention_days
            doubt = doubt_of_database(services.store, services.redis, days)
            if doubt:
                raise SettingsError(Refusal.RECOVERY_NEVER_BEGUN(problem=doubt))
        if nothing_lost:
            recovery.forget_newest(services.redis)
    if as_json:
        print_json(_as_json(found, is_on=False))
        return
    if found is None:
        say(
            "Recovery mode was already off.", *(["This database counts as complete."] if nothing_lost else [])
        )
        return
    if found.pending:
        waiting = "event is" if found.pending == 1 else "events are"
        warn(
            f"{found.pending} {waiting} still pending: deskbridge processes them without looking in Redmine first"
        )
    if found.on_hold:
        warn(f"{count(found.on_hold, 'creation')} on hold: resolve each (see `deskbridge hold list`)")
    say("Recovery mode is off.")


@command(Panel.FIX, "recover", hidden=True)
def recover(
    since: Since = None,
    ends: Annotated[bool, typer.Option("--end", help="Turn off recovery mode.")] = False,
    as_json: Json = False,
) -> None:
    """Turn recovery mode on, or off with --end.

    This is the name in the previous release of `deskbridge restore begin` and `deskbridge restore end`.
    """
    if ends and since:
        raise WrongUsage("--end cannot be used with --since")
    if ends:
        end(as_json=as_json)
    else:
        begin(since, as_json)


def _as_json(found: Recovering | None, *, is_on: bool) -> dict[str, object]:
    if found is None:
        return {"recovering": False}
    return {"recovering": is_on, **asdict(found)}
