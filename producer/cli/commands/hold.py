"""Creations on hold, and a person's decision on each."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from producer.admin.presenters.moments import when
from producer.cli.failures import WrongUsage
from producer.cli.output import print_json, say, table, warn
from producer.cli.register import HOLD, Json, command, id_argument, id_option
from producer.cli.services import open_services
from shared.notices.kinds import Kind

if TYPE_CHECKING:
    from producer.admin.services import Services

LONGEST_TEXT = 100


@command(HOLD, "list", "deskbridge hold list", "deskbridge hold list --json", was="held")
def list_holds(as_json: Json = False) -> None:
    """List creations on hold that need your decision.

    deskbridge cannot tell whether Redmine created these objects, or someone deleted them in Redmine.
    """
    from producer.admin.review.held import on_hold_about

    with open_services() as services:
        found = on_hold_about(services)
    if as_json:
        print_json(found)
        return
    if not found:
        say("Nothing is on hold.")
        return
    cells = [
        (
            f"{one.kind} {one.id}",
            f"{one.ticket_id} {one.title or ''}".strip(),
            when(one.since),
            one.reason,
            ", ".join(f"#{number}" for number in one.candidates),
        )
        for one in found
    ]
    table(("What", "Ticket", "Since", "Why", "Candidates"), cells)
    say(
        "Look for each in Redmine, then decide:",
        "  deskbridge hold resolve KIND ID --adopt REDMINE_ID   if it exists under this id",
        "  deskbridge hold resolve KIND ID --create-again       if it does not exist",
    )


@command(
    HOLD,
    "resolve",
    "deskbridge hold resolve ticket 4711 --adopt 12",
    "deskbridge hold resolve ticket-task 512 --create-again",
    "deskbridge hold resolve ticket 4711 --take-back",
    was="resolve",
)
def resolve(
    kind: Annotated[
        Kind,
        typer.Argument(
            metavar="KIND",
            help="What is on hold, as `hold list` shows it.",
        ),
    ],
    key: Annotated[int, id_argument("ID", "Its id, as `hold list` shows it.")],
    adopt: Annotated[int | None, id_option("REDMINE_ID", "Link to this existing object in Redmine.")] = None,
    create_again: Annotated[
        bool, typer.Option("--create-again", help="Create it again, because it does not exist in Redmine.")
    ] = False,
    take_back: Annotated[
        bool, typer.Option("--take-back", help="Undo --adopt, if nothing was sent since.")
    ] = False,
) -> None:
    """Resolve a creation that is on hold.

    `deskbridge hold list` shows what is on hold. The object that you adopt must exist in Redmine. If Redmine cannot be
    reached, you get a warning instead of a check. On a terminal, deskbridge shows the object and asks you to confirm.
    """
    from producer.admin.review.held import resolve as carry_out
    from producer.admin.review.undo import take_back as undo

    if [adopt is not None, create_again, take_back].count(True) != 1:
        raise WrongUsage("choose one of --adopt REDMINE_ID, --create-again and --take-back")
    with open_services() as services:
        if take_back:
            undone = undo(services, kind, key)
            say(
                f"{kind.capitalize()} {key} is no longer linked to {kind.noun} #{undone.tracker_id}. "
                "It is on hold again."
            )
            return
        if adopt is not None and sys.stdin.isatty():
            _ask(services, kind, key, adopt)
        done = carry_out(services, kind, key, adopt)
    if done.unchecked:
        warn(f"{kind.noun} #{adopt} was adopted without a check: {done.unchecked}")
    result = f"is now linked to {kind.noun} #{adopt}" if adopt is not None else f"gets a new {kind.noun}"
    say(
        f"{kind.capitalize()} {key} {result}. Its waiting events continue "
        f"(see `deskbridge ticket history {done.ticket_id}`)."
    )


def in_short(kind: Kind, fields: Mapping[str, Any]) -> str:
    """Return in one line what an object in Redmine contains: its title, hours, text or file name."""
    from producer.admin.review.candidates import COMPARED

    if kind is Kind.TICKET_TASK:
        return f"{fields.get('hours', '?')} h: {fields.get('comments', '')}"
    return textwrap.shorten(str(fields.get(COMPARED[kind]) or ""), LONGEST_TEXT, placeholder="…")


def _ask(services: Services, kind: Kind, key: int, adopt: int) -> None:
    """Show the object to adopt and ask for confirmation; ask again if it is older than the request."""
    from producer.admin.review.candidates import candidates_of
    from producer.admin.review.held import row_on_hold

    row = row_on_hold(services.store, kind, key)
    found, _ = candidates_of(services, kind, row, [adopt]) if row else ([], None)
    one = next((one for one in found if one.tracker_id == adopt and one.there), None)
    if one is None:
        return  # an object that does not exist, or is not on hold, is refused with its reason
    what = in_short(kind, one.fields)
    say(f"{kind.noun.capitalize()} #{adopt}: {what}, by {one.author}, created {one.created_on}")
    typer.confirm("Adopt it?", abort=True)
    if one.is_older:
        typer.confirm("It was created before deskbridge sent anything. Adopt it anyway?", abort=True)
