"""A Redmine that stores other texts than were sent, as with an HTML editor: each object is there once, or on hold."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import requests

from shared.notices.kinds import Kind
from shared.store.tables.ledger import LedgerState
from tests.contract import seed
from tests.contract.conftest import REDMINE
from tests.contract.lossy import LossyProxy
from tests.contract.scene import STRANGER, Scene
from tests.contract.support import assert_done
from tests.support.events import followup, followup_event, task, task_event
from tests.support.ledger import row, until_settled

pytestmark = [pytest.mark.every_version, pytest.mark.promise("OPS-30")]
TEXTS = {"issues": "description", "journals": "notes", "time_entries": "comments"}
"""The tables of a real Redmine, each with the column of its text."""


@pytest.fixture
def changing(request: pytest.FixtureRequest, tracker_server: tuple[str, str]) -> Iterator[None]:
    """Let the tracker wrap each new text in a paragraph: a real Redmine by triggers of its database."""
    choice = request.config.getoption("--tracker")
    if choice == "redmine":
        with _triggers(Path(request.config.stash[REDMINE]["dir"]) / "redmine.sqlite3"):
            yield
    elif choice == "standin":
        control = f"{tracker_server[0]}/_control/settings"
        requests.post(control, json={"edits_texts": True}, timeout=10).raise_for_status()
        yield
        requests.post(control, json={"edits_texts": False}, timeout=10).raise_for_status()
    else:
        pytest.skip("needs the database of the tracker")


@contextmanager
def _triggers(database: Path) -> Iterator[None]:
    with closing(sqlite3.connect(database, timeout=30)) as connection:
        for table, text in TEXTS.items():
            connection.execute(
                f"CREATE TRIGGER edits_{table} AFTER INSERT ON {table} WHEN NEW.{text} <> '' BEGIN "  # noqa: S608
                f"UPDATE {table} SET {text} = '<p>' || trim(NEW.{text}) || '</p>' WHERE id = NEW.id; END"
            )
        connection.commit()
        yield
        for table in TEXTS:
            connection.execute(f"DROP TRIGGER edits_{table}")
        connection.commit()


@pytest.fixture
def noting(changing: None, scene: Scene) -> Scene:
    """A scene on such a tracker with its issue, in which follow-ups are forwarded."""
    scene.bridge.configure(sync_followups="all")
    assert scene.forward(task_event(of_ticket=scene.ticket())) == ["done"], scene.steps()
    return scene


@pytest.fixture
def proxy(noting: Scene) -> Iterator[LossyProxy]:
    """The proxy through which the scene's deskbridge reaches the tracker from now on."""
    with LossyProxy(noting.tracker.base_url) as made:
        noting.bridge.configure(base_url=made.url)
        yield made


def notes(scene: Scene) -> list[tuple[int, str]]:
    """Return the author and the text of each note of the issue, oldest first."""
    issue = scene.tracker.read(f"/issues/{scene.issue()['id']}.json?include=journals")["issue"]
    return [(one["user"]["id"], one["notes"]) for one in issue["journals"] if one["notes"]]


@pytest.mark.parametrize("by_hand", ["alice", None], ids=["alice", "API user"])
def test_a_note_by_hand_a_moment_before_does_not_double_a_follow_up(
    noting: Scene, by_hand: str | None
) -> None:
    issue_id, stranger = noting.issue()["id"], {**STRANGER, "name": "Sam Stranger"}
    assert_done(noting.tracker.update_issue(issue_id, su=by_hand, notes="Called the user"))
    events = [
        followup_event(1, of_ticket=noting.ticket(), of_followup=followup(1)),
        followup_event(2, of_ticket=noting.ticket(), of_followup=followup(2, user=stranger)),
    ]
    assert noting.forward(*events) == ["done", "done"], noting.steps()
    assert notes(noting)[1:] == [
        (seed.User.ALICE, "<p>Toner 1 ordered</p>"),
        (seed.User.ADMIN, "<p>Sam Stranger:\n\nToner 2 ordered</p>"),
    ]


@pytest.mark.parametrize("kind", [Kind.FOLLOWUP, Kind.TICKET_TASK, Kind.TICKET])
def test_what_got_no_answer_is_there_once_and_on_hold(noting: Scene, proxy: LossyProxy, kind: Kind) -> None:
    sent = {
        Kind.FOLLOWUP: f"PUT /issues/{noting.issue()['id']}.json",
        Kind.TICKET_TASK: "POST /time_entries.json",
        Kind.TICKET: "POST /issues.json",
    }[kind]
    proxy.loses = lambda request: request == sent
    ticket_id = 4712 if kind is Kind.TICKET else 4711
    about = noting.ticket(id=ticket_id)
    event = task_event(1, of_ticket=about, of_task=task(600))
    if kind is Kind.FOLLOWUP:
        event = followup_event(1, of_ticket=about)
    noting.bridge.receive(event)
    noting.bridge.sync(ticket_id)
    until_settled(noting.bridge, ticket_id, rounds=3)
    assert proxy.lost == [sent], noting.bridge.steps(ticket_id)
    made = noting.issues()
    entries = noting.tracker.read(f"/time_entries.json?project_id={noting.project_id}")["time_entries"]
    of_first = noting.tracker.read(f"/issues/{made[0]['id']}.json?include=journals")["issue"]["journals"]
    counts = len(made), len(entries), len([one for one in of_first if one["notes"]])
    assert counts == (1 + (kind is Kind.TICKET), 1 + (kind is Kind.TICKET_TASK), int(kind is Kind.FOLLOWUP))
    held = row(noting.bridge, kind, {Kind.FOLLOWUP: 77, Kind.TICKET_TASK: 600, Kind.TICKET: 4712}[kind])
    newest = {Kind.FOLLOWUP: of_first, Kind.TICKET_TASK: entries, Kind.TICKET: made}[kind]
    assert held.state == LedgerState.ON_HOLD
    assert held.candidates == [max(one["id"] for one in newest)]
