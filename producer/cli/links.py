"""Which tracker project a helpdesk project or entity goes to (SPEC section 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from producer.cli.failures import WrongUsage
from producer.cli.output import count, print_json, say, table, warn
from producer.cli.register import Json, add, fits
from producer.cli.services import open_services
from shared.notices.refusals import Refusal

if TYPE_CHECKING:
    from producer.admin.projects.links import Linked
    from producer.admin.projects.projects import Made

From = Annotated[
    Literal["project", "entity"],
    typer.Argument(metavar="KIND", help="What is linked."),
]
Replay = Annotated[
    bool, typer.Option("--replay", help="Send now what had been skipped for want of this link.")
]
HelpdeskId = Annotated[
    int,
    typer.Argument(metavar="ID", min=0, callback=fits, help="Its id in the helpdesk."),
]


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands of this module."""
    add(
        app,
        link,
        panel,
        "deskbridge link entity 3 1",
        "deskbridge link project 12 4 --category 7",
        "deskbridge link entity 3 1 --replay",
    )
    add(app, unlink, panel, "deskbridge unlink entity 3")
    add(app, links, panel, "deskbridge links", "deskbridge links --json")


def link(
    kind: From,
    helpdesk_id: HelpdeskId,
    tracker_project_id: Annotated[
        int,
        typer.Argument(
            metavar="TRACKER_PROJECT_ID",
            min=1,
            callback=fits,
            help="The tracker project's id.",
            show_default=False,
        ),
    ],
    category: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            callback=fits,
            help="Issue category for new issues; a stored one stays otherwise.",
        ),
    ] = None,
    no_category: Annotated[bool, typer.Option("--no-category", help="Remove the stored category.")] = False,
    replay: Replay = False,
    as_json: Json = False,
) -> None:
    """Link a helpdesk project or entity to a tracker project.

    A ticket goes to the project of its helpdesk project, else to that of exactly its entity (not of a parent's),
    else nowhere: its events are skipped, and can be replayed once there is a link.
    """
    from producer.admin.presenters import shapes
    from producer.admin.projects.links import lacking_modules
    from producer.admin.projects.requests import LinkForm
    from shared.store.configuration.links import LinkKind

    check_helpdesk_id(kind, helpdesk_id)
    if no_category and category is not None:
        raise WrongUsage("either --category N or --no-category")
    chosen: dict[str, Any] = {"default_category_id": category} if category or no_category else {}
    form = LinkForm(tracker_project_id=tracker_project_id, replay=replay, **chosen)
    with open_services() as services:
        made = form.carry_out(services.project_forms, LinkKind(kind), helpdesk_id)
        lacking = lacking_modules(services.connector.connect, tracker_project_id)
    linked = made.linked
    if lacking:
        warn(
            f"Redmine project {tracker_project_id} lacks {' and '.join(lacking)}: enable it in the project's settings"
        )
    if not linked.confirmed:
        warn(
            f"tracker project {tracker_project_id} is accepted without a check, since no metadata of the tracker "
            "confirms it"
        )
    warn_of_metadata(made)
    if as_json:
        print_json(
            {
                **shapes.Link.of(linked.link).printed(),
                "skipped_events": linked.events,
                "replayed": linked.replayed,
            }
        )
    else:
        _tell(linked)


def unlink(kind: From, helpdesk_id: HelpdeskId) -> None:
    """Remove a link.

    Nothing is sent any more for tickets without another link, not even for those that have an issue.
    """
    from producer.admin.projects.links import remove_link
    from shared.store.configuration.links import LinkKind

    with open_services() as services:
        removed = remove_link(services.store, LinkKind(kind), helpdesk_id)
    say(f"{str(removed).capitalize()} is no longer linked to tracker project {removed.tracker_project_id}.")


def links(as_json: Json = False) -> None:
    """List the links."""
    from producer.admin.presenters import shapes
    from producer.admin.projects.links import all_links

    with open_services() as services:
        found = all_links(services.store)
    if as_json:
        print_json([shapes.Link.of(one) for one in found])
    elif not found:
        say("Nothing is linked yet, so nothing is sent: `deskbridge link entity ID TRACKER_PROJECT_ID`.")
    else:
        rows = [(str(one), one.tracker_project_id, one.default_category_id) for one in found]
        table(("Helpdesk", "Tracker project", "Category"), rows)


def check_helpdesk_id(kind: str, helpdesk_id: int) -> None:
    """Refuse a helpdesk project 0: only the root entity has that id."""
    if kind == "project" and helpdesk_id < 1:
        raise WrongUsage(Refusal.HELPDESK_PROJECT_ZERO())


def warn_of_metadata(made: Made) -> None:
    """Say that the tracker's metadata could not be read after a link was made."""
    if not made.metadata:
        warn(f"the metadata was not synchronised afterwards: {made.metadata.error}")


def _tell(made: Linked) -> None:
    link, before = made.link, made.before
    moved = before is not None and before.tracker_project_id != link.tracker_project_id
    instead = f" (before: {before.tracker_project_id})" if before and moved else ""
    say(f"{str(link).capitalize()} is linked to tracker project {link.tracker_project_id}{instead}.")
    if not made.tickets:
        return
    tickets = count(len(made.tickets), "ticket")
    what = f"{count(made.events, 'event')} of {tickets}" if made.events else f"The status of {tickets}"
    if made.replayed:
        say(f"{what} that had been skipped for want of this link will be sent now.")
        return
    say(
        f"{what} had been skipped for want of this link. To send it now:"
        if not made.events
        else f"{what} had been skipped for want of this link. To send them now:",
        f"  deskbridge link {link.kind} {link.helpdesk_id} {link.tracker_project_id} --replay",
    )
