"""Sends a test event, or the events of a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from producer.cli.failures import WrongUsage
from producer.cli.output import console, count, print_json, say
from producer.cli.register import EVENT, Json, command, id_option
from producer.cli.services import settings
from shared.notices.refusals import Refusal
from shared.notices.system_refusals import SystemRefusal
from shared.process.environment import PRODUCER_PORT

if TYPE_CHECKING:
    from pydantic import SecretStr

    from producer.http.sending import ProducerClient, Ready, Taken
    from shared.process.settings import Settings

SLOW_S = 2.0


@command(
    EVENT,
    "send",
    "deskbridge event send --sample",
    "deskbridge event send --sample --entity 3 --email alice@example.org",
    "deskbridge event send --sample --clean-up",
    "deskbridge event send events.jsonl",
    was="send",
)
def send(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE|-]",
            help="File with one event, a JSON array, or one event per line. `-` reads standard input.",
            show_default=False,
        ),
    ] = None,
    url: Annotated[
        str, typer.Option(help="URL of the producer.")
    ] = f"http://127.0.0.1:{PRODUCER_PORT}/events",
    sample: Annotated[
        bool, typer.Option("--sample", help="Send a test event, show the result, and remove it.")
    ] = False,
    entity: Annotated[
        int | None,
        id_option(
            "N", "With --sample: GLPI entity of the ticket. Default: the first with a mapping.", least=0
        ),
    ] = None,
    email: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="With --sample: e-mail address of the technician. Default: none, so the API user acts.",
            show_default=False,
        ),
    ] = None,
    wait: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="With --sample: maximum time to wait.")
    ] = 30.0,
    clean_up: Annotated[
        bool,
        typer.Option("--clean-up", help="With --sample: only remove the remains of earlier test events."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Send a test event, or the events of a file.

    deskbridge checks the file first, and sends nothing if an event is invalid. Sending a file twice changes nothing.

    --sample sends a test ticket with a finished task. Its ids never occur in GLPI. The command shows the issue, the
    time entry and the status, and deletes them again. Exits with 1 if one of them is missing, or if the API user acted
    for ADDRESS.
    """
    from producer.cli.sending import read_events
    from producer.http.sending import NotSent, ProducerClient

    if sample == (file is not None):
        raise WrongUsage("choose what to send: enter either FILE or --sample")
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
        raise WrongUsage("--clean-up, --entity and --email need --sample")
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
        known = f", of which {duplicates} had been received before" if duplicates else ""
        say(f"{count(len(event_ids), 'event')} accepted{known}.")


def _sent(sender: ProducerClient, ready: list[Ready], *, quiet: bool) -> Iterator[Taken]:
    """Send batch after batch; on a terminal, show a progress bar if it takes long."""
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
        WrongUsage: if there is none, and unsigned events are not allowed.
    """
    if loaded.webhook_secrets:
        return loaded.webhook_secrets[0]
    if loaded.allow_unsigned:
        return None
    raise WrongUsage(
        "events cannot be signed, because DESKBRIDGE_WEBHOOK_SECRETS is not set: set it to a secret of the producer, "
        "or set DESKBRIDGE_ALLOW_UNSIGNED=1 for a test"
    )


def _content(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise WrongUsage(SystemRefusal.FILE_NOT_USABLE(file=file, error=error.strerror)) from None
