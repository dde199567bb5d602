"""The project and entity forms at the command line (SPEC 4.1): a new Redmine project with its mapping."""

from __future__ import annotations

from typing import Annotated

import typer

from producer.cli.assignments import pairs
from producer.cli.commands.mapping import From, HelpdeskId, Replay, check_helpdesk_id, warn_of_metadata
from producer.cli.output import print_json, say, warn
from producer.cli.register import PROJECT, Json, command, id_option
from producer.cli.services import open_services
from shared.notices.render import sentence


@command(
    PROJECT,
    "create",
    "deskbridge project create entity 3 --name Support --identifier support",
    "deskbridge project create project 12 --name Move --identifier move --parent 4 --field 2=CC-17",
    "deskbridge project create entity 5 --name Lab --identifier lab --module issue_tracking --module time_tracking",
    was="create-project",
)
def create(
    kind: From,
    helpdesk_id: HelpdeskId,
    name: Annotated[str, typer.Option(help="Name of the new project.", show_default=False)],
    identifier: Annotated[
        str, typer.Option(help="Identifier: lowercase letters, digits and dashes.", show_default=False)
    ],
    description: Annotated[
        str | None, typer.Option(help="Description of the new project.", show_default=False)
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="Make the project public.")] = False,
    parent: Annotated[int | None, id_option("N", "Id of the parent project in Redmine.")] = None,
    module: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Module to enable. Can be repeated."),
    ] = None,
    field: Annotated[
        list[str] | None, typer.Option(metavar="ID=VALUE", help="Value of a custom field. Can be repeated.")
    ] = None,
    category: Annotated[int | None, id_option("N", "Category for new issues, if the project has it.")] = None,
    replay: Replay = False,
    as_json: Json = False,
) -> None:
    """Create a Redmine project and map it.

    You can repeat the command after a time-out. If the project exists by then, deskbridge finds it by its identifier
    and adds the mapping.
    """
    from producer.admin.presenters import shapes
    from producer.admin.projects.requests import LinkForm
    from shared.store.configuration.mappings import MappingKind

    check_helpdesk_id(kind, helpdesk_id)
    project = {
        "name": name,
        "identifier": identifier,
        "description": description,
        "is_public": public,
        "parent_id": parent,
        "enabled_module_names": module or None,
        "custom_field_values": pairs(field or [], "ID=VALUE", "project create"),
    }
    chosen = {} if category is None else {"default_category_id": category}
    form = LinkForm(create=project, replay=replay, **chosen)
    with open_services() as services:
        made = form.carry_out(services.project_forms, MappingKind(kind), helpdesk_id)
    for warning in made.warnings:
        warn(sentence(warning))
    warn_of_metadata(made)
    if as_json:
        print_json({**shapes.Link.of(made.linked.mapping).printed(), "created": made.created})
        return
    link = made.linked.mapping
    verb = "was created" if made.created else "already existed"
    say(
        f"Redmine project {link.tracker_project_id} ({identifier.strip().lower()}) {verb}. {str(link).capitalize()} is "
        "mapped to it."
    )
