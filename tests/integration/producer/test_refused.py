"""Refused deliveries are counted and the latest kept, at almost no cost for the database; the doctor reports them."""

from __future__ import annotations

import gzip
import json
import time
from collections import defaultdict
from itertools import pairwise
from typing import Any

import pytest
import structlog
from pydantic import SecretStr
from requests.adapters import HTTPAdapter

from producer.admin.doctor.finding import CheckResult, Status
from producer.admin.doctor.helpdesk import queue, refused
from producer.admin.records.transaction import Store
from producer.intake.heartbeat import ProducerHeartbeat
from producer.intake.refused import MOST_ADDRESSES, Refused
from shared.notices.deliveries import Undelivered
from shared.notices.doctor_helpdesk import HelpdeskFinding
from shared.process.itself import Process
from tests.integration.producer.conftest import Run, RunningProducer
from tests.support.events import task_event

GZIP = {"Content-Encoding": "gzip"}
OTHER = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"


class Asked:
    """The part of an installation that the check needs."""

    def __init__(self, store: Store) -> None:
        with store.transaction() as tx:
            self.producers = tx.producers.seen()


def gzipped() -> bytes:
    return gzip.compress(json.dumps(task_event()).encode())


def told(store: Store) -> list[CheckResult]:
    return list(refused(Asked(store)))  # type: ignore[arg-type]


def queued(producer: RunningProducer, spool: str) -> CheckResult:
    """Send an event with this `deskbridge-spool` header, and wait for the doctor's result about the queue."""
    assert producer.send(task_event(), headers={"deskbridge-spool": spool}).status_code == 202
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for one in queue(Asked(producer.store)):  # type: ignore[arg-type]
            if one.found.code != HelpdeskFinding.QUEUE_UNKNOWN:
                return one
        time.sleep(0.05)
    raise AssertionError("the doctor says nothing of the queue")


