"""The bulk statements that claim and link rows, and the conditions on the states of the transition table.

Each statement is built once, because building it costs more than executing it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    Float,
    Table,
    and_,
    bindparam,
    case,
    exists,
    func,
    literal,
    or_,
    select,
    true,
    tuple_,
    update,
)
from sqlalchemy.orm import InstrumentedAttribute

from shared.events.event import TICKET_DELETED
from shared.notices.notice import Notice
from shared.store.configuration.basis import CHANGES
from shared.store.ledger.transitions import TRANSITIONS, LedgerEvent
from shared.store.tables.explained import reason_columns
from shared.store.tables.functions import Rows, unindexed
from shared.store.tables.journal import EventState, JournalEvent, RecoveryMode
from shared.store.tables.ledger import GONE, LedgerRow, LedgerState, key_column, own
from shared.store.tables.types import Insert, Key, clock, moment

ANSWERED = ("key", "attempt", "tracker_id", "author_id")
CLAIMED = (
    "key",
    "ticket_id",
    "event_id",
    "tracker_project_id",
    "issue_id",
    "body",
    "authors",
    "fingerprint",
    "earlier",
    "newest_before",
    "item_created_at",
)
JOURNAL, RECOVERY = cast(Table, JournalEvent.__table__), cast(Table, RecoveryMode.__table__)
State = ColumnElement[str] | InstrumentedAttribute[str]


@dataclass(frozen=True, slots=True)
class Claim:
    """The data stored before a request, so that its outcome can be resolved afterwards.

    Attributes:
        key: the row's key.
        event_id: journal event that requires the creation.
        tracker_project_id: project of the issue.
        issue_id: tracker issue that the object is created on; None if the object is an issue.
        body: the exact request body.
        authors: tracker user ids that may become the author; empty allows anyone.
        fingerprint: equal for creations whose objects may be indistinguishable on the tracker.
        earlier: different bodies that earlier attempts sent without a clear answer.
        newest_before: the newest tracker id of the series before the request; None: the newest that the ledger knows.
        item_created_at: when the help desk created what the creation is for, if known.
        attempt_before: the attempt number that the row must still have, 0 if there was no row; None accepts any.
        is_newest: claim only if the event is pending, and no event of the key and no deletion of the ticket is pending
            that is newer.
        unless_recovering: claim only if no backup was restored (`shared.store.journal.recovery`).
        basis: the settings version of the request (`Configs.basis`), which must still be current; None accepts any.
    """

    key: int
    ticket_id: int
    event_id: int
    tracker_project_id: int
    issue_id: int | None
    body: dict[str, Any]
    authors: list[int]
    fingerprint: str
    earlier: list[dict[str, Any]] | None = None
    newest_before: int | None = None
    item_created_at: datetime | None = None
    attempt_before: int | None = None
    is_newest: bool = False
    unless_recovering: bool = False
    basis: int | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """The tracker's own answer to an attempt.

    Attributes:
        key: the row's key.
        attempt: the attempt number.
        tracker_id: id of the created object.
        author_id: the object's author, if the answer names one.
        reason: why the row is linked to the object.
        created_on: when the object was created, if the answer says so.
    """

    key: int
    attempt: int
    tracker_id: int
    author_id: int | None
    reason: Notice
    created_on: datetime | None = None


@cache
def claiming(
    insert: Insert, model: type[LedgerRow], is_newest: bool, as_read: bool, unless_recovering: bool
) -> Any:
    """Return the statement that claims rows.

    Args:
        insert: the dialect's own INSERT.
        model: the rows of one kind.
        is_newest: as in `Claim`.
        as_read: claim a row only if its attempt number is still `attempt_before`.
        unless_recovering: as in `Claim`.
    """
    table = cast(Table, model.__table__)
    of_key = key_column(model)
    columns, claimed = table.c, claimed_rows(table).table().c
    names = [one.name for one in claimed if one.name in columns and one.name != of_key]
    linked = table.alias().c
    newest_linked = select(func.max(linked.tracker_id)).where(linked.state != GONE).scalar_subquery()
    values: dict[str, ColumnElement[Any]] = {
        **{name: claimed[name] for name in names if name != "key"},
        "newest_before": func.coalesce(claimed.newest_before, newest_linked),
        "state": _constant(columns.state, TRANSITIONS[LedgerEvent.CLAIM].target),
        "claimed_at": clock(),
        "lease_until": clock(bindparam("lease", type_=Float)),
        "settle_after": _constant(columns.settle_after, None),
        "rounds": _constant(columns.rounds, 0),
        "adopted": _constant(columns.adopted, False),
        "duplicate": _constant(columns.duplicate, False),
        **{name: _constant(columns[name], value) for name, value in reason_columns(None).items()},
        "changed_at": clock(),
    }
    # one more than the number that was read, which is 0 if there was no row
    first = {of_key: claimed.key, "attempt": claimed.before + 1, "first_claimed_at": clock()}
    if own(model):
        first["kind"] = _constant(columns.kind, str(model.kind))
    stands = or_(claimed.basis.is_(None), claimed.basis == CHANGES)
    row = select(*(value.label(name) for name, value in (values | first).items())).where(stands)
    if unless_recovering:
        row = row.where(~exists().select_from(RECOVERY))
    if is_newest:
        row = row.where(
            _is_pending(claimed.event_id),
            ~_is_overtaken(claimed.event_id, of_ticket=False),
            ~_is_overtaken(claimed.event_id, of_ticket=True),
        )
    inserting = insert(table).from_select(list(row.selected_columns.keys()), row)
    new = inserting.excluded
    is_free = accepts(columns.state, LedgerEvent.CLAIM)
    if as_read:
        is_free = and_(is_free, columns.attempt == new.attempt - 1)
    may_have_acted = and_(columns.first_claimed_at.is_not(None), columns.unclear > 0)
    again = {
        "attempt": columns.attempt + 1,
        "first_claimed_at": func.coalesce(columns.first_claimed_at, new.first_claimed_at),
        "newest_before": case((may_have_acted, columns.newest_before), else_=new.newest_before),
    }
    return inserting.on_conflict_do_update(
        index_elements=[one.name for one in table.primary_key],
        set_={**{name: new[name] for name in values}, **again},
        where=is_free,
    ).returning(columns[of_key], columns.attempt)


def _is_pending(event_id: ColumnElement[int]) -> ColumnElement[bool]:
    """Match an event that no other worker has ended, for example because its item is private now."""
    this = JOURNAL.alias()
    return exists().where(this.c.id == event_id, unindexed(this.c.state) == EventState.PENDING)


def _is_overtaken(event_id: ColumnElement[int], *, of_ticket: bool) -> ColumnElement[bool]:
    """Match an event if a newer one is pending: a deletion of its ticket if `of_ticket`, else one of the same key.

    The two are separate conditions, so that each uses its own index.
    """
    this, newer = JOURNAL.alias(), JOURNAL.alias()
    is_newer = tuple_(this.c.occurred_at, this.c.sequence, this.c.id) < tuple_(
        newer.c.occurred_at, newer.c.sequence, newer.c.id
    )
    same = (
        and_(newer.c.ticket_id == this.c.ticket_id, newer.c.event == TICKET_DELETED)
        if of_ticket
        else newer.c.key == this.c.key
    )
    return exists().where(this.c.id == event_id, same, newer.c.state == EventState.PENDING, is_newer)


@cache
def linking(model: type[LedgerRow]) -> Any:
    """Return the statement of `Ledger.link_claimed`."""
    table, of_key = cast(Table, model.__table__), key_column(model)
    columns, other = table.c, table.alias()
    answered = answered_rows(table).table().c
    is_other = other.c[of_key] != answered.key
    held = exists().where(
        other.c.tracker_id == answered.tracker_id,
        or_(is_other, other.c.kind != str(model.kind)) if own(model) else is_other,
        other.c.state != GONE,
    )
    return (
        update(table)
        .where(
            columns[of_key] == answered.key,
            *own(model),
            columns.attempt == answered.attempt,
            accepts(unindexed(columns.state), LedgerEvent.ANSWER_IN_TIME),
            columns.lease_until > moment(),
            columns.duplicate.is_(False),
            ~held,
        )
        .values(
            state=TRANSITIONS[LedgerEvent.ANSWER_IN_TIME].target,
            tracker_id=answered.tracker_id,
            author_id=answered.author_id,
            created_on=answered.created_on,
            adopted=False,
            settle_after=None,
            candidates=None,
            changed_at=clock(),
            **{name: answered[name] for name in reason_columns(None)},
        )
        .returning(columns[of_key], columns.attempt)
    )


@cache
def claimed_rows(table: Table) -> Rows:
    """Return the row format in which claims are passed to their statement."""
    columns = table.c
    types = {name: columns[name].type for name in CLAIMED if name != "key"}
    return Rows({"key": Key, **types, "before": Key, "basis": Key})


@cache
def answered_rows(table: Table) -> Rows:
    """Return the row format in which answers are passed to their statement."""
    others = {name: table.c[name].type for name in ("created_on", *reason_columns(None))}
    return Rows({**dict.fromkeys(ANSWERED, Key), **others})


def accepts(state: State, *events: LedgerEvent) -> ColumnElement[bool]:
    """Match rows in a state in which the transition table accepts one of these events."""
    return is_in_state(state, [one for event in events for one in TRANSITIONS[event].sources])


def is_in_state(state: State, states: Collection[LedgerState | None]) -> ColumnElement[bool]:
    """Match rows in one of these states, written in a form for which the indexes can be used."""
    some = [one for one in states if one is not None]
    if set(some) == set(LedgerState):
        return true()
    if set(LedgerState).difference(some) == {LedgerState.GONE}:
        return state != GONE
    return state == some[0] if len(some) == 1 else state.in_(some)


def _constant(column: ColumnElement[Any], value: object) -> ColumnElement[Any]:
    return literal(value, column.type)
