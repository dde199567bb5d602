"""The ledger: one row per ticket or ticket task, so that a creation has exactly one effect.

Every change is one compare-and-set statement that carries the claim's attempt number as fencing token:
a worker that was stopped and comes back with an older number changes nothing by accident.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
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
    exists,
    func,
    literal,
    or_,
    select,
    text,
    true,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.orm import InstrumentedAttribute

from shared.codes.notice import Notice
from shared.codes.reasons import Reason
from shared.store.configuration.basis import CHANGES
from shared.store.ledger.ledger_queries import NOT_LINKED, LedgerQueries
from shared.store.ledger.transitions import IN_FLIGHT, NOTES, TRANSITIONS, LedgerEvent, LedgerNote
from shared.store.tables.constant import carry_out
from shared.store.tables.explained import keeping
from shared.store.tables.journal import EventState, JournalEvent, RecoveryMode
from shared.store.tables.ledger import GONE, LedgerRow, LedgerState
from shared.store.tables.rows import Rows
from shared.store.tables.types import Insert, Key, clock, insert_for, is_on_postgresql, moment, unindexed

__all__ = ["IN_FLIGHT", "Answered", "Claim", "Ledger", "LedgerRow"]

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
)
JOURNAL, RECOVERY = cast(Table, JournalEvent.__table__), cast(Table, RecoveryMode.__table__)


@dataclass(frozen=True, slots=True)
class Claim:
    """What is stored before a call, so that anyone can settle it afterwards.

    Attributes:
        key: ticket id or ticket-task id.
        event_id: journal event that asked for it.
        tracker_project_id: project of the issue.
        issue_id: tracker issue (time entries only).
        body: the exact request body.
        authors: tracker user ids that may end as author (empty: anyone).
        fingerprint: the same for creations that might not be told apart on the tracker.
        earlier: other bodies that attempts before this one sent without a clear answer.
        attempt_before: the row's attempt number as it was read, 0 where there was no row; None: whatever it is.
        is_newest: only while no newer event of the key waits than the one that asks for it.
        unless_recovering: only while no backup was restored (`shared.store.journal.recovery`).
        basis: only while what it was built from stands (`Configs.basis`); None: whatever was changed.
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
    attempt_before: int | None = None
    is_newest: bool = False
    unless_recovering: bool = False
    basis: int | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """The tracker's own answer to an attempt.

    Attributes:
        key: ticket id or ticket-task id.
        attempt: the attempt.
        tracker_id: what it created.
        author_id: who is its author, as far as it says.
        reason: why the row is linked to it.
    """

    key: int
    attempt: int
    tracker_id: int
    author_id: int | None
    reason: Notice


