"""Sends events out of a file: for a first try, and to send again what a helpdesk could not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from producer.cli.failures import WrongUsage
from producer.cli.output import console, count, print_json, say
from producer.cli.register import Json, add, fits
from producer.cli.services import settings
from shared.notices.refusals import Refusal

if TYPE_CHECKING:
    from pydantic import SecretStr

    from producer.cli.sending import ProducerClient, Ready, Taken
    from shared.process.settings import Settings

SLOW_S = 2.0


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands of this module."""
    add(
        app,
        send,
        panel,
        "deskbridge send --sample",
        "deskbridge send --sample --entity 3 --email alice@example.org",
        "deskbridge send --sample --clean-up",
        "deskbridge send events.jsonl",
    )


def send(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE|-]",
            help="One event, a JSON array, or one event per line; - reads standard input.",
            show_default=False,
        ),
    ] = None,
    url: Annotated[str, typer.Option(help="The producer's address.")] = "http://127.0.0.1:8080/events",
    sample: Annotated[
        bool, typer.Option("--sample", help="Send a test event, show what became of it, and remove it.")
    ] = False,
    entity: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            callback=fits,
            help="With --sample: the ticket's entity; by default the first that is linked.",
            show_default=False,
        ),
    ] = None,
    email: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="With --sample: the person to act for; by default none, so that the API user acts.",
            show_default=False,
        ),
    ] = None,
    wait: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="With --sample: how long to wait.")
    ] = 30.0,
    clean_up: Annotated[
        bool, typer.Option("--clean-up", help="With --sample: only remove what earlier ones have left.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check events, sign them and send them to the producer.

    Nothing is sent where a line is faulty. Sending a file twice changes nothing.

    --sample needs no file: it sends a ticket with a finished task, whose ids no helpdesk gives, shows the issue, the
    time entry and the status, and removes them from the tracker and from deskbridge. Exits with 1 if one of them is
    missing.
    """
    from producer.cli.sending import NotSent, ProducerClient, read_events

    if sample == (file is not None):
        raise WrongUsage("name a FILE, or say --sample: see `deskbridge send --help`")
    if sample:
        from producer.cli import sample as samples

        if clean_up:
            samples.clean_up(as_json=as_json)
        else:
            samples.send_sample(
                url, signing_secret, entity=entity, email=email, seconds=wait, as_json=as_json
            )
        return
    if clean_up or entity is not None or email is not None:
        raise WrongUsage("--clean-up, --entity and --email go with --sample")
    secret = signing_secret(settings())
    ready = read_events(_content(file or "-"))
    sender = ProducerClient(url, secret)
    event_ids: list[int] = []
    duplicates = 0
    try:
        for taken in _sent(sender, ready, quiet=as_json):
            event_ids += taken.event_ids
            duplicates += taken.duplicates
    except NotSent as error:
        if not event_ids:
            raise
        taken_before = Refusal.EVENTS_SENT_IN_PART(problem=error.notice, count=len(event_ids))
        raise NotSent(taken_before) from None
    finally:
        sender.close()
    if as_json:
        print_json({"accepted": len(event_ids), "duplicates": duplicates, "event_ids": event_ids})
    else:
        known = f", {duplicates} of them known from before" if duplicates else ""
        say(f"{count(len(event_ids), 'event')} accepted{known}.")


def _sent(sender: ProducerClient, ready: list[Ready], *, quiet: bool) -> Iterator[Taken]:
    """Send batch after batch; on a terminal a bar shows how far it has come once it takes a while."""
    import time

    from rich.progress import Progress

    from producer.cli.sending import batches

    err, started = console(stderr=True), time.monotonic()
    progress = Progress(console=err, transient=True, disable=quiet or not err.is_terminal)
    bar = progress.add_task("sending", total=len(ready))
    try:
        for batch in batches(ready):
            yield sender.send(batch)
            progress.advance(bar, len(batch))
            if time.monotonic() - started > SLOW_S:
                progress.start()
    finally:
        progress.stop()


def signing_secret(loaded: Settings) -> SecretStr | None:
    """Return the secret to sign with.

    Raises:
        WrongUsage: there is none, and unsigned events are not allowed.
    """
    if loaded.webhook_secrets:
        return loaded.webhook_secrets[0]
    if loaded.allow_unsigned:
        return None
    raise WrongUsage(
        "DESKBRIDGE_WEBHOOK_SECRETS is not set: it must hold a secret that the producer knows "
        "(or DESKBRIDGE_ALLOW_UNSIGNED=1 for a first try on this machine)"
    )


def _content(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise WrongUsage(Refusal.FILE_NOT_USABLE(file=file, error=error.strerror)) from None
