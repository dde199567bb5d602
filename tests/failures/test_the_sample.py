"""`deskbridge event send --sample` sends a test event all the way, shows it and removes it, whatever fails."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import func, select
from typer.testing import CliRunner, Result

from deploy.sandbox.tracker.control import StandIn
from producer.admin.samples import removal
from producer.admin.samples.events import mark_of
from producer.admin.services import Services
from producer.cli.main import app
from producer.intake.app import create_app
from shared.notices.changes import Did
from shared.notices.kinds import Kind
from shared.redis.locks import of_ticket
from shared.store.tables.journal import EventState, JournalEvent
from shared.store.tables.ledger import LedgerState, TicketIssueLink
from shared.store.tables.types import Base
from shared.tracker.client import Target, TrackerClient
from shared.values.ids import LARGEST, is_sample, new_sample
from tests.failures.redmine import RealRedmine
from tests.support.bridge import KEY, SUPPORT, Bridge
from tests.support.events import BOB, SUPPORT_ENTITY, task, task_event, ticket
from tests.support.serving import Served

SECRET = "whsec_" + base64.b64encode(b"the secret of the sample").decode()
EVERYTHING = {"status_id": "*"}
KEPT = {"change_record", "producer_sign", "metadata_row"}
"""Tables that may change: the audit log is permanent; heartbeats and metadata do not depend on events."""


class Setting:
    """A deskbridge with a producer, a worker if it is started, and a command line."""

    def __init__(self, bridge: Bridge, url: str, base_url: str, api_key: str) -> None:
        self.bridge, self.url = bridge, url
        self.client = TrackerClient(Target(base_url, SecretStr(api_key)))
        self._ended = threading.Event()
        self._worker: threading.Thread | None = None
        self._turn = threading.Lock()

    def work(self) -> None:
        """Start a worker."""
        self._worker = threading.Thread(target=self._sync, daemon=True)
        self._worker.start()

    def _sync(self) -> None:
        while not self._ended.wait(0.02):
            with self._turn:
                self._sync_what_is_due()

    def _sync_what_is_due(self) -> None:
        with self.bridge.store.transaction() as tx:
            rows = tx.journal.find(state=EventState.PENDING, limit=None)
            due = {row.ticket_id for row in rows}
            due |= set(tx.issues.due_tickets(9, 15)) | set(tx.times.due_tickets(9, 15))
        for ticket_id in sorted(due):
            self.bridge.service.sync(ticket_id)

    def forward(self, *events: dict[str, Any], ticket_id: int = 4711) -> list[str]:
        """Forward events while the worker pauses, and return their states in their order."""
        with self._turn:
            return self.bridge.forward(*events, ticket_id=ticket_id)

    def stop(self) -> None:
        """End the worker."""
        self._ended.set()
        if self._worker:
            self._worker.join(timeout=30)

    def type(self, *arguments: str) -> Result:
        """Run `event send --sample` with some arguments."""
        return CliRunner().invoke(app, ["event", "send", "--sample", *arguments])

    def send(self, *arguments: str, code: int = 0, wait: float = 20) -> dict[str, Any]:
        """Send a sample; return the JSON document that reports the result."""
        ended = self.type("--url", self.url, "--wait", str(wait), "--json", *arguments)
        assert ended.exit_code == code, ended.output
        found: dict[str, Any] = json.loads(ended.stdout)
        return found

    def clean_up(self, code: int = 0) -> dict[str, Any]:
        """Remove what earlier samples have left; return the JSON document."""
        ended = self.type("--clean-up", "--json")
        assert ended.exit_code == code, ended.output
        found: dict[str, Any] = json.loads(ended.stdout)
        return found

    def on_tracker(self) -> tuple[int, int]:
        """Return how many issues and time entries the tracker has."""
        issues = self.client.call("GET", "/issues.json", params=EVERYTHING).data["total_count"]
        return issues, self.client.call("GET", "/time_entries.json").data["total_count"]

    def rows(self) -> dict[str, int]:
        """Return how many rows each table has, except those in `KEPT`."""
        with self.bridge.store.database.transaction() as session:
            return {
                name: session.scalar(select(func.count()).select_from(table)) or 0
                for name, table in Base.metadata.tables.items()
                if name not in KEPT
            }


@pytest.fixture
def setting(
    bridge: Bridge, stand_in: StandIn | RealRedmine, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Setting]:
    """Provide a deskbridge with a producer, and without a worker."""
    settings = bridge.settings.model_copy(update={"webhook_secrets": (SecretStr(SECRET),)})
    for name, value in {
        "DATABASE_URL": settings.database_url.get_secret_value(),
        "REDIS_URL": settings.redis_url.get_secret_value(),
        "SECRET_KEYS": KEY,
        "WEBHOOK_SECRETS": SECRET,
    }.items():
        monkeypatch.setenv(f"DESKBRIDGE_{name}", value)
    served = Served(create_app(settings))
    served.start()
    made = Setting(bridge, f"{served.base_url}/events", stand_in.base_url, stand_in.api_key)
    yield made
    made.stop()
    served.stop()


@pytest.fixture
def worker(setting: Setting) -> Setting:
    """Provide the same with a worker."""
    setting.work()
    return setting


def test_a_sample_goes_all_the_way_and_leaves_nothing(worker: Setting) -> None:
    before, there = worker.rows(), worker.on_tracker()
    found = worker.send()
    assert (found["ok"], found["as_expected"], found["state"]) == (True, True, "done")
    assert is_sample(found["ticket_id"])
    assert found["issue"]["tracker_project_id"] == SUPPORT
    assert found["issue"]["author"] == "admin"
    assert found["issue"]["tracker_status_id"] == 2
    assert [one["hours"] for one in found["time_entries"]] == [0.25]
    (removed,) = found["removed"]
    assert removed["issue_ids"] == [found["issue"]["id"]]
    assert removed["time_entry_ids"] == [one["id"] for one in found["time_entries"]]
    assert found["left"] == []
    assert worker.on_tracker() == there
    assert worker.rows() == before
    with worker.bridge.store.transaction() as tx:
        codes = [one.code for one in tx.changes.find(limit=9)]
    assert sorted(codes) == sorted([Did.SAMPLE_SENT, Did.SAMPLE_REMOVED])


def test_it_says_in_words_what_became_of_it(worker: Setting) -> None:
    ended = worker.type("--url", worker.url)
    assert ended.exit_code == 0, ended.output
    for part in ("Issue #", "0.25 h logged on issue #", "As expected: issue #", "deleted in Redmine"):
        assert part in ended.stdout


def test_it_acts_for_the_person_of_an_address(worker: Setting) -> None:
    before = worker.rows()
    found = worker.send("--email", "bob@example.test")
    assert found["issue"]["author"] == "bob"
    changed = {name for name, count in worker.rows().items() if count != before[name]}
    assert changed <= {"membership_known"}, "bob stays a member, as after his first real ticket"


def test_it_fails_if_no_user_of_the_tracker_has_the_address(worker: Setting) -> None:
    before = worker.rows()
    found = worker.send("--email", "stranger@example.test", code=1)
    assert (found["ok"], found["as_expected"], found["state"]) == (False, False, "done")
    assert (found["issue"]["author"], len(found["time_entries"]), found["left"]) == ("admin", 1, [])
    assert worker.rows() == before
    ended = worker.type("--url", worker.url, "--email", "stranger@example.test")
    assert "the API user acted, not stranger@example.test: no active Redmine user has" in ended.stderr


def test_it_acts_as_the_helpdesk_user_who_is_known_by_the_address_and_changes_nothing_of_them(
    worker: Setting,
) -> None:
    named = task_event(of_task=task(user=BOB), of_ticket=ticket(technician=BOB))
    assert worker.forward(named) == ["done"]
    before = worker.rows()
    assert worker.send("--email", "BOB@example.test")["issue"]["author"] == "bob"
    assert worker.rows() == before
    with worker.bridge.store.transaction() as tx:
        assert [(one.id, one.email) for one in tx.people.seen()] == [(BOB["id"], BOB["email"])]


def test_it_acts_as_the_helpdesk_user_who_was_mapped_before_any_event_named_them(worker: Setting) -> None:
    with worker.bridge.store.transaction() as tx:
        tx.people.put_override(8, 6)
    assert worker.send("--email", "bob@example.test")["issue"]["author"] == "bob"
    with worker.bridge.store.transaction() as tx:
        assert [one.id for one in tx.people.seen()] == [BOB["id"]]


def test_a_sample_that_is_kept_counts_as_no_wrong_author(setting: Setting) -> None:
    number = new_sample()
    assert setting.forward(sample_event(number), ticket_id=number) == ["done"]
    with setting.bridge.store.transaction() as tx:
        assert (tx.misattributed.count(), tx.misattributed.find()) == (0, [])
    nameless = task_event(of_ticket=ticket(technician=None), of_task=task(user=None))
    assert setting.forward(nameless) == ["done"]
    with setting.bridge.store.transaction() as tx:
        assert tx.misattributed.count() == 2


def test_a_real_ticket_keeps_its_place(worker: Setting) -> None:
    assert worker.forward(task_event()) == ["done"]
    there, before = worker.on_tracker(), worker.rows()
    worker.send()
    assert (worker.on_tracker(), worker.rows()) == (there, before)


def test_samples_at_once_do_not_disturb_each_other(worker: Setting) -> None:
    there, number = worker.on_tracker(), new_sample()
    worker.bridge.receive(sample_event(number))
    with removal.sending(Services(worker.bridge.settings, worker.bridge.store), number):
        found = worker.send()
        with worker.bridge.store.transaction() as tx:
            assert tx.samples.tickets() == [number], "the one that another command is at stays"
    assert [one["code"] for one in found["left"]] == ["sample_at_work"]
    assert worker.clean_up()["ok"]
    assert worker.on_tracker() == there


def test_nothing_is_removed_while_a_worker_is_at_it(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "PATIENCE_S", 0.3)
    number = new_sample()
    setting.bridge.receive(sample_event(number))
    before = setting.rows()
    with Services(setting.bridge.settings, setting.bridge.store).locks.hold(of_ticket(number)):
        (left,) = setting.clean_up(code=1)["left"]
    assert (left["code"], setting.rows()) == ("sample_at_work", before)
    assert setting.clean_up()["ok"]


def sample_event(number: int) -> dict[str, Any]:
    """Return the event of a sample, as another command sends it."""
    text = mark_of(number)
    return task_event(
        of_ticket=ticket(number, title=text, content=text, technician=None),
        of_task=task(number, content=text, user=None),
    )


def test_where_no_worker_runs_it_says_so_and_a_later_command_removes_it(setting: Setting) -> None:
    before = setting.rows()
    found = setting.send(wait=0.5, code=1)
    assert (found["ok"], found["state"], found["removed"]) == (False, "pending", [])
    (left,) = found["left"]
    assert left["code"] == "sample_waits"
    for part in (
        "no worker has processed it yet",
        "deskbridge doctor",
        "deskbridge event send --sample --clean-up",
    ):
        assert part in left["reason"]
    assert setting.rows() != before
    assert [one["ticket_id"] for one in setting.clean_up()["removed"]] == [found["ticket_id"]]
    assert setting.rows() == before
    assert setting.clean_up()["removed"] == []


def test_the_next_sample_removes_what_an_earlier_one_has_left(setting: Setting) -> None:
    before = setting.rows()
    first = setting.send(wait=0.1, code=1)
    setting.work()
    second = setting.send()
    assert [one["ticket_id"] for one in second["removed"]] == [first["ticket_id"], second["ticket_id"]]
    assert setting.rows() == before


def test_what_the_tracker_refuses_is_told_with_its_reason_and_removed(worker: Setting) -> None:
    worker.bridge.configure(default_priority_id=999)
    before, there = worker.rows(), worker.on_tracker()
    found = worker.send(code=1)
    assert (found["as_expected"], found["state"]) == (False, "failed")
    assert "POST /issues.json answered 422" in found["reason"]
    assert found["left"] == []
    assert (worker.rows(), worker.on_tracker()) == (before, there)


def test_an_issue_whose_time_is_refused_is_removed_too(worker: Setting) -> None:
    worker.bridge.configure(default_activity_id=999)
    before, there = worker.rows(), worker.on_tracker()
    found = worker.send(code=1)
    assert found["state"] == "failed"
    assert found["issue"]["id"]
    assert (worker.rows(), worker.on_tracker()) == (before, there)


def test_it_is_not_sent_where_it_would_not_be_forwarded(worker: Setting) -> None:
    ended = worker.type("--url", worker.url, "--entity", "99")
    assert ended.exit_code == 1
    assert "deskbridge mapping add entity 99" in ended.stderr
    assert worker.send("--entity", str(SUPPORT_ENTITY))["ok"]


@pytest.mark.parametrize(
    "arguments",
    [("file.jsonl",), ("--email", "bob")],
)
def test_what_cannot_be_meant_is_wrong_usage(setting: Setting, arguments: tuple[str, ...]) -> None:
    assert setting.type("--url", setting.url, *arguments).exit_code == 2
    assert CliRunner().invoke(app, ["event", "send", "--clean-up"]).exit_code == 2
    assert CliRunner().invoke(app, ["event", "send"]).exit_code == 2


Prepare = Callable[[Setting, int, int], object]


def log_time(setting: Setting, issue_id: int, _project: int) -> None:
    fields = {"issue_id": issue_id, "hours": 3, "activity_id": 9, "comments": "real work"}
    setting.client.call("POST", "/time_entries.json", body={"time_entry": fields})


def put_an_issue_below(setting: Setting, issue_id: int, project_id: int) -> None:
    fields = {"project_id": project_id, "subject": "below", "parent_issue_id": issue_id, "priority_id": 2}
    setting.client.call("POST", "/issues.json", body={"issue": fields})


def take_the_mark_away(setting: Setting, issue_id: int, _project: int) -> None:
    body = {"issue": {"subject": "A real problem", "description": "of somebody's"}}
    setting.client.call("PUT", f"/issues/{issue_id}.json", body=body)


@pytest.mark.parametrize(
    ("prepare", "code", "word"),
    [
        (
            log_time,
            "sample_in_use",
            "is not deleted, because it has other users' time or a subtask. Move that to another issue, then",
        ),
        (
            put_an_issue_below,
            "sample_in_use",
            "is not deleted, because it has other users' time or a subtask. Move that to another issue, then",
        ),
        (take_the_mark_away, "sample_unmarked", "delete it in Redmine"),
    ],
)
def test_what_others_have_put_to_it_is_never_deleted(
    worker: Setting, prepare: Prepare, code: str, word: str
) -> None:
    number = new_sample()
    assert worker.forward(sample_event(number), ticket_id=number) == ["done"]
    with worker.bridge.store.transaction() as tx:
        row = tx.issues.get(number)
    assert row
    assert row.tracker_id
    prepare(worker, row.tracker_id, SUPPORT)
    there, before = worker.on_tracker(), worker.rows()
    (left,) = worker.clean_up(code=1)["left"]
    assert left["code"] == code
    assert word in left["reason"]
    assert (worker.on_tracker(), worker.rows()) == (there, before)
    worker.client.call("DELETE", f"/issues/{row.tracker_id}.json")
    assert worker.clean_up()["ok"], "what a person has deleted is forgotten"


@pytest.mark.stand_in
@pytest.mark.parametrize("path", ["/issues.json", "/time_entries.json"])
def test_a_sample_whose_answer_was_lost_is_removed_once_that_is_settled(
    setting: Setting, stand_in: StandIn | RealRedmine, path: str
) -> None:
    assert isinstance(stand_in, StandIn)
    before, there = setting.rows(), setting.on_tracker()
    stand_in.fault("reset_after", method="POST", path=path, count=1)
    number = new_sample()
    setting.bridge.receive(sample_event(number))
    setting.bridge.sync(number)
    (left,) = setting.clean_up(code=1)["left"]
    assert left["code"] == "sample_under_way"
    for _ in range(4):
        setting.bridge.hurry()
        setting.bridge.sync(number)
    assert setting.clean_up()["ok"]
    assert (setting.rows(), setting.on_tracker()) == (before, there)


@pytest.mark.stand_in
def test_a_sample_that_is_held_is_found_by_its_mark(
    setting: Setting, stand_in: StandIn | RealRedmine
) -> None:
    assert isinstance(stand_in, StandIn)
    setting.bridge.configure(in_doubt_policy="hold")
    before, there = setting.rows(), setting.on_tracker()
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
    number = new_sample()
    setting.bridge.receive(sample_event(number))
    setting.bridge.sync(number)
    with setting.bridge.store.transaction() as tx:
        row = tx.ledger(Kind.TICKET).get(number)
    assert row
    assert row.state == LedgerState.ON_HOLD
    assert len(setting.clean_up()["removed"][0]["issue_ids"]) == 1
    assert (setting.rows(), setting.on_tracker()) == (before, there)


@pytest.mark.stand_in
def test_a_deletion_that_fails_forgets_nothing_and_is_repeated(
    worker: Setting, stand_in: StandIn | RealRedmine
) -> None:
    assert isinstance(stand_in, StandIn)
    before, there = worker.rows(), worker.on_tracker()
    fault = stand_in.fault("status_before", method="DELETE", path="/issues/.*", status=500)
    found = worker.send(code=1)
    assert (found["as_expected"], found["ok"]) == (True, False)
    assert "DELETE /issues/" in found["left"][0]["reason"]
    with worker.bridge.store.database.transaction() as session:
        assert session.scalar(select(func.count()).select_from(TicketIssueLink)) == 1
    stand_in.clear_faults(fault)
    assert worker.clean_up()["ok"]
    assert (worker.rows(), worker.on_tracker()) == (before, there)


def test_only_reserved_ids_are_samples() -> None:
    assert all(is_sample(new_sample()) for _ in range(1000))
    assert len({new_sample() for _ in range(1000)}) == 1000
    assert is_sample(LARGEST)
    assert not any(is_sample(one) for one in (0, 7, 512, 4711, 2**32, 2**53, LARGEST - 2**48, LARGEST + 1))


def test_no_row_of_a_real_ticket_can_be_deleted_as_a_sample(setting: Setting) -> None:
    setting.bridge.receive(task_event())
    with pytest.raises(ValueError, match="4711 is no sample"), setting.bridge.store.transaction() as tx:
        tx.samples.delete(4711)
    with setting.bridge.store.database.transaction() as session:
        assert session.scalar(select(func.count()).select_from(JournalEvent)) == 1
