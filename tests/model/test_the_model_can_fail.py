"""A model that never fails shows nothing: with a protection taken out it finds what goes wrong, and soon."""

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

from shared.errors import LockBusy
from shared.notices.notice import written
from shared.redis.locks import HeldLock, Locks
from shared.store.journal.journal import Journal
from shared.store.ledger.ledger import Ledger
from shared.store.ledger.send_window import SendWindow
from shared.store.ledger.statements import Claim
from shared.store.tables.ledger import LedgerState
from tests.model.machine import PROFILE, Bridge
from tests.model.stage import END
from tests.model.tracker import Fate
from tests.model.world import Rules
from tests.support.events import ALICE, DONE
from worker.ticket import create as creation
from worker.ticket import resolve as doubt
from worker.ticket.requests import Creation
from worker.ticket.results import Waiting

pytestmark = pytest.mark.promise("OPS-14")

SOON = 1000
"""Examples until a fault is found, at most: which of them shows it hangs on names and on the order of steps."""
Taken = Callable[[], AbstractContextManager[Any]]


@contextmanager
def without_compare_and_set() -> Iterator[None]:
    """A claim is given, whatever the row's state and attempt; and a lock, which would hide that nearly always."""
    claim_of, take_of = Ledger.claim_all, Locks._take_all

    def claim(ledger: Ledger, claims: Sequence[Claim], lease: float) -> dict[int, int]:
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
    """A worker sends, however long it was stopped since its claim."""
    return mock.patch.object(SendWindow, "check")


def without_doubt() -> AbstractContextManager[Any]:
    """A creation without a clear answer counts as one that never happened."""

    async def free(wanted: Creation, attempt: int, unclear: Any) -> Waiting:
        kind, key = wanted.kind, wanted.key
        await wanted.ctx.db.change(lambda tx: tx.ledger(kind).free(key, attempt, unclear.notice))
        return Waiting(written("as if it had never been sent"))

    return mock.patch.object(creation, "doubt", free)


def without_leases() -> AbstractContextManager[Any]:
    """Whatever is claimed or in doubt is free for the next who comes."""

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
