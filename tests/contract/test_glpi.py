"""Recorded requests of GLPI 11.0.6 become issues and time entries, through producer, journal and worker."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from pydantic import SecretStr

from producer.intake.app import create_app
from shared.helpdesk.glpi import GlpiLookup
from shared.helpdesk.lookup import HelpdeskLookup
from shared.process.settings import Settings
from shared.redis.circuit_breaker import HELPDESK_KEY
from shared.redis.keys import key_of
from shared.store.configuration.mappings import MappingKind
from shared.store.configuration.matching import TrackerPerson
from tests.contract import seed
from tests.contract.support import Json, Tracker
from tests.helpdesks.recorded_requests import SECRET, Recorded, challenge, recorded, signed
from tests.support.bridge import Bridge
from tests.support.glpi_api import GlpiApi, glpi_api
from tests.support.serving import Served
from worker.ticket import notes

TICKET, ENTITY = 1, 1
ADDRESS = {
    "Ticket": "ticket",
    "TicketTask": "ticket-task",
    "ITILFollowup": "followup",
    "ITILSolution": "solution",
}
REFUSED = ("followup-new", "followup-private", "solution-new", "followup-refusal", "solution-second")
"""Recorded requests: a solution, its refusal by a follow-up, and the next solution."""
PRIVATE = 2
"""The follow-up of `followup-private`."""
NOTED = [
    (seed.User.BOB, "The toner is ordered."),
    (seed.User.BOB, "Replaced the fuser."),
    (seed.User.ALICE, "It still smokes."),
    (seed.User.BOB, "Replaced the printer."),
]
ALL = ("ticket-new", "task-new", "task-update-done", "ticket-update-solved")


@dataclass
class Scene:
    """GLPI's entity 1, mapped to a fresh private project, and a producer that receives GLPI's requests.

    Attributes:
        bridge: the worker's side of deskbridge.
        producer: the producer that GLPI sends to.
        tracker: the tracker under test.
        project_id: the fresh project.
    """

    bridge: Bridge
    producer: Served
    tracker: Tracker
    project_id: int

    def post(self, one: Recorded) -> requests.Response:
        """POST a request as GLPI does: to the path of its item type, without a Content-Type."""
        address = f"{self.producer.base_url}/webhooks/glpi/{ADDRESS[one.target.split('/')[1]]}"
        return self.producer.http.post(address, data=one.body, headers=one.headers, timeout=10)

    def send(self, *names: str | Recorded) -> list[int]:
        """Send requests with the current time and sync the ticket after each; return the answers' statuses."""
        answers = []
        for name in names:
            one = recorded(name) if isinstance(name, str) else name
            answers.append(self.post(one.stamped(int(time.time()))).status_code)
            self.bridge.sync(TICKET)
        return answers

    def issues(self) -> list[Json]:
        """Return the project's issues."""
        found: list[Json] = self.tracker.read(f"/issues.json?project_id={self.project_id}&status_id=*")[
            "issues"
        ]
        return found

    def entries(self) -> list[Json]:
        """Return the project's time entries."""
        found: list[Json] = self.tracker.read(f"/time_entries.json?project_id={self.project_id}")[
            "time_entries"
        ]
        return found

    def notes(self) -> list[tuple[int, str]]:
        """Return the author and the text of each note of the project's issue, oldest first."""
        (issue,) = self.issues()
        journals = self.tracker.read(f"/issues/{issue['id']}.json?include=journals")["issue"]["journals"]
        ordered = sorted(journals, key=lambda one: int(one["id"]))
        return [(one["user"]["id"], one["notes"]) for one in ordered if one["notes"]]

    def outcome(self) -> tuple[list[int], list[float]]:
        """Return the issues' statuses and the hours of the time entries."""
        return [one["status"]["id"] for one in self.issues()], [one["hours"] for one in self.entries()]

    def kept(self) -> list[tuple[str, str]]:
        """Return the key and the state of each event in the journal, oldest first."""
        with self.bridge.store.transaction() as tx:
            return [(row.key, row.state) for row in reversed(tx.journal.find(limit=None))]


@pytest.fixture
def api() -> Iterator[GlpiApi]:
    """The API of the GLPI that sent the requests."""
    with glpi_api() as served:
        served.users = {2: "bob@example.test", 7: "alice@example.test"}
        served.ticket(TICKET, "2026-11-21T12:46:36+00:00", assigned=7)
        served.notes[TICKET, "Followup"] = [
            {"id": number, "is_private": number == PRIVATE} for number in (1, PRIVATE, 3)
        ]
        served.notes[TICKET, "Solution"] = [{"id": 1}, {"id": 2}]
        yield served