class Ledger(LedgerQueries):
    """Changes the rows of one kind, within one transaction, as `shared.store.ledger.transitions` says.

    What changes a row tells whether it did: False where the table does not accept it in the row's state, or its guard
    does not hold.
    """

    def claim(self, claim: Claim, lease: float) -> int | None:
        """Claim a free or new row, raising its attempt number.

        Args:
            claim: what is going to be sent.
            lease: seconds in which it may be sent.

        Returns:
            The attempt number, or None where the row is not free, or something is not as it was read.
        """
        return self.claim_all([claim], lease).get(claim.key)

    def claim_all(self, claims: Sequence[Claim], lease: float) -> dict[int, int]:
        """Claim some rows as `claim` does each; return, by key, the attempt numbers of those that were given."""
        kinds = defaultdict[tuple[bool, bool, bool], list[Claim]](list)
        for claim in claims:
            how = claim.is_newest, claim.attempt_before is not None, claim.unless_recovering
            kinds[how].append(claim)
        given = dict[int, int]()
        for (is_newest, as_read, unless_recovering), some in kinds.items():
            insert = insert_for(self._session)
            statement = _claiming(
                insert, self._table, self._key_column, is_newest, as_read, unless_recovering
            )
            rows = (
                {
                    **{name: getattr(one, name) for name in CLAIMED},
                    "before": one.attempt_before or 0,
                    "basis": one.basis,
                }
                for one in sorted(some, key=lambda claim: claim.key)
            )
            claimed = _claimed(self._table).parameters(self._session, rows)
            given.update(dict(carry_out(self._session, statement, {**claimed, "lease": lease})))
        return given

    def keep_others_out(self) -> None:
        """Have nobody else change a row until the transaction ends; in SQLite nobody else can."""
        if is_on_postgresql(self._session):
            self._session.execute(text(f"LOCK TABLE {self._table.name} IN SHARE ROW EXCLUSIVE MODE"))

    def regroup(self, issue_id: int, fingerprint_of: Callable[[dict[str, Any]], str]) -> None:
        """Correct the fingerprints of what is in flight on an issue: a version before took the hours into them."""
        statement = select(self._model).where(
            NOT_LINKED,
            self._model.issue_id == issue_id,
            _among(self._model.state, NOTES[LedgerNote.REGROUPED]),
        )
        for row in self._session.scalars(statement).all():
            fingerprint = fingerprint_of(row.body or {})
            if row.fingerprint != fingerprint:
                same = self._attempt(row.key, row.attempt)
                self._session.execute(update(self._table).where(same).values(fingerprint=fingerprint))

    def link_claimed(self, answers: Sequence[Answered]) -> set[tuple[int, int]]:
        """Link rows that are claimed still, and whose leases run, to their attempts' own answers, in one statement.

        Returns:
            Their keys and attempts. With each other there is more to it: another row holds the id, or somebody else
            was at the row.
        """
        rows = (
            {**{name: getattr(one, name) for name in ANSWERED}, **keeping(one.reason)}
            for one in sorted(answers, key=lambda answer: answer.key)
        )
        linked = _answered(self._table).parameters(self._session, rows)
        statement = _linking(self._table, self._key_column, postgresql=is_on_postgresql(self._session))
        return {(key, attempt) for key, attempt in carry_out(self._session, statement, linked)}

    def link(self, key: int, attempt: int, tracker_id: int, author_id: int | None, reason: Notice) -> bool:
        """Record the tracker's definite answer to an attempt; it wins whatever state the row is in.

        Returns:
            False where the attempt was superseded: the answer is a possible duplicate (`late_answer`).
        """
        return self._move(
            (LedgerEvent.ANSWER, LedgerEvent.ANSWER_WHILE_HELD),
            self._attempt(key, attempt),
            self._model.duplicate.is_(False),
            tracker_id=tracker_id,
            author_id=author_id,
            adopted=False,
            settle_after=None,
            candidates=None,
            **keeping(reason),
        )

    def adopt(
        self,
        key: int,
        attempt: int,
        tracker_id: int,
        author_id: int | None,
        reason: Notice,
        event: LedgerEvent = LedgerEvent.FOUND,
    ) -> bool:
        """Link a row in doubt to what a lookup found; False where it is no longer in doubt."""
        return self._move(
            (event,),
            self._attempt(key, attempt),
            tracker_id=tracker_id,
            author_id=author_id,
            adopted=True,
            settle_after=None,
            candidates=None,
            **keeping(reason),
        )

    def free(
        self, key: int, attempt: int, reason: Notice, event: LedgerEvent = LedgerEvent.NOT_CREATED
    ) -> bool:
        """Give a claim back: refused, never sent, or found to be absent; the attempt number stays."""
        return self._move((event,), self._attempt(key, attempt), settle_after=None, **keeping(reason))

    def doubt(self, key: int, attempt: int, settling: float, reason: Notice) -> bool:
        """Put a claim in doubt: nobody decides before `settling` seconds have gone."""
        return self._move(
            (LedgerEvent.NO_CLEAR_ANSWER,),
            self._attempt(key, attempt),
            unclear=self._one_more,
            settle_after=clock(settling),
            **keeping(reason),
        )

    def expire(self, key: int, attempt: int, settling: float) -> bool:
        """Put a claim in doubt whose lease and settling time ran out; its worker is gone or was stopped."""
        over = self._model.lease_until <= clock(-settling)
        return self._move(
            (LedgerEvent.LEASE_OVER,),
            self._attempt(key, attempt),
            over,
            unclear=self._one_more,
            settle_after=clock(),
            **keeping(Reason.NEVER_TOLD()),
        )

    def another_round(
        self, key: int, attempt: int, due: datetime, reason: Notice, *, count: bool = True
    ) -> bool:
        """Count a lookup that came to no verdict; the next one is due at `due` (database clock)."""
        return self._note(
            LedgerNote.ANOTHER_ROUND,
            self._attempt(key, attempt),
            rounds=self._model.rounds + int(count),
            settle_after=due,
            **keeping(reason),
        )

    def hold(
        self,
        key: int,
        attempt: int | None,
        reason: Notice,
        candidates: Collection[int] = (),
        event: LedgerEvent = LedgerEvent.UNDECIDABLE,
    ) -> bool:
        """Give a row to a person (`deskbridge held`), with the tracker ids that may be it.

        Args:
            key: ticket id or ticket-task id.
            attempt: only if this is still the attempt and unsettled; None: whatever it is (`ISSUE_LOST`).
            reason: why it cannot be decided.
            candidates: tracker ids a person may adopt.
            event: what happened to the attempt.
        """
        where = self._model.key == key if attempt is None else self._attempt(key, attempt)
        happened = LedgerEvent.ISSUE_LOST if attempt is None else event
        found = sorted(set(candidates)) or None
        return self._move((happened,), where, settle_after=None, candidates=found, **keeping(reason))

    def narrow(self, key: int, attempt: int, candidates: Collection[int], reason: Notice) -> bool:
        """Leave a held row fewer candidates, since another row turned out to own some; without any it is free."""
        left = sorted(candidates)
        values = {"candidates": left} if left else {"candidates": None, **keeping(reason)}
        event = LedgerEvent.CANDIDATE_LOST if left else LedgerEvent.LAST_CANDIDATE_LOST
        return self._move((event,), self._attempt(key, attempt), **values)

    def late_answer(self, key: int, tracker_id: int) -> bool:
        """Hold a row whose superseded attempt created `tracker_id` after all: a possible duplicate."""
        row = self.lock(key)
        refused_before = row is not None and row.state != LedgerState.HELD
        known = {row.tracker_id, *(() if refused_before else row.candidates or ())} if row else set()
        ids = sorted(found for found in known | {tracker_id} if found is not None)
        return self._move(
            (LedgerEvent.LATE_ANSWER,),
            self._model.key == key,
            duplicate=True,
            settle_after=None,
            candidates=ids,
            **keeping(Reason.POSSIBLY_TWICE(tracker_ids=ids)),
        )

    def moved(self, key: int, tracker_id: int, tracker_project_id: int) -> bool:
        """Note that an issue belongs to another tracker project than it was known to."""
        where = self._object(key, tracker_id)
        return self._note(LedgerNote.MOVED, where, tracker_project_id=tracker_project_id)

    def belongs_to(self, key: int, tracker_id: int, author_id: int) -> bool:
        """Note that an object has another author now."""
        return self._note(LedgerNote.BELONGS_TO, self._object(key, tracker_id), author_id=author_id)

    def gone(self, key: int, tracker_id: int, reason: Notice) -> bool:
        """Mark a link whose object no longer exists on the tracker."""
        return self._move((LedgerEvent.DELETED,), self._object(key, tracker_id), **keeping(reason))

    def take_from_sibling(self, key: int, tracker_id: int) -> LedgerRow | None:
        """Release a tracker id that another row holds, for the row whose own answer named it.

        A sibling that had adopted it is in doubt again; one that had created it has lost it on the tracker
        (which gave the id away again) and is gone.

        Returns:
            The row that held it, as it was, or None.
        """
        holder = self._session.scalar(
            select(self._model).where(
                self._model.tracker_id == tracker_id,
                self._model.key != key,
                _accepts(self._model.state, LedgerEvent.ADOPTION_TAKEN, LedgerEvent.ID_GIVEN_AWAY),
            )
        )
        if holder is None:
            return None
        where = self._object(holder.key, tracker_id)
        if holder.adopted:
            self._set(
                where,
                state=TRANSITIONS[LedgerEvent.ADOPTION_TAKEN].target,
                tracker_id=None,
                adopted=False,
                duplicate=False,
                settle_after=clock(),
                **keeping(Reason.OWNED_BY_ANOTHER(tracker_id=tracker_id, kind=self.kind, key=key)),
            )
        else:
            lost = Reason.ID_GIVEN_AWAY(tracker_id=tracker_id, kind=self.kind, key=key)
            self._set(where, state=TRANSITIONS[LedgerEvent.ID_GIVEN_AWAY].target, **keeping(lost))
        return holder

    def resolve(
        self, key: int, tracker_id: int | None, reason: Notice, tracker_project_id: int | None = None
    ) -> bool:
        """Carry out a person's verdict on a held or gone row: adopt an id, or (None) create again.

        The candidates that a person has refused so are kept: no lookup takes one of them again.

        Args:
            key: ticket id or ticket-task id.
            tracker_id: what is adopted.
            reason: the verdict.
            tracker_project_id: where that is, as far as it was seen; None: where it was.
        """
        adopting = tracker_id is not None
        return self._move(
            (LedgerEvent.PERSON_ADOPTS if adopting else LedgerEvent.PERSON_CREATES_AGAIN,),
            self._model.key == key,
            tracker_id=tracker_id,
            adopted=adopting,
            attempt=self._model.attempt + 1,
            duplicate=False,
            first_claimed_at=None,
            unclear=None,
            earlier=None,
            settle_after=None,
            candidates=None if adopting else self._model.candidates,
            tracker_project_id=func.coalesce(tracker_project_id, self._model.tracker_project_id),
            **keeping(reason),
        )

    def take_over(
        self,
        key: int,
        ticket_id: int,
        tracker_id: int,
        *,
        tracker_project_id: int | None,
        issue_id: int | None,
        author_id: int | None,
    ) -> bool:
        """Link a new or free row to what another installation created; False where the row is neither."""
        values: dict[str, Any] = {
            "ticket_id": ticket_id,
            "state": TRANSITIONS[LedgerEvent.TAKEN_OVER].target,
            "tracker_project_id": tracker_project_id,
            "issue_id": issue_id,
            "tracker_id": tracker_id,
            "author_id": author_id,
            "rounds": 0,
            "adopted": True,
            "duplicate": False,
            "settle_after": None,
            **keeping(Reason.TAKEN_OVER()),
            "changed_at": clock(),
        }
        statement = (
            insert_for(self._session)(self._table)
            .values({**values, self._key_column: key, "attempt": 1})
            .on_conflict_do_update(
                index_elements=[self._key_column],
                set_={**values, "attempt": self._model.attempt + 1},
                where=_accepts(self._model.state, LedgerEvent.TAKEN_OVER),
            )
            .returning(self._model.attempt)
        )
        return self._session.scalar(statement) is not None

    def forget(self, key: int, tracker_id: int, reason: Notice) -> bool:
        """Free a link whose object went away together with another: it is to be created anew."""
        return self._move(
            (LedgerEvent.WENT_WITH_ISSUE,),
            self._object(key, tracker_id),
            tracker_id=None,
            adopted=False,
            first_claimed_at=None,
            attempt=self._model.attempt + 1,
            **keeping(reason),
        )

    def unlink(self, key: int, tracker_id: int) -> bool:
        """Free a link that a person has had forgotten, though its object is still there; no lookup takes that again."""
        return self._move(
            (LedgerEvent.PERSON_FORGETS,),
            self._object(key, tracker_id),
            tracker_id=None,
            adopted=False,
            author_id=None,
            attempt=self._model.attempt + 1,
            first_claimed_at=None,
            unclear=None,
            earlier=None,
            settle_after=None,
            candidates=[tracker_id],
            **keeping(Reason.LINK_FORGOTTEN(tracker_id=tracker_id)),
        )

    @property
    def _one_more(self) -> ColumnElement[int]:
        return func.coalesce(self._model.unclear, 0) + 1

    def _attempt(self, key: int, attempt: int) -> ColumnElement[bool]:
        return and_(self._model.key == key, self._model.attempt == attempt)

    def _object(self, key: int, tracker_id: int) -> ColumnElement[bool]:
        return and_(self._model.key == key, self._model.tracker_id == tracker_id)

    def _move(
        self,
        events: Sequence[LedgerEvent],
        where: ColumnElement[bool],
        *guards: ColumnElement[bool],
        **values: Any,
    ) -> bool:
        """Bring a row to the state that the table names, if it is in one in which the table accepts an event."""
        accepted = _accepts(self._model.state, *events)
        return self._set(and_(where, accepted, *guards), state=TRANSITIONS[events[0]].target, **values)

    def _note(self, note: LedgerNote, where: ColumnElement[bool], **values: Any) -> bool:
        return self._set(and_(where, _among(self._model.state, NOTES[note])), **values)

    def _set(self, where: ColumnElement[bool], **values: Any) -> bool:
        statement = (
            update(self._table)
            .where(where)
            .values(**values, changed_at=clock())
            .returning(self._model.attempt)
        )
        return self._session.scalar(statement) is not None


