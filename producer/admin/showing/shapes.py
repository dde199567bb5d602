"""What the command line's --json and the API show of things: one shape for both."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from shared.notices.notice import notice_json
from shared.notices.render import sentence

if TYPE_CHECKING:
    from shared.notices.kinds import Kind
    from shared.notices.notice import Notice
    from shared.store.configuration.links import Link
    from shared.store.configuration.matching import TrackerPerson
    from shared.store.configuration.metadata import Entry
    from shared.store.tables.configuration import MetadataRun
    from shared.store.tables.journal import JournalEvent
    from shared.store.tables.ledger import LedgerRow

Shape = dict[str, Any]
EVENT = ("id", "key", "event", "ticket_id", "task_id", "state")
TIMES = ("occurred_at", "received_at", "attempts", "next_attempt_at")
RUN = ("started_at", "ended_at", "ok", "counts", "differences")


def reason_json(notice: Notice | None) -> Shape:
    """Return a reason as code, parameters and sentence; nothing where there is none."""
    if notice is None:
        return {"code": None, "params": {}, "reason": None}
    return {**notice_json(notice), "reason": sentence(notice)}


def failure_json(why: Notice | None) -> Shape:
    """Return why something failed, its sentence as `error`; nothing where it did not."""
    told = reason_json(why)
    return {"error": told.pop("reason"), **told}


def warnings_json(warnings: Iterable[Notice]) -> Shape:
    """Return warnings as sentences, and beside them as codes with parameters."""
    told = [reason_json(one) for one in warnings]
    return {"warnings": [one["reason"] for one in told], "cautions": told}


def event_json(row: JournalEvent, why: Notice | None = None) -> Shape:
    """Return an event.

    Args:
        row: the event.
        why: its reason; None: what it says of itself.
    """
    named = {name: getattr(row, name) for name in EVENT}
    return {**named, **reason_json(why or row.notice), **{name: getattr(row, name) for name in TIMES}}


def held_json(kind: Kind, row: LedgerRow) -> Shape:
    """Return what waits for a person."""
    return {
        "kind": str(kind),
        "id": row.key,
        "since": row.changed_at,
        **reason_json(row.notice),
        "sent": row.body,
        "candidates": list(row.candidates or ()),
    }


def link_json(link: Link) -> Shape:
    return {
        "kind": str(link.kind),
        "id": link.helpdesk_id,
        "tracker_project_id": link.tracker_project_id,
        "default_category_id": link.default_category_id,
    }


def run_json(run: MetadataRun) -> Shape:
    """Return the record of a metadata synchronisation."""
    return {**{name: getattr(run, name) for name in RUN}, **failure_json(run.notice)}


def entry_json(entry: Entry) -> Shape:
    """Return an entry of the metadata cache."""
    of_project = {"project_id": entry.tracker_project_id} if entry.tracker_project_id else {}
    return {"id": entry.tracker_id, "name": entry.name, **of_project, **entry.details}


def person_json(person: TrackerPerson) -> Shape:
    """Return a tracker user."""
    return {
        "id": person.tracker_user_id,
        "login": person.login,
        "name": person.name,
        "mail": person.mail,
        "admin": person.admin,
    }


def stamp(moment: Any) -> str:
    """Return a time as ISO 8601 in UTC, with Z.

    Raises:
        TypeError: it is no date and time.
    """
    if not isinstance(moment, datetime):
        raise TypeError(f"{type(moment).__name__} is not JSON")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
