"""`event list` and `event replay`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from producer.cli.failures import WrongUsage
from producer.cli.register import zoned
from shared.notices.invalid import Invalid
from shared.notices.notice import written
from shared.notices.reasons import Reason
from shared.store.tables.journal import EventState
from tests.helpdesks.recorded_requests import recorded
from tests.support.events import task, task_event, ticket, ticket_event
from tests.unit.cli.conftest import Shell

KEYS = [
    "id",
    "key",
    "event",
    "ticket_id",
    "task_id",
    "state",
    "code",
    "params",
    "reason",
    "occurred_at",
    "received_at",
    "attempts",
    "next_attempt_at",
    "title",
    "who",
    "issue_id",
]


def test_events_are_listed_newest_first_with_exactly_the_agreed_keys(shell: Shell) -> None:
    first, second = shell.receive(task_event(1), ticket_event(2))
    found = shell.ask("event", "list")
    assert [row["id"] for row in found] == [second, first]
    assert all(list(row) == KEYS for row in found)
    assert found[1] == {
        **found[1],
        "key": "ticket-task:512",
        "event": "ticket_task.updated",
        "ticket_id": 4711,
        "task_id": 512,
        "state": "pending",
        "code": "worker_awaited",
        "params": {},
        "reason": "no worker is running; start `deskbridge worker`",
        "occurred_at": "2026-01-05T09:01:00Z",
        "attempts": 0,
        "next_attempt_at": None,
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", found[0]["received_at"])


def test_events_can_be_narrowed(shell: Shell) -> None:
    first, second, third = shell.receive(
        task_event(1), ticket_event(2), task_event(3, of_ticket=ticket(4712), of_task=task(600))
    )
    shell.end([second], EventState.FAILED, "refused")
    assert [row["id"] for row in shell.ask("event", "list", "--state", "failed")] == [second]
    assert [row["id"] for row in shell.ask("event", "list", "--ticket", "4712")] == [third]
    assert [row["id"] for row in shell.ask("event", "list", "--limit", "2")] == [third, second]
    assert shell.ask("event", "list", "--ticket", "4711", "--state", "pending")[0]["id"] == first
    shell.fail("event", "list", "--state", "lost", code=2)


def test_a_kind_that_does_not_exist_is_refused_with_those_that_do(shell: Shell) -> None:
    told = shell.fail("event", "list", "--kind", "ticket.lost", code=2)
    assert "--kind" in told
    assert "ticket.updated" in told
    assert shell.ask("event", "list", "--kind", "ticket.updated") == []


def test_the_table_fits_100_columns_and_says_when_in_words(shell: Shell) -> None:
    (event_id,) = shell.receive(task_event(1))
    with shell.store.transaction() as tx:
        tx.journal.wait(
            [event_id], datetime.now(UTC) + timedelta(seconds=90), written("the tracker is busy " * 20)
        )
    told = shell.do("event", "list")
    assert all(len(line) <= 100 for line in told.splitlines())
    assert "next attempt in 1 minute" in " ".join(told.split())
    assert "\x1b" not in told


def test_no_event_is_said_in_a_sentence_and_as_an_empty_list(shell: Shell) -> None:
    assert "No event has been received" in shell.do("event", "list")
    assert shell.ask("event", "list") == []


def test_text_of_the_outside_is_shown_as_it_is_and_moves_no_cursor(shell: Shell) -> None:
    (event_id,) = shell.receive(task_event(1))
    shell.end([event_id], EventState.FAILED, "[bold]no\x1b[2J markup[/bold]")
    told = shell.do("event", "list")
    assert "[bold]no[2J markup[/bold]" in told
    assert shell.ask("event", "list")[0]["state"] == "failed"


def test_replay_takes_ids_and_notifies_their_tickets(shell: Shell) -> None:
    first, second = shell.receive(task_event(1), ticket_event(2, of_ticket=ticket(4712)))
    shell.end([first, second], EventState.DONE, "done")
    assert shell.ask("event", "replay", str(first), str(first)) == {
        "events": 1,
        "tickets": [4711],
        "unreadable": 0,
    }
    assert shell.states() == {first: "pending", second: "done"}
    assert shell.notified == [4711]


@pytest.mark.parametrize("state", list(EventState))
def test_replay_takes_any_state(shell: Shell, state: EventState) -> None:
    ids = shell.receive(task_event(1), ticket_event(2))
    other = EventState.DONE if state is not EventState.DONE else EventState.FAILED
    shell.end(ids[:1], state, "so it was")
    shell.end(ids[1:], other, "otherwise")
    assert shell.ask("event", "replay", "--state", state)["events"] == 1
    assert shell.states()[ids[0]] == "pending"
    assert shell.states()[ids[1]] == other


def test_replaying_an_unknown_event_fails_and_replays_none(shell: Shell) -> None:
    (event_id,) = shell.receive(task_event(1))
    shell.end([event_id], EventState.FAILED, "refused")
    assert "77" in shell.fail("event", "replay", str(event_id), "77")
    assert shell.states() == {event_id: "failed"}


def test_replaying_a_state_that_no_event_has_says_so(shell: Shell) -> None:
    assert "No event is in state failed" in shell.do("event", "replay", "--state", "failed")


def park(shell: Shell, delivery: str, body: bytes) -> int:
    """Store a delivery that could not be read."""
    with shell.store.transaction() as tx:
        tx.journal.park(delivery, "glpi/ticket-task", body, [("item.state", Invalid.FIELD_REQUIRED())])
        return tx.journal.unreadable()[-1].id


def test_a_delivery_that_cannot_be_read_is_shown_with_where_it_came_and_what_is_wrong(shell: Shell) -> None:
    park(shell, "a", b'{"x": "\xff\x00"}')
    (shown,) = shell.ask("event", "list", "--state", "failed")
    assert (shown["event"], shown["code"]) == ("unreadable", Reason.DELIVERY_UNREADABLE)
    assert shown["reason"] == "unreadable delivery to glpi/ticket-task: item.state: required"
    assert "unreadable" in shell.do("event", "list")


def test_a_replay_reads_it_once_more_and_notifies_its_ticket(shell: Shell) -> None:
    hopeless, readable = park(shell, "a", b"\xff"), park(shell, "b", recorded("task-update-done").body)
    assert shell.ask("event", "replay", str(hopeless)) == {"events": 0, "tickets": [], "unreadable": 1}
    assert shell.ask("event", "replay", str(hopeless), str(readable)) == {
        "events": 1,
        "tickets": [1],
        "unreadable": 1,
    }
    assert shell.notified == [1]
    read, left = shell.ask("event", "list")
    assert (read["key"], read["state"], left["id"], left["state"]) == (
        "ticket-task:1",
        "pending",
        hopeless,
        "failed",
    )


def test_a_replay_says_what_still_cannot_be_read(shell: Shell) -> None:
    park(shell, "a", b"{}")
    park(shell, "b", recorded("task-new").body)
    told = shell.type("event", "replay", "--state", "failed")
    assert "1 event of 1 ticket will be processed again" in told.stdout
    assert "1 event still cannot be read" in told.stderr
    told = shell.type("event", "replay", "--state", "failed")
    assert told.stdout == ""
    assert "1 event still cannot be read" in told.stderr


def test_replay_wants_ids_or_a_state(shell: Shell) -> None:
    shell.fail("event", "replay", code=2)
    shell.fail("event", "replay", "1", "--state", "failed", code=2)


def test_a_broker_that_is_down_is_only_a_warning(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.queue.publisher.Publisher.notify", lambda *_, **__: False)
    (event_id,) = shell.receive(task_event(1))
    result = shell.type("event", "replay", str(event_id))
    assert result.exit_code == 0
    assert "sweep" in result.stderr


def test_a_replay_of_a_state_is_narrowed_by_the_code_of_its_reason(shell: Shell) -> None:
    linkless, undone = shell.receive(task_event(), task_event(1, of_task=task(513, state=1)))
    shell.skip([linkless])
    shell.end([undone], EventState.SKIPPED, Reason.NOT_DONE(state=1, done_state=2))
    assert shell.ask("event", "replay", "--state", "skipped", "--code", "no_link")["events"] == 1
    assert shell.states() == {linkless: "pending", undone: "skipped"}
    assert (
        "no event is in state skipped"
        in shell.do("event", "replay", "--state", "skipped", "--code", "no_link").lower()
    )
    assert "--state" in shell.fail("event", "replay", "--code", "no_link", "1", code=2)


@pytest.mark.parametrize(
    ("text", "option", "moment"),
    [
        ("2026-11-28", "--since", "2026-11-28T00:00:00Z"),
        ("2026-11-28", "--until", "2026-11-29T00:00:00Z"),
        ("2026-11-28T03:00+01:00", "--until", "2026-11-28T02:00:00Z"),
    ],
)
def test_a_day_is_one_of_utc_and_until_includes_it(text: str, option: str, moment: str) -> None:
    assert zoned(text, option) == datetime.fromisoformat(moment)


@pytest.mark.parametrize(
    ("text", "is_exact", "suggested"),
    [("2026-11-28T03:00", False, "2026-11-28T03:00Z"), ("2026-11-28", True, "2026-11-28T00:00Z")],
)
def test_what_a_refused_time_suggests_is_accepted(text: str, is_exact: bool, suggested: str) -> None:
    """After a restore a day of the wrong time zone could begin after the backup."""
    with pytest.raises(WrongUsage, match=re.escape(f"write {suggested} or")):
        zoned(text, is_exact=is_exact)
    assert zoned(suggested, is_exact=is_exact) is not None
