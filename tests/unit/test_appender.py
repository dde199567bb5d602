"""Waiting requests share a transaction, and no request suffers from another."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence

import pytest
from sqlalchemy.exc import DataError, OperationalError

from producer.intake import appender as appender_module
from producer.intake.appender import Appender
from shared.events.delivery import Delivery, parse_delivery
from shared.store.journal.appending import Accepted
from tests.support.events import task_event


def delivery(name: str) -> Delivery:
    return parse_delivery(task_event(), name)


class Journal:
    """A stand-in for the journal that records each transaction and blocks until it is released."""

    def __init__(self, *, failing: dict[str, Exception] | None = None) -> None:
        self.transactions: list[list[str]] = []
        self.go_on = threading.Event()
        self._failing = failing or {}

    def append(self, deliveries: Sequence[Delivery]) -> list[Accepted]:
        names = [one.delivery_id for one in deliveries]
        self.transactions.append(names)
        self.go_on.wait(60)
        for name in names:
            if name in self._failing:
                raise self._failing[name]
        return [Accepted(ord(name[0]), name, 1, duplicate=False) for name in names]


async def send(journal: Journal, *requests: str) -> list[list[str] | BaseException]:
    """Append the first request, and the others while it is being written; return the keys or the error of each."""
    appender = Appender(journal.append)
    first = asyncio.create_task(appender.append([delivery(one) for one in requests[0].split()]))
    while not journal.transactions:
        await asyncio.sleep(0.001)
    others = [
        asyncio.create_task(appender.append([delivery(one) for one in names.split()]))
        for names in requests[1:]
    ]
    await asyncio.sleep(0)
    journal.go_on.set()
    answers = await asyncio.gather(first, *others, return_exceptions=True)
    return [one if isinstance(one, BaseException) else [each.key for each in one] for one in answers]


def test_what_comes_during_a_commit_is_committed_together_and_each_gets_its_own_answers() -> None:
    journal = Journal()
    answers = asyncio.run(send(journal, "a", "b c", "d", "e f"))
    assert journal.transactions == [["a"], ["b", "c", "d", "e", "f"]]
    assert answers == [["a"], ["b", "c"], ["d"], ["e", "f"]]


def test_a_request_alone_waits_for_nobody() -> None:
    journal = Journal()
    assert asyncio.run(send(journal, "a")) == [["a"]]


def test_a_group_is_bounded_and_no_request_is_torn_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appender_module, "MOST_TOGETHER", 3)
    journal = Journal()
    asyncio.run(send(journal, "a", "b c", "d e", "f g h i"))
    assert journal.transactions == [["a"], ["b", "c"], ["d", "e"], ["f", "g", "h", "i"]]


def test_a_request_that_cannot_be_stored_fails_alone() -> None:
    bad = DataError("INSERT", {}, Exception("bad"))
    journal = Journal(failing={"c": bad})
    assert asyncio.run(send(journal, "a", "b", "c", "d")) == [["a"], ["b"], bad, ["d"]]
    assert journal.transactions == [["a"], ["b", "c", "d"], ["b"], ["c"], ["d"]]


def test_a_database_that_is_away_is_asked_once_for_all() -> None:
    away = OperationalError("INSERT", {}, Exception("away"))
    journal = Journal(failing={"b": away})
    assert asyncio.run(send(journal, "a", "b", "c")) == [["a"], away, away]
    assert journal.transactions == [["a"], ["b", "c"]]


def test_whoever_stops_waiting_keeps_nobody_else_waiting() -> None:
    journal = Journal()

    async def leave() -> list[str]:
        appender = Appender(journal.append)
        impatient = [asyncio.create_task(appender.append([delivery("a")]))]
        while not journal.transactions:
            await asyncio.sleep(0.001)
        impatient.append(asyncio.create_task(appender.append([delivery("b")])))
        patient = asyncio.create_task(appender.append([delivery("c")]))
        await asyncio.sleep(0)
        for one in impatient:
            one.cancel()
        await asyncio.sleep(0)
        journal.go_on.set()
        async with asyncio.timeout(30):
            return [one.key for one in await patient]

    assert asyncio.run(leave()) == ["c"]
    assert journal.transactions == [["a"], ["b", "c"]]


def test_the_next_request_after_a_failure_is_written() -> None:
    journal = Journal(failing={"a": ValueError("ours")})
    journal.go_on.set()

    async def thrice() -> list[str]:
        appender = Appender(journal.append)
        with pytest.raises(ValueError, match="ours"):
            await appender.append([delivery("a")])
        answers = await appender.append([delivery("b")])
        await asyncio.sleep(0.05)  # no transaction is running any more
        async with asyncio.timeout(30):
            answers += await appender.append([delivery("c")])
        return [one.key for one in answers]

    assert asyncio.run(thrice()) == ["b", "c"]


def test_without_threads_every_request_of_a_group_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread starts while the interpreter shuts down, and the caller must not wait forever."""

    async def none(*_: object) -> None:
        raise RuntimeError("cannot schedule new futures after shutdown")

    monkeypatch.setattr(asyncio, "to_thread", none)

    async def asked() -> list[object]:
        appender = Appender(Journal().append)
        async with asyncio.timeout(30):
            requests = (appender.append([delivery(name)]) for name in "ab")
            return list(await asyncio.gather(*requests, return_exceptions=True))

    assert [type(one) for one in asyncio.run(asked())] == [RuntimeError, RuntimeError]