State = ColumnElement[str] | InstrumentedAttribute[str]


def _accepts(state: State, *events: LedgerEvent) -> ColumnElement[bool]:
    """Return that a row is in a state in which the table accepts one of some events."""
    return _among(state, [one for event in events for one in TRANSITIONS[event].sources])


def _among(state: State, states: Collection[LedgerState | None]) -> ColumnElement[bool]:
    """Return that a row is in one of some states, said as the indexes need it."""
    some = [one for one in states if one is not None]
    if set(some) == set(LedgerState):
        return true()
    if set(LedgerState).difference(some) == {LedgerState.GONE}:
        return state != GONE
    return state == some[0] if len(some) == 1 else state.in_(some)


@cache
def _claimed(table: Table) -> Rows:
    """Return the rows of some claims."""
    columns = table.c
    types = {name: columns[name].type for name in CLAIMED if name != "key"}
    return Rows({"key": Key, **types, "before": Key, "basis": Key})


@cache
def _answered(table: Table) -> Rows:
    """Return the rows of some answers."""
    explained = {name: table.c[name].type for name in keeping(None)}
    return Rows({**dict.fromkeys(ANSWERED, Key), **explained})


@cache
def _claiming(
    insert: Insert, table: Table, key_column: str, is_newest: bool, as_read: bool, unless_recovering: bool
) -> Any:
    """Return the statement of some claims; made once, since that costs more than to carry it out."""
    columns, claimed = table.c, _claimed(table).table(postgresql=insert is postgresql_insert).c
    names = [one.name for one in claimed if one.name in columns and one.name != key_column]
    values: dict[str, ColumnElement[Any]] = {
        **{name: claimed[name] for name in names if name != "key"},
        "state": _constant(columns.state, TRANSITIONS[LedgerEvent.CLAIM].target),
        "claimed_at": clock(),
        "lease_until": clock(bindparam("lease", type_=Float)),
        "settle_after": _constant(columns.settle_after, None),
        "rounds": _constant(columns.rounds, 0),
        "adopted": _constant(columns.adopted, False),
        "duplicate": _constant(columns.duplicate, False),
        **{name: _constant(columns[name], value) for name, value in keeping(None).items()},
        "changed_at": clock(),
    }
    # an attempt is one more than what was read, 0 where there was no row
    first = {key_column: claimed.key, "attempt": claimed.before + 1, "first_claimed_at": clock()}
    stands = or_(claimed.basis.is_(None), claimed.basis == CHANGES)
    row = select(*(value.label(name) for name, value in (values | first).items())).where(stands)
    if unless_recovering:
        row = row.where(~exists().select_from(RECOVERY))
    if is_newest:
        this, newer = JOURNAL.alias(), JOURNAL.alias()
        is_newer = tuple_(this.c.occurred_at, this.c.sequence, this.c.id) < tuple_(
            newer.c.occurred_at, newer.c.sequence, newer.c.id
        )
        waits = (newer.c.key == this.c.key, newer.c.state == EventState.PENDING)
        row = row.where(~exists().where(this.c.id == claimed.event_id, *waits, is_newer))
    inserting = insert(table).from_select(list(row.selected_columns.keys()), row)
    new = inserting.excluded
    is_free = _accepts(columns.state, LedgerEvent.CLAIM)
    if as_read:
        is_free = and_(is_free, columns.attempt == new.attempt - 1)
    again = {
        "attempt": columns.attempt + 1,
        "first_claimed_at": func.coalesce(columns.first_claimed_at, new.first_claimed_at),
    }
    return inserting.on_conflict_do_update(
        index_elements=[key_column], set_={**{name: new[name] for name in values}, **again}, where=is_free
    ).returning(columns[key_column], columns.attempt)


@cache
def _linking(table: Table, key_column: str, *, postgresql: bool) -> Any:
    """Return the statement of `link_claimed`; made once."""
    columns, other = table.c, table.alias()
    answered = _answered(table).table(postgresql=postgresql).c
    held = exists().where(
        other.c.tracker_id == answered.tracker_id,
        other.c[key_column] != answered.key,
        other.c.state != GONE,
    )
    return (
        update(table)
        .where(
            columns[key_column] == answered.key,
            columns.attempt == answered.attempt,
            _accepts(unindexed(columns.state), LedgerEvent.ANSWER_IN_TIME),
            columns.lease_until > moment(),
            columns.duplicate.is_(False),
            ~held,
        )
        .values(
            state=TRANSITIONS[LedgerEvent.ANSWER_IN_TIME].target,
            tracker_id=answered.tracker_id,
            author_id=answered.author_id,
            adopted=False,
            settle_after=None,
            candidates=None,
            changed_at=clock(),
            **{name: answered[name] for name in keeping(None)},
        )
        .returning(columns[key_column], columns.attempt)
    )


def _constant(column: ColumnElement[Any], value: object) -> ColumnElement[Any]:
    return literal(value, column.type)