def soon(producer: RunningProducer, code: str) -> dict[str, Any]:
    """Wait until the doctor reports a refusal; return its parameters."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for one in told(producer.store):
            if (why := one.found.params.get("why")) and why.code == code:
                return {**one.found.params, "what": one.what, "todo": one.todo, "of": why.params}
        time.sleep(0.05)
    raise AssertionError(f"nothing is told of {code}: {[one.what for one in told(producer.store)]}")


@pytest.mark.parametrize(
    ("deliver", "code", "step"),
    [
        (lambda p: p.send(task_event(), with_secret=OTHER), "secret_unknown", "DESKBRIDGE_WEBHOOK_SECRETS"),
        (lambda p: p.send(task_event(), age=612), "sender_clock_behind", "NTP"),
        (lambda p: p.send(task_event(), age=-1200), "sender_clock_ahead", "NTP"),
        (lambda p: p.post(b"{}"), "signature_absent", "docs/reference/events.md"),
        (lambda p: p.send(b"{"), "body_not_json", "docs/reference/events.md"),
        (lambda p: p.send(gzipped(), headers=GZIP), "body_encoded", "uncompressed"),
        (
            lambda p: p.send(task_event(), stamp=str(time.time_ns() // 1_000_000)),
            "time_stamp_in_milliseconds",
            "1000",
        ),
        (lambda p: p.send({"event": "ticket.updated"}), "event_malformed", "docs/reference/events.md"),
        (lambda p: p.http.post(p.base_url + "/event", data=b"{}", timeout=10), "path_unknown", "/events"),
    ],
)
def test_a_refused_delivery_is_told_with_address_reason_and_what_to_do(
    run: Run, deliver: Any, code: str, step: str
) -> None:
    producer = run()
    assert deliver(producer).status_code >= 400
    found = soon(producer, code)
    assert (found["count"], found["addresses"]) == (1, ["127.0.0.1 (1)"])
    assert step in found["todo"]
    assert "0 min ago" in found["what"]


def test_a_webhook_with_a_wrong_last_part_is_refused_logged_and_counted(run: Run) -> None:
    producer = run(glpi_webhook_secrets=(SecretStr("a-secret-of-glpi"),))
    address = f"{producer.base_url}/webhooks/glpi/tickets"
    with structlog.testing.capture_logs() as logged:
        assert producer.http.post(address, data=b"{}", timeout=10).status_code == 404
    assert [(one["status"], one["code"]) for one in logged if one["event"] == "refused"] == [
        (404, "path_unknown")
    ]
    found = soon(producer, "path_unknown")
    assert "there is nothing at /webhooks/glpi/tickets" in found["what"]
    assert "/webhooks/glpi/ticket, " in found["todo"]


def test_a_clock_that_is_off_is_told_by_how_much(run: Run) -> None:
    producer = run()
    producer.send(task_event(), age=612)
    assert soon(producer, "sender_clock_behind")["of"]["seconds"] == pytest.approx(612, abs=5)


def test_what_was_refused_since_the_last_accepted_event_is_told_apart(run: Run) -> None:
    producer = run()
    producer.send(task_event(), with_secret=OTHER)
    producer.send(task_event())
    producer.send(task_event(), with_secret=OTHER)
    until = time.monotonic() + 60
    while (found := soon(producer, "secret_unknown"))["count"] < 2:
        assert time.monotonic() < until
        time.sleep(0.1)
    assert (found["count"], found["after"]) == (2, 1)


class AnotherMachine(HTTPAdapter):
    """Sends from an address of its own."""

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        """Bind the connections to that address."""
        super().init_poolmanager(*arguments, source_address=("127.0.0.2", 0), **options)


def test_a_sender_with_an_old_secret_is_named_beside_a_good_one_until_one_of_its_own_is_accepted(
    run: Run,
) -> None:
    producer = run()
    own, another = producer.http.get_adapter(producer.base_url), AnotherMachine()
    producer.http.mount(producer.base_url, another)
    producer.send(task_event(), with_secret=OTHER)
    producer.http.mount(producer.base_url, own)
    producer.send(task_event(1))
    found = soon(producer, "secret_unknown")
    assert (found["addresses"], found["after"]) == (["127.0.0.2 (1)"], 1)
    producer.http.mount(producer.base_url, another)
    producer.send(task_event(2))
    until = time.monotonic() + 60
    while told(producer.store)[0].status is not Status.OK:
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_sender_is_named_for_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, now = Refused(), time.monotonic()
    kept.note("10.0.0.7", Undelivered.SECRET_UNKNOWN(setting="X"))
    kept.accepted("10.0.0.8")
    assert (kept.told()[0]["since"], kept.told()[0]["by_sender"]) == (0, 1)
    monkeypatch.setattr(time, "monotonic", lambda: now + 2 * 86400)
    assert (kept.told()[0]["since"], kept.told()[0]["by_sender"]) == (0, 0)


def test_who_only_looks_is_no_refused_delivery(run: Run) -> None:
    producer = run()
    assert producer.get("/favicon.ico").status_code == 404
    assert producer.get("/events").status_code == 405
    producer.post(b"{}")
    soon(producer, "signature_absent")
    assert len(told(producer.store)) == 1


def test_the_doctor_names_the_tickets_of_which_the_plugin_has_parked_something(run: Run) -> None:
    found = queued(run(), "waiting=3, parked=2, parked-tickets=13 4711")
    assert found.status is Status.WARNING
    assert "2 rejected events, of tickets 13, 4711, and had 3 queued events" in found.what
    assert "Send everything now" in found.todo


def test_a_queue_without_anything_parked_is_well_and_so_is_one_that_nothing_is_known_of(run: Run) -> None:
    producer = run()
    assert all(one.status is Status.OK for one in queue(Asked(producer.store)))  # type: ignore[arg-type]
    found = queued(producer, "waiting=3, parked=0")
    assert (found.status, "3 queued events" in found.what) == (Status.OK, True)
    assert told(producer.store)[0].status is Status.OK, "it is no refused delivery"


@pytest.mark.promise("SEC-60")
def test_a_flood_costs_a_few_rows_written_and_a_bounded_document() -> None:
    kept = Refused()
    for number in range(50_000):
        kept.note(
            f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", Undelivered.PATH_UNKNOWN(path="/x" * 30)
        )
        kept.note("\u202e<script>", Undelivered.SECRET_UNKNOWN(setting="X"))
    unknown, secret = kept.told()
    assert (unknown["count"], len(unknown["addresses"])) == (50_000, MOST_ADDRESSES)
    assert secret["addresses"] == ["? (50000)"], "what is no address is not kept"
    assert len(json.dumps(kept.told())) < 5000


@pytest.mark.promise("SEC-60")
def test_however_many_are_refused_the_row_is_written_once_in_two_seconds(run: Run, monkeypatch: Any) -> None:
    written = defaultdict[ProducerHeartbeat, list[float]](list)
    write = ProducerHeartbeat.write

    def counting(self: ProducerHeartbeat) -> None:
        written[self].append(time.monotonic())
        write(self)

    monkeypatch.setattr(ProducerHeartbeat, "write", counting)
    producer = run()
    for _ in range(300):
        producer.post(b"{}")
    soon(producer, "signature_absent")
    apart = [later - earlier for moments in written.values() for earlier, later in pairwise(moments)]
    assert all(seconds >= 1.9 for seconds in apart), apart


@pytest.mark.parametrize(
    "rows",
    [[7], [{}], [{"code": 7, "params": [], "seconds": "x", "count": 1, "since": 0, "addresses": []}], ["x"]],
)
def test_what_no_producer_wrote_ends_no_doctor(run: Run, rows: list[Any]) -> None:
    store = run().store
    with store.transaction() as tx:
        tx.producers.mark("strange:1", Process.here(), rows)
    assert [one.status for one in told(store)] == [Status.OK]
