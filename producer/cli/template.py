"""Payload templates: keep them, put them in force, go back (SPEC 9.1 "Template store")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from producer.admin.presenters.moments import when
from producer.cli import trials
from producer.cli.failures import WrongUsage
from producer.cli.output import print_json, say, table, warn
from producer.cli.register import Json, add, fits
from producer.cli.services import open_services, who_types

if TYPE_CHECKING:
    from rich.text import Text

    from producer.admin.templates.templates import Template

app = typer.Typer(
    help="Decide what is sent: templates that take the place of the standard request bodies.",
    no_args_is_help=True,
)
Number = Annotated[int, typer.Argument(metavar="ID", min=1, callback=fits, help="Its number in the list.")]
Version = Annotated[
    int | None, typer.Option("--version", metavar="V", min=1, callback=fits, help="Which version.")
]


def list_templates(
    operation: Annotated[
        str | None, typer.Option("--operation", metavar="OP", help="Only of this operation.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the templates, and which are in force."""
    with open_services() as services:
        found = services.templates.list(operation)
    if as_json:
        print_json(found)
    elif not found:
        say("No template is kept, so every request has its standard body (`deskbridge template generate`).")
    else:
        columns = ("ID", "Operation", "Name", "In force", "Newest", "Changed", "By")
        table(columns, [_row(one) for one in found])


def show(number: Number, version: Version = None, as_json: Json = False) -> None:
    """Print a template's text: the newest version, or an earlier one."""
    with open_services() as services:
        found = services.templates.show(number, version)
    if as_json:
        print_json(found)
        return
    say(found.body.rstrip("\n"))
    if found.fault:
        warn(f"version {found.version} is a draft: {found.fault}")


def save(
    operation: Annotated[
        str | None, typer.Option("--operation", metavar="OP", help="What a new template is for.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="The name of a new template.")] = None,
    number: Annotated[
        int | None, typer.Option("--id", metavar="ID", min=1, callback=fits, help="The template to edit.")
    ] = None,
    based_on: Annotated[
        int | None,
        typer.Option("--based-on", metavar="V", min=1, callback=fits, help="The version that you edited."),
    ] = None,
    file: trials.File = "-",
    activate: Annotated[bool, typer.Option("--activate", help="Put it in force at once.")] = False,
    as_json: Json = False,
) -> None:
    """Keep a new template, or a new version of one.

    What is in force stays in force until `template activate`. A faulty text is kept as a draft, which cannot be
    activated. With --based-on, nothing is kept if somebody else has saved another version meanwhile.
    """
    body = trials.read(file)
    with open_services() as services:
        if number is not None and operation is None and name is None:
            edited = based_on or services.templates.show(number).version
            kept = services.templates.edit(number, body, who_types(), based_on=edited)
        elif operation is not None and name is not None and number is None and based_on is None:
            kept = services.templates.create(operation, name, body, who_types())
        else:
            raise WrongUsage(
                "give --operation and --name for a new template, or --id (and --based-on) for one that there is"
            )
        if activate and not kept.fault:
            kept = services.templates.activate(kept.id, who_types(), kept.version)
    if as_json:
        print_json(kept)
    else:
        _tell_saved(kept)
    if activate and kept.fault:
        raise typer.Exit(1)


def activate_template(number: Number, version: Version = None) -> None:
    """Put a template in force: its newest version, or another one.

    Whatever was in force for the operation ends. What is sent from now on has this template's body.
    """
    with open_services() as services:
        now = services.templates.activate(number, who_types(), version)
    say(f"Template {now.id} ({now.name}), version {now.active_version}, is in force for {now.operation}.")


def deactivate(number: Number) -> None:
    """Take a template out of force: the standard body is sent again."""
    with open_services() as services:
        now = services.templates.deactivate(number, who_types())
    say(f"No template is in force for {now.operation}; it has its standard body.")


def history(number: Number, as_json: Json = False) -> None:
    """Tell what was done to a template, when and by whom."""
    with open_services() as services:
        changes = services.templates.history(number)
    if as_json:
        print_json(changes)
        return
    table(
        ("When", "What", "Version", "By"),
        [(when(one.at), one.what, one.version, one.who) for one in changes],
    )


def roll_back(number: Number, version: Version = None) -> None:
    """Put the version that was in force before in force again, or another one."""
    with open_services() as services:
        now = services.templates.roll_back(number, who_types(), version)
    say(f"Template {now.id} ({now.name}), version {now.active_version}, is in force again.")


def delete(number: Number) -> None:
    """Delete a template that is not in force, with its history."""
    with open_services() as services:
        services.templates.delete(number)
    say(f"Template {number} is deleted.")


def _tell_saved(kept: Template) -> None:
    say(f"Template {kept.id} ({kept.name}) is at version {kept.version}.")
    if kept.fault:
        warn(f"it is a draft and cannot be activated: {kept.fault}")
    elif kept.active_version != kept.version:
        say(f"It is not in force yet: `deskbridge template activate {kept.id}`.")


def _row(one: Template) -> tuple[object, ...]:
    from rich.text import Text

    active = one.active_version
    force = Text(f"version {active}", style="green") if active else Text("no", style="dim")
    newest: Text | str = f"version {one.version}"
    if one.fault:
        place = f"line {one.fault.line}, column {one.fault.column}"
        newest = Text(f"version {one.version}, a draft ({place})", style="yellow")
    return one.id, one.operation, one.name, force, newest, when(one.changed_at), one.changed_by


add(app, list_templates, None, "deskbridge template list", name="list")
add(app, show, None, "deskbridge template show 3", "deskbridge template show 3 --version 1 > old.json")
add(
    app,
    save,
    None,
    "deskbridge template save --operation issue.create --name 'With cost centre' --file issue.json",
    "deskbridge template save --id 3 --based-on 2 --file issue.json --activate",
)
add(app, activate_template, None, "deskbridge template activate 3", name="activate")
add(app, deactivate, None, "deskbridge template deactivate 3")
add(app, history, None, "deskbridge template history 3")
add(app, roll_back, None, "deskbridge template rollback 3", name="rollback")
add(app, delete, None, "deskbridge template delete 3")
trials.register(app)
