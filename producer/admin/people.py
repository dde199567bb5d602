"""Maps helpdesk users to tracker users by hand (SPEC section 5, rule 4a)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from shared.codes.coded import Coded
from shared.errors import NotFound
from shared.sentences.render import sentence
from shared.store import Store, Transaction
from shared.store.people import TrackerPerson

MOST_NAMED = 10


def map_user(store: Store, helpdesk_user_id: int, tracker_user_id: int) -> TrackerPerson | None:
    """Create or replace the override of a helpdesk user.

    Args:
        store: where the overrides are.
        helpdesk_user_id: the helpdesk's id.
        tracker_user_id: the tracker's id.

    Returns:
        The tracker user, or None where the cache is empty and cannot confirm the id.

    Raises:
        NotFound: the cache is filled and does not hold the tracker user.
    """
    with store.transaction() as tx:
        confirmed = confirm_people(tx, [tracker_user_id])
        tx.people.put_override(helpdesk_user_id, tracker_user_id)
        people = tx.people.cached() if confirmed else []
    return next((person for person in people if person.tracker_user_id == tracker_user_id), None)


@dataclass(frozen=True, slots=True)
class Mapped:
    """Who a helpdesk user is on the tracker, and why.

    Attributes:
        by: `override`, `e-mail`, or None: the administrator acts for them.
        match: why.
    """

    helpdesk_user_id: int
    email: str | None
    by: str | None
    tracker_user_id: int | None
    login: str | None
    match: Coded

    @property
    def why(self) -> str:
        """Why, in English."""
        return sentence(self.match)


def user_map(store: Store) -> list[Mapped]:
    """Return each helpdesk user that events have named or that was mapped by hand, those without a match first."""
    with store.transaction() as tx:
        overrides = tx.people.overrides()
        rows = [(user, tx.people.match(user)) for user in tx.people.seen()]
    found = []
    for user, match in rows:
        by = "override" if user.id in overrides else "e-mail" if match.person else None
        wanted = match.person.tracker_user_id if match.person else overrides.get(user.id)
        login = match.person.login if match.person else None
        found.append(Mapped(user.id, user.email, by, wanted, login, match.why))
    return sorted(found, key=lambda one: (one.login is not None, one.helpdesk_user_id))


def unmap_user(store: Store, helpdesk_user_id: int) -> None:
    """Remove the override of a helpdesk user.

    Raises:
        NotFound: there is none.
    """
    with store.transaction() as tx:
        if not tx.people.remove_override(helpdesk_user_id):
            raise NotFound(f"helpdesk user {helpdesk_user_id} has no override (see `deskbridge users`)")


def confirm_people(tx: Transaction, tracker_user_ids: Collection[int]) -> bool:
    """Check tracker user ids against the cache.

    Returns:
        False where the cache is empty and confirms nothing.

    Raises:
        NotFound: naming the ids that a filled cache does not hold, and some that it does.
    """
    if not tx.people.cached_count():
        return False
    unknown = sorted({one for one in tracker_user_ids if not tx.people.is_cached(one)})
    if unknown:
        known = tx.people.cached()
        named = ", ".join(f"{person.tracker_user_id} ({person.login})" for person in known[:MOST_NAMED])
        more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
        raise NotFound(
            f"the tracker has no active user {', '.join(map(str, unknown))}; there are: {named}{more} "
            "(new ones are known after `deskbridge sync-metadata`)"
        )
    return True
