"""The ledger: one row per ticket, ticket task, follow-up, solution or document; each takes effect exactly once.

Every change is one compare-and-set statement. An attempt's changes carry its number as a fencing token,
so a worker that was suspended and resumes with an older number cannot change the row.
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
from shared.store.tables.explained import reason_columns
from shared.store.tables.ledger import LedgerRow, LedgerState
from shared.store.tables.prepared import execute_prepared
from shared.store.tables.types import clock, insert_for, is_on_postgresql
from shared.values.identity import UNKNOWN, Identity


class Ledger(LedgerQueries):
    """Changes the rows of one kind within one transaction, following the table in `shared.store.ledger.transitions`.

    Each change returns whether it was made. It returns False if the transition table does not accept it in the row's
    state, or if a guard fails.
    """

    def claim(self, claim: Claim, lease: float) -> int | None:
        """Claim a free or new row and increment its attempt number.

        Args:
            claim: the request to be sent.
            lease: seconds within which it may be sent.

        Returns:
            The attempt number, or None if the row is not free or a condition of the claim no longer holds.
        """
        return self.claim_all([claim], lease).get(claim.key)

    def claim_all(self, claims: Sequence[Claim], lease: float) -> dict[int, int]:
        """Claim several rows, each as `claim` does; return the attempt numbers of the claimed rows, by key."""
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
        """Lock the table against concurrent changes until the transaction ends; SQLite has only one writer anyway."""
        if is_on_postgresql(self._session):
            self._session.execute(text(f"LOCK TABLE {self._table.name} IN SHARE ROW EXCLUSIVE MODE"))

    def link_claimed(self, answers: Sequence[Answered]) -> set[tuple[int, int]]:
        """Link rows that are still claimed and within their leases to the answers of their attempts, in one statement.

        Returns:
            Keys and attempts of the linked rows. For the rest, another row holds the tracker id or the row has changed.
        """
        rows = (
            {
                **{name: getattr(one, name) for name in ANSWERED},
                "created_on": one.created_on,
                **reason_columns(one.reason),
            }
            for one in sorted(answers, key=lambda answer: answer.key)
        )
        linked = answered_rows(self._table).parameters(self._session, rows)
        statement = linking(self._model)
        return {(key, attempt) for key, attempt in execute_prepared(self._session, statement, linked)}

    def link(
        self,
        key: int,
        attempt: int,
        tracker_id: int,
        author_id: int | None,
        reason: Notice,
        created_on: datetime | None = None,
    ) -> bool:
        """Link a row to the tracker's definite answer to its attempt, whatever the row's state.

        Returns:
            False if the row has a newer attempt or is a possible duplicate: see `late_answer`.
        """
        return self._move(
            (LedgerEvent.ANSWER, LedgerEvent.ANSWER_WHILE_ON_HOLD),
            self._attempt(key, attempt),
            self._model.duplicate.is_(False),
            **_linked(tracker_id, author_id, reason, created_on, adopted=False),
        )

    def adopt(
        self,
        key: int,
        attempt: int,
        tracker_id: int,
        author_id: int | None,
        reason: Notice,
        event: LedgerEvent = LedgerEvent.FOUND,
        created_on: datetime | None = None,
    ) -> bool:
        """Link a row in doubt to the object that a lookup found; return False if it is no longer in doubt."""
        values = _linked(tracker_id, author_id, reason, created_on, adopted=True)
        return self._move((event,), self._attempt(key, attempt), **values)

    def free(
        self, key: int, attempt: int, reason: Notice, event: LedgerEvent = LedgerEvent.NOT_CREATED
    ) -> bool:
        """Free a row whose request was refused or never sent, or whose object is absent; its attempt number stays."""
        return self._move((event,), self._attempt(key, attempt), settle_after=None, **reason_columns(reason))

    def doubt(self, key: int, attempt: int, settling: float, reason: Notice) -> bool:
        """Put a claimed row in doubt; it cannot be resolved before `settling` seconds have passed."""
        return self._move(
            (LedgerEvent.NO_CLEAR_ANSWER,),
            self._attempt(key, attempt),
            unclear=self._one_more,
            settle_after=clock(settling),
            **reason_columns(reason),
        )

    def expire(self, key: int, attempt: int, settling: float) -> bool:
        """Put a claimed row in doubt if its lease and settling time are over: its worker has died or was suspended."""
        over = self._model.lease_until <= clock(-settling)
        return self._move(
            (LedgerEvent.LEASE_OVER,),
            self._attempt(key, attempt),
            over,
            unclear=self._one_more,
            settle_after=clock(),
            **reason_columns(Reason.NEVER_TOLD()),
        )

    def another_round(
        self, key: int, attempt: int, due: datetime, reason: Notice, *, count: bool = True
    ) -> bool:
        """Record an inconclusive lookup, count it if `count`, and schedule the next one at `due` (database clock)."""
        return self._note(
            LedgerNote.ANOTHER_ROUND,
            self._attempt(key, attempt),
            rounds=self._model.rounds + int(count),
            settle_after=due,
            **reason_columns(reason),
        )

    def repeat(self, key: int, attempt: int, body: dict[str, Any], fingerprint: str) -> bool:
        """Record that a claimed row's request is now repeated with another body; the first one counts as earlier."""
        row = self.get(key)
        if row is None or row.body is None:
            return False
        earlier = [one for one in (*(row.earlier or ()), row.body) if one != body]
        values = {"body": body, "fingerprint": fingerprint, "earlier": earlier or None}
        return self._note(LedgerNote.REPEATED, self._attempt(key, attempt), **values)

    def hold(
        self,
        key: int,
        attempt: int | None,
        reason: Notice,
        candidates: Collection[int] = (),
        event: LedgerEvent = LedgerEvent.UNDECIDABLE,
    ) -> bool:
        """Put a row on hold for a person's decision (`deskbridge hold list`), with the tracker ids that may be its own.

        Args:
            key: the row's key.
            attempt: the row's attempt, which must be unresolved; None holds the row in any case (`ISSUE_LOST`).
            reason: why deskbridge cannot decide.
            candidates: tracker ids a person may adopt.
            event: what happened to the attempt.
        """
        where = self._is(key) if attempt is None else self._attempt(key, attempt)
        happened = LedgerEvent.ISSUE_LOST if attempt is None else event
        found = sorted(set(candidates)) or None
        return self._move((happened,), where, settle_after=None, candidates=found, **reason_columns(reason))

    def narrow(self, key: int, attempt: int, candidates: Collection[int], reason: Notice) -> bool:
        """Reduce a row on hold to these candidates, since other rows own the rest; free the row if none is left."""
        left = sorted(candidates)
        values = {"candidates": left} if left else {"candidates": None, **reason_columns(reason)}
        event = LedgerEvent.CANDIDATE_LOST if left else LedgerEvent.LAST_CANDIDATE_LOST
        return self._move((event,), self._attempt(key, attempt), **values)

    def late_answer(self, key: int, tracker_id: int) -> bool:
        """Put a row on hold as a possible duplicate, because a superseded attempt created `tracker_id` after all."""
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
            **reason_columns(Reason.POSSIBLY_TWICE(tracker_ids=ids)),
        )

    def moved(self, key: int, tracker_id: int, tracker_project_id: int) -> bool:
        """Record that an issue has moved to another tracker project."""
        where = self._object(key, tracker_id)
        return self._note(LedgerNote.MOVED, where, tracker_project_id=tracker_project_id)

    def belongs_to(
        self, key: int, tracker_id: int, author_id: int | None, created_on: datetime | None = None
    ) -> bool:
        """Record by whom an object is now; and when it was created, if that is given."""
        now = {"author_id": author_id, **({"created_on": created_on} if created_on else {})}
        return self._note(LedgerNote.BELONGS_TO, self._object(key, tracker_id), **now)

    def gone(self, key: int, tracker_id: int, reason: Notice) -> bool:
        """Mark a row as gone, because its object no longer exists on the tracker."""
        return self._move((LedgerEvent.DELETED,), self._object(key, tracker_id), **reason_columns(reason))

    def reused(self, key: int, tracker_id: int, item_created_at: datetime, reason: Notice) -> bool:
        """Put a linked row on hold, because the help desk gave its key to an item created at another time.

        The new time is stored, so that a person who adopts the object again decides for good.
        """
        return self._move(
            (LedgerEvent.HELPDESK_ID_REUSED,),
            self._object(key, tracker_id),
            item_created_at=item_created_at,
            candidates=[tracker_id],
            **reason_columns(reason),
        )

    def take_from_sibling(self, key: int, tracker_id: int) -> LedgerRow | None:
        """Take a tracker id away from the row that holds it, because the answer to another row's attempt named the id.

        A holder that had adopted the id is in doubt again. A holder that had created the object is now gone: the
        tracker deleted the object and reused its id.

        Returns:
            The holder before the change, or None if no other row holds the id.
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
                **reason_columns(Reason.OWNED_BY_ANOTHER(tracker_id=tracker_id, kind=self.kind, key=key)),
            )
        else:
            lost = Reason.ID_GIVEN_AWAY(tracker_id=tracker_id, kind=self.kind, key=key)
            self._set(where, state=TRANSITIONS[LedgerEvent.ID_GIVEN_AWAY].target, **reason_columns(lost))
        return holder

    def resolve(
        self,
        key: int,
        tracker_id: int | None,
        reason: Notice,
        tracker_project_id: int | None = None,
        identity: Identity = UNKNOWN,
    ) -> bool:
        """Carry out a person's decision on a row that is on hold or gone: adopt an id, or create the object again.

        If it is created again, the rejected candidates are kept so that no lookup adopts one of them.

        Args:
            key: the row's key.
            tracker_id: the id to adopt; None creates the object again.
            reason: the decision.
            tracker_project_id: the adopted issue's project, if known; None leaves the project unchanged.
            identity: the adopted object's identity, if known.
        """
        adopting = tracker_id is not None
        return self._move(
            (LedgerEvent.PERSON_ADOPTS if adopting else LedgerEvent.PERSON_CREATES_AGAIN,),
            self._is(key),
            tracker_id=tracker_id,
            author_id=identity.author_id,
            created_on=identity.created_on,
            adopted=adopting,
            attempt=self._model.attempt + 1,
            duplicate=False,
            first_claimed_at=None,
            unclear=None,
            earlier=None,
            settle_after=None,
            candidates=None if adopting else self._model.candidates,
            tracker_project_id=func.coalesce(tracker_project_id, self._model.tracker_project_id),
            **reason_columns(reason),
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
        """Link a new or free row to an object of another installation; return False if the row is neither."""
        values: dict[str, Any] = {
            "ticket_id": ticket_id,
            "state": TRANSITIONS[LedgerEvent.TAKEN_OVER].target,
            "tracker_project_id": tracker_project_id,
            "issue_id": issue_id,
            "tracker_id": tracker_id,
            "author_id": author_id,
            "created_on": None,
            "item_created_at": None,
            "rounds": 0,
            "adopted": True,
            "duplicate": False,
            "settle_after": None,
            **reason_columns(Reason.TAKEN_OVER()),
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
        """Free a row whose object was deleted together with its issue, so that the object is created again."""
        return self._move(
            (LedgerEvent.WENT_WITH_ISSUE,),
            self._object(key, tracker_id),
            tracker_id=None,
            adopted=False,
            first_claimed_at=None,
            attempt=self._model.attempt + 1,
            **reason_columns(reason),
        )

    def take_back(self, key: int, tracker_id: int, reason: Notice) -> bool:
        """Put a row back on hold that a person had linked to the wrong object; the object remains a candidate."""
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
            **reason_columns(reason),
        )

    def unlink(self, key: int, tracker_id: int) -> bool:
        """Free a row whose link a person removed; its object still exists, and no lookup adopts it again."""
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
            **reason_columns(Reason.LINK_FORGOTTEN(tracker_id=tracker_id)),
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
        """Move a row to the events' target state if the transition table accepts one of them in its current state."""
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


def _linked(
    tracker_id: int, author_id: int | None, reason: Notice, created_on: datetime | None, *, adopted: bool
) -> dict[str, Any]:
    """Return the columns of a row that is now linked to an object."""
    return {
        "tracker_id": tracker_id,
        "author_id": author_id,
        "created_on": created_on,
        "adopted": adopted,
        "settle_after": None,
        "candidates": None,
        **reason_columns(reason),
    }
