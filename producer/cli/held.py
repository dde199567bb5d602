"""What waits for a person, and the person's verdict."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from producer.admin.presenters.moments import when
from producer.cli.failures import WrongUsage
from producer.cli.output import print_json, say, table, warn
from producer.cli.register import Json, add, fits
from producer.cli.services import open_services
from shared.notices.kinds import Kind

if TYPE_CHECKING:
    from producer.admin.services import Services


def register(app: typer.Typer, look: str, decide: str) -> None:
    """Add the commands of this module."""
    add(app, held, look, "deskbridge held", "deskbridge held --json")
    add(app, misattributed, look, "deskbridge misattributed", "deskbridge misattributed --json")
    add(app, correct_author, decide, "deskbridge correct-author 512")
    add(
        app,
        resolve,
        decide,
        "deskbridge resolve ticket 4711 --adopt 12",
        "deskbridge resolve ticket-task 512 --create-again",
        "deskbridge resolve ticket 4711 --take-back",
    )


def held(as_json: Json = False) -> None:
    """List what waits for a person.

    Issues and time entries of which it is not clear whether they exist on the tracker, or that were deleted there.
    """
    from producer.admin.presenters import shapes
    from producer.admin.review.held import held_rows

    with open_services() as services:
        rows = held_rows(services.store)
    if as_json:
        print_json([shapes.Held.of(kind, row) for kind, row in rows])
        return
    if not rows:
        say("Nothing waits for a person.")
        return
    cells = [
        (
            f"{kind} {row.key}",
            row.ticket_id,
            when(row.changed_at),
            row.reason,
            ", ".join(f"#{one}" for one in row.candidates or ()),
        )
        for kind, row in rows
    ]
    table(("What", "Ticket", "Since", "Why", "May be"), cells)
    say(
        "Look on the tracker, then decide on each:",
        "  deskbridge resolve KIND ID --adopt TRACKER_ID    it exists there as this",
        "  deskbridge resolve KIND ID --create-again        it does not exist there",
    )


def misattributed(as_json: Json = False) -> None:
    """List issues and time entries that have another author on the tracker than was meant, and why."""
    from producer.admin.people.misattributed import misattributed as find

    with open_services() as services:
        found = find(services.store)
    if as_json:
        print_json(found)
    elif not found:
        say("Every issue and every time entry has the author who was meant.")
    else:
        cells = [
            (
                f"{one.kind} {one.key}",
                f"{Kind(one.kind).noun} #{one.tracker_id}",
                one.author_id,
                when(one.since),
                one.reason,
                one.todo,
            )
            for one in found
        ]
        table(("What", "Is", "By tracker user", "Since", "Why", "What to do"), cells)
        say("", "Hours are given to whom they were meant for with `deskbridge correct-author TASK_ID`.")


def correct_author(
    task_id: Annotated[
        int, typer.Argument(metavar="TASK_ID", min=1, callback=fits, help="The ticket task's id.")
    ],
) -> None:
    """Give a ticket task's hours on the tracker to whom they were meant for (see `misattributed`).

    An issue keeps its author: the tracker lets nobody change it. DESKBRIDGE_CORRECT_AUTHORS=1 allows this command.
    """
    from producer.admin.people.correction import correct_author as carry_out

    with open_services() as services:
        if not services.settings.correct_authors:
            raise WrongUsage(
                "authors are not changed on the tracker unless DESKBRIDGE_CORRECT_AUTHORS=1 is set: it writes to what "
                "was logged before"
            )
        done = carry_out(services.store, services.connector.connect, task_id)
    say(f"Time entry #{done.time_entry_id} is {done.login}'s now (see `deskbridge trace {done.ticket_id}`).")


def resolve(
    kind: Annotated[
        Kind,
        typer.Argument(metavar="KIND", help="What is held: an issue, or a time entry."),
    ],
    key: Annotated[
        int, typer.Argument(metavar="ID", min=1, callback=fits, help="The ticket's or ticket task's id.")
    ],
    adopt: Annotated[
        int | None,
        typer.Option(
            min=1,
            callback=fits,
            metavar="TRACKER_ID",
            help="It exists on the tracker: this one.",
            show_default=False,
        ),
    ] = None,
    create_again: Annotated[
        bool, typer.Option("--create-again", help="It does not exist on the tracker: create it.")
    ] = False,
    take_back: Annotated[
        bool, typer.Option("--take-back", help="It was adopted by mistake, and nothing was sent to it since.")
    ] = False,
) -> None:
    """Decide on what waits for a person (see `held`).

    What is adopted must exist on the tracker; where the tracker cannot be asked, that is only a warning. On a terminal
    it is shown first, and asked about.
    """
    from producer.admin.review.held import resolve as carry_out
    from producer.admin.review.undo import take_back as undo

    if [adopt is not None, create_again, take_back].count(True) != 1:
        raise WrongUsage("say either --adopt TRACKER_ID, --create-again or --take-back")
    with open_services() as services:
        if take_back:
            undone = undo(services, kind, key)
            say(
                f"{kind.capitalize()} {key} is not {kind.noun} #{undone.tracker_id} any more; it waits for a decision."
            )
            return
        if adopt is not None and sys.stdin.isatty():
            _ask(services, kind, key, adopt)
        done = carry_out(services, kind, key, adopt)
    if done.unchecked:
        warn(f"{kind.noun} #{adopt} is adopted without a check: {done.unchecked}")
    verdict = f"is {kind.noun} #{adopt}" if adopt is not None else f"gets its {kind.noun} again"
    say(
        f"{kind.capitalize()} {key} {verdict}; what waited for it goes on (see `deskbridge trace {done.ticket_id}`)."
    )


def _ask(services: Services, kind: Kind, key: int, adopt: int) -> None:
    """Show what is about to be adopted, and ask whether it is that; once more if it is older than what was sent."""
    from producer.admin.review.candidates import candidates_of
    from producer.admin.review.held import held_row

    row = held_row(services.store, kind, key)
    found, _ = candidates_of(services, kind, row, [adopt]) if row else ([], None)
    one = next((one for one in found if one.tracker_id == adopt and one.there), None)
    if one is None:
        return  # what is not there, or not held, is refused with its reason
    what = one.fields.get("subject") or f"{one.fields.get('hours', '?')} h: {one.fields.get('comments', '')}"
    say(f"{kind.noun.capitalize()} #{adopt}: {what}, by {one.author}, created {one.created_on}")
    typer.confirm("Is it this one?", abort=True)
    if one.is_older:
        typer.confirm("It was created before anything was sent. Is it this one all the same?", abort=True)
