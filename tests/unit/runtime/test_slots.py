"""A request for a slot gets one within its patience, or gives up and blocks no other request."""

from __future__ import annotations

import asyncio

from worker.runtime.slots import Slots


def test_who_has_waited_long_enough_takes_none_and_stands_in_nobodys_way() -> None:
    async def waiting() -> tuple[bool, int, bool]:
        slots = Slots(lambda: 1)
        assert await slots.take()
        given_up = await slots.take(patience=0.01)
        left = slots.waiting
        slots.release()
        return given_up, left, await slots.take(patience=0.01)

    assert asyncio.run(waiting()) == (False, 0, True)


def test_who_gets_a_slot_in_time_keeps_it_when_the_patience_is_over() -> None:
    async def waiting() -> tuple[bool, int]:
        slots = Slots(lambda: 1)
        assert await slots.take()
        asyncio.get_running_loop().call_later(0.01, slots.release)
        is_taken = await slots.take(patience=0.03)
        await asyncio.sleep(0.05)
        return is_taken, slots.taken

    assert asyncio.run(waiting()) == (True, 1)
