"""Issues and time entries that were created under the wrong user."""

from __future__ import annotations

from typing import Annotated

import typer

from producer.admin.presenters.moments import when
from producer.cli.failures import WrongUsage
from producer.cli.output import print_json, say, table
from producer.cli.register import AUTHOR, Json, command, fits
from producer.cli.services import open_services
from shared.notices.kinds import Kind


@command(AUTHOR, "list", "deskbridge author list", "deskbridge author list --json", was="misattributed")
def list_wrong_authors(as_json: Json = False) -> None:
    """List issues and time entries created under the wrong user.

    Each is listed with the reason and what you can do.
    """
    from producer.admin.people.misattributed import misattributed as find

    with open_services() as services:
        found = find(services.store)
    if as_json:
        print_json(found)
    elif not found:
        say("Every issue and time entry has the intended author.")
    else:
        cells = [
            (
                f"{one.kind} {one.key}",
                f"{Kind(one.kind).noun} #{one.tracker_id}",
                one.author_id,
                when(one.since),
                one.reason,
                one.todo,
            )
            for one in found
        ]
        table(("From GLPI", "In Redmine", "Author's id", "Since", "Why", "What to do"), cells)
        say("", "To move a time entry to the intended user, run `deskbridge author correct TASK_ID`.")


@command(AUTHOR, "correct", "deskbridge author correct 512", was="correct-author")
def correct(
    task_id: Annotated[
        int, typer.Argument(metavar="TASK_ID", min=1, callback=fits, help="Id of the GLPI task.")
    ],
) -> None:
    """Reassign a task's time entry to the intended user.

    `deskbridge author list` shows the tasks. Set DESKBRIDGE_CORRECT_AUTHORS=1 to allow this command. The author of an
    issue cannot change, because Redmine does not allow it.
    """
    from producer.admin.people.correction import correct_author

    with open_services() as services:
        if not services.settings.correct_authors:
            raise WrongUsage(
                "this command changes time entries that already exist, so it is off: set "
                "DESKBRIDGE_CORRECT_AUTHORS=1 to allow it"
            )
        done = correct_author(services.store, services.connector.connect, task_id)
    say(
        f"Time entry #{done.time_entry_id} now belongs to {done.login} "
        f"(see `deskbridge ticket history {done.ticket_id}`)."
    )
