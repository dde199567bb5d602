"""The audit log: who changed what."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from pydantic import AwareDatetime

from producer.admin.presenters.moments import stamp
from producer.admin.presenters.shapes import Answer
from producer.admin.presenters.spreadsheets import csv_line
from producer.admin.records.transaction import Store
from shared.errors import NotFound
from shared.notices.changes import Did
from shared.notices.language import N_
from shared.notices.notice import notice_json
from shared.notices.refusals import Refusal
from shared.notices.render import sentence
from shared.store.configuration.changes import ALL, WantedChanges
from shared.store.tables.configuration import ChangeRecord

AT_ONCE = 500
COLUMNS = ("id", "at", "who", "code", "what", "before", "after")

SUBJECTS: Mapping[str, tuple[str, tuple[Did, ...]]] = {
    "settings": (
        N_("settings"),
        (
            Did.CONFIG_CHANGED,
            Did.KEY_STORED,
            Did.KEY_ROTATED,
            Did.METADATA_READ,
            Did.TRIAL_BEGUN,
            Did.TRIAL_ENDED_SENDING,
            Did.TRIAL_ENDED_DROPPING,
        ),
    ),
    "links": (
        N_("mappings and projects"),
        (Did.LINK_CHANGED, Did.LINK_REMOVED, Did.LINKS_IMPORTED, Did.PROJECT_CREATED),
    ),
    "people": (
        N_("users"),
        (
            Did.PERSON_MAPPED,
            Did.PERSON_UNMAPPED,
            Did.MATCHES_CONFIRMED,
            Did.PERSON_FORGOTTEN,
            Did.AUTHOR_CORRECTED,
        ),
    ),
    "decisions": (N_("decisions"), (Did.HELD_RESOLVED, Did.ADOPTION_TAKEN_BACK, Did.LINK_FORGOTTEN)),
    "events": (N_("events"), (Did.EVENTS_REPLAYED, Did.SAMPLE_SENT, Did.SAMPLE_REMOVED)),
    "templates": (
        N_("templates"),
        (
            Did.TEMPLATE_SAVED,
            Did.TEMPLATE_ACTIVATED,
            Did.TEMPLATE_DEACTIVATED,
            Did.TEMPLATE_ROLLED_BACK,
            Did.TEMPLATE_DELETED,
            Did.DRY_RUN_MADE,
        ),
    ),
    "notifications": (N_("notifications"), (Did.NOTIFICATIONS_SET, Did.NOTIFICATIONS_REMOVED)),
    "recovery": (N_("recovery"), (Did.RECOVERY_BEGUN, Did.RECOVERY_ENDED)),
    "accounts": (
        N_("accounts and tokens"),
        (
            Did.ACCOUNT_ADDED,
            Did.ACCOUNT_DISABLED,
            Did.ACCOUNT_ENABLED,
            Did.RIGHT_CHANGED,
            Did.PASSWORD_CHANGED,
            Did.TOKEN_ADDED,
            Did.TOKEN_ROTATED,
            Did.TOKEN_REVOKED,
        ),
    ),
    "sessions": (N_("sessions"), (Did.SIGNED_IN, Did.SIGNED_OUT)),
}
"""The subjects of changes: the name for people, and the codes of these changes."""


def codes_of(what: str) -> tuple[str, ...]:
    """Return the codes of a subject, or a code itself; empty if the text is neither."""
    if what in SUBJECTS:
        return SUBJECTS[what][1]
    return (what,) if what in list(Did) else ()


def latest_changes(
    store: Store, *, limit: int, below: int | None = None, wanted: WantedChanges = ALL
) -> Sequence[ChangeRecord]:
    """Return changes, newest first."""
    with store.transaction() as tx:
        return tx.changes.find(limit=limit, older_than=below, wanted=wanted)


def change_of(store: Store, change_id: int) -> tuple[ChangeRecord, Any]:
    """Return a change, and for a replay the number of its events in each state, else None.

    Raises:
        NotFound: if there is no such change.
    """
    with store.transaction() as tx:
        found = tx.changes.get(change_id)
        if found is None:
            raise NotFound(Refusal.CHANGE_UNKNOWN(change_id=change_id))
        ids = found.after.get("event_ids") if isinstance(found.after, dict) else None
        return found, tx.events.states_of(ids) if isinstance(ids, list) else None


class Change(Answer):
    """A change that a person made."""

    id: int
    at: AwareDatetime
    who: str
    code: str
    params: dict[str, Any]
    what: str
    before: Any
    after: Any

    @classmethod
    def of(cls, one: ChangeRecord) -> Self:
        """Return a change: code and parameters for programs, a sentence for people."""
        own = {name: getattr(one, name) for name in ("id", "at", "who", "before", "after")}
        return cls(**own, **notice_json(one.notice), what=sentence(one.notice))


def changes_csv(store: Store, wanted: WantedChanges = ALL) -> Iterator[str]:
    """Yield the matching changes as lines of CSV, newest first, in batches."""
    yield csv_line(COLUMNS)
    below: int | None = None
    while rows := latest_changes(store, limit=AT_ONCE, below=below, wanted=wanted):
        yield "".join(csv_line(_cells(one)) for one in rows)
        below = rows[-1].id


def _cells(one: ChangeRecord) -> tuple[object, ...]:
    values = (
        None if value is None else json.dumps(value, ensure_ascii=False) for value in (one.before, one.after)
    )
    return (one.id, stamp(one.at), one.who, one.code, sentence(one.notice), *values)
