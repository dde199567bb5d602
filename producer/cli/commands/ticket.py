"""One ticket: its history, and forgetting its links."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from producer.admin.presenters.moments import when
from producer.cli.failures import WrongUsage
from producer.cli.output import console, count, plain, print_json, say, state_text, table
from producer.cli.register import TICKET, Json, command, id_argument
from producer.cli.services import open_services
from shared.notices.kinds import Kind
from shared.notices.render import sentence

if TYPE_CHECKING:
    from rich.console import Group

    from producer.admin.queries.story import Step, TicketTrace

LONGEST_BODY = 400


@command(
    TICKET,
    "history",
    "deskbridge ticket history 4711",
    "deskbridge ticket history 4711 --json",
    was="trace",
)
def history(
    ticket_id: Annotated[int, id_argument("TICKET_ID", "Id of the GLPI ticket.")], as_json: Json = False
) -> None:
    """Show the processing history of a ticket."""
    from producer.admin.queries.story import Trace, trace_ticket

    with open_services() as services:
        found = trace_ticket(services.store, ticket_id, services.redis)
    if as_json:
        print_json(Trace.of(found))
    else:
        _tell(found)


@command(TICKET, "highest", "deskbridge ticket highest")
def highest(as_json: Json = False) -> None:
    """Show the highest id of each kind that deskbridge has seen.

    A GLPI that was restored from a backup must continue above these ids. The last column is the
    statement for MariaDB that does so.
    """
    from producer.admin.queries.highest import highest_numbers

    with open_services() as services:
        found = highest_numbers(services.store)
    if as_json:
        print_json([one.printed() for one in found])
        return
    for one in found:
        say(f"{one.kind:<12} {one.highest:>10}   {one.statement}")


@command(
    TICKET,
    "forget",
    "deskbridge ticket forget ticket-task 512",
    "deskbridge ticket forget ticket 4711",
    was="forget-link",
)
def forget(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="What is linked.")],
    key: Annotated[
        int, id_argument("ID", "Its id in GLPI; of a document the number in the key of its event.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Forget a wrong link between GLPI and Redmine.

    Use this command for a wrong link, such as that of a test. The object in Redmine stays. Its next
    event creates another one. A creation in progress or on hold cannot be forgotten.
    """
    from producer.admin.review import forgotten_links as links

    if not yes and not can_ask():
        raise WrongUsage("there is no terminal to ask for confirmation: add --yes to confirm")
    with open_services() as services:
        link = links.link_of(services.store, kind, key)
        this = f"{kind.noun} #{link.tracker_id}"
        say(f"{str(kind).capitalize()} {key} is linked to {this}. If deskbridge forgets the link:")
        say(f"  - {this} stays in Redmine.")
        if link.others:
            others = count(link.others, "time entry of the ticket stays", "time entries of the ticket stay")
            say(f"  - {others} linked.")
        say(
            f"  - The next event of {kind} {key} creates another {kind.noun}. So does `deskbridge event replay`."
        )
        if not yes:
            typer.confirm("Forget the link?", abort=True)
        done = links.forget_link(services.store, kind, key)
    say(
        f"deskbridge forgot that {kind} {key} was linked to {this} "
        f"(see `deskbridge ticket history {done.ticket_id}`)."
    )


def can_ask() -> bool:
    """Return whether there is a terminal to ask on."""
    return sys.stdin.isatty()


def _tell(found: TicketTrace) -> None:
    from rich.text import Text

    from producer.admin.queries.headline import headline
    from producer.admin.queries.story import names_of

    console().print(Text(plain(headline(found)), style="bold"))
    if names := names_of(found.state.snapshot if found.state else {}):
        say(plain(", ".join(f"{what} {name}" for what, name in names.items())))
    if found.ticket_tasks:
        rows = [
            (
                task.task_id,
                "" if task.hours is None else f"{task.hours:.4g} h",
                state_text(task.state),
                f"#{task.time_entry_id}" if task.time_entry_id else "",
                task.reason,
            )
            for task in found.ticket_tasks
        ]
        table(("Task", "Time", "State", "Time entry", "Why"), rows)
    if found.notes:
        noted = [
            (
                f"{note.kind} {note.key}",
                state_text(note.state),
                f"#{note.note_id}" if note.note_id else "",
                note.reason,
            )
            for note in found.notes
        ]
        table(("Follow-up or solution", "State", "Note", "Why"), noted)
    if found.documents:
        attached = [
            (
                str(one.document_id),
                state_text(one.state),
                f"#{one.attachment_id}" if one.attachment_id else "",
                one.reason,
            )
            for one in found.documents
        ]
        table(("Document", "State", "Attachment", "Why"), attached)
    if found.open_events:
        table(
            ("Open event", "State", "Next attempt", "Why"),
            [
                (
                    row.id,
                    state_text(row.state),
                    when(row.next_attempt_at),
                    (why := found.why(row)) and sentence(why),
                )
                for row in found.open_events
            ],
        )
    _timeline(found.steps)


def _timeline(steps: list[Step]) -> None:
    from rich.table import Table
    from rich.text import Text

    if not steps:
        say("No history is stored: it is older than DESKBRIDGE_RETENTION_DAYS, or the ticket was imported.")
        return
    grid, day = Table.grid(padding=(0, 2)), ""
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for step in steps:
        if f"{step.at:%Y-%m-%d}" != day:
            day = f"{step.at:%Y-%m-%d}"
            grid.add_row(
                Text(day, style="bold"), Text("(times in UTC)" if step is steps[0] else "", style="dim")
            )
        grid.add_row(Text(f"{step.at:%H:%M:%S}", style="cyan"), _lines(step))
    console().print(grid)


def _lines(step: Step) -> Group:
    """Return what happened, and below it, indented, why; calls are indented and dim."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    def indented(text: str, style: str, by: int) -> Padding:
        return Padding(Text(plain(text), style=style), (0, 0, 0, by))

    if step.call is None:
        lines = [indented(step.what, "", 0)]
        return Group(*lines, indented(f"because {step.why}", "dim", 2)) if step.why else Group(*lines)
    lines = [indented(f"→ {step.what}", "dim", 2)]
    if step.why:
        lines.append(indented(step.why, "red", 4))
    if step.call.get("body") is not None:
        body = json.dumps(step.call["body"], ensure_ascii=False)
        lines.append(indented(body if len(body) <= LONGEST_BODY else f"{body[:LONGEST_BODY]}…", "dim", 4))
    return Group(*lines)