@contextmanager
def connected(
    tracker: Tracker, project: Json, redis_url: str, directory: Path, lookup: HelpdeskLookup | None
) -> Iterator[Scene]:
    """Run a deskbridge whose entity 1 is mapped to a project."""
    url = f"sqlite:///{directory}/bridge.sqlite3"
    bridge = Bridge(url, redis_url, tracker.base_url, tracker.api_key, lookup=lookup)
    rows = tracker.read("/users.json?limit=100")["users"]
    with bridge.store.transaction() as tx:
        tx.people.replace_cache(
            TrackerPerson(row["id"], row["login"], row["lastname"], row["mail"], row["admin"]) for row in rows
        )
    bridge.link(MappingKind.ENTITY, ENTITY, int(project["id"]))
    settings = Settings(
        database_url=SecretStr(url),
        redis_url=SecretStr(redis_url),
        glpi_webhook_secrets=(SecretStr(SECRET),),
    )
    producer = Served(create_app(settings))
    producer.start()
    yield Scene(bridge, producer, tracker, int(project["id"]))
    producer.stop()
    bridge.close()


@pytest.fixture
def scene(tracker: Tracker, project: Json, redis_url: str, tmp_path: Path, api: GlpiApi) -> Iterator[Scene]:
    """A deskbridge that can query GLPI's API."""
    with connected(tracker, project, redis_url, tmp_path, GlpiLookup(api.access)) as made:
        yield made


@pytest.fixture
def unasking(tracker: Tracker, project: Json, redis_url: str, tmp_path: Path) -> Iterator[Scene]:
    """A deskbridge that cannot query a help desk."""
    with connected(tracker, project, redis_url, tmp_path, None) as made:
        yield made


@pytest.fixture(autouse=True)
def on_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the recorded follow-ups, which were written long ago, for on time."""
    monkeypatch.setattr(notes, "LATE", timedelta.max)


def changed(name: str, minutes_ago: float, **item: Any) -> Recorded:
    """Return a recorded request whose change happened so many minutes ago."""
    at = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=minutes_ago)
    return recorded(name).changed(date_mod=at.isoformat(), **item)


def test_a_day_of_glpi_becomes_one_issue_with_its_time_and_its_status(scene: Scene) -> None:
    assert scene.send("ticket-new", "task-new") == [202, 202]
    assert scene.issues() == [], "nothing is sent before a ticket task is Done"
    assert scene.send("task-update-done") == [202]
    (issue,), (entry,) = scene.issues(), scene.entries()
    assert issue["subject"] == 'Printer "Q" is dead \u2014 50% <b>'
    assert issue["description"] == "It prints nothing & smokes."
    assert issue["author"]["id"] == seed.User.ALICE, (
        "the ticket's technician, whom a ticket task's webhook leaves out"
    )
    assert issue["status"]["id"] == seed.Status.IN_PROGRESS
    assert (entry["hours"], entry["comments"], entry["issue"]["id"]) == (
        0.5,
        "Replaced the fuser.",
        issue["id"],
    )
    assert entry["user"]["id"] == seed.User.BOB, "whose address the webhook leaves out"
    assert entry["spent_on"] == "2026-11-21", "the day that the webhook names"
    assert scene.send("ticket-update-solved") == [202]
    assert scene.outcome() == ([seed.Status.RESOLVED], [0.5])
    assert scene.kept() == [
        ("ticket:1", "skipped"),
        ("ticket-task:1", "skipped"),
        ("ticket-task:1", "done"),
        ("ticket:1", "done"),
    ]


def test_a_solution_that_is_refused_and_given_again_is_two_notes_with_the_refusal_between(
    scene: Scene,
) -> None:
    scene.bridge.configure(sync_followups="public", sync_solutions="on")
    assert scene.send("ticket-new", "task-update-done", *REFUSED) == [202] * 7
    assert scene.notes() == NOTED
    assert scene.outcome() == ([seed.Status.RESOLVED], [0.5])


def test_notes_that_come_in_any_order_at_once_are_sent_in_the_order_of_glpi(scene: Scene) -> None:
    scene.bridge.configure(sync_followups="public", sync_solutions="on")
    for name in (*reversed(REFUSED), "task-update-done"):
        assert scene.post(recorded(name).stamped(int(time.time()))).status_code == 202
    for _ in range(3):
        scene.bridge.sync(TICKET)
    assert scene.notes() == NOTED


def test_every_request_repeated_as_glpi_repeats_it_changes_nothing(scene: Scene) -> None:
    requests_of_now = [recorded(name).stamped(int(time.time()) - 180) for name in ALL]
    for one in requests_of_now:
        for _ in range(4):
            assert scene.post(one).status_code == 202
            scene.bridge.sync(TICKET)
    for one in reversed(requests_of_now):
        assert scene.post(one).json()["accepted"][0]["duplicate"]
    scene.bridge.sync(TICKET)
    assert scene.outcome() == ([seed.Status.RESOLVED], [0.5])
    assert len(scene.kept()) == 4


def test_what_comes_out_of_order_ends_as_what_came_in_order(scene: Scene) -> None:
    day = [changed(name, 40 - 10 * place) for place, name in enumerate(ALL)]
    assert scene.send(*reversed(day)) == [202] * 4
    assert scene.outcome() == ([seed.Status.RESOLVED], [0.5])
    (issue,) = scene.issues()
    assert issue["subject"] == "Printer dead (2)", "the newest snapshot, which came first"


def test_of_one_second_new_comes_before_update_whichever_is_sent_first(scene: Scene) -> None:
    """GLPI reports a ticket's creation as `update`, `update`, `new`, all within one second."""
    now = datetime.now(UTC).replace(microsecond=0).isoformat()
    scene.send("task-update-done")
    scene.send(*(recorded(name).changed(date_mod=now) for name in ("ticket-update-solved", "ticket-new")))
    assert scene.outcome() == ([seed.Status.RESOLVED], [0.5])


