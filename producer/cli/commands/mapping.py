"""Mappings of GLPI projects and entities to Redmine projects (SPEC section 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from producer.cli.failures import WrongUsage
from producer.cli.output import count, print_json, say, table, warn
from producer.cli.register import MAPPING, Json, command, id_argument, id_option
from producer.cli.services import open_services
from shared.notices.refusals import Refusal
from shared.notices.render import sentence

if TYPE_CHECKING:
    from producer.admin.projects.mappings import MappingResult
    from producer.admin.projects.projects import Made

From = Annotated[
    Literal["project", "entity"],
    typer.Argument(metavar="KIND", help="What to map: a GLPI project or entity."),
]
Replay = Annotated[
    bool,
    typer.Option("--replay", help="Also process events that were skipped because this mapping was missing."),
]
HelpdeskId = Annotated[int, id_argument("ID", "Id of the GLPI project or entity.", least=0)]


@command(
    MAPPING,
    "add",
    "deskbridge mapping add entity 3 1",
    "deskbridge mapping add project 12 4 --category 7",
    "deskbridge mapping add entity 3 1 --replay",
    was="link",
)
def add(
    kind: From,
    helpdesk_id: HelpdeskId,
    tracker_project_id: Annotated[int, id_argument("REDMINE_PROJECT_ID", "Id of the Redmine project.")],
    category: Annotated[
        int | None, id_option("N", "Category for new issues. If omitted, the stored category is kept.")
    ] = None,
    no_category: Annotated[bool, typer.Option("--no-category", help="Remove the stored category.")] = False,
    replay: Replay = False,
    as_json: Json = False,
) -> None:
    """Map a GLPI project or entity to a Redmine project.

    deskbridge uses the mapping of a ticket's GLPI project first, then that of its entity. Mappings of parent entities
    do not count. Without a mapping, it skips the events. You can replay them once a mapping exists.
    """
    from producer.admin.presenters import shapes
    from producer.admin.projects.mappings import lacking_modules
    from producer.admin.projects.requests import LinkForm
    from shared.store.configuration.mappings import MappingKind

    check_helpdesk_id(kind, helpdesk_id)
    if no_category and category is not None:
        raise WrongUsage("choose either --category N or --no-category")
    chosen: dict[str, Any] = {"default_category_id": category} if category or no_category else {}
    form = LinkForm(tracker_project_id=tracker_project_id, replay=replay, **chosen)
    with open_services() as services:
        made = form.carry_out(services.project_forms, MappingKind(kind), helpdesk_id)
        lacking = lacking_modules(services.connector.connect, tracker_project_id)
    linked = made.linked
    if lacking:
        warn(
            f"Redmine project {tracker_project_id} lacks {' and '.join(lacking)}: enable it in the project's settings"
        )
    for caution in made.warnings:
        warn(sentence(caution))
    warn_of_metadata(made)
    if as_json:
        print_json(
            {
                **shapes.Link.of(linked.mapping).printed(),
                "skipped_events": linked.events,
                "replayed": linked.replayed,
            }
        )
    else:
        _tell(linked)


@command(MAPPING, "remove", "deskbridge mapping remove entity 3", was="unlink")
def remove(kind: From, helpdesk_id: HelpdeskId) -> None:
    """Remove a mapping.

    deskbridge sends nothing more for tickets without another mapping, even if they have an issue.
    """
    from producer.admin.projects.mappings import remove_mapping
    from shared.store.configuration.mappings import MappingKind

    with open_services() as services:
        removed = remove_mapping(services.store, MappingKind(kind), helpdesk_id)
    say(f"{str(removed).capitalize()} is no longer mapped to Redmine project {removed.tracker_project_id}.")


@command(MAPPING, "list", "deskbridge mapping list", "deskbridge mapping list --json", was="links")
def list_mappings(as_json: Json = False) -> None:
    """List the mappings."""
    from producer.admin.projects.mappings import all_mappings, named_mapping
    from shared.notices.naming import with_name

    with open_services() as services:
        found = [(one, named_mapping(services.names, one)) for one in all_mappings(services.store)]
        categories = [services.names.numbered("category", one.default_category_id) for one, _ in found]
    if as_json:
        print_json([shown for _, shown in found])
    elif not found:
        say(
            "There are no mappings, so nothing is sent. Run `deskbridge mapping add entity ID REDMINE_PROJECT_ID`."
        )
    else:
        rows = [
            (str(one), shown.name, with_name(one.tracker_project_id, shown.project), category)
            for (one, shown), category in zip(found, categories, strict=True)
        ]
        table(("GLPI", "Name", "Redmine project", "Category"), rows)


def check_helpdesk_id(kind: str, helpdesk_id: int) -> None:
    """Refuse a GLPI project 0: only the root entity has that id."""
    if kind == "project" and helpdesk_id < 1:
        raise WrongUsage(Refusal.HELPDESK_PROJECT_ZERO())


def warn_of_metadata(made: Made) -> None:
    """Warn if the metadata could not be refreshed after a mapping was added."""
    if not made.metadata:
        warn(f"the mapping was added, but the metadata was not refreshed: {made.metadata.error}")


def _tell(made: MappingResult) -> None:
    link, before = made.mapping, made.before
    moved = before is not None and before.tracker_project_id != link.tracker_project_id
    instead = f" (previously {before.tracker_project_id})" if before and moved else ""
    say(f"{str(link).capitalize()} is mapped to Redmine project {link.tracker_project_id}{instead}.")
    if not made.tickets:
        return
    tickets = count(len(made.tickets), "ticket")
    skipped = count(made.events, "event") + f" of {tickets}" if made.events else f"the status of {tickets}"
    if made.replayed:
        say(f"deskbridge now sends {skipped} that it had skipped because this mapping was missing.")
        return
    say(
        f"deskbridge had skipped {skipped} because this mapping was missing. To catch up, run:",
        f"  deskbridge mapping add {link.kind} {link.helpdesk_id} {link.tracker_project_id} --replay",
    )
