"""Try a template before it is put in force, and find out what it can say (SPEC 4.3, 9.1)."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from producer.cli.failures import WrongUsage
from producer.cli.output import count, print_json, say, table, warn
from producer.cli.register import Json, add, fits
from producer.cli.services import CommandServices, open_services
from shared.notices.render import sentence

if TYPE_CHECKING:
    from producer.admin.dryrun.results import DryRun
    from producer.admin.templates.preview import Preview
    from shared.templating.operations import CustomField, Operation

File = Annotated[str, typer.Option("--file", metavar="F", help="Where its text is; - is standard input.")]
SomeFile = Annotated[
    str | None, typer.Option("--file", metavar="F", help="A text that is not kept; - is standard input.")
]
Stored = Annotated[
    int | None,
    typer.Argument(metavar="[ID]", min=1, callback=fits, help="A template that is kept.", show_default=False),
]
Op = Annotated[str, typer.Option("--operation", metavar="OP", help="Such as issue.create.")]
WithTicket = Annotated[
    bool, typer.Option("--with-ticket", help="With the ticket's number and a link back to the helpdesk.")
]
SomeOp = Annotated[
    str | None, typer.Option("--operation", metavar="OP", help="What the text is for, such as issue.create.")
]
Event = Annotated[
    int | None,
    typer.Option("--event", metavar="ID", min=1, callback=fits, help="Render it from this event."),
]
Context = Annotated[str | None, typer.Option("--context", metavar="F", help="Render it from this JSON file.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    example = "--operation issue.create --file issue.json --event 17"
    add(app, preview, None, "deskbridge template preview 3", f"deskbridge template preview {example}")
    add(app, dryrun, None, "deskbridge template dryrun 3", f"deskbridge template dryrun {example}")
    add(
        app,
        generate,
        None,
        "deskbridge template generate --operation issue.create > issue.json",
        "deskbridge template generate --operation issue.create --with-ticket > issue.json",
    )
    add(app, variables, None, "deskbridge template variables --operation issue.create")
    add(app, fields, None, "deskbridge template fields --operation issue.create")


def preview(
    number: Stored = None,
    operation: SomeOp = None,
    file: SomeFile = None,
    event: Event = None,
    context: Context = None,
    as_json: Json = False,
) -> None:
    """Show what a template would send, without sending it.

    It is rendered from the sample unless an event or a context is named. A faulty template: exit code 1, and the line
    and column of the fault.
    """
    from producer.admin.templates import preview as previews

    with open_services() as services:
        wanted, body = _template(services, number, operation, file)
        shown = previews.preview(
            services.store, wanted, body, event_id=event, context=_context(context, event)
        )
    if as_json:
        print_json(shown)
    else:
        _show_preview(shown)


def dryrun(
    number: Stored = None,
    operation: SomeOp = None,
    file: SomeFile = None,
    event: Event = None,
    context: Context = None,
    as_json: Json = False,
) -> None:
    """Create what a template describes on the tracker, as the administrator, and delete it again.

    The tracker may tell people of it by e-mail. What cannot be deleted is named, kept in a list, and deleted as soon as
    that can be done. Exit code 1 where the tracker refuses the payload, with what may explain it.
    """
    with open_services() as services:
        wanted, body = _template(services, number, operation, file)
        made = services.dry_runs.try_out(wanted, body, event_id=event, context=_context(context, event))
    if as_json:
        print_json(made)
    else:
        _show_dry_run(made)
    if not made.ok or made.left:
        raise typer.Exit(1)


def generate(operation: Op, with_ticket: WithTicket = False, as_json: Json = False) -> None:
    """Print a template that sends the standard body, with the custom fields that the tracker requires."""
    from producer.admin.templates.defaults import default_template

    wanted, custom_fields = _known(operation)
    body = default_template(wanted, custom_fields, with_ticket=with_ticket)
    if as_json:
        print_json({"operation": str(wanted), "body": body})
    else:
        say(body.rstrip("\n"))


def variables(operation: Op, as_json: Json = False) -> None:
    """List what an operation's templates can read."""
    from shared.templating.catalogue import catalogue_for

    wanted, custom_fields = _known(operation)
    found = catalogue_for(wanted, custom_fields).variables
    if as_json:
        print_json([asdict(one) for one in found])
        return
    rows = [
        (one.path, f"{one.type}{' or null' if one.optional else ''}", one.description, _sample(one.sample))
        for one in found
    ]  # fmt: skip
    table(("Variable", "Type", "Is", "Sample"), rows)


