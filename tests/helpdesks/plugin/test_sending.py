"""How GLPI's plugin sends its spooled events: in order, signed, until they are accepted."""

from __future__ import annotations

import time

import pytest
from pydantic import SecretStr

from producer.intake.signatures import Verifier
from shared.errors import BadSignature
from tests.helpdesks.plugin.conftest import (
    LOGGED,
    REFUSED,
    ROWS,
    SEND,
    TICKET,
    TROUBLE,
    WAIT,
    Play,
    Scripted,
    add_task,
    address_of,
    settings,
    silence,
    store,
    update_task,
    update_ticket,
)
from tests.integration.producer.conftest import SECRET, RunningProducer, secret
from tests.support.serving import samples


def test_what_the_plugin_sends_is_accepted_by_the_producer(play: Play, producer: RunningProducer) -> None:
    saves = [add_task(), update_ticket("status"), update_task("state")]
    *_, sent, left = play(address_of(producer), *saves, SEND, ROWS)
    assert (sent, left) == (3, [])
    kept = producer.journal()
    assert [row.key for row in kept] == ["ticket-task:512", "ticket:4711", "ticket-task:512"]
    assert [row.sequence for row in kept] == [1, 2, 3]
    assert [row.occurred_at.microsecond for row in kept] == [1, 2, 3]


def test_the_times_are_those_of_the_database_in_utc(play: Play) -> None:
    request = {"do": "request", "now": 1795265200}
    *_, (_, body) = play(settings(address="http://127.0.0.1:9", secret=SECRET), add_task(), request)
    assert '"occurred_at":"2026-11-21T12:46:39.000001Z"' in body


def test_after_the_answer_everything_is_sent_without_being_asked(
    play: Play, producer: RunningProducer
) -> None:
    play(address_of(producer), add_task(), update_ticket("status"))
    assert len(producer.journal()) == 2


def test_after_the_answer_there_is_one_try_only(play: Play, scripted: Scripted) -> None:
    scripted.answers = [(422, REFUSED)]
    play(address_of(scripted), add_task(), add_task(513))
    assert len(scripted.received) == 1


def test_a_repeat_has_the_same_ids_and_bodies_so_that_the_journal_keeps_one(
    play: Play, producer: RunningProducer
) -> None:
    """As after a lost answer: the rows are still there, although their first delivery was committed."""
    now = int(time.time())
    *_, (headers, body), sent = play(
        address_of(producer), add_task(), add_task(513), {"do": "request", "now": now}, SEND
    )
    again = dict(header.split(": ", 1) for header in headers)
    answer = producer.post(body.encode(), **again)
    assert sent == 2
    assert [one["duplicate"] for one in answer.json()["accepted"]] == [True, True]
    assert len(producer.journal()) == 2


def test_the_signature_is_the_one_that_the_producer_verifies(play: Play) -> None:
    now = int(time.time())
    *_, (headers, body) = play(
        settings(address="http://127.0.0.1:9", secret=SECRET), add_task(), {"do": "request", "now": now}
    )
    given = dict(header.split(": ", 1) for header in headers)
    assert Verifier([SecretStr(SECRET)]).verify(body, given) == 0
    with pytest.raises(BadSignature):
        Verifier([SecretStr(secret("another"))]).verify(body, given)
    with pytest.raises(BadSignature):
        Verifier([SecretStr(SECRET)]).verify(body + " ", given)


def test_a_request_is_named_after_its_first_row_and_holds_fifty_at_most(
    play: Play, scripted: Scripted
) -> None:
    saves = [add_task(number) for number in range(1, 61)]
    *_, rows, sent = play(address_of(scripted), *saves, ROWS, SEND)
    (first, headers), (second, _) = scripted.received
    assert (sent, len(first), len(second)) == (60, 50, 10)
    assert headers["webhook-id"] == first[0]["delivery_id"] == rows[0]["uuid"]
    assert [event["task"]["id"] for event in first + second] == list(range(1, 61))


def test_each_sending_tells_what_is_kept_beside_it(play: Play, scripted: Scripted) -> None:
    scripted.answers = [(422, REFUSED), (202, "{}")]
    play(address_of(scripted), *[add_task(number) for number in range(1, 52)], SEND, add_task(60), SEND)
    told = [headers["deskbridge-spool"] for _, headers in scripted.received]
    assert (told[0], told[-1]) == ("waiting=1, parked=0", "waiting=0, parked=0")


def test_what_is_parked_is_told_with_the_next_sending(play: Play, producer: RunningProducer) -> None:
    wrong = store(Ticket=[{**TICKET, "id": 13, "entities_id": -1}, {**TICKET, "_users": {"2": []}}])
    play(address_of(producer), wrong, add_task(1, tickets_id=13), SEND, add_task(2), SEND)
    shown = samples(producer.get("/metrics").text)
    assert shown['deskbridge_helpdesk_spool_events{secret="0",state="parked"}'] == 1
    assert shown['deskbridge_helpdesk_spool_events{secret="0",state="waiting"}'] == 0


def test_large_events_go_in_smaller_requests(play: Play, scripted: Scripted) -> None:
    saves = [add_task(number, content="x" * 300_000) for number in range(1, 4)]
    *_, sent = play(address_of(scripted), *saves, SEND)
    assert (sent, [len(body) for body, _ in scripted.received]) == (3, [1, 1, 1])


@pytest.mark.parametrize("status", [200, 201, 301, 401, 403, 404, 408, 415, 429, 500, 502, 503])
def test_without_a_202_every_row_stays_and_waits(play: Play, scripted: Scripted, status: int) -> None:
    scripted.answers = [(status, '{"title": "Not now", "detail": "please"}')]
    *_, sent, rows, again = play(address_of(scripted), add_task(), add_task(513), SEND, ROWS, SEND)
    assert (sent, again) == (0, 0)
    assert [row["is_parked"] for row in rows] == [0, 0]
    assert [row["attempts"] for row in rows] == [1, 0]
    assert rows[0]["answer"] == f"HTTP {status}: Not now · please"
    assert len(scripted.received) == 1


