"""What the producer accepts and refuses; nothing of a refused request is stored."""

from __future__ import annotations

import gzip
import json
import time
from typing import Any

import pytest
import structlog

from shared.events.parsing import DEEPEST
from shared.notices.deliveries import Undelivered
from tests.integration.producer.conftest import RunningProducer, refused, secret
from tests.support.events import stored_event, task, task_event, ticket, ticket_event
from tests.support.serving import samples


def test_an_event_is_accepted_once_it_is_in_the_journal(producer: RunningProducer) -> None:
    answer = producer.send(task_event())
    assert answer.status_code == 202
    (row,) = producer.journal()
    assert answer.json() == {"accepted": [{"event_id": row.id, "key": "ticket-task:512", "duplicate": False}]}
    assert json.loads(row.payload) == task_event()


def test_the_same_id_with_the_same_body_is_a_duplicate_and_changes_nothing(producer: RunningProducer) -> None:
    first = producer.send(task_event(), "one").json()["accepted"][0]
    again = producer.send(task_event(), "one")
    assert again.status_code == 202
    assert again.json() == {"accepted": [{**first, "duplicate": True}]}
    assert len(producer.journal()) == 1


def test_the_same_id_with_another_body_is_a_new_event_and_a_warning(producer: RunningProducer) -> None:
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    with structlog.testing.capture_logs() as logged:
        producer.send(task_event(), "one")
        assert not [
            line for line in logged if line["log_level"] == "warning" and "delivery id" in line["event"]
        ]
        came_with = {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}
        (other,) = producer.send(ticket_event(), "one", headers=came_with).json()["accepted"]
    assert other["duplicate"] is False
    assert len(producer.journal()) == 2
    (line,) = [line for line in logged if line["log_level"] == "warning" and "delivery id" in line["event"]]
    named = ("event_ids", "keys", "ticket_id", "delivery_ids", "trace_id")
    assert [line[name] for name in named] == [[other["event_id"]], [other["key"]], 4711, ["one"], trace_id]


@pytest.mark.parametrize("depth", [DEEPEST - 1, DEEPEST])
def test_an_event_that_is_nested_too_deep_is_refused_and_the_deepest_is_kept(
    producer: RunningProducer, depth: int
) -> None:
    """The event itself counts as one level."""
    text = json.dumps(task_event(extra=1)).replace('"extra": 1', f'"extra": {"[" * depth}{"]" * depth}')
    is_kept = depth < DEEPEST
    assert producer.send(json.loads(text)).status_code == (202 if is_kept else 422)
    assert len(producer.journal()) == int(is_kept)


def test_an_array_s_events_are_numbered_or_carry_their_own_id(producer: RunningProducer) -> None:
    events = [task_event(), task_event(delivery_id="mine"), ticket_event(delivery_id=None)]
    answer = producer.send(events, "batch")
    assert [one["key"] for one in answer.json()["accepted"]] == [
        "ticket-task:512",
        "ticket-task:512",
        "ticket:4711",
    ]
    assert [row.delivery_id for row in producer.journal()] == ["batch/0", "mine", "batch/2"]
    again = producer.send([task_event(delivery_id="mine")], "another")
    assert again.json()["accepted"][0]["duplicate"] is True


def test_500_events_at_once_are_the_most(producer: RunningProducer) -> None:
    events = [ticket_event(of_ticket=ticket(number)) for number in range(1, 502)]
    problem = refused(producer.send(events), 422)
    assert "500" in problem["detail"]
    assert producer.journal() == []
    assert len(producer.send(events[:500]).json()["accepted"]) == 500
    assert len(producer.journal()) == 500


def test_a_signed_empty_array_is_a_test_and_no_delivery(producer: RunningProducer) -> None:
    def refusals() -> float:
        counted = samples(producer.get("/metrics").text)
        return sum(count for name, count in counted.items() if "requests_refused_total" in name)

    before = refusals()
    answer = producer.send([])
    assert (answer.status_code, answer.json()) == (202, {"accepted": []})
    assert (producer.journal(), refusals()) == ([], before)
    refused(producer.send([], with_secret=secret("another")), 401)


def test_one_fault_in_an_array_keeps_none_of_it(producer: RunningProducer) -> None:
    events: list[Any] = [task_event(), task_event(of_task=task(0)), 7, task_event(delivery_id=9)]
    problem = refused(producer.send(events), 422)
    assert {fault["path"] for fault in problem["errors"]} == {"[1].task.id", "[2].(event)", "[3].delivery_id"}
    assert all(fault["detail"] for fault in problem["errors"])
    assert producer.journal() == []


def test_every_fault_of_an_event_is_named_by_its_path(producer: RunningProducer) -> None:
    problem = refused(producer.send({"event": "ticket.updated", "ticket": {"id": "x"}}), 422)
    assert {"occurred_at", "ticket.id", "ticket.title", "ticket.status", "ticket.entity_id"} <= {
        fault["path"] for fault in problem["errors"]
    }


NOT_JSON = {
    "empty": b"",
    "cut off": b'{"event": ',
    "two values": b"{} {}",
    "not UTF-8": b'{"event": "\xff"}',
    "two byte order marks": b"\xef\xbb\xbf" * 2 + b"{}",
    "a byte order mark alone": b"\xef\xbb\xbf",
    "NaN": b'{"event": NaN}',
    "Infinity": b"[-Infinity]",
    "huge integer": b'{"ticket": ' + b"9" * 5000 + b"}",
    "deep nesting": b"[" * 100_000 + b"]" * 100_000,
    "comment": b"{} // hi",
}


