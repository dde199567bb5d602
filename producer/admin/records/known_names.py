"""Reads names: GLPI's from events, Redmine's from the metadata cache."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import literal, select, union_all
from sqlalchemy.orm import Session

from shared.store.tables.configuration import HelpdeskPerson, MetadataRow, TrackerUser
from shared.store.tables.journal import TicketState

NEWEST = 2000
"""Number of newest tickets whose names are read."""

ByKind = Mapping[str, Mapping[int, str]]
PEOPLE, PLACES = ("technician", "requester"), ("entity", "project")
REDMINE_PROJECT = "project"


class KnownNames:
    """Reads names within one transaction.

    Args:
        session: the transaction.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def all(self) -> dict[str, dict[int, str]]:
        """Return every name by kind and number: `person`, `entity`, `project`, `user`, and the kinds of the metadata.

        The projects of Redmine are `tracker_project`. A person without a known name has the e-mail as name.
        """
        found = self._stored()
        for kind, names in self._in_tickets().items():
            found[kind].update(names)
        return dict(found)

    def titles(self, ticket_ids: Collection[int]) -> dict[int, str]:
        """Return the titles of some tickets, as far as they are known."""
        wanted = select(TicketState.ticket_id, TicketState.snapshot)
        rows = self._session.execute(wanted.where(TicketState.ticket_id.in_(ticket_ids)))
        return {ticket_id: title for ticket_id, snapshot in rows if (title := snapshot.get("title"))}

    def _stored(self) -> defaultdict[str, dict[int, str]]:
        people = select(literal("person"), HelpdeskPerson.helpdesk_user_id, HelpdeskPerson.email)
        users = select(literal("user"), TrackerUser.tracker_user_id, TrackerUser.name)
        offered = select(MetadataRow.kind, MetadataRow.tracker_id, MetadataRow.name)
        found = defaultdict[str, dict[int, str]](dict)
        rows: Any = self._session.execute(union_all(people, users, offered))
        for kind, number, name in rows:
            if name:
                found["tracker_project" if kind == REDMINE_PROJECT else kind][number] = name
        return found

    def _in_tickets(self) -> ByKind:
        newest = select(TicketState.snapshot).order_by(TicketState.ticket_id.desc()).limit(NEWEST)
        found = defaultdict[str, dict[int, str]](dict)
        for snapshot in self._session.scalars(newest):
            for role in PEOPLE:
                person: Any = snapshot.get(role) or {}
                if person.get("name"):
                    found["person"].setdefault(person.get("id"), person["name"])
            for place in PLACES:
                number, name = snapshot.get(f"{place}_id"), snapshot.get(f"{place}_name")
                if name and number is not None:
                    found[place].setdefault(number, name)
        return found
