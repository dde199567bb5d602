"""GLPI's plugin reports a merged ticket as merged, not as deleted: work from before stays valid."""

from __future__ import annotations

import pytest

from tests.helpdesks.plugin.conftest import ROWS, TASK, TICKET, Play, act, events, store

MERGED = store(
    Ticket=[{**TICKET, "id": number, "_users": {"2": []}} for number in (4711, 13)],
    TicketTask=[{**TASK, "id": 20, "tickets_id": 13}, {**TASK, "id": 21, "tickets_id": 13, "state": 1}],
)


@pytest.mark.parametrize("with_tasks", [True, False])
def test_a_merged_ticket_is_sent_once_more_as_merged_and_as_before_when_it_is_restored(
    play: Play, with_tasks: bool
) -> None:
    merge = act("merge", other=13, with_tasks=with_tasks)
    merged, again = (
        [one["ticket"].get("is_merged") for one in events(rows) if one["event"] == "ticket.updated"]
        for rows in (play(MERGED, merge, ROWS)[-1], play(MERGED, merge, act("restore", item_id=13), ROWS)[-1])
    )
    assert merged == [True]
    assert again == [True, None]