@pytest.mark.promise("SEC-09")
@pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON.keys())
def test_what_is_not_json_is_refused(producer: RunningProducer, body: bytes) -> None:
    refused(producer.send(body), 400)
    assert producer.journal() == []


@pytest.mark.parametrize("body", [b"null", b"7", b'"text"', b"true", b"[[]]", b"{}"])
def test_json_that_is_no_event_is_refused(producer: RunningProducer, body: bytes) -> None:
    assert refused(producer.send(body), 422)["errors"]


@pytest.mark.promise("SEC-09")
@pytest.mark.parametrize("depth", [100, 450, 600, 990])
def test_deep_nesting_in_an_extra_key_is_no_crash(producer: RunningProducer, depth: int) -> None:
    body = json.dumps(task_event())[:-1] + ', "extra": ' + "[" * depth + "]" * depth + "}"
    assert producer.send(body.encode()).status_code in (202, 400, 422)


@pytest.mark.parametrize("number", ["1e400", "1" + "0" * 400, "-0", "1.0"])
def test_odd_numbers_are_named(producer: RunningProducer, number: str) -> None:
    body = json.dumps(ticket_event()).replace('"status": 2', f'"status": {number}').encode()
    answer = producer.send(body)
    if number == "-0":
        assert answer.status_code == 202
    else:
        assert refused(answer, 422)["errors"][0]["path"] == "ticket.status"


def test_nul_and_lone_surrogates_are_accepted(producer: RunningProducer) -> None:
    body = json.dumps(ticket_event(of_ticket=ticket(title="a\x00b\ud800c"))).encode()
    assert producer.send(body).status_code == 202
    (row,) = producer.journal()
    assert json.loads(row.payload)["ticket"]["title"] == "a\x00b\ud800c"
    assert stored_event(row.payload).ticket.id == 4711


def test_extra_keys_are_kept_and_ignored(producer: RunningProducer) -> None:
    assert producer.send(task_event(site="north", urgency=[1, {"a": None}])).status_code == 202
    assert json.loads(producer.journal()[0].payload)["site"] == "north"


def test_one_mebibyte_is_the_most(producer: RunningProducer) -> None:
    def sized(size: int) -> bytes:
        empty = json.dumps(ticket_event(of_ticket=ticket(content=""))).encode()
        return empty.replace(b'"content": ""', b'"content": "' + b"x" * (size - len(empty)) + b'"')

    assert producer.send(sized(2**20)).status_code == 202
    refused(producer.send(sized(2**20 + 1)), 413)
    refused(producer.post(b"x" * (2**20 + 1)), 413)
    assert len(producer.journal()) == 1


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "", None, "application/jsonp"]
)
def test_another_content_type_is_refused(producer: RunningProducer, content_type: str | None) -> None:
    refused(producer.post(json.dumps(task_event()).encode(), **{"Content-Type": content_type}), 415)


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "Application/JSON"])
def test_the_content_type_may_have_parameters_and_any_case(
    producer: RunningProducer, content_type: str
) -> None:
    refused(producer.post(b"{}", **{"Content-Type": content_type}), 401)


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/events", 405), ("POST", "/nothing", 404), ("GET", "/docs", 404)]
)
def test_other_paths_and_methods_are_problems_of_the_same_form(
    producer: RunningProducer, method: str, path: str, status: int
) -> None:
    address = producer.base_url + path
    problem = refused(producer.http.request(method, address, timeout=30), status)
    assert problem["code"] == (Undelivered.METHOD_WRONG if status == 405 else Undelivered.PATH_UNKNOWN)
    assert problem["params"]["path"] in problem["detail"], "who has a code has a sentence"


@pytest.mark.parametrize("wrap", [lambda event: event, lambda event: [event]])
def test_a_byte_order_mark_in_front_of_the_json_is_accepted(producer: RunningProducer, wrap: Any) -> None:
    body = json.dumps(wrap(task_event())).encode("utf-8-sig")
    assert body.startswith(b"\xef\xbb\xbf")
    assert producer.send(body).status_code == 202
    (row,) = producer.journal()
    assert json.loads(row.payload) == task_event()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "GZIP"])
def test_a_compressed_body_is_refused_as_such(producer: RunningProducer, encoding: str) -> None:
    body = gzip.compress(json.dumps(task_event()).encode())
    problem = refused(producer.send(body, headers={"Content-Encoding": encoding}), 415)
    assert problem["title"] == "Content-Encoding is not supported"
    assert problem["code"] == Undelivered.BODY_ENCODED
    assert producer.journal() == []


def test_a_body_that_says_it_is_not_compressed_is_accepted(producer: RunningProducer) -> None:
    assert producer.send(task_event(), headers={"Content-Encoding": "identity"}).status_code == 202


def test_a_time_stamp_in_milliseconds_is_called_that(producer: RunningProducer) -> None:
    problem = refused(producer.send(task_event(), stamp=str(time.time_ns() // 1_000_000)), 401)
    assert problem["code"] == Undelivered.TIME_STAMP_IN_MILLISECONDS
    assert "milliseconds" in problem["detail"]


@pytest.mark.parametrize(
    ("moment", "word"),
    [
        (1764149400000, "a number of milliseconds"),
        ("1764149400000", "a number of milliseconds"),
        (1764149400, "a number of seconds"),
        ("1764149400", "a number of seconds"),
        (17.5, "RFC 3339"),
        (True, "RFC 3339"),
    ],
)
def test_a_number_in_place_of_a_time_is_called_what_it_is(
    producer: RunningProducer, moment: Any, word: str
) -> None:
    problem = refused(producer.send(task_event(occurred_at=moment)), 422)
    (fault,) = problem["errors"]
    assert fault["path"] == "occurred_at"
    assert word in fault["detail"]