def test_a_ticket_task_that_was_done_in_the_second_of_its_creation_is_logged(scene: Scene) -> None:
    now = datetime.now(UTC).replace(microsecond=0).isoformat()
    for name in ("task-update-done", "task-new"):
        one = recorded(name).changed(date_mod=now)
        assert scene.post(one.stamped(int(time.time()))).status_code == 202
    scene.bridge.sync(TICKET)
    assert scene.outcome() == ([seed.Status.IN_PROGRESS], [0.5])


def test_who_does_not_know_the_secret_reaches_nothing(scene: Scene) -> None:
    now = int(time.time())
    for name in ALL:
        one = recorded(name)
        forged = signed(one.body, now, secret="a guess", target=one.target)
        tampered = Recorded(one.target, one.stamped(now).headers, one.body.replace(b'"id": 1,', b'"id": 2,'))
        restamped = Recorded(one.target, one.headers | {"x-glpi-timestamp": str(now)}, one.body)
        assert [scene.post(bad).status_code for bad in (forged, tampered, restamped)] == [401, 401, 401]
    scene.bridge.sync(TICKET)
    assert (scene.kept(), scene.issues()) == ([], [])


def test_late_is_taken_for_a_week_and_refused_after_it(scene: Scene) -> None:
    now, day = int(time.time()), 86400
    late = recorded("task-update-done")
    assert scene.post(late.stamped(now - 8 * day)).status_code == 401
    assert scene.post(late.stamped(now + day)).status_code == 401
    assert scene.kept() == []
    assert scene.post(late.stamped(now - 6 * day)).status_code == 202
    scene.bridge.sync(TICKET)
    assert scene.outcome() == ([seed.Status.IN_PROGRESS], [0.5])


def test_the_challenge_before_each_delivery_is_answered(scene: Scene) -> None:
    token = challenge()
    for item in ADDRESS.values():
        answer = scene.producer.http.get(f"{scene.producer.base_url}/webhooks/glpi/{item}?crc_token={token}")
        assert (answer.status_code, answer.text) == (
            200,
            hmac.new(SECRET.encode(), token.encode(), hashlib.sha256).hexdigest(),
        )


def test_a_task_that_is_deleted_before_it_was_worked_on_logs_nothing(scene: Scene) -> None:
    deleted = recorded("task-update-done").changed(event="delete")
    assert scene.send(deleted) == [202]
    assert scene.issues() == []


def test_while_glpi_cannot_be_asked_everything_waits(scene: Scene, api: GlpiApi) -> None:
    api.down = True
    assert scene.send(*ALL) == [202] * 4
    assert (scene.issues(), {state for _, state in scene.kept()}) == ([], {"pending"})
    api.down = False
    scene.bridge.redis.delete(key_of(scene.bridge.redis, HELPDESK_KEY))
    scene.bridge.hurry()
    scene.bridge.sync(TICKET)
    assert scene.outcome() == ([seed.Status.RESOLVED], [0.5])
    assert scene.issues()[0]["author"]["id"] == seed.User.ALICE


def test_without_a_helpdesk_to_ask_it_goes_as_far_as_it_can(unasking: Scene) -> None:
    unasking.send("ticket-new", "task-new", "task-update-done", "ticket-update-solved")
    assert unasking.outcome() == ([seed.Status.RESOLVED], [0.5])
    assert unasking.issues()[0]["author"]["id"] == seed.User.ADMIN
    assert "is processed without ticket.project_id, ticket.technician.email" in "\n".join(
        unasking.bridge.steps(TICKET)
    )


def test_without_a_helpdesk_to_ask_people_who_are_mapped_are_who_they_are(unasking: Scene) -> None:
    with unasking.bridge.store.transaction() as tx:
        tx.people.put_override(7, seed.User.ALICE)
        tx.people.put_override(2, seed.User.BOB)
    unasking.send("ticket-new", "task-update-done")
    (issue,), (entry,) = unasking.issues(), unasking.entries()
    assert (issue["author"]["id"], entry["user"]["id"]) == (seed.User.ALICE, seed.User.BOB)
