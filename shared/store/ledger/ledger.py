"""The ledger: one row per ticket, ticket task, follow-up, solution or document; a creation has exactly one effect.

Every change is one compare-and-set statement that carries the claim's attempt number as fencing token:
a worker that was stopped and comes back with an older number changes nothing by accident.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, func, select, text, update

from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.store.ledger.ledger_queries import LedgerQueries
from shared.store.ledger.statements import (
    ANSWERED,
    CLAIMED,
    Answered,
    Claim,
    accepts,
    answered_rows,
    claimed_rows,
    claiming,
    is_in_state,
    linking,
)
from shared.store.ledger.transitions import NOTES, TRANSITIONS, LedgerEvent, LedgerNote
from shared.store.tables.explained import keeping
from shared.store.tables.ledger import LedgerRow, LedgerState
from shared.store.tables.prepared import execute_prepared
from shared.store.tables.types import clock, insert_for, is_on_postgresql


class Ledger(LedgerQueries):
    """Changes the rows of one kind, within one transaction, as `shared.store.ledger.transitions` says.

    Each change returns whether it was made: False if the table does not accept it in the row's state, or if its guard
    does not hold.
    """

    def claim(self, claim: Claim, lease: float) -> int | None:
        """Claim a free or new row, raising its attempt number.

        Args:
            claim: what is going to be sent.
            lease: seconds in which it may be sent.

        Returns:
            The attempt number; None if the row is not free, or if something is not as it was read.
        """
        return self.claim_all([claim], lease).get(claim.key)

    def claim_all(self, claims: Sequence[Claim], lease: float) -> dict[int, int]:
        """Claim several rows, each as `claim` does; return the attempt numbers of those that were claimed, by key."""
        alike = defaultdict[tuple[bool, bool, bool], list[Claim]](list)
        for claim in claims:
            how = claim.is_newest, claim.attempt_before is not None, claim.unless_recovering
            alike[how].append(claim)
        given = dict[int, int]()
        for (is_newest, as_read, unless_recovering), some in alike.items():
            insert = insert_for(self._session)
            statement = claiming(insert, self._model, is_newest, as_read, unless_recovering)
            rows = (
                {
                    **{name: getattr(one, name) for name in CLAIMED},
                    "before": one.attempt_before or 0,
                    "basis": one.basis,
                }
                for one in sorted(some, key=lambda claim: claim.key)
            )
            claimed = claimed_rows(self._table).parameters(self._session, rows)
            given.update(dict(execute_prepared(self._session, statement, {**claimed, "lease": lease})))
        return given

    def keep_others_out(self) -> None:
        """Lock the table against changes by others until the transaction ends; SQLite has one writer anyway."""
        if is_on_postgresql(self._session):
            self._session.execute(text(f"LOCK TABLE {self._table.name} IN SHARE ROW EXCLUSIVE MODE"))

    def link_claimed(self, answers: Sequence[Answered]) -> set[tuple[int, int]]:
        """Link rows that are still claimed, within their leases, to the answers of their attempts, in one statement.

        Returns:
            Their keys and attempts. The others need more: another row holds the id, or the row has changed.
        """
        rows = (
            {**{name: getattr(one, name) for name in ANSWERED}, **keeping(one.reason)}
            for one in sorted(answers, key=lambda answer: answer.key)
        )
        linked = answered_rows(self._table).parameters(self._session, rows)
        statement = linking(self._model)
        return {(key, attempt) for key, attempt in execute_prepared(self._session, statement, linked)}

    def link(self, key: int, attempt: int, tracker_id: int, author_id: int | None, reason: Notice) -> bool:
        """Record the tracker's definite answer to an attempt; it wins whatever state the row is in.

        Returns:
            False if the attempt was superseded: the answer is a possible duplicate (`late_answer`).
        """
        return self._move(
            (LedgerEvent.ANSWER, LedgerEvent.ANSWER_WHILE_ON_HOLD),
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
        """Link a row in doubt to what a lookup found; False if it is no longer in doubt."""
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
        """Free a claim that was refused, never sent, or found to be absent; the attempt number stays."""
        return self._move((event,), self._attempt(key, attempt), settle_after=None, **keeping(reason))

    def doubt(self, key: int, attempt: int, settling: float, reason: Notice) -> bool:
        """Put a claim in doubt: it is not resolved before `settling` seconds have passed."""
        return self._move(
            (LedgerEvent.NO_CLEAR_ANSWER,),
            self._attempt(key, attempt),
            unclear=self._one_more,
            settle_after=clock(settling),
            **keeping(reason),
        )

    def expire(self, key: int, attempt: int, settling: float) -> bool:
        """Put a claim in doubt if its lease and settling time are over: its worker is gone or was stopped."""
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
        """Count a lookup that decided nothing; the next one is due at `due` (database clock)."""
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
        """Leave a row to a person (`deskbridge hold list`), with the tracker ids that may belong to it.

        Args:
            key: of the row.
            attempt: only if this is still the attempt and unsettled; None: whatever it is (`ISSUE_LOST`).
            reason: why it cannot be decided.
            candidates: tracker ids a person may adopt.
            event: what happened to the attempt.
        """
        where = self._is(key) if attempt is None else self._attempt(key, attempt)
        happened = LedgerEvent.ISSUE_LOST if attempt is None else event
        found = sorted(set(candidates)) or None
        return self._move((happened,), where, settle_after=None, candidates=found, **keeping(reason))

    def narrow(self, key: int, attempt: int, candidates: Collection[int], reason: Notice) -> bool:
        """Take candidates from a row on hold, since another row turned out to own them; free it if none is left."""
        left = sorted(candidates)
        values = {"candidates": left} if left else {"candidates": None, **keeping(reason)}
        event = LedgerEvent.CANDIDATE_LOST if left else LedgerEvent.LAST_CANDIDATE_LOST
        return self._move((event,), self._attempt(key, attempt), **values)

    def late_answer(self, key: int, tracker_id: int) -> bool:
        """Hold a row whose superseded attempt created `tracker_id` after all: a possible duplicate."""
        row = self.lock(key)
        refused_before = row is not None and row.state != LedgerState.ON_HOLD
        known = {row.tracker_id, *(() if refused_before else row.candidates or ())} if row else set()
        ids = sorted(found for found in known | {tracker_id} if found is not None)
        return self._move(
            (LedgerEvent.LATE_ANSWER,),
            self._is(key),
            duplicate=True,
            settle_after=None,
            candidates=ids,
            **keeping(Reason.POSSIBLY_TWICE(tracker_ids=ids)),
        )

    def moved(self, key: int, tracker_id: int, tracker_project_id: int) -> bool:
        """Note that an issue is in another tracker project now."""
        where = self._object(key, tracker_id)
        return self._note(LedgerNote.MOVED, where, tracker_project_id=tracker_project_id)

    def belongs_to(self, key: int, tracker_id: int, author_id: int) -> bool:
        """Note that an object has another author now."""
        return self._note(LedgerNote.BELONGS_TO, self._object(key, tracker_id), author_id=author_id)

    def gone(self, key: int, tracker_id: int, reason: Notice) -> bool:
        """Mark a link as gone: its object no longer exists on the tracker."""
        return self._move((LedgerEvent.DELETED,), self._object(key, tracker_id), **keeping(reason))

    def take_from_sibling(self, key: int, tracker_id: int) -> LedgerRow | None:
        """Take a tracker id from the row that holds it, for the row whose own answer named it.

        If the holder had adopted it, the holder is in doubt again. If the holder had created it, its object was deleted
        on the tracker, which then gave the id to a new one: the holder is gone.

        Returns:
            The holder as it was; None if no other row holds the id.
        """
        holder = self._session.scalar(
            select(self._all).where(
                self._all.tracker_id == tracker_id,
                ~self._is(key),
                accepts(self._all.state, LedgerEvent.ADOPTION_TAKEN, LedgerEvent.ID_GIVEN_AWAY),
            )
        )
        if holder is None:
            return None
        where = Ledger(self._session, holder.kind)._object(holder.key, tracker_id)
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
        """Carry out a person's decision on a row on hold, or gone: adopt an id, or create again.

        The candidates that the person has refused are kept, so that no lookup adopts one of them.

        Args:
            key: of the row.
            tracker_id: the id to adopt; None: create again.
            reason: the decision.
            tracker_project_id: the project of the adopted issue, if it was seen; None: as before.
        """
        adopting = tracker_id is not None
        return self._move(
            (LedgerEvent.PERSON_ADOPTS if adopting else LedgerEvent.PERSON_CREATES_AGAIN,),
            self._is(key),
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
        """Link a new or free row to what another installation created; False if the row is neither."""
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
            .values({**values, **self._identity(key), "attempt": 1})
            .on_conflict_do_update(
                index_elements=[one.name for one in self._table.primary_key],
                set_={**values, "attempt": self._model.attempt + 1},
                where=accepts(self._model.state, LedgerEvent.TAKEN_OVER),
            )
            .returning(self._model.attempt)
        )
        return self._session.scalar(statement) is not None

    def forget(self, key: int, tracker_id: int, reason: Notice) -> bool:
        """Free a link whose object was deleted together with another, so that it is created again."""
        return self._move(
            (LedgerEvent.WENT_WITH_ISSUE,),
            self._object(key, tracker_id),
            tracker_id=None,
            adopted=False,
            first_claimed_at=None,
            attempt=self._model.attempt + 1,
            **keeping(reason),
        )

    def take_back(self, key: int, tracker_id: int, reason: Notice) -> bool:
        """Hold a row again that a person had linked to the wrong object; that stays a candidate."""
        return self._move(
            (LedgerEvent.PERSON_TAKES_BACK,),
            self._object(key, tracker_id),
            self._model.adopted.is_(True),
            tracker_id=None,
            adopted=False,
            author_id=None,
            attempt=self._model.attempt + 1,
            settle_after=None,
            candidates=[tracker_id],
            **keeping(reason),
        )

    def unlink(self, key: int, tracker_id: int) -> bool:
        """Free a link that a person wants forgotten, though its object still exists; no lookup adopts that again."""
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
        return and_(self._is(key), self._model.attempt == attempt)

    def _object(self, key: int, tracker_id: int) -> ColumnElement[bool]:
        return and_(self._is(key), self._model.tracker_id == tracker_id)

    def _move(
        self,
        events: Sequence[LedgerEvent],
        where: ColumnElement[bool],
        *guards: ColumnElement[bool],
        **values: Any,
    ) -> bool:
        """Bring a row to the event's target state, if the table accepts the event in its present state."""
        accepted = accepts(self._model.state, *events)
        return self._set(and_(where, accepted, *guards), state=TRANSITIONS[events[0]].target, **values)

    def _note(self, note: LedgerNote, where: ColumnElement[bool], **values: Any) -> bool:
        return self._set(and_(where, is_in_state(self._model.state, NOTES[note])), **values)

    def _set(self, where: ColumnElement[bool], **values: Any) -> bool:
        statement = (
            update(self._table)
            .where(where)
            .values(**values, changed_at=clock())
            .returning(self._model.attempt)
        )
        return self._session.scalar(statement) is not None
