"""The ledger: one row per ticket or ticket task, so that a creation has exactly one effect (DESIGN "The ledger").

Every change is one compare-and-set statement that carries the claim's attempt number as fencing token:
a worker that was stopped and comes back with an older number changes nothing by accident.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, func, literal, select, tuple_, update
from sqlalchemy.orm import aliased

from shared.codes.coded import Coded
from shared.codes.reasons import Reason
from shared.store.explained import keeping
from shared.store.ledger_queries import IN_FLIGHT, NOT_LINKED, LedgerQueries, Row
from shared.store.models import EventState, JournalEvent, LedgerState
from shared.store.types import clock, insert_for

__all__ = ["IN_FLIGHT", "Claim", "Ledger", "Row"]


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


class Ledger(LedgerQueries):
    """Changes the rows of one kind, within one transaction."""

    def claim(self, claim: Claim, lease: float) -> int | None:
        """Claim a free or new row, raising its attempt number.

        Args:
            claim: what is going to be sent.
            lease: seconds in which it may be sent.

        Returns:
            The attempt number, or None where the row is not free, or something is not as it was read.
        """
        values: dict[str, Any] = {
            "ticket_id": claim.ticket_id,
            "state": LedgerState.CLAIMED,
            "event_id": claim.event_id,
            "tracker_project_id": claim.tracker_project_id,
            "issue_id": claim.issue_id,
            "body": claim.body,
            "authors": claim.authors,
            "fingerprint": claim.fingerprint,
            "earlier": claim.earlier,
            "claimed_at": clock(),
            "lease_until": clock(lease),
            "settle_after": None,
            "rounds": 0,
            "adopted": False,
            "duplicate": False,
            **keeping(None),
            "changed_at": clock(),
        }
        first = {self._key_column: claim.key, "attempt": 1, "first_claimed_at": clock()}
        again = {
            "attempt": self._model.attempt + 1,
            "first_claimed_at": func.coalesce(self._model.first_claimed_at, clock()),
        }
        is_free = self._model.state == LedgerState.FREE
        if claim.attempt_before is not None:
            is_free = and_(is_free, self._model.attempt == claim.attempt_before)
        inserted = self._values({**values, **first}, claim)
        statement = (
            insert_for(self._session)(self._table)
            .from_select(list(inserted.selected_columns.keys()), inserted)
            .on_conflict_do_update(index_elements=[self._key_column], set_={**values, **again}, where=is_free)
            .returning(self._model.attempt)
        )
        attempt: int | None = self._session.scalar(statement)
        return attempt

    def _values(self, values: dict[str, Any], claim: Claim) -> Select[Any]:
        """Return a claim's values as a row, or as none where a newer event of its key waits."""
        columns = self._table.c
        row = select(
            *(
                (value if isinstance(value, ColumnElement) else literal(value, columns[name].type)).label(
                    name
                )
                for name, value in values.items()
            )
        )
        if not claim.is_newest:
            return row.where(literal(True))
        this, newer = aliased(JournalEvent), aliased(JournalEvent)
        is_newer = tuple_(this.occurred_at, this.sequence, this.id) < tuple_(
            newer.occurred_at, newer.sequence, newer.id
        )
        waits = (newer.key == this.key, newer.state == EventState.PENDING)
        return row.where(~exists().where(this.id == claim.event_id, *waits, is_newer))

    def regroup(self, issue_id: int, fingerprint_of: Callable[[dict[str, Any]], str]) -> None:
        """Correct the fingerprints of what is in flight on an issue: a version before took the hours into them."""
        statement = select(self._model).where(
            NOT_LINKED, self._model.issue_id == issue_id, self._model.state.in_(IN_FLIGHT)
        )
        for row in self._session.scalars(statement).all():
            fingerprint = fingerprint_of(row.body or {})
            if row.fingerprint != fingerprint:
                same = self._attempt(row.key, row.attempt)
                self._session.execute(update(self._table).where(same).values(fingerprint=fingerprint))

    def link(self, key: int, attempt: int, tracker_id: int, author_id: int | None, reason: Coded) -> bool:
        """Record the tracker's definite answer to an attempt; it wins whatever state the row is in.

        Returns:
            False where the attempt was superseded: the answer is a possible duplicate (`late_answer`).
        """
        return self._set(
            and_(self._attempt(key, attempt), self._model.duplicate.is_(False)),
            state=LedgerState.LINKED,
            tracker_id=tracker_id,
            author_id=author_id,
            adopted=False,
            settle_after=None,
            candidates=None,
            **keeping(reason),
        )

    def adopt(self, key: int, attempt: int, tracker_id: int, author_id: int | None, reason: Coded) -> bool:
        """Link a row in doubt to what a lookup found; False where it is no longer in doubt."""
        return self._set(
            and_(self._attempt(key, attempt), self._model.state == LedgerState.IN_DOUBT),
            state=LedgerState.LINKED,
            tracker_id=tracker_id,
            author_id=author_id,
            adopted=True,
            settle_after=None,
            candidates=None,
            **keeping(reason),
        )

    def free(self, key: int, attempt: int, reason: Coded) -> bool:
        """Give a claim back: refused, never sent, or found to be absent; the attempt number stays."""
        return self._set(
            and_(self._attempt(key, attempt), self._model.state.in_(IN_FLIGHT)),
            state=LedgerState.FREE,
            settle_after=None,
            **keeping(reason),
        )

    def doubt(self, key: int, attempt: int, settling: float, reason: Coded) -> bool:
        """Put a claim in doubt: nobody decides before `settling` seconds have gone."""
        return self._set(
            and_(self._attempt(key, attempt), self._model.state == LedgerState.CLAIMED),
            state=LedgerState.IN_DOUBT,
            unclear=self._one_more,
            settle_after=clock(settling),
            **keeping(reason),
        )

    def expire(self, key: int, attempt: int, settling: float) -> bool:
        """Put a claim in doubt whose lease and settling time ran out; its worker is gone or was stopped."""
        over = self._model.lease_until <= clock(-settling)
        return self._set(
            and_(self._attempt(key, attempt), self._model.state == LedgerState.CLAIMED, over),
            state=LedgerState.IN_DOUBT,
            unclear=self._one_more,
            settle_after=clock(),
            **keeping(Reason.NEVER_TOLD()),
        )

    def another_round(
        self, key: int, attempt: int, due: datetime, reason: Coded, *, count: bool = True
    ) -> bool:
        """Count a lookup that came to no verdict; the next one is due at `due` (database clock)."""
        return self._set(
            and_(self._attempt(key, attempt), self._model.state == LedgerState.IN_DOUBT),
            rounds=self._model.rounds + int(count),
            settle_after=due,
            **keeping(reason),
        )

    def hold(self, key: int, attempt: int | None, reason: Coded, candidates: Collection[int] = ()) -> bool:
        """Give a row to a person (`deskbridge held`), with the tracker ids that may be it.

        Args:
            key: ticket id or ticket-task id.
            attempt: only if this is still the attempt and unsettled; None: whatever it is.
            reason: why it cannot be decided.
            candidates: tracker ids a person may adopt.
        """
        where = self._model.key == key
        if attempt is not None:
            where = and_(self._attempt(key, attempt), self._model.state.in_(IN_FLIGHT))
        found = sorted(set(candidates)) or None
        return self._set(
            where, state=LedgerState.HELD, settle_after=None, candidates=found, **keeping(reason)
        )

    def narrow(self, key: int, attempt: int, candidates: Collection[int], reason: Coded) -> bool:
        """Leave a held row fewer candidates, since another row turned out to own some; without any it is free."""
        left = sorted(candidates)
        values = {"candidates": left} if left else {"candidates": None, **keeping(reason)}
        return self._set(
            and_(self._attempt(key, attempt), self._model.state == LedgerState.HELD),
            state=LedgerState.HELD if left else LedgerState.FREE,
            **values,
        )

    def late_answer(self, key: int, tracker_id: int) -> None:
        """Hold a row whose superseded attempt created `tracker_id` after all: a possible duplicate."""
        row = self.lock(key)
        refused_before = row is not None and row.state != LedgerState.HELD
        known = {row.tracker_id, *(() if refused_before else row.candidates or ())} if row else set()
        ids = sorted(found for found in known | {tracker_id} if found is not None)
        self._set(
            self._model.key == key,
            state=LedgerState.HELD,
            duplicate=True,
            settle_after=None,
            candidates=ids,
            **keeping(Reason.POSSIBLY_TWICE(tracker_ids=ids)),
        )

    def moved(self, key: int, tracker_id: int, tracker_project_id: int) -> bool:
        """Note that an issue belongs to another tracker project than it was known to."""
        return self._set(
            and_(self._model.key == key, self._model.tracker_id == tracker_id),
            tracker_project_id=tracker_project_id,
        )

    def belongs_to(self, key: int, tracker_id: int, author_id: int) -> bool:
        """Note that an object has another author now."""
        where = and_(self._model.key == key, self._model.tracker_id == tracker_id)
        return self._set(where, author_id=author_id)

    def gone(self, key: int, tracker_id: int, reason: Coded) -> bool:
        """Mark a link whose object no longer exists on the tracker."""
        return self._set(
            and_(self._model.key == key, self._model.tracker_id == tracker_id),
            state=LedgerState.GONE,
            **keeping(reason),
        )

    def take_from_sibling(self, key: int, tracker_id: int) -> Row | None:
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
                self._model.state != LedgerState.GONE,
            )
        )
        if holder is None:
            return None
        where = and_(self._model.key == holder.key, self._model.tracker_id == tracker_id)
        if holder.adopted:
            self._set(
                where,
                state=LedgerState.IN_DOUBT,
                tracker_id=None,
                adopted=False,
                duplicate=False,
                settle_after=clock(),
                **keeping(Reason.OWNED_BY_ANOTHER(tracker_id=tracker_id, kind=self.kind, key=key)),
            )
        else:
            lost = Reason.ID_GIVEN_AWAY(tracker_id=tracker_id, kind=self.kind, key=key)
            self._set(where, state=LedgerState.GONE, **keeping(lost))
        return holder

    def resolve(
        self, key: int, tracker_id: int | None, reason: Coded, tracker_project_id: int | None = None
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
        return self._set(
            and_(self._model.key == key, self._model.state.in_((LedgerState.HELD, LedgerState.GONE))),
            state=LedgerState.LINKED if adopting else LedgerState.FREE,
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
            "state": LedgerState.LINKED,
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
                where=self._model.state == LedgerState.FREE,
            )
            .returning(self._model.attempt)
        )
        return self._session.scalar(statement) is not None

    def forget(self, key: int, tracker_id: int, reason: Coded) -> bool:
        """Free a link whose object went away together with another: it is to be created anew."""
        return self._set(
            and_(self._model.key == key, self._model.tracker_id == tracker_id),
            state=LedgerState.FREE,
            tracker_id=None,
            adopted=False,
            first_claimed_at=None,
            attempt=self._model.attempt + 1,
            **keeping(reason),
        )

    @property
    def _one_more(self) -> ColumnElement[int]:
        return func.coalesce(self._model.unclear, 0) + 1

    def _attempt(self, key: int, attempt: int) -> ColumnElement[bool]:
        return and_(self._model.key == key, self._model.attempt == attempt)

    def _set(self, where: ColumnElement[bool], **values: Any) -> bool:
        statement = (
            update(self._table)
            .where(where)
            .values(**values, changed_at=clock())
            .returning(self._model.attempt)
        )
        return self._session.scalar(statement) is not None
