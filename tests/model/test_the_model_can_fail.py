"""The model soon finds a fault if a protection is removed; a model that never fails would prove nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from sqlalchemy import update

from shared.errors import LockBusy, OutcomeUnknown
from shared.notices.kinds import Kind
from shared.notices.notice import written
from shared.redis.locks import HeldLock, Locks
from shared.store.journal.journal import Journal
from shared.store.ledger.ledger import Ledger
from shared.store.ledger.send_window import SendWindow
from shared.store.ledger.statements import Claim
from shared.store.tables.ledger import LedgerState
from shared.tracker.answers import Answer
from shared.tracker.lists import Listed
from tests.model.machine import PROFILE, Bridge
from tests.model.stage import END
from tests.model.tracker import NOTES, Fate
from tests.model.world import Rules
from tests.support.events import ALICE, DONE
from worker.ticket import create as creation
from worker.ticket import documents, match, reconcile
from worker.ticket import resolve as doubt
from worker.ticket.adding import Additions
from worker.ticket.context import TicketContext
from worker.ticket.plan import Pending
from worker.ticket.requests import Creation
from worker.ticket.results import Created, Waiting
from worker.ticket.search import additions_of

pytestmark = pytest.mark.promise("OPS-14")

SOON = 1000
"""At most this many examples until a fault is found; which one finds it depends on names and the order of steps."""
POINTS_OF_A_PASS = 22
"""More points than a sync pass that sends a note or a document has."""
Taken = Callable[[], AbstractContextManager[Any]]


@contextmanager
def without_compare_and_set(*kinds: Kind) -> Iterator[None]:
    """Grant every claim, whatever the row's state and attempt, and every lock, since locks would nearly always hide it.

    Args:
        kinds: the kinds whose claims are granted; if there are none, all kinds.
    """
    claim_of, take_of = Ledger.claim_all, Locks._take_all

    def claim(ledger: Ledger, claims: Sequence[Claim], lease: float) -> dict[int, int]:
        if kinds and ledger.kind not in kinds:
            return claim_of(ledger, claims, lease)
        them = ledger._model.key.in_([one.key for one in claims])
        ledger._session.execute(update(ledger._table).where(them).values(state=LedgerState.FREE))
        return claim_of(ledger, [replace(one, attempt_before=None) for one in claims], lease)

    def take(
        locks: Locks, names: Sequence[str], unless: str | None = None
    ) -> list[HeldLock | LockBusy] | None:
        locks._redis.delete(*locks._keys([HeldLock(locks, name, "", 0.0) for name in names]))
        return take_of(locks, names, unless)

    with mock.patch.object(Ledger, "claim_all", claim), mock.patch.object(Locks, "_take_all", take):
        yield


def without_the_send_window() -> AbstractContextManager[Any]:
    """Let a worker send, however long it was stopped after its claim."""
    return mock.patch.object(SendWindow, "check")


def without_doubt() -> AbstractContextManager[Any]:
    """Treat a creation without a clear answer as one that never happened."""

    async def free(wanted: Creation, attempt: int, unclear: Any) -> Waiting:
        kind, key = wanted.kind, wanted.key
        await wanted.ctx.db.change(lambda tx: tx.ledger(kind).free(key, attempt, unclear.notice))
        return Waiting(written("as if it had never been sent"))

    return mock.patch.object(creation, "put_in_doubt", free)


def without_leases() -> AbstractContextManager[Any]:
    """Free claimed and in-doubt rows for the next worker at once."""

    async def unsettled(ctx: Any, kind: Any, row: Any, _now: Any) -> None:
        await ctx.db.change(lambda tx: tx.ledger(kind).free(row.key, row.attempt, written("taken")))

    return mock.patch.object(doubt, "_settle", unsettled)


@pytest.mark.parametrize(
    "taken_out", [without_compare_and_set, without_the_send_window, without_doubt, without_leases]
)
def test_the_model_finds_what_goes_wrong_without_a_protection(taken_out: Taken) -> None:
    quick = settings(
        PROFILE, max_examples=SOON, phases=[Phase.generate], derandomize=True, database=None, print_blob=False
    )
    with taken_out(), pytest.raises(AssertionError):
        run_state_machine_as_test(Bridge, settings=quick)


@pytest.mark.parametrize(("kinds", "noun"), [(NOTES, "note"), ((Kind.DOCUMENT,), "attachment")])
def test_the_model_sees_what_two_workers_add_because_it_is_not_claimed(
    kinds: tuple[Kind, ...], noun: str
) -> None:
    """One worker is stopped in its pass while another adds the note or document; then the first continues."""

    def sent_by_two(points: int) -> Bridge:
        state = with_a_document() if noun == "attachment" else with_a_note()
        state.worker_moves(0, 1, points, Fate.ANSWERED, together=False)
        state.redis_is_flushed()
        state.another_worker_syncs(1, [])
        state.worker_ends(0, dies=False)
        return state

    def everywhere() -> None:
        for points in range(POINTS_OF_A_PASS):
            sent_by_two(points).teardown()

    everywhere()
    with without_compare_and_set(*kinds), pytest.raises(AssertionError, match=f"belong to nothing: {noun} #"):
        everywhere()


def test_the_model_sees_a_document_that_counts_as_absent_because_it_could_not_be_read_back() -> None:
    async def as_absent(ctx: TicketContext, kind: Kind, issue_id: int) -> tuple[list[Listed], Answer]:
        try:
            return await additions_of(ctx, kind, issue_id)
        except OutcomeUnknown as unclear:
            return [], Answer(unclear.status or 0, None, None)

    def attached_and_not_read_back() -> Bridge:
        state = with_a_document()
        state.another_worker_syncs(1, [("PUT", Fate.ANSWERED), Fate.GARBAGE])
        return state

    attached_and_not_read_back().teardown()
    absent = mock.patch.object(documents, "additions_of", as_absent)
    with absent, pytest.raises(AssertionError, match="belong to nothing: attachment #"):
        attached_and_not_read_back().teardown()


def test_the_model_sees_a_note_that_overtakes_an_earlier_one() -> None:
    async def every(_: Additions, _issue: Created, notes: list[Pending]) -> list[Pending]:
        return notes

    def one_in_doubt_before_another() -> Bridge:
        state = with_a_note()
        state.world.tracker.fates.clear()  # one fate was not used
        state.another_worker_syncs(1, [("PUT", Fate.ANSWERED), Fate.LOST_BEFORE])
        state.helpdesk_notes(1, 2, "Replaced", 2, 2.0, ALICE, is_private=False)
        state.another_worker_syncs(1, [])
        return state

    one_in_doubt_before_another().teardown()
    with mock.patch.object(Additions, "first", every), pytest.raises(AssertionError, match="earlier"):
        one_in_doubt_before_another().teardown()


def test_the_model_sees_what_is_sent_again_since_the_tracker_changed_its_text() -> None:
    def lost(method: str) -> Bridge:
        state = with_an_issue(edits_texts=True)
        state.world.tracker.fates.clear()  # one fate was not used
        if method == "PUT":
            state.helpdesk_notes(1, 0, "Ordered", 2, 1.0, ALICE, is_private=False)
        else:
            state.helpdesk_logs(1, 1, 0, "Printer", 2, 1.0, ALICE, DONE, None)
        state.another_worker_syncs(1, [(method, Fate.LOST_AFTER)])
        return state

    for method, noun in (("PUT", "note"), ("POST", "time entry")):
        lost(method).teardown()
        by_text_alone = mock.patch.object(match, "fits_but_for_text", return_value=False)
        with by_text_alone, pytest.raises(AssertionError, match=f"belong to nothing: {noun} #"):
            lost(method).teardown()


def test_the_model_sees_what_is_created_again_since_it_was_moved_in_doubt() -> None:
    async def nothing(*_: Any) -> bool:
        return False

    def moved() -> Bridge:
        state, rules = Bridge(), Rules(siblings=False, edits_texts=True)
        state.begin(rules, 1, ("before POST", END), (Fate.ANSWERED, Fate.ANSWERED))
        state.world.tracker.fates.clear()  # one fate was not used
        state.worker_moves(0, 1, END, Fate.LOST_AFTER, together=False)
        state.person_moves_an_issue(0, 4)
        return state

    moved().teardown()
    not_elsewhere = mock.patch.object(reconcile, "was_created_in", nothing)
    with not_elsewhere, pytest.raises(AssertionError, match="belong to nothing: issue #"):
        moved().teardown()


def with_a_note() -> Bridge:
    """Return a machine with one ticket, its issue, and a follow-up to send."""
    state = with_an_issue()
    state.helpdesk_notes(1, 0, "Ordered", 2, 1.0, ALICE, is_private=False)
    return state


def with_a_document() -> Bridge:
    """Return a machine with one ticket, its issue, and a document to send."""
    state = with_an_issue()
    state.world.tracker.fates.clear()  # one fate was not used
    state.helpdesk_attaches(1, 0, "scan.png", 2, 1.0, ALICE)
    return state


def with_an_issue(*, edits_texts: bool = False) -> Bridge:
    """Return a machine with one ticket and its issue."""
    state, rules = Bridge(), Rules(siblings=False, edits_texts=edits_texts)
    state.begin(rules, 1, (END, END), (Fate.ANSWERED, Fate.ANSWERED))
    return state


def test_the_model_sees_what_stays_skipped_of_a_ticket_that_is_back() -> None:
    def deleted_and_restored() -> Bridge:
        state = Bridge()
        state.begin(Rules(), 2, (END, END), (Fate.ANSWERED, Fate.ANSWERED))
        state.helpdesk_logs(1, 1, 0, "Printer", 2, 1.0, ALICE, DONE, None)
        state.helpdesk_deletes(1, None, is_back=False, at=2.0, sequence=None)
        state.another_worker_syncs(1, [])
        state.helpdesk_deletes(1, None, is_back=True, at=3.0, sequence=None)
        return state

    deleted_and_restored().teardown()
    with mock.patch.object(Journal, "replay_skipped"), pytest.raises(AssertionError, match="which is back"):
        deleted_and_restored().teardown()
