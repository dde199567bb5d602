"""Forgetting a person (docs/how-to/personal-data.md says what is kept of people, and for how long)."""

from __future__ import annotations

from typing import Annotated

import typer

from producer.cli.failures import WrongUsage
from producer.cli.output import count, print_json, say, table, warn
from producer.cli.register import Json, add, fits
from producer.cli.services import open_services
from shared.notices.render import sentence


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands of this module."""
    add(app, forget, panel, "deskbridge forget 7", "deskbridge forget --email alice@example.org")


def forget(
    user_id: Annotated[
        int | None,
        typer.Argument(metavar="USER_ID", min=1, callback=fits, help="The helpdesk's id of the person."),
    ] = None,
    email: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Or their e-mail address.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Take a person out of everything that is kept.

    Their e-mail addresses, login and name leave the journal, the trace, the ledger and the caches. Links between
    tickets and issues stay, so that nothing is created twice. Refused while something that names them is not done. The
    next synchronisation of metadata brings back whom the tracker still has: forget them there first.
    """
    from producer.admin.privacy import forgetting

    if (user_id is None) == (email is None):
        raise WrongUsage("name the person by USER_ID or by --email")
    if email is not None and "@" not in email:
        raise WrongUsage(f"--email {email}: that is no address")
    with open_services() as services:
        done = forgetting.forget(services.store, user_id, email)
    for warning in done.warnings:
        warn(sentence(warning))
    if as_json:
        print_json(
            {
                "helpdesk_user_ids": sorted(done.person.helpdesk_ids),
                "tracker_user_ids": sorted(done.person.tracker_ids),
                "addresses": len(done.person.mails),
                "changed": done.changed,
                "failed_events": done.failed_events,
            }
        )
        return
    table(("Where", "Rows changed"), sorted(done.changed.items()))
    mails = len(done.person.mails)
    say(f"Forgotten, with {mails} e-mail address{'' if mails == 1 else 'es'}.")
    if done.failed_events:
        say(
            f"{count(len(done.failed_events), 'failed event')}, replayed, would be sent as the administrator."
        )
