"""User mappings: help desk user to tracker user, set by a person (SPEC section 5, rule 4a)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from producer.admin.naming.names import Names
from producer.admin.presenters.shapes import WithNotice
from producer.admin.records.people_search import Everybody
from producer.admin.records.transaction import Store
from shared.errors import NotFound
from shared.events import snapshots
from shared.metadata.confirming import confirm_people
from shared.notices.changes import Did
from shared.notices.notice import notice_json
from shared.notices.refusals import Refusal
from shared.notices.render import sentence
from shared.store.configuration.matching import Match, TrackerPerson

MOST_NAMED = 10


def map_user(store: Store, helpdesk_user_id: int, tracker_user_id: int) -> TrackerPerson | None:
    """Create or replace the user mapping of a help desk user.

    Args:
        store: the database.
        helpdesk_user_id: the help desk's id.
        tracker_user_id: the tracker's id.

    Returns:
        The tracker user, or None if the cache is empty and cannot confirm the id.

    Raises:
        NotFound: if the cache is filled but lacks the tracker user.
    """
    with store.transaction() as tx:
        confirmed = confirm_people(tx, [tracker_user_id])
        before = tx.people.overrides().get(helpdesk_user_id)
        tx.people.put_override(helpdesk_user_id, tracker_user_id)
        did = Did.PERSON_MAPPED(helpdesk_user_id=helpdesk_user_id, tracker_user_id=tracker_user_id)
        tx.changes.note(did, before=before, after=tracker_user_id)
        people = tx.people.cached() if confirmed else []
    return next((person for person in people if person.tracker_user_id == tracker_user_id), None)


class HelpdeskUser(WithNotice):
    """A GLPI user and the matching Redmine user.

    `by`: `override` (a user mapping), `e-mail`, or null; then the API user acts for the user. `new`: no one has
    confirmed the match by e-mail. `waits`: the e-mail address now matches another Redmine user, and someone has to
    decide. `name` and `tracker_name`: names in GLPI and in Redmine, if known.
    """

    helpdesk_user_id: int
    email: str | None
    by: str | None
    tracker_user_id: int | None
    login: str | None
    name: str | None = None
    tracker_name: str | None = None
    new: bool
    waits: bool
    why: str

    sentence_name = "why"


def tracker_users(store: Store) -> Sequence[TrackerPerson]:
    """Return the cached tracker users, by login."""
    with store.transaction() as tx:
        return tx.people.cached()


def find_tracker_users(store: Store, text: str, most: int) -> Sequence[TrackerPerson]:
    """Return tracker users by login, name or address."""
    with store.transaction() as tx:
        return tx.people.search(text, most)


def logins_of(store: Store, tracker_user_ids: Iterable[int]) -> dict[int, str]:
    """Return the logins of tracker users by their ids, as far as they are cached."""
    with store.transaction() as tx:
        return tx.people.named(tracker_user_ids)


def user_map(store: Store) -> list[HelpdeskUser]:
    """Return each help desk user that events have named or that has a mapping, those without a match first."""
    with store.transaction() as tx:
        config, _ = tx.configs.get()
        overrides = tx.people.overrides()
        matches = tx.people.match_all(administrators=config.match_administrators)
    found = [_mapped(user, match, overrides.get(user.id)) for user, match in matches]
    return sorted(found, key=lambda one: (one.login is not None, not one.new, one.helpdesk_user_id))


def user_map_page(
    store: Store, *, find: str = "", only: str = "", limit: int, after: int = 0
) -> tuple[list[HelpdeskUser], Everybody]:
    """Return a page of these users in the same order, and how many there are in all.

    Args:
        store: the database.
        find: a text that their number, e-mail or login contains.
        only: `unmatched` or `new`; else all.
        limit: how many.
        after: how many to skip before them.
    """
    with store.transaction() as tx:
        administrators = tx.configs.get()[0].match_administrators
        wanted, counted = tx.helpdesk_users.page(
            find=find, only=only, administrators=administrators, limit=limit, after=after
        )
        overrides = tx.people.overrides([one.id for one in wanted])
        matches = tx.people.match_all(wanted, administrators=administrators)
    return [_mapped(user, match, overrides.get(user.id)) for user, match in matches], counted


def with_names(names: Names, users: Iterable[HelpdeskUser]) -> list[HelpdeskUser]:
    """Return help desk users with their names in GLPI."""
    return [
        one.model_copy(update={"name": names.name("person", one.helpdesk_user_id) or one.name})
        for one in users
    ]


def mapped_person(store: Store, helpdesk_user_id: int) -> HelpdeskUser:
    """Return who a help desk user is on the tracker, even if no event has named this user."""
    with store.transaction() as tx:
        administrators = tx.configs.get()[0].match_administrators
        email = tx.people.email_of(helpdesk_user_id)
        user = snapshots.HelpdeskUser.model_construct(id=helpdesk_user_id, email=email)
        override = tx.people.overrides([helpdesk_user_id]).get(helpdesk_user_id)
        ((_, match),) = tx.people.match_all([user], administrators=administrators)
    return _mapped(user, match, override)


def _mapped(user: snapshots.HelpdeskUser, match: Match, override: int | None) -> HelpdeskUser:
    person = match.person
    return HelpdeskUser(
        helpdesk_user_id=user.id,
        email=user.email,
        by="override" if override is not None else "e-mail" if person else None,
        tracker_user_id=person.tracker_user_id if person else override,
        login=person.login if person else None,
        tracker_name=person.name if person else None,
        new=person is not None and not match.confirmed,
        waits=match.waits,
        why=sentence(match.why),
        **notice_json(match.why),
    )


def confirm_matches(store: Store, helpdesk_user_ids: Collection[int] | None) -> list[HelpdeskUser]:
    """Confirm that matches by e-mail are right.

    Args:
        store: the database.
        helpdesk_user_ids: the users; None: all with a new match.

    Returns:
        The users whose match is now confirmed, also if it was before.

    Raises:
        NotFound: if users have no match by e-mail; it names them, and nothing was confirmed.
    """
    found = {one.helpdesk_user_id: one for one in user_map(store)}
    wanted = helpdesk_user_ids
    if wanted is None:
        wanted = [one.helpdesk_user_id for one in found.values() if one.new]
    matched = [one for number in wanted if (one := found.get(number)) and one.by == "e-mail"]
    if missing := sorted(set(wanted) - {one.helpdesk_user_id for one in matched}):
        raise NotFound(Refusal.NO_MATCH_TO_CONFIRM(people=missing))
    with store.transaction() as tx:
        for one in matched:
            tx.people.confirm(one.helpdesk_user_id, one.tracker_user_id or 0)
        if matched:
            people = [one.helpdesk_user_id for one in matched]
            tx.changes.note(Did.MATCHES_CONFIRMED(count=len(people), people=people[:MOST_NAMED]))
    return [one.model_copy(update={"new": False}) for one in matched]


def unmap_user(store: Store, helpdesk_user_id: int) -> None:
    """Remove the mapping of a help desk user, and forget the match by e-mail.

    Raises:
        NotFound: if there is neither.
    """
    with store.transaction() as tx:
        before = tx.people.overrides().get(helpdesk_user_id)
        if not (tx.people.remove_override(helpdesk_user_id) | tx.people.remove_pin(helpdesk_user_id)):
            raise NotFound(Refusal.OVERRIDE_UNKNOWN(helpdesk_user_id=helpdesk_user_id))
        tx.changes.note(Did.PERSON_UNMAPPED(helpdesk_user_id=helpdesk_user_id), before=before)
