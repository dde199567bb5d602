"""Issues and time entries that were created under the wrong user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from producer.admin.presenters.moments import when
from producer.cli.failures import WrongUsage
from producer.cli.output import count, print_json, say, table, warn
from producer.cli.register import AUTHOR, Json, command, id_argument, id_option
from producer.cli.services import open_services
from shared.notices.kinds import Kind

if TYPE_CHECKING:
    from producer.admin.services import Services


@command(AUTHOR, "list", "deskbridge author list", "deskbridge author list --json", was="misattributed")
def list_wrong_authors(as_json: Json = False) -> None:
    """List issues and time entries created under the wrong user.

    Each is listed with the reason and what you can do.
    """
    from producer.admin.people.misattributed import by_person, with_names
    from producer.admin.people.misattributed import misattributed as find

    with open_services() as services:
        found = with_names(services.names, find(services.store))
        people = [] if as_json else by_person(services.store).people
    if as_json:
        print_json(found)
    elif not found:
        say("Every issue and time entry has the intended author.")
    else:
        cells = [
            (
                f"{one.kind} {one.key}",
                f"{Kind(one.kind).noun} #{one.tracker_id}",
                f"{one.author_id} ({one.author})" if one.author else one.author_id,
                when(one.since),
                one.reason,
                one.todo,
            )
            for one in found
        ]
        table(("From GLPI", "In Redmine", "Author", "Since", "Why", "What to do"), cells)
        totals = [
            (
                one.name or "(no user is named in GLPI)",
                one.helpdesk_user_id,
                one.issues,
                f"{one.hours:.2f}",
                when(one.since),
                one.person.login if one.person else None,
            )
            for one in people
        ]
        table(("Person", "GLPI user", "Issues", "Hours", "Since", "Redmine user"), totals)
        say(
            "To give a mapped person all of their hours, run `deskbridge author correct --user GLPI_USER_ID`."
        )


@command(
    AUTHOR,
    "correct",
    "deskbridge author correct --user 7",
    "deskbridge author correct 512",
    was="correct-author",
)
def correct(
    task_id: Annotated[int | None, id_argument("[TASK_ID]", "Id of the GLPI task.")] = None,
    user: Annotated[
        int | None, id_option("GLPI_USER_ID", "All hours of this GLPI user under another name.")
    ] = None,
) -> None:
    """Reassign time entries to the intended user.

    `deskbridge author list` shows the tasks. `deskbridge config set correct_authors=true` allows this command. The
    author of an issue cannot change, because Redmine does not allow it.
    """
    from producer.admin.people.correction import correct_author

    if (task_id is None) == (user is None):
        raise WrongUsage("choose the time entries: enter either TASK_ID or --user")
    with open_services() as services:
        if user is not None:
            _give_all(services, user)
            return
        done = correct_author(services.store, services.connector.connect, task_id or 0)
    say(
        f"Time entry #{done.time_entry_id} now belongs to {done.login} "
        f"(see `deskbridge ticket history {done.ticket_id}`)."
    )


def _give_all(services: Services, helpdesk_user_id: int) -> None:
    """Give a person all hours that were logged under another name, and show which Redmine refused."""
    from producer.admin.people.correction import NotCorrected, correct_authors_of
    from producer.admin.people.misattributed import PERSON
    from shared.notices.render import sentence

    done = correct_authors_of(
        services.store, services.connector.connect, f"{PERSON}:{helpdesk_user_id}", seconds=float("inf")
    )
    for one in done.given:
        say(f"Time entry #{one.time_entry_id} of ticket {one.ticket_id} now belongs to {one.login}.")
    for task_id, problem in done.refused:
        warn(f"ticket task {task_id}: {sentence(problem)}")
    say(f"{count(len(done.given), 'time entry', 'time entries')} corrected.")
    if done.refused:
        raise NotCorrected(done.refused[0][1])
