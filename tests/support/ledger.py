"""Helpers for tests of the ledger: its rows, the tracker's data, and a worker that is stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import update

from deploy.sandbox.tracker.control import StandIn
from shared.notices.kinds import Kind
from shared.notices.notice import written
from shared.redis.locks import Locks
from shared.store.ledger.statements import Claim
from shared.store.tables.journal import JournalEvent
from shared.store.tables.ledger import LEDGERS, MODELS, LedgerRow, LedgerState
from shared.store.tables.types import clock
from shared.tracker.answers import Answer
from tests.support.bridge import SUPPORT, Bridge
from tests.support.calls import Call, around_calls
from worker.sweep import Sweep

CLOSED = 5
SAME = {"title": "Printer on fire", "content": "burns"}


def ours(stand_in: StandIn) -> list[dict[str, Any]]:
    return [issue for issue in stand_in.state()["issues"] if issue["id"] > 5]


def entries(stand_in: StandIn) -> list[dict[str, Any]]:
    return stand_in.state()["time_entries"]


def notes_of(stand_in: StandIn) -> list[tuple[str, str, bool]]:
    """Return (author, text, is private) of each note, ordered by number."""
    written = [one for issue in stand_in.state()["issues"] for one in issue["journals"] if one["notes"]]
    ordered = sorted(written, key=lambda one: int(one["id"]))
    return [(one["user"], one["notes"], one["private_notes"]) for one in ordered]


def attachments_of(stand_in: StandIn, issue_id: int = 6) -> list[tuple[str, str, int]]:
    """Return (author, name, size) of each attachment of an issue, ordered by number."""
    found = [one for one in stand_in.state()["attachments"] if one["issue_id"] == issue_id]
    return [(one["author"], one["filename"], one["filesize"]) for one in found]


def row(bridge: Bridge, kind: Kind, key: int) -> LedgerRow:
    with bridge.store.transaction() as tx:
        found = tx.ledger(kind).get(key)
    assert found is not None
    return found


def change(bridge: Bridge, kind: Kind, key: int, **values: Any) -> None:
    with bridge.store.database.transaction() as session:
        session.execute(update(MODELS[kind]).where(MODELS[kind].key == key).values(**values))


def change_event(bridge: Bridge, event_id: int, **values: Any) -> None:
    with bridge.store.database.transaction() as session:
        session.execute(update(JournalEvent).where(JournalEvent.id == event_id).values(**values))


def until_settled(bridge: Bridge, *ticket_ids: int, rounds: int = 6) -> None:
    for _ in range(rounds):
        bridge.hurry()
        for ticket_id in ticket_ids or (4711,):
            bridge.sync(ticket_id)


def let_leases_run_out(bridge: Bridge) -> None:
    """Let all locks and claims expire, as if their worker had been stopped for minutes."""
    bridge.redis.flushdb()
    with bridge.store.database.transaction() as session:
        for model in LEDGERS:
            session.execute(
                update(model).where(model.state == LedgerState.CLAIMED).values(lease_until=clock(-120))
            )


def adopt_as_a_sibling(bridge: Bridge, event_id: int) -> None:
    """Let ticket 999, with the same text, adopt issue #6, which the response for ticket 4711 will name."""
    with bridge.store.transaction() as tx:
        claim = Claim(999, 4711, event_id, SUPPORT, None, {}, [], "alike")
        assert tx.issues.claim(claim, 20) == 1
        tx.issues.doubt(999, 1, 0, written("no answer"))
        assert tx.issues.adopt(999, 1, 6, CLOSED, written("found"))


@contextmanager
def stopped(method: str, path: str, meanwhile: Callable[[], object], *, sent: bool = True) -> Iterator[None]:
    """Stop the first worker that makes this call, after the tracker has processed it, or before it is sent."""
    hit: list[bool] = []

    def stopping(call: Call) -> Answer:
        is_first = (call.method, call.path) == (method, path) and not hit
        if is_first:
            hit.append(True)
        if is_first and not sent:
            meanwhile()
        answer = call.make(sent or not is_first)
        if is_first and sent:
            meanwhile()
        return answer

    with around_calls(stopping):
        yield
    assert hit, "the call was never made"


@contextmanager
def after_the_put(do: Callable[[], object]) -> Iterator[None]:
    """Call a function once a PUT was answered, for example to let the read that looks for its effect fail."""

    def acting(call: Call) -> Answer:
        answer = call.make(True)
        if call.method == "PUT":
            do()
        return answer

    with around_calls(acting):
        yield


def a_sweep(bridge: Bridge) -> Sweep:
    def notify(tickets: list[int]) -> bool:
        bridge.notified += tickets
        return True

    return Sweep(
        bridge.store, bridge.settings, Locks(bridge.redis, 60), bridge.breaker, lambda: 0, notify, notify
    )
