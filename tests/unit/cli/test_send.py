"""`event send` validates locally, signs, batches and can be repeated; the producer is real code without a socket."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from pydantic import SecretStr

from producer.admin.samples import outcome
from producer.admin.samples.outcome import Outcome
from producer.cli.sending import LARGEST_BATCH, MOST_EVENTS, NotSent, batches, read_events
from producer.http import sending
from producer.http.bodies import LARGEST_BODY
from producer.http.problems import Problem
from producer.intake.deliveries import deliveries
from producer.intake.signatures import Verifier
from shared.notices.authors import Misattribution
from shared.notices.changes import Did
from shared.notices.invalid import Invalid
from shared.notices.notice import Notice
from shared.notices.reasons import Matching, Reason
from shared.notices.refusals import Refusal
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.store.tables.ledger import LedgerState
from tests.support.events import task_event, ticket, ticket_event
from tests.support.refusals import says
from tests.unit.cli.conftest import SECRET, Shell


class FakeProducer:
    """Receives the posts of `event send` with the producer's verification, validation and journal."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.requests: list[str] = []
        self.refuses_from: int | None = None
        self.is_unsigned = False
        self.busy = 0

    def post(self, _session: Any, url: str, *, data: bytes, headers: Mapping[str, str], **_: Any) -> Any:
        """Answer POST /events."""
        assert url == "http://127.0.0.1:8080/events"
        self.requests.append(data.decode())
        answer = requests.Response()
        if not self.is_unsigned:
            Verifier([SecretStr(SECRET)]).verify(data.decode(), headers)
        if self.busy:
            self.busy -= 1
            answer.status_code, answer._content = 429, b"{}"
            answer.headers["Retry-After"] = "7"
            return answer
        if self.refuses_from is not None and len(self.requests) > self.refuses_from:
            problem = Problem(
                503, "The journal cannot be written", "send it again", headers={"Retry-After": "5"}
            )
            answer.status_code, answer._content = problem.status, bytes(problem.response().body)
            answer.headers["Retry-After"] = "5"
            return answer
        with self.shell.store.transaction() as tx:
            taken = tx.journal.append(deliveries(data.decode(), headers["webhook-id"]), datetime.now(UTC))
        accepted = [{"event_id": one.event_id, "key": one.key, "duplicate": one.duplicate} for one in taken]
        answer.status_code, answer._content = 202, json.dumps({"accepted": accepted}).encode()
        return answer