def test_the_next_try_is_never_more_than_a_minute_away(play: Play, scripted: Scripted) -> None:
    scripted.answers = [(503, "")]
    tries = [WAIT, SEND, ROWS] * 8
    started = time.time()
    rows = play(address_of(scripted), add_task(), *tries)[4::3]
    assert len(rows) == 8
    assert all(30 < row["next_try"] - started < 60 for (row,) in rows)


def test_a_test_that_succeeds_ends_the_waiting_and_one_that_fails_does_not(
    play: Play, scripted: Scripted
) -> None:
    scripted.answers = [(503, ""), (503, ""), (202, '{"accepted": []}'), (202, "{}")]
    test = {"do": "test"}
    *_, failed, none, succeeded, sent = play(address_of(scripted), add_task(), SEND, test, SEND, test, SEND)
    assert (failed["status"], none, succeeded["status"], sent) == (503, 0, 202, 1)


def test_a_test_leaves_what_is_parked_where_it_is(play: Play, scripted: Scripted) -> None:
    scripted.answers = [(422, REFUSED), (202, '{"accepted": []}')]
    *_, rows = play(address_of(scripted), add_task(), SEND, {"do": "test"}, ROWS)
    assert [row["is_parked"] for row in rows] == [1]


def test_each_sending_names_the_tickets_of_which_something_is_parked(play: Play, scripted: Scripted) -> None:
    scripted.answers = [(422, REFUSED), (202, "{}")]
    tickets = store(Ticket=[{**TICKET, "id": 13, "_users": {"2": []}}, {**TICKET, "_users": {"2": []}}])
    play(address_of(scripted), tickets, add_task(1, tickets_id=13), SEND, add_task(2), SEND)
    assert scripted.received[-1][1]["deskbridge-spool"] == "waiting=0, parked=1, parked-tickets=13"


def test_a_refused_event_is_parked_with_the_answer_and_the_others_go(
    play: Play, producer: RunningProducer
) -> None:
    """No help desk has an entity -1; the producer answers 422 to the whole array."""
    wrong = [{**TICKET, "id": 13, "entities_id": -1}]
    tickets = store(Ticket=[{**TICKET, "_users": {"2": []}}, *wrong])
    saves = [add_task(number, tickets_id=13 if number == 5 else 4711) for number in range(1, 9)]
    *_, sent, rows, again = play(address_of(producer), tickets, *saves, SEND, ROWS, SEND)
    assert (sent, again) == (7, 0)
    (parked,) = rows
    assert (parked["tickets_id"], parked["is_parked"]) == (13, 1)
    assert "[0].ticket.entity_id: " in parked["answer"]
    assert [row.task_id for row in producer.journal()] == [1, 2, 3, 4, 6, 7, 8]


def test_parked_events_are_sent_again_when_a_person_says_so(play: Play, scripted: Scripted) -> None:
    scripted.answers = [(422, REFUSED), (202, "{}")]
    *_, first, _, second, rows = play(address_of(scripted), add_task(), SEND, {"do": "retry"}, SEND, ROWS)
    assert (first, second, rows) == (0, 1, [])


def test_an_outage_in_the_middle_of_a_refused_array_parks_nothing_else(
    play: Play, scripted: Scripted
) -> None:
    scripted.answers = [(422, REFUSED), (202, "{}"), (503, "")]
    saves = [add_task(number) for number in range(1, 5)]
    *_, sent, rows = play(address_of(scripted), *saves, SEND, ROWS)
    assert sent == 2
    assert [(row["is_parked"], row["attempts"]) for row in rows] == [(0, 1), (0, 0)]


def test_one_sender_at_a_time(play: Play, scripted: Scripted) -> None:
    locked = {"do": "database", "values": {"is_locked_elsewhere": True}}
    *_, sent = play(address_of(scripted), add_task(), locked, SEND)
    assert (sent, scripted.received) == (0, [])


def test_nothing_is_sent_before_there_is_an_address(play: Play) -> None:
    *_, sent, rows, trouble = play(add_task(), SEND, ROWS, TROUBLE)
    assert (sent, len(rows)) == (0, 1)
    assert "No event is sent until deskbridge's address and secret are set." in trouble


def test_a_server_that_never_answers_is_given_up_in_time(play: Play) -> None:
    with silence() as address:
        *_, sent, rows = play(
            settings(address=address, secret=SECRET), add_task(), {**SEND, "patience": 0.3}, ROWS
        )
    assert sent == 0
    assert "timed out" in rows[0]["answer"]


def test_a_save_goes_on_and_the_fault_is_logged_when_the_spool_cannot_be_written(play: Play) -> None:
    broken = {"do": "database", "values": {"is_broken": True}}
    _, saved, logged = play(broken, add_task(), LOGGED)
    assert saved is None
    assert logged == ["the table is full"]


@pytest.mark.promise("SEC-93")
def test_an_answer_that_is_too_long_is_cut_off_and_its_status_counts(play: Play, scripted: Scripted) -> None:
    scripted.answers = [(202, "x" * 50_000_000)]
    *_, rows = play(address_of(scripted), add_task(), SEND, ROWS)
    assert (rows, len(scripted.received), scripted.read) == ([], 1, 0)
    scripted.answers = [(500, "x" * 50_000_000)]
    *_, (row,) = play(address_of(scripted), add_task(), SEND, ROWS)
    assert "HTTP 500: xxx" in row["answer"]
    assert scripted.read == 0
