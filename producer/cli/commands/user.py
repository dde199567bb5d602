"""Users of GLPI and Redmine: their mappings (SPEC section 5), and erasing a person."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from producer.cli.failures import WrongUsage
from producer.cli.output import count, print_json, say, table, warn
from producer.cli.register import USER, Json, command, id_argument, id_option
from producer.cli.services import open_services
from shared.notices.render import sentence

HelpdeskUserId = Annotated[int, id_argument("GLPI_USER_ID", "Id of the GLPI user.")]


@command(USER, "map", "deskbridge user map 7 5", was="map-user")
def map_(
    helpdesk_user_id: HelpdeskUserId,
    tracker_user_id: Annotated[int, id_argument("REDMINE_USER_ID", "Id of the Redmine user.")],
) -> None:
    """Map a GLPI user to a Redmine user.

    Use this command if the e-mail addresses differ. The mapping takes precedence over a match by e-mail.
    """
    from producer.admin.people import people

    with open_services() as services:
        person = people.map_user(services.store, helpdesk_user_id, tracker_user_id)
    if person is None:
        warn(
            f"Redmine user {tracker_user_id} was accepted without a check, because no users are cached: run "
            "`deskbridge metadata sync`"
        )
    known = f" ({person.login}, {person.name})" if person else ""
    say(f"GLPI user {helpdesk_user_id} is mapped to Redmine user {tracker_user_id}{known}.")


@command(USER, "unmap", "deskbridge user unmap 7", was="unmap-user")
def unmap(helpdesk_user_id: HelpdeskUserId) -> None:
    """Remove a user mapping, including one matched by e-mail.

    deskbridge matches the user by e-mail address again.
    """
    from producer.admin.people import people

    with open_services() as services:
        people.unmap_user(services.store, helpdesk_user_id)
    say(f"The mapping of GLPI user {helpdesk_user_id} was removed.")


@command(
    USER,
    "list",
    "deskbridge user list",
    "deskbridge user list --confirm 7",
    "deskbridge user list --json",
    was="users",
)
def list_users(
    confirm: Annotated[
        list[int] | None,
        id_option("GLPI_USER_ID", "Confirm the new match of this user. Can be repeated."),
    ] = None,
    confirm_all: Annotated[bool, typer.Option("--confirm-all", help="Confirm all new matches.")] = False,
    as_json: Json = False,
) -> None:
    """List GLPI users and their Redmine users.

    The list contains the users that events mention, and those you mapped. Users without a match come first. Their work
    appears under the API user's name until you map them. A match by e-mail is new until you confirm it.
    """
    from producer.admin.people.people import confirm_matches, user_map, with_names

    with open_services() as services:
        if confirm or confirm_all:
            found = confirm_matches(services.store, None if confirm_all else confirm)
        else:
            found = user_map(services.store)
        found = with_names(services.names, found)
    if as_json:
        print_json(found)
    elif not found:
        say("No event has mentioned a user yet.")
    else:
        rows = [
            (
                one.helpdesk_user_id,
                f"{one.name} {one.email or ''}".strip() if one.name not in (None, one.email) else one.email,
                one.login,
                f"new: {one.why}" if one.new else one.why,
            )
            for one in found
        ]
        table(("GLPI user", "Name, e-mail", "Redmine user", "Why"), rows)


@command(USER, "forget", "deskbridge user forget --email alice@example.org", was="forget")
def forget(
    user_id: Annotated[int | None, id_argument("GLPI_USER_ID", "Id of the GLPI user.")] = None,
    email: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="E-mail address of the person.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Erase a person's data.

    This removes the person's e-mail addresses, login and name from the database. Links between tickets and issues stay,
    so that no duplicates are created. The command is refused while an event of the person is not finished. Delete the
    person in Redmine first. If not, the next metadata sync brings the data back.
    """
    from redis.exceptions import RedisError

    from producer.admin.privacy import forgetting
    from shared.redis import examination

    if (user_id is None) == (email is None):
        raise WrongUsage("choose the person: enter either GLPI_USER_ID or --email")
    if email is not None and "@" not in email:
        raise WrongUsage(f"--email {email} is not an e-mail address")
    with open_services() as services:
        done = forgetting.forget(services.store, user_id, email)
        with suppress(RedisError):  # they expire in a quarter of an hour
            examination.forget(services.redis)
    for warning in done.warnings:
        warn(sentence(warning))
    if as_json:
        print_json(
            {
                "helpdesk_user_ids": sorted(done.person.helpdesk_ids),
                "tracker_user_ids": sorted(done.person.tracker_ids),
                "addresses": len(done.person.mails),
                "changed": done.changed,
                "failed_events": done.failed_events,
            }
        )
        return
    table(("Table", "Rows changed"), sorted(done.changed.items()))
    mails = count(len(done.person.mails), "e-mail address", "e-mail addresses")
    say(
        f"The person was erased, with {mails}.",
        "A person who still exists in Redmine comes back at the next metadata sync, and one in GLPI with the next "
        "event. Delete the person there, then run this command again.",
    )
    if done.failed_events:
        say(
            f"The person has {count(len(done.failed_events), 'failed event')}. "
            "If you replay them, the API user becomes the author."
        )
