"""The journal of events, and replays."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from producer.admin.presenters.moments import when
from producer.cli.assignments import filled
from producer.cli.failures import WrongUsage
from producer.cli.output import console, count, print_json, say, state_text, table, warn
from producer.cli.register import EVENT, Json, command, id_argument, id_option, moment_option, zoned
from producer.cli.services import open_services
from shared.notices.render import sentence

if TYPE_CHECKING:
    from producer.admin.records.event_subjects import Subject
    from shared.notices.notice import Notice
    from shared.store.tables.journal import JournalEvent

Last = Literal["hour", "day", "week"]
State = Literal["pending", "on_hold", "done", "skipped", "superseded", "failed"]


WIDE, LONGEST_TITLE = 140, 40
"""Width of a terminal with room for titles and names, and the longest title shown."""


@command(
    EVENT,
    "list",
    "deskbridge event list",
    "deskbridge event list --state failed",
    "deskbridge event list --ticket 4711 --json",
    "deskbridge event list --person claire --last week --csv",
    "deskbridge event list --place entity:77 --cause no_link",
    was="events",
)
def list_events(
    state: Annotated[State | None, typer.Option(help="Only events in this state.")] = None,
    ticket: Annotated[int | None, id_option("N", "Only events of this ticket.")] = None,
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="Only events of this kind, such as ticket.updated.")
    ] = "",
    person: Annotated[
        str,
        typer.Option(
            metavar="WHO", help="Only events of this person: GLPI id, or part of the e-mail address or name."
        ),
    ] = "",
    place: Annotated[
        str,
        typer.Option(
            metavar="PLACE",
            help="Only tickets of this entity or project: entity:77, project:9, or part of a name.",
        ),
    ] = "",
    cause: Annotated[str, typer.Option(metavar="CODE", help="Only events whose reason has this code.")] = "",
    last: Annotated[
        Last | None,
        typer.Option(help="Only events received in the last hour, day or week.", show_default=False),
    ] = None,
    since: Annotated[
        str | None, moment_option("Only events since this day of UTC, or time with time zone.")
    ] = None,
    until: Annotated[
        str | None, moment_option("Only events until this day of UTC, or time with time zone.")
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=1_000_000, help="Maximum number of events to show.")
    ] = 100,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print all matching events as CSV.")] = False,
    as_json: Json = False,
) -> None:
    """List events and their state, newest first."""
    from producer.admin.backfill.recovery import is_recovering
    from producer.admin.queries.events import EventFilter, event_about, events_csv, latest_events

    asked = filled(
        EventFilter,
        state=state,
        ticket=ticket,
        kind=kind or None,
        person=person,
        place=place,
        cause=cause,
        last=last,
        since=zoned(since),
        until=zoned(until, "--until"),
    )
    with open_services() as services:
        if as_csv:
            sys.stdout.writelines(events_csv(services, asked.wanted()))
            return
        found = latest_events(services, asked.wanted(), limit=limit)
        recovering = is_recovering(services.store)
    if as_json:
        print_json([event_about(*one) for one in found])
        return
    if recovering:
        say(
            "Recovery mode is on: deskbridge looks in Redmine before creating anything (`deskbridge restore end`)."
        )
    if not found:
        say("No event matches." if asked != EventFilter() else "No event has been received yet.")
        return
    is_wide = console().width >= WIDE
    named = ("Title", "Who") if is_wide else ()
    cells = [_cells(row, why, about if is_wide else None) for row, why, about in found]
    table(("Id", "Received", "Event", "Ticket", *named, "State", "Why"), cells)
    if len(found) == limit:
        say(f"These are the newest {limit}. Use --limit to show more.")


@command(
    EVENT,
    "replay",
    "deskbridge event replay 12 13",
    "deskbridge event replay --state failed",
    "deskbridge event replay --state skipped --code no_link",
    "deskbridge event replay --state failed --code project_closed",
    was="replay",
)
def replay(
    event_ids: Annotated[list[int] | None, id_argument("EVENT_ID", "Ids from `event list`.")] = None,
    state: Annotated[State | None, typer.Option(help="All events in this state.")] = None,
    code: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="With --state: only events whose reason or cause has this code."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Process events again.

    This creates no duplicates: each ticket keeps its one issue, each task its one time entry, and so on. If a delivery
    could not be read, deskbridge reads it again.
    """
    from producer.admin.backfill.replay import replay as carry_out
    from shared.store.tables.journal import EventState

    if bool(event_ids) == bool(state):
        raise WrongUsage("choose the events to replay: enter either their ids or --state")
    if code and not state:
        raise WrongUsage("--code needs --state")
    with open_services() as services:
        done = carry_out(services, event_ids or (), state=EventState(state) if state else None, code=code)
    if as_json:
        print_json(done)
        return
    if done.events:
        say(f"{count(done.events, 'event')} of {count(len(done.tickets), 'ticket')} will be processed again.")
    elif not done.unreadable:
        say(f"No event is in state {state}{f' with the code {code}' if code else ''}.")
    if done.unreadable:
        warn(
            f"{count(done.unreadable, 'event')} still cannot be read (see `deskbridge event list --state failed`)"
        )


def _cells(row: JournalEvent, notice: Notice | None, about: Subject | None) -> tuple[object, ...]:
    why = sentence(notice) if notice else ""
    if row.state == "pending" and row.next_attempt_at:
        why = f"{why} (next attempt {when(row.next_attempt_at)})".strip()
    what = f"{row.event} {row.task_id or ''}".strip()
    named = (about.title[:LONGEST_TITLE], about.who) if about else ()
    return row.id, when(row.received_at), what, row.ticket_id or "", *named, state_text(row.state), why
