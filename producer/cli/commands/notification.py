"""Notifications to people: where they go, and whether they reach them."""

from __future__ import annotations

import sys

import typer

from producer.admin.presenters.moments import stamp
from producer.cli.output import print_json, say
from producer.cli.register import NOTIFICATION, Json, command
from producer.cli.services import open_services
from shared.notices.render import sentence

LONGEST = 100_000


@command(NOTIFICATION, "show", "deskbridge notification show", "deskbridge notification show --json")
def show(as_json: Json = False) -> None:
    """Show where notifications go, and the last result.

    Secrets are not shown.
    """
    from producer.admin.configuration import notifications

    with open_services() as services:
        found = notifications.show(services)
    if as_json:
        print_json(
            {
                "services": list(found.services),
                "installed": found.is_installed,
                "console_url": found.console_url,
                "sent_at": found.sent_at,
                "failed_at": found.failed_at,
                "failure": sentence(found.failure) if found.failure else None,
            }
        )
        return
    if not found.services:
        say("No address is stored, so no one is notified. Run `deskbridge notification set`.")
        return
    say(*(f"{one}://…" for one in found.services))
    say(f"Last message: {stamp(found.sent_at) if found.sent_at else 'none yet'}")
    if found.failure:
        say(f"The last sending failed at {stamp(found.failed_at)}: {sentence(found.failure)}")
    if not found.is_installed:
        say("Apprise is not installed here: this process cannot send.")


@command(
    NOTIFICATION,
    "set",
    "deskbridge notification set < addresses.txt",
    "deskbridge notification set",
)
def change() -> None:
    """Store the addresses that notifications go to.

    The command reads standard input, one address on each line, or asks on a terminal. New addresses replace the stored
    ones. They are encrypted and never shown.
    """
    from producer.admin.configuration import notifications

    with open_services() as services:
        text = typer.prompt("Address", hide_input=True) if sys.stdin.isatty() else sys.stdin.read(LONGEST)
        named = notifications.save(services, text)
    say(
        f"Stored, encrypted: {', '.join(f'{one}://…' for one in named)}.",
        "To try them, run `deskbridge notification test`.",
    )


@command(NOTIFICATION, "test", "deskbridge notification test")
def test() -> None:
    """Send a test message to each stored address.

    Exits with 1 if a service does not accept it.
    """
    from producer.admin.configuration import notifications

    with open_services() as services:
        done = notifications.send_test(services)
    for one in done:
        say(f"{one.service}: {sentence(one.failure) if one.failure else 'accepted'}")
    if any(one.failure for one in done):
        raise typer.Exit(1)


@command(NOTIFICATION, "remove", "deskbridge notification remove")
def remove() -> None:
    """Remove all addresses, so that no one is notified."""
    from producer.admin.configuration import notifications

    with open_services() as services:
        was_there = notifications.remove(services.store)
    say("The addresses were removed, so no one is notified." if was_there else "No address was stored.")
