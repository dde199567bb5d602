"""Payload templates: save, activate, and roll back (SPEC 9.1 "Template store")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from producer.admin.presenters.moments import when
from producer.cli.commands.template_trials import File, read
from producer.cli.failures import WrongUsage
from producer.cli.output import print_json, say, table, warn
from producer.cli.register import TEMPLATE, Json, command, id_argument, id_option
from producer.cli.services import open_services, who_types

if TYPE_CHECKING:
    from rich.text import Text

    from producer.admin.templates.templates import Template

Number = Annotated[int, id_argument("ID", "Id of the template.")]
Version = Annotated[int | None, id_option("V", "Number of the version.")]


@command(TEMPLATE, "list", "deskbridge template list")
def list_templates(
    operation: Annotated[
        str | None, typer.Option("--operation", metavar="OP", help="Only templates of this operation.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the templates, and which are active."""
    with open_services() as services:
        found = services.templates.list(operation)
    if as_json:
        print_json(found)
    elif not found:
        say(
            "There are no templates, so deskbridge sends the standard requests. To start with one, run "
            "`deskbridge template generate`."
        )
    else:
        columns = ("ID", "Operation", "Name", "Active", "Newest", "Changed", "By")
        table(columns, [_row(one) for one in found])


@command(
    TEMPLATE,
    "show",
    "deskbridge template show 3",
    "deskbridge template show 3 --version 1",
)
def show(number: Number, version: Version = None, as_json: Json = False) -> None:
    """Print a template.

    Without --version, the newest version.
    """
    with open_services() as services:
        found = services.templates.show(number, version)
    if as_json:
        print_json(found)
        return
    say(found.body.rstrip("\n"))
    if found.fault:
        warn(f"version {found.version} is a draft: {found.fault}")


@command(
    TEMPLATE,
    "save",
    "deskbridge template save --operation issue.create --name 'With cost centre' --file issue.json",
    "deskbridge template save --id 3 --based-on 2 --file issue.json --activate",
)
def save(
    operation: Annotated[
        str | None, typer.Option("--operation", metavar="OP", help="Operation of a new template.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of a new template.")] = None,
    number: Annotated[int | None, id_option("ID", "Id of the template to edit.", "--id")] = None,
    based_on: Annotated[int | None, id_option("V", "Version that you edited.")] = None,
    file: File = "-",
    activate: Annotated[bool, typer.Option("--activate", help="Activate the saved version.")] = False,
    as_json: Json = False,
) -> None:
    """Save a new template, or a new version.

    The active version does not change without --activate. A template with a fault is saved as a draft, which you cannot
    activate. With --based-on, the command refuses to save if another user has saved a newer version.
    """
    body = read(file)
    with open_services() as services:
        if number is not None and operation is None and name is None:
            edited = based_on or services.templates.show(number).version
            kept = services.templates.edit(number, body, who_types(), based_on=edited)
        elif operation is not None and name is not None and number is None and based_on is None:
            kept = services.templates.create(operation, name, body, who_types())
        else:
            raise WrongUsage(
                "enter --operation and --name for a new template, or --id (and --based-on) for a new version"
            )
        if activate and not kept.fault:
            kept = services.templates.activate(kept.id, who_types(), kept.version)
    if as_json:
        print_json(kept)
    else:
        _tell_saved(kept)
    if activate and kept.fault:
        raise typer.Exit(1)


@command(TEMPLATE, "activate", "deskbridge template activate 3")
def activate_template(number: Number, version: Version = None) -> None:
    """Activate a template version.

    Without --version, the newest version. It replaces the active template of the operation for all requests from now
    on.
    """
    with open_services() as services:
        now = services.templates.activate(number, who_types(), version)
    say(f"Template {now.id} ({now.name}), version {now.active_version}, is active for {now.operation}.")


@command(TEMPLATE, "deactivate", "deskbridge template deactivate 3")
def deactivate(number: Number) -> None:
    """Deactivate a template.

    deskbridge sends the standard requests again.
    """
    with open_services() as services:
        now = services.templates.deactivate(number, who_types())
    say(f"No template is active for {now.operation}. deskbridge sends the standard request.")


@command(TEMPLATE, "history", "deskbridge template history 3")
def history(number: Number, as_json: Json = False) -> None:
    """Show the changes to a template, with time and user."""
    with open_services() as services:
        changes = services.templates.history(number)
    if as_json:
        print_json(changes)
        return
    table(
        ("When", "What", "Version", "By"),
        [(when(one.at), one.what, one.version, one.who) for one in changes],
    )


@command(TEMPLATE, "rollback", "deskbridge template rollback 3")
def roll_back(number: Number, version: Version = None) -> None:
    """Reactivate the previous version of a template.

    With --version, the given version.
    """
    with open_services() as services:
        now = services.templates.roll_back(number, who_types(), version)
    say(f"Template {now.id} ({now.name}), version {now.active_version}, is active again.")


@command(TEMPLATE, "delete", "deskbridge template delete 3")
def delete(number: Number) -> None:
    """Delete an inactive template with its history."""
    with open_services() as services:
        services.templates.delete(number)
    say(f"Template {number} was deleted.")


def _tell_saved(kept: Template) -> None:
    say(f"Template {kept.id} ({kept.name}) is at version {kept.version}.")
    if kept.fault:
        warn(f"this version is a draft and cannot be activated: {kept.fault}")
    elif kept.active_version != kept.version:
        say(f"It is not active yet. Run `deskbridge template activate {kept.id}` to activate it.")


def _row(one: Template) -> tuple[object, ...]:
    from rich.text import Text

    active = one.active_version
    force = Text(f"version {active}", style="green") if active else Text("no", style="dim")
    newest: Text | str = f"version {one.version}"
    if one.fault:
        place = f"line {one.fault.line}, column {one.fault.column}"
        newest = Text(f"version {one.version}, a draft ({place})", style="yellow")
    return one.id, one.operation, one.name, force, newest, when(one.changed_at), one.changed_by
