"""One ticket's story: everything that happened to it and why."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from producer.admin.presenters.moments import when
from producer.cli.output import console, plain, print_json, say, state_text, table
from producer.cli.register import Json, add, fits
from producer.cli.services import open_services
from shared.notices.render import sentence

if TYPE_CHECKING:
    from rich.console import Group

    from producer.admin.queries.story import Step, TicketTrace

LONGEST_BODY = 400


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands of this module."""
    add(app, trace, panel, "deskbridge trace 4711", "deskbridge trace 4711 --json")


def trace(
    ticket_id: Annotated[
        int,
        typer.Argument(
            metavar="TICKET_ID", min=1, callback=fits, help="The helpdesk ticket.", show_default=False
        ),
    ],
    as_json: Json = False,
) -> None:
    """Tell everything that happened to a ticket, and why."""
    from producer.admin.queries.story import Trace, trace_ticket

    with open_services() as services:
        found = trace_ticket(services.store, ticket_id, services.redis)
    if as_json:
        print_json(Trace.of(found))
    else:
        _tell(found)


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
                f"{task.hours:.4g} h",
                state_text(task.state),
                f"#{task.time_entry_id}" if task.time_entry_id else "",
                task.reason,
            )
            for task in found.ticket_tasks
        ]
        table(("Ticket task", "Time", "State", "Time entry", "Why"), rows)
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
        say("What happened to it has been pruned (DESKBRIDGE_RETENTION_DAYS).")
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
