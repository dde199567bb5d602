"""Notifications to people: where they go, and whether they reach them."""

from __future__ import annotations

import sys

import typer

from producer.admin.presenters.moments import stamp
from producer.cli.output import print_json, say
from producer.cli.register import Json, add
from producer.cli.services import open_services
from shared.notices.render import sentence

app = typer.Typer(
    help="Report problems to people by mail, chat or webhook.",
    no_args_is_help=True,
)
LONGEST = 100_000


def show(as_json: Json = False) -> None:
    """Show where notifications go, without any secret, and what became of the last one."""
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
        say("No address is stored, so nobody is notified: deskbridge notifications set")
        return
    say(*(f"{one}://…" for one in found.services))
    say(f"Last message: {stamp(found.sent_at) if found.sent_at else 'none yet'}")
    if found.failure:
        say(f"The last sending failed at {stamp(found.failed_at)}: {sentence(found.failure)}")
    if not found.is_installed:
        say("Apprise is not installed here: this process cannot send.")


def change() -> None:
    """Store the addresses that notifications go to, in place of those before.

    Read from standard input, one on each line, or asked for on a terminal. They are kept encrypted and never shown.
    """
    from producer.admin.configuration import notifications

    with open_services() as services:
        text = typer.prompt("Address", hide_input=True) if sys.stdin.isatty() else sys.stdin.read(LONGEST)
        named = notifications.save(services, text)
    say(
        f"Stored, encrypted: {', '.join(f'{one}://…' for one in named)}.",
        "To try them: deskbridge notifications test",
    )


def test() -> None:
    """Send a test message to each stored address now; exit code 1 if one is not taken."""
    from producer.admin.configuration import notifications

    with open_services() as services:
        done = notifications.send_test(services)
    for one in done:
        say(f"{one.service}: {sentence(one.failure) if one.failure else 'taken'}")
    if any(one.failure for one in done):
        raise typer.Exit(1)


def remove() -> None:
    """Remove every address, so that nobody is notified any more."""
    from producer.admin.configuration import notifications

    with open_services() as services:
        was_there = notifications.remove(services.store)
    say("Removed: nobody is notified any more." if was_there else "No address was stored.")


add(
    app,
    show,
    None,
    "deskbridge notifications show",
    "deskbridge notifications show --json",
)
add(
    app,
    change,
    None,
    "deskbridge notifications set < addresses.txt",
    "echo 'mailtos://USER:PASSWORD@mail.example.org?to=ops@example.org' | deskbridge notifications set",
    name="set",
)
add(app, test, None, "deskbridge notifications test")
add(app, remove, None, "deskbridge notifications remove")
