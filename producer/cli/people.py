"""Who is who: the tracker's users, and overrides by hand (SPEC section 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from producer.cli.output import console, print_json, say, table, warn
from producer.cli.register import Json, add, fit, fits
from producer.cli.services import open_services
from shared.errors import BridgeError

if TYPE_CHECKING:
    from shared.metadata.reading import Progress
    from shared.metadata.synchronisation import Differences

SLOW_S = 2.0
MOST_NAMED = 20


class NotSynchronised(BridgeError):
    """The tracker could not be read as a whole; the cache is as it was."""


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands of this module."""
    add(app, map_user, panel, "deskbridge map-user 7 5")
    add(app, unmap_user, panel, "deskbridge unmap-user 7")
    add(app, users, panel, "deskbridge users", "deskbridge users --confirm 7", "deskbridge users --json")
    add(app, sync_metadata, panel, "deskbridge sync-metadata", "deskbridge sync-metadata --json")


def map_user(
    helpdesk_user_id: Annotated[int, typer.Argument(metavar="HELPDESK_USER_ID", min=1, callback=fits)],
    tracker_user_id: Annotated[int, typer.Argument(metavar="TRACKER_USER_ID", min=1, callback=fits)],
) -> None:
    """Say who a helpdesk user is on the tracker.

    Needed where the e-mail addresses differ; it comes before a match by e-mail.
    """
    from producer.admin.people import people

    with open_services() as services:
        person = people.map_user(services.store, helpdesk_user_id, tracker_user_id)
    if person is None:
        warn(
            f"tracker user {tracker_user_id} is accepted without a check, since the cache of tracker users is empty: "
            "fill it with `deskbridge sync-metadata`"
        )
    known = f" ({person.login}, {person.name})" if person else ""
    say(f"Helpdesk user {helpdesk_user_id} is tracker user {tracker_user_id}{known}.")


def unmap_user(
    helpdesk_user_id: Annotated[int, typer.Argument(metavar="HELPDESK_USER_ID", min=1, callback=fits)],
) -> None:
    """Take back what map-user said, and whom the e-mail named.

    From now on the e-mail decides, as if for the first time.
    """
    from producer.admin.people import people

    with open_services() as services:
        people.unmap_user(services.store, helpdesk_user_id)
    say(f"Helpdesk user {helpdesk_user_id} is no longer mapped by hand.")


def users(
    confirm: Annotated[
        list[int] | None,
        typer.Option(
            metavar="HELPDESK_USER_ID", min=1, callback=fit, help="Say that a match by e-mail is right."
        ),
    ] = None,
    confirm_all: Annotated[
        bool, typer.Option("--confirm-all", help="Say so of every match that is new.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List helpdesk users, and who they are on the tracker.

    These are the users that events have named, or that were mapped by hand. Those without a match come first: what
    they do is done by the administrator until they are mapped. A match by e-mail is new until it is confirmed.
    """
    from producer.admin.people.people import confirm_matches, user_map

    with open_services() as services:
        if confirm or confirm_all:
            found = confirm_matches(services.store, None if confirm_all else confirm)
        else:
            found = user_map(services.store)
    if as_json:
        print_json(found)
    elif not found:
        say("No event has named anybody yet.")
    else:
        rows = [
            (one.helpdesk_user_id, one.email, one.login, f"new: {one.why}" if one.new else one.why)
            for one in found
        ]
        table(("Helpdesk user", "E-mail", "Tracker user", "Why"), rows)


def sync_metadata(as_json: Json = False) -> None:
    """Read what the tracker offers, and say what changed.

    Users, projects, issue types, statuses and so on. All or nothing: where the tracker cannot be read
    as a whole, the cache stays as it was, and the exit code is 1.
    """
    from producer.admin.configuration.metadata import read_now

    with open_services() as services:
        result = read_now(services, None if as_json else _progress())
    if result.why is not None:
        raise NotSynchronised(result.why)
    if as_json:
        print_json(result.as_json())
        return
    for name, differences in result.parts.items():
        _tell(name.replace("_", " "), differences)


def _tell(noun: str, differences: Differences) -> None:
    parts = [("added", differences.added), ("changed", differences.changed), ("removed", differences.removed)]
    told = ", ".join(f"{len(names)} {word}" for word, names in parts if names) or "no change"
    say(f"{differences.total} {noun}: {told}")
    for word, names in parts:
        if names:
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            say(f"  {word}: {', '.join(names[:MOST_NAMED])}{more}")


def _progress() -> Progress:
    """Return what tells, on a terminal, how far a long reading has come."""
    import time

    err, told = console(stderr=True), time.monotonic()

    def tell(what: str, so_far: int, total: int) -> None:
        nonlocal told
        if err.is_terminal and time.monotonic() - told > SLOW_S:
            err.print(f"{what}: {so_far} of {total}", style="dim")
            told = time.monotonic()

    return tell