def fields(operation: Op, as_json: Json = False) -> None:
    """List what the tracker takes, its own custom fields included."""
    from shared.templating.operations import fields_for

    wanted, custom_fields = _known(operation)
    found = fields_for(wanted, custom_fields)
    if as_json:
        print_json([asdict(one) for one in found])
        return
    rows = [
        (
            one.name,
            one.type,
            one.description,
            "filled in" if one.filled_in else "required" if one.required else "",
            ", ".join(one.possible_values),
        )
        for one in found
    ]
    table((f"Field of {wanted.top_key}", "Type", "Is", "Needed", "One of"), rows)
    if not custom_fields:
        warn("no custom fields are cached: fill the cache with `deskbridge sync-metadata`")


def read(file: str) -> str:
    """Return a file's text.

    Raises:
        WrongUsage: it is not UTF-8.
        OSError: it cannot be read.
    """
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        raise WrongUsage(f"{file}: not UTF-8 at byte {wrong.start}") from None


def _template(
    services: CommandServices, number: int | None, operation: str | None, file: str | None
) -> tuple[Operation, str]:
    """Return the operation and the text that are to be tried."""
    from shared.bodies.contexts import operation_of

    if number is not None and file is None and operation is None:
        found = services.templates.show(number)
        return found.operation, found.body
    if number is None and operation is not None and file is not None:
        return operation_of(operation), read(file)
    raise WrongUsage("give the ID of a template, or --operation and --file")


def _context(file: str | None, event: int | None) -> dict[str, Any] | None:
    if file is None:
        return None
    if event is not None:
        raise WrongUsage("give --event or --context, not both")
    try:
        data = json.loads(read(file))
    except (ValueError, RecursionError) as wrong:
        raise WrongUsage(f"{file}: not JSON ({wrong})") from None
    if not isinstance(data, dict):
        raise WrongUsage(f"{file}: a JSON object is expected, of the shape that `template variables` lists")
    return data


def _known(operation: str) -> tuple[Operation, tuple[CustomField, ...]]:
    """Return an operation by its name, and the custom fields of the tracker."""
    from shared.bodies.contexts import operation_of

    with open_services() as services:
        return operation_of(operation), services.templates.custom_fields()


def _show_preview(shown: Preview) -> None:
    say(json.dumps(shown.payload, indent=2, ensure_ascii=False))
    for what, names in (("Filled in", shown.filled_in), ("Left out, being null", shown.pruned)):
        if names:
            say(f"{what}: {', '.join(names)}")
    for name in shown.unknown:
        warn(f"{name} is no field that is known; the tracker may ignore it")
    for warning in shown.warnings:
        warn(warning)


def _show_dry_run(made: DryRun) -> None:
    answered = f"answered {made.status}" if made.status else "gave no answer"
    say(f"{made.method} {made.path}: the tracker {answered} ({made.milliseconds} ms).")
    if made.created:
        gone = "and deleted again" if made.deleted else "and NOT deleted yet"
        say(f"{made.created} was created {gone}.")
    elif made.answer:
        say(made.answer)
    for hint in made.hints:
        warn(str(hint))
    for warning in made.warnings:
        warn(warning)
    if made.left:
        named = "; ".join(sentence(one.notice) for one in made.left)
        warn(f"{count(len(made.left), 'object')} LEFT on the tracker, deleted as soon as it can be: {named}")


def _sample(value: object) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)
