"""The project and entity forms at the command line (SPEC 4.1): a new tracker project, linked at once."""

from __future__ import annotations

from typing import Annotated

import typer

from producer.cli.assignments import pairs
from producer.cli.links import From, HelpdeskId, Replay, check_helpdesk_id, warn_of_metadata
from producer.cli.output import print_json, say, warn
from producer.cli.register import Json, add, fits
from producer.cli.services import open_services
from shared.notices.render import sentence


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands of this module."""
    add(
        app,
        create_project,
        panel,
        'deskbridge create-project entity 3 --name "Support" --identifier support',
        'deskbridge create-project project 12 --name "Move" --identifier move --parent 4 --field 2=CC-17',
        "deskbridge create-project entity 5 --name Lab --identifier lab --module issue_tracking --module time_tracking",
    )


def create_project(
    kind: From,
    helpdesk_id: HelpdeskId,
    name: Annotated[str, typer.Option(help="The project's name.", show_default=False)],
    identifier: Annotated[
        str, typer.Option(help="Its identifier: lowercase letters, digits, dashes.", show_default=False)
    ],
    description: Annotated[str | None, typer.Option(help="Its description.", show_default=False)] = None,
    public: Annotated[bool, typer.Option("--public", help="Everybody may see it.")] = False,
    parent: Annotated[
        int | None, typer.Option(metavar="N", min=1, callback=fits, help="The tracker project above it.")
    ] = None,
    module: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A module that is on; may be repeated."),
    ] = None,
    field: Annotated[
        list[str] | None, typer.Option(metavar="ID=VALUE", help="A custom field's value; may be repeated.")
    ] = None,
    category: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, callback=fits, help="Issue category for new issues, if it has it."),
    ] = None,
    replay: Replay = False,
    as_json: Json = False,
) -> None:
    """Create a tracker project and link to it.

    May be repeated after a time-out: a project that the first try created is found by its identifier and linked.
    """
    from producer.admin.presenters import shapes
    from producer.admin.projects.requests import LinkForm
    from shared.store.configuration.links import LinkKind

    check_helpdesk_id(kind, helpdesk_id)
    project = {
        "name": name,
        "identifier": identifier,
        "description": description,
        "is_public": public,
        "parent_id": parent,
        "enabled_module_names": module or None,
        "custom_field_values": pairs(field or [], "ID=VALUE", "create-project"),
    }
    chosen = {} if category is None else {"default_category_id": category}
    form = LinkForm(create=project, replay=replay, **chosen)
    with open_services() as services:
        made = form.carry_out(services.project_forms, LinkKind(kind), helpdesk_id)
    for warning in made.warnings:
        warn(sentence(warning))
    warn_of_metadata(made)
    if as_json:
        print_json({**shapes.Link.of(made.linked.link).printed(), "created": made.created})
        return
    link = made.linked.link
    verb = "was created" if made.created else "was there already"
    say(
        f"Tracker project {link.tracker_project_id} ({identifier.strip().lower()}) {verb}; {link} is linked to it."
    )
