"""Trial mode: events are planned and shown, and nothing is sent to Redmine for them."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from producer.cli.failures import WrongUsage
from producer.cli.output import count, print_json, say
from producer.cli.register import TRIAL, Json, command
from producer.cli.services import open_services

SEND, DROP = "send", "drop"


@command(TRIAL, "show", "deskbridge trial show")
def show(as_json: Json = False) -> None:
    """Show whether trial mode is on.

    `deskbridge event list --state pending` shows what deskbridge would do for each event.
    """
    from producer.admin.configuration import trial

    with open_services() as services:
        found = trial.standing(services.store)
    if as_json:
        print_json({"on": found.is_on, "waiting": found.waiting})
    elif found.is_on:
        say(f"Trial mode is on: {_waiting(found.waiting)}, nothing is sent to Redmine.")
    else:
        say("Trial mode is off.")


@command(TRIAL, "on", "deskbridge trial on")
def on(as_json: Json = False) -> None:
    """Switch trial mode on.

    deskbridge plans each event and shows what it would do, for example *would create an issue in project Support as
    alice*. Nothing is sent to Redmine for events, and they wait. A call that has already begun is completed.
    """
    from producer.admin.configuration import trial

    with open_services() as services:
        found = trial.begin(services.store)
    if as_json:
        print_json({"on": found.is_on, "waiting": found.waiting})
        return
    say(
        f"Trial mode is on: {_waiting(found.waiting)}, nothing is sent to Redmine.",
        "To see what would be done:  deskbridge event list --state pending",
        "To end it:  deskbridge trial off",
    )


@command(TRIAL, "off", "deskbridge trial off --send", "deskbridge trial off --drop")
def off(
    send: Annotated[
        bool, typer.Option("--send", help="Send the waiting events. This is the default.")
    ] = False,
    drop: Annotated[
        bool, typer.Option("--drop", help="Drop the waiting events. They can be replayed.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Switch trial mode off.

    On a terminal, deskbridge asks what to do with the waiting events, unless you choose --send or --drop.
    """
    from producer.admin.configuration import trial

    if send and drop:
        raise WrongUsage("choose one of --send and --drop")
    with open_services() as services:
        before = trial.standing(services.store)
        if before.is_on and before.waiting and not (send or drop or as_json) and sys.stdin.isatty():
            drop = _ask(before.waiting) == DROP
        ended = trial.end(services, drops=drop)
    if as_json:
        print_json(ended)
    elif not ended.was_on:
        say("Trial mode was already off.")
    elif drop:
        say(
            f"Trial mode is off. deskbridge dropped {count(ended.dropped, 'waiting event')}.",
            "To send them later:  deskbridge event replay --state skipped --code trial_dropped",
        )
    else:
        say(f"Trial mode is off. deskbridge sends {count(ended.sent, 'waiting event')}.")


def _ask(waiting: int) -> str:
    """Ask what to do with the events that wait."""
    asked = f"{_waiting(waiting).capitalize()}. Send or drop?"
    answer: str = typer.prompt(asked, default=SEND, value_proc=_chosen)
    return answer


def _chosen(typed: str) -> str:
    if typed not in (SEND, DROP):
        raise typer.BadParameter(f"type {SEND} or {DROP}")
    return typed


def _waiting(events: int) -> str:
    return f"{count(events, 'event')} {'waits' if events == 1 else 'wait'}"
