"""Try a template before you activate it, and list what it can use (SPEC 4.3, 9.1)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from producer.cli.failures import WrongUsage
from producer.cli.output import count, print_json, say, table, warn
from producer.cli.register import TEMPLATE, Json, command, id_argument, id_option
from producer.cli.services import CommandServices, open_services
from shared.notices.render import sentence

if TYPE_CHECKING:
    from producer.admin.dryrun.results import DryRun
    from producer.admin.templates.preview import Preview
    from shared.templating.operations import CustomField, Operation

File = Annotated[
    str, typer.Option("--file", metavar="F", help="File of the template; `-` for standard input.")
]
SomeFile = Annotated[
    str | None,
    typer.Option("--file", metavar="F", help="File of an unsaved template; `-` for standard input."),
]
Stored = Annotated[int | None, id_argument("[ID]", "Id of a saved template.")]
Op = Annotated[str, typer.Option("--operation", metavar="OP", help="Operation, such as issue.create.")]
WithTicket = Annotated[
    bool, typer.Option("--with-ticket", help="Include the ticket number and a link to GLPI.")
]
SomeOp = Annotated[
    str | None, typer.Option("--operation", metavar="OP", help="Operation of the file, such as issue.create.")
]
Event = Annotated[int | None, id_option("ID", "Render the template with this event.")]
Context = Annotated[
    str | None, typer.Option("--context", metavar="F", help="Render the template with this JSON file.")
]


@command(
    TEMPLATE,
    "preview",
    "deskbridge template preview 3",
    "deskbridge template preview --operation issue.create --file issue.json --event 17",
)
def preview(
    number: Stored = None,
    operation: SomeOp = None,
    file: SomeFile = None,
    event: Event = None,
    context: Context = None,
    as_json: Json = False,
) -> None:
    """Show what a template would send, without sending it.

    The template is rendered with sample data unless you give an event or a context. If the template has a fault, the
    command shows its line and column, and exits with 1.
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


@command(
    TEMPLATE,
    "dryrun",
    "deskbridge template dryrun 3",
    "deskbridge template dryrun --operation issue.create --file issue.json --event 17",
)
def dryrun(
    number: Stored = None,
    operation: SomeOp = None,
    file: SomeFile = None,
    event: Event = None,
    context: Context = None,
    as_json: Json = False,
) -> None:
    """Test a template: create a real object, then delete it.

    The command creates the object in Redmine as the API user. Redmine may send e-mail about it. If the object cannot be
    deleted, deskbridge shows it and tries again later. Exits with 1 if Redmine rejects the request.
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


@command(
    TEMPLATE,
    "generate",
    "deskbridge template generate --operation issue.create",
    "deskbridge template generate --operation issue.create --with-ticket > issue.json",
)
def generate(operation: Op, with_ticket: WithTicket = False, as_json: Json = False) -> None:
    """Print a template that sends the standard request.

    It includes the custom fields that Redmine requires.
    """
    from producer.admin.templates.defaults import default_template

    wanted, custom_fields = _known(operation)
    body = default_template(wanted, custom_fields, with_ticket=with_ticket)
    if as_json:
        print_json({"operation": str(wanted), "body": body})
    else:
        say(body.rstrip("\n"))


@command(TEMPLATE, "variables", "deskbridge template variables --operation issue.create")
def variables(operation: Op, as_json: Json = False) -> None:
    """List the variables of an operation's templates."""
    from shared.templating.catalogue import catalogue_for

    wanted, custom_fields = _known(operation)
    found = catalogue_for(wanted, custom_fields).variables
    if as_json:
        print_json(found)
        return
    rows = [
        (one.path, f"{one.type}{' or null' if one.optional else ''}", one.description, _sample(one.sample))
        for one in found
    ]  # fmt: skip
    table(("Variable", "Type", "Meaning", "Sample"), rows)


@command(TEMPLATE, "fields", "deskbridge template fields --operation issue.create")
def fields(operation: Op, as_json: Json = False) -> None:
    """List the fields of an operation, with custom fields."""
    from shared.templating.operations import fields_for

    wanted, custom_fields = _known(operation)
    found = fields_for(wanted, custom_fields)
    if as_json:
        print_json(found)
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
    table((f"Field of {wanted.top_key}", "Type", "Meaning", "Needed", "One of"), rows)
    if not custom_fields:
        warn("no custom fields are cached: run `deskbridge metadata sync`")


def read(file: str) -> str:
    """Return a file's text.

    Raises:
        WrongUsage: if it is not UTF-8.
        OSError: if it cannot be read.
    """
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        raise WrongUsage(f"{file} is not UTF-8 at byte {wrong.start}: save it as UTF-8") from None


def _template(
    services: CommandServices, number: int | None, operation: str | None, file: str | None
) -> tuple[Operation, str]:
    """Return the operation and the template to try."""
    from shared.bodies.contexts import operation_of

    if number is not None and file is None and operation is None:
        found = services.templates.show(number)
        return found.operation, found.body
    if number is None and operation is not None and file is not None:
        return operation_of(operation), read(file)
    raise WrongUsage("enter either the id of a template, or --operation and --file")


def _context(file: str | None, event: int | None) -> dict[str, Any] | None:
    if file is None:
        return None
    if event is not None:
        raise WrongUsage("choose either --event or --context")
    try:
        data = json.loads(read(file))
    except (ValueError, RecursionError) as wrong:
        raise WrongUsage(f"{file} is not JSON: {wrong}") from None
    if not isinstance(data, dict):
        raise WrongUsage(
            f"{file} is not a JSON object: it needs the variables that `deskbridge template variables` lists"
        )
    return data


def _known(operation: str) -> tuple[Operation, tuple[CustomField, ...]]:
    """Return an operation by its name, and the custom fields of Redmine."""
    from shared.bodies.contexts import operation_of

    with open_services() as services:
        return operation_of(operation), services.templates.custom_fields()


def _show_preview(shown: Preview) -> None:
    say(json.dumps(shown.payload, indent=2, ensure_ascii=False))
    for what, names in (("Filled in", shown.filled_in), ("Omitted because null", shown.pruned)):
        if names:
            say(f"{what}: {', '.join(names)}")
    for name in shown.unknown:
        warn(f"{name} is not a known field, so Redmine may ignore it")
    for warning in shown.warnings:
        warn(warning)


def _show_dry_run(made: DryRun) -> None:
    answered = f"answered {made.status}" if made.status else "gave no answer"
    say(f"{made.method} {made.path}: Redmine {answered} ({made.milliseconds} ms).")
    if made.created:
        gone = "and deleted again" if made.deleted else "but not deleted yet"
        say(f"{made.created} was created {gone}.")
    elif made.answer:
        say(made.answer)
    for hint in made.hints:
        warn(str(hint))
    for warning in made.warnings:
        warn(warning)
    if made.left:
        named = "; ".join(sentence(one.notice) for one in made.left)
        warn(f"{count(len(made.left), 'object')} left in Redmine, which deskbridge deletes later: {named}")


def _sample(value: object) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)