@pytest.fixture
def producer(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> FakeProducer:
    """Return the fake producer that `event send` reaches."""
    fake = FakeProducer(shell)
    monkeypatch.setattr(requests.Session, "post", lambda *args, **kwargs: fake.post(*args, **kwargs))
    return fake


def lines(*events: Any) -> str:
    """Return events as JSON lines."""
    return "\n".join(json.dumps(event) for event in events) + "\n"


def test_a_file_of_json_lines_is_signed_and_sent(
    shell: Shell, producer: FakeProducer, tmp_path: Path
) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text(lines(task_event(1), ticket_event(2)))
    assert shell.ask("event", "send", str(file)) == {"accepted": 2, "duplicates": 0, "event_ids": [1, 2]}
    assert len(producer.requests) == 1


def test_sending_a_file_again_changes_nothing(shell: Shell, producer: FakeProducer) -> None:
    assert producer
    content = lines(task_event(1), ticket_event(2))
    shell.do("event", "send", "-", stdin=content)
    assert "2 events accepted, of which 2 had been received before" in shell.do(
        "event", "send", "-", stdin=content
    )
    both = lines(ticket_event(2), ticket_event(3))
    assert "of which 1 had been received before" in shell.do("event", "send", "-", stdin=both)
    assert len(shell.states()) == 3


def test_an_array_and_a_single_event_are_taken_too(shell: Shell, producer: FakeProducer) -> None:
    assert producer
    shell.do("event", "send", "-", stdin=json.dumps([task_event(1), ticket_event(2)], indent=2))
    shell.do("event", "send", "-", stdin="\ufeff" + json.dumps(ticket_event(3), indent=2))
    assert len(shell.states()) == 3


def test_many_events_go_in_batches_in_their_order(shell: Shell, producer: FakeProducer) -> None:
    events = [ticket_event(number) for number in range(250)]
    assert shell.ask_stdin("event", "send", "-", stdin=lines(*events))["accepted"] == 250
    assert [len(json.loads(body)) for body in producer.requests] == [100, 100, 50]
    assert json.loads(producer.requests[1])[0]["occurred_at"] == events[100]["occurred_at"]


def test_large_events_make_smaller_batches() -> None:
    large = [ticket_event(number, of_ticket=ticket(content="x" * 300_000)) for number in range(7)]
    made = list(batches(read_events(lines(*large).encode())))
    assert [len(batch) for batch in made] == [3, 3, 1]
    assert all(sum(len(one.content) for one in batch) <= LARGEST_BATCH < LARGEST_BODY for batch in made)
    assert MOST_EVENTS <= 500


@pytest.mark.parametrize("wrap", [lines, lambda event: json.dumps([event])])
def test_a_byte_order_mark_in_front_of_a_file_is_accepted(
    shell: Shell, producer: FakeProducer, wrap: Any, tmp_path: Path
) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(wrap(task_event()), "utf-8-sig")
    assert shell.ask("event", "send", str(path))["accepted"] == 1
    assert shell.ask_stdin("event", "send", "-", stdin="\ufeff" + wrap(task_event()))["accepted"] == 1


def test_text_is_sent_as_utf_8_and_counted_in_bytes(shell: Shell, producer: FakeProducer) -> None:
    text = "Принтер не печатает \N{FIRE} 打印机 "
    shell.ask_stdin("event", "send", "-", stdin=lines(task_event(of_ticket=ticket(content=text))))
    assert text in producer.requests[0], "no escapes"
    large = [ticket_event(number, of_ticket=ticket(content="ж" * 200_000)) for number in range(4)]
    assert [len(batch) for batch in batches(read_events(lines(*large).encode()))] == [2, 2]


def test_a_lone_surrogate_is_sent_as_it_came(shell: Shell, producer: FakeProducer) -> None:
    text = json.dumps(task_event(of_ticket=ticket(title="half \ud83d a character")))
    assert shell.ask_stdin("event", "send", "-", stdin=text)["accepted"] == 1
    assert "\\ud83d" in producer.requests[0]


def test_every_fault_is_named_by_its_line_and_nothing_is_sent(shell: Shell, producer: FakeProducer) -> None:
    broken = ticket_event(1)
    broken["ticket"]["id"] = "x"
    complaint = shell.fail("event", "send", "-", stdin=lines(ticket_event(0)) + "\n{oops\n" + lines(broken))
    assert "line 3: not valid JSON" in complaint
    assert "line 4: ticket.id: " in complaint
    assert producer.requests == []


def test_faults_of_an_array_are_named_by_their_place() -> None:
    second = Invalid.FAULT_OF_EVENT(number=2, field="ticket")
    with pytest.raises(NotSent, check=says(Refusal.EVENTS_NOT_SENT, second)):
        read_events(
            json.dumps(
                [ticket_event(1), {"event": "ticket.updated", "occurred_at": "2026-01-05T09:00:00Z"}]
            ).encode()
        )


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[1]", b'"x"', b"null"])
def test_what_is_no_event_is_refused(content: bytes) -> None:
    with pytest.raises(NotSent):
        read_events(content)


def test_an_own_delivery_id_is_kept(shell: Shell, producer: FakeProducer) -> None:
    shell.do("event", "send", "-", stdin=lines({**ticket_event(1), "delivery_id": "mine"}))
    assert json.loads(producer.requests[0])[0]["delivery_id"] == "mine"


def test_it_stops_at_the_first_refusal_with_the_producers_words(shell: Shell, producer: FakeProducer) -> None:
    producer.refuses_from = 1
    complaint = shell.fail(
        "event", "send", "-", stdin=lines(*[ticket_event(number) for number in range(250)])
    )
    assert "503: The journal cannot be written; send it again; try again in 5 s" in complaint
    assert "100 events were accepted before that" in complaint
    assert len(producer.requests) == 2


def test_a_producer_that_is_not_there_is_said_so(shell: Shell) -> None:
    complaint = shell.fail(
        "event", "send", "-", "--url", "http://127.0.0.1:1/events", stdin=lines(ticket_event(1))
    )
    assert "check that `deskbridge producer` is running" in complaint


def test_without_a_secret_it_sends_only_where_unsigned_is_allowed(
    shell: Shell, producer: FakeProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DESKBRIDGE_WEBHOOK_SECRETS")
    assert "WEBHOOK_SECRETS" in shell.fail("event", "send", "-", stdin=lines(ticket_event(1)), code=2)
    monkeypatch.setenv("DESKBRIDGE_ALLOW_UNSIGNED", "1")
    producer.is_unsigned = True
    shell.do("event", "send", "-", stdin=lines(ticket_event(1)))


def test_a_file_that_is_not_there_is_wrong_usage(shell: Shell) -> None:
    assert "No such file" in shell.fail("event", "send", "nowhere.jsonl", code=2)


def test_nothing_to_send_is_no_failure(shell: Shell, producer: FakeProducer) -> None:
    assert "0 events accepted" in shell.do("event", "send", "-", stdin="\n")
    assert producer.requests == []


def test_a_producer_that_asks_to_wait_is_waited_for(
    shell: Shell, producer: FakeProducer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(sending.ProducerClient.__init__, "__defaults__", (waited.append,))
    file = tmp_path / "events.jsonl"
    file.write_text(json.dumps(task_event()))
    producer.busy = 2
    shell.do("event", "send", str(file))
    assert waited == [7, 7]
    assert shell.states() == {1: "pending"}
    producer.busy = 99
    shell.fail("event", "send", str(file))
    assert len(waited) == 2 + sending.MOST_WAITS


@pytest.fixture
def mapped(shell: Shell) -> Shell:
    """A shell whose deskbridge has a mapping, so that it can send a sample."""
    with shell.store.transaction() as tx:
        tx.mappings.put(ProjectMapping(MappingKind.ENTITY, 3, 1, None))
    return shell


def recorded(shell: Shell) -> list[str]:
    """Return the codes of the audit log."""
    with shell.store.transaction() as tx:
        return [one.code for one in tx.changes.find(limit=9)]


def test_a_sample_that_reached_no_producer_is_not_in_the_audit_log(mapped: Shell) -> None:
    mapped.fail("event", "send", "--sample", "--url", "http://127.0.0.1:1/events")
    assert Did.SAMPLE_SENT not in recorded(mapped)


def test_a_sample_that_was_accepted_is_in_the_audit_log(mapped: Shell, producer: FakeProducer) -> None:
    assert mapped.type("event", "send", "--sample", "--wait", "0").exit_code == 1, "no worker runs"
    assert len(producer.requests) == 1
    assert recorded(mapped) == [Did.SAMPLE_SENT]


UNKNOWN = Misattribution.NOT_MATCHED(match=Matching.EMAIL_UNKNOWN(helpdesk_user_id=7))
REFUSED = Misattribution.PERSON_REFUSED(login="alice", because=Reason.NO_LINK())


@pytest.mark.parametrize(
    ("email", "because", "code", "words"),
    [
        ("x@example.test", UNKNOWN, 1, "acted, not x@example.test: no active Redmine user has"),
        ("x@example.test", REFUSED, 1, "not x@example.test: sent as the API user, because Redmine"),
        (None, Misattribution.NOBODY_NAMED(), 0, ""),
    ],
)
def test_a_sample_of_a_person_fails_if_the_api_user_acted(
    mapped: Shell,
    producer: FakeProducer,
    monkeypatch: pytest.MonkeyPatch,
    email: str | None,
    because: Notice,
    code: int,
    words: str,
) -> None:
    assert producer
    made = {"issue_id": 5, "time_entry_id": 6}
    trace: Any = SimpleNamespace(
        link=SimpleNamespace(state=LedgerState.LINKED, tracker_issue_id=5, author="admin"),
        ticket_tasks=[SimpleNamespace(state=LedgerState.LINKED, time_entry_id=6)],
        steps=[],
        state=None,
    )
    notice = Reason.TIME_LOGGED_AS_ANOTHER(**made, because=because, of_issue=because)
    monkeypatch.setattr(outcome, "wait_for", lambda *_: Outcome(1, "done", notice, trace, 2))
    ended = mapped.type("event", "send", "--sample", *(["--email", email] if email else []))
    assert ended.exit_code == code, ended.output
    assert ("As expected" in ended.stdout) is (code == 0)
    assert words in ended.stderr
