"""Makes deskbridge forget one link: of a ticket to its issue, or of a ticket task to its time entry."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from producer.cli.failures import WrongUsage
from producer.cli.output import count, say
from producer.cli.register import add, fits
from producer.cli.services import open_services
from shared.notices.kinds import Kind


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands of this module."""
    add(
        app,
        forget_link,
        panel,
        "deskbridge forget-link ticket-task 512",
        "deskbridge forget-link ticket 4711 --yes",
    )


def forget_link(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="What is linked: a ticket, or a ticket task.")],
    key: Annotated[
        int, typer.Argument(metavar="ID", min=1, callback=fits, help="The ticket's or ticket task's id.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Forget the link of a ticket or a ticket task.

    For a link that is wrong, such as a test's. The issue or time entry stays on the tracker. The next event of the
    ticket or ticket task creates another one. What is being created, or waits for a person, is not forgotten.
    """
    from producer.admin.review import forgotten_links as links

    if not yes and not can_ask():
        raise WrongUsage("confirm with --yes: there is no terminal to ask on")
    with open_services() as services:
        link = links.link_of(services.store, kind, key)
        this = f"{kind.noun} #{link.tracker_id}"
        say(f"{str(kind).capitalize()} {key} is linked to {this}. If deskbridge forgets it:")
        say(f"  - {this} stays on the tracker;")
        if link.others:
            say(
                f"  - {count(link.others, 'linked time entry', 'linked time entries')} of the ticket stay as they are;"
            )
        say(
            f"  - the next event of {kind} {key} creates another {kind.noun} (or replay one: `deskbridge replay`)."
        )
        if not yes:
            typer.confirm("Forget it?", abort=True)
        done = links.forget_link(services.store, kind, key)
    say(f"Forgotten: {kind} {key} was linked to {this} (see `deskbridge trace {done.ticket_id}`).")


def can_ask() -> bool:
    """Tell whether somebody can answer a question."""
    return sys.stdin.isatty()