def test_who_comes_while_a_transaction_is_slow_does_not_wait_for_it_to_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The slow transaction may wait for a lock that the other does not need."""
    monkeypatch.setattr(appender_module, "SLOW_S", 0.01)
    held = Journal()

    def append(deliveries: Sequence[Delivery]) -> list[Accepted]:
        if deliveries[0].delivery_id == "a":
            return held.append(deliveries)
        return [Accepted(1, one.delivery_id, 1, duplicate=False) for one in deliveries]

    async def beside() -> list[str]:
        appender = Appender(append)
        first = asyncio.create_task(appender.append([delivery("a")]))
        try:
            async with asyncio.timeout(30):
                while not held.transactions:
                    await asyncio.sleep(0.001)
                others = [await appender.append([delivery(name)]) for name in "bc"]
            assert not first.done()
        finally:
            held.go_on.set()
        return [one.key for answers in [*others, await first] for one in answers]

    assert asyncio.run(beside()) == ["b", "c", "a"]


def test_what_comes_while_two_are_written_waits_for_the_first_of_them_to_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(appender_module, "SLOW_S", 0.01)
    journal = Journal()

    async def one_after_the_other() -> list[list[str]]:
        appender = Appender(journal.append)
        answers = []
        for count, name in enumerate("ab", 1):
            answers.append(asyncio.create_task(appender.append([delivery(name)])))
            async with asyncio.timeout(60):
                while len(journal.transactions) < count:
                    await asyncio.sleep(0.001)
        answers += [asyncio.create_task(appender.append([delivery(name)])) for name in "cd"]
        await asyncio.sleep(0.05)
        assert journal.transactions == [["a"], ["b"]]
        journal.go_on.set()
        return [[each.key for each in await one] for one in answers]

    assert asyncio.run(one_after_the_other()) == [["a"], ["b"], ["c"], ["d"]]
    assert journal.transactions == [["a"], ["b"], ["c", "d"]]


def test_a_request_that_comes_when_both_groups_end_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both groups end in one iteration of the event loop, and a request arrives before it is over."""
    monkeypatch.setattr(appender_module, "SLOW_S", 0.01)
    journal = Journal()

    async def race() -> list[str]:
        appender = Appender(journal.append)

        async def one_after_the_other() -> list[Accepted]:
            await appender.append([delivery("a")])
            return await appender.append([delivery("c")])

        both = asyncio.create_task(one_after_the_other())
        other: asyncio.Task[list[Accepted]] | None = None
        async with asyncio.timeout(60):
            while len(journal.transactions) < 2:
                await asyncio.sleep(0.001)
                if other is None and journal.transactions:
                    other = asyncio.create_task(appender.append([delivery("b")]))
            journal.go_on.set()
            time.sleep(0.1)
            return [one.key for one in await both]

    assert asyncio.run(race()) == ["c"]


@pytest.mark.parametrize("code", ["55P03", "57P03"])
def test_a_journal_that_others_hold_is_asked_once_for_all(code: str) -> None:
    """If each were tried alone, each would wait as long again."""
    held = OperationalError("INSERT", {}, type("Held", (Exception,), {"pgcode": code})())
    journal = Journal(failing={"b": held})
    assert asyncio.run(send(journal, "a", "b", "c")) == [["a"], held, held]
    assert journal.transactions == [["a"], ["b", "c"]]


def test_whose_group_met_a_deadlock_is_written_alone() -> None:
    """Two transactions with the same deliveries in a different order may deadlock."""

    class Deadlock(Exception):
        pgcode = "40P01"

    class Met(Journal):
        def append(self, deliveries: Sequence[Delivery]) -> list[Accepted]:
            answers = super().append(deliveries)
            if len(deliveries) > 1:
                raise OperationalError("INSERT", {}, Deadlock())
            return answers

    journal = Met()
    assert asyncio.run(send(journal, "a", "b", "c")) == [["a"], ["b"], ["c"]]
    assert journal.transactions == [["a"], ["b", "c"], ["b"], ["c"]]
