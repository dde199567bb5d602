"""The journal: what came in, what became of it, and doing it once more."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from producer.admin.presenters.moments import when
from producer.cli.failures import WrongUsage
from producer.cli.output import count, print_json, say, state_text, table, warn
from producer.cli.register import Json, add, fit, fits, zoned
from producer.cli.services import open_services
from shared.notices.render import sentence

if TYPE_CHECKING:
    from shared.notices.notice import Notice
    from shared.store.tables.journal import JournalEvent

Last = Literal["hour", "day", "week"]
State = Literal["pending", "held", "done", "skipped", "superseded", "failed"]


def register(app: typer.Typer, look: str, decide: str) -> None:
    """Add the commands of this module."""
    add(
        app,
        events,
        look,
        "deskbridge events",
        "deskbridge events --state failed",
        "deskbridge events --ticket 4711 --json",
        "deskbridge events --person claire --last week --csv",
        "deskbridge events --place entity:77 --cause no_link",
    )
    add(
        app,
        replay,
        decide,
        "deskbridge replay 12 13",
        "deskbridge replay --state failed",
        "deskbridge replay --state skipped --code no_link",
        "deskbridge replay --state failed --code project_closed",
    )


def events(
    state: Annotated[State | None, typer.Option(help="Only events in this state.")] = None,
    ticket: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, callback=fits, help="Only events of this ticket.", show_default=False
        ),
    ] = None,
    kind: Annotated[str, typer.Option(metavar="KIND", help="Only this kind, such as ticket.updated.")] = "",
    person: Annotated[
        str, typer.Option(metavar="WHO", help="Who is named: number, or part of the e-mail or name.")
    ] = "",
    place: Annotated[
        str,
        typer.Option(metavar="WHERE", help="Where the ticket is: entity:77, project:9, or part of a name."),
    ] = "",
    cause: Annotated[str, typer.Option(metavar="CODE", help="The code of the reason.")] = "",
    last: Annotated[Last | None, typer.Option(help="Came in within this time.", show_default=False)] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Not before this time, with its zone.", show_default=False),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Not after this time, with its zone.", show_default=False),
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=1_000_000, help="How many at most.")] = 100,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print all that match as CSV.")] = False,
    as_json: Json = False,
) -> None:
    """List events, newest first, and what became of them."""
    from producer.admin.backfill.recovery import is_recovering
    from producer.admin.presenters import shapes
    from producer.admin.queries.event_export import events_csv
    from producer.admin.queries.events import latest_with_reasons, wanted_events
    from producer.admin.records.event_search import Wanted

    wanted = wanted_events(
        state=state,
        ticket_id=ticket,
        kind=kind,
        person=person,
        place=place,
        cause=cause,
        last=last,
        since=zoned(since),
        until=zoned(until, "--until"),
    )
    with open_services() as services:
        if as_csv:
            for lines in events_csv(services, wanted):
                sys.stdout.write(lines)
            return
        found = latest_with_reasons(services, wanted, limit=limit)
        recovering = is_recovering(services.store)
    if as_json:
        print_json([shapes.Event.of(row, why) for row, why in found])
        return
    if recovering:
        say("Recovering: the tracker is asked before each creation (`deskbridge recover --end` ends it).")
    if not found:
        say("No such events." if wanted != Wanted() else "No event has come in yet.")
        return
    table(("Id", "Came in", "Event", "Ticket", "State", "Why"), [_cells(row, why) for row, why in found])
    if len(found) == limit:
        say(f"The newest {limit}; more with --limit.")


def replay(
    event_ids: Annotated[
        list[int] | None,
        typer.Argument(metavar="EVENT_ID", min=1, callback=fit, help="Ids as `events` shows them."),
    ] = None,
    state: Annotated[State | None, typer.Option(help="Every event in this state.")] = None,
    code: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="With --state: only those whose reason or cause has this code."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Work on events once more.

    What was done before is not done twice: every ticket keeps its one issue, every ticket task its one time entry. A
    delivery that could not be read is read once more.
    """
    from producer.admin.backfill.replay import replay as carry_out
    from shared.store.tables.journal import EventState

    if bool(event_ids) == bool(state):
        raise WrongUsage("name events to replay, or a --state: see `deskbridge replay --help`")
    if code and not state:
        raise WrongUsage("--code narrows a --state")
    with open_services() as services:
        done = carry_out(services, event_ids or (), state=EventState(state) if state else None, code=code)
    if as_json:
        print_json({"events": done.events, "tickets": done.tickets, "unreadable": done.unreadable})
        return
    if done.events:
        say(f"{count(done.events, 'event')} of {count(len(done.tickets), 'ticket')} will be worked on again.")
    elif not done.unreadable:
        say(f"No event is {state}{f' with the code {code}' if code else ''}.")
    if done.unreadable:
        warn(f"still cannot be read: {done.unreadable} (see `deskbridge events --state failed`)")


def _cells(row: JournalEvent, notice: Notice | None) -> tuple[object, ...]:
    why = sentence(notice) if notice else ""
    if row.state == "pending" and row.next_attempt_at:
        why = f"{why} (next attempt {when(row.next_attempt_at)})".strip()
    what = f"{row.event} {row.task_id or ''}".strip()
    return row.id, when(row.received_at), what, row.ticket_id or "", state_text(row.state), why
