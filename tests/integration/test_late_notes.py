"""A note that is sent clearly later than it was written begins with its day and time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.templating.operations import Operation
from tests.integration.test_recovery import Backup
from tests.integration.test_templates import activate
from tests.support.bridge import Bridge
from tests.support.events import followup, followup_event, solution_event, task_event
from tests.support.ledger import notes_of, until_settled
from worker.ticket import notes

BERLIN = timezone(timedelta(hours=1))
LONG_AGO = datetime(2026, 1, 4, 8, 5, 59, tzinfo=BERLIN)
STRANGER = {"id": 99, "email": "nobody@example.test", "name": "Sam Stranger"}
EVER_LATE = timedelta(days=-1)


@pytest.fixture
def noting(bridge: Bridge) -> Bridge:
    """A bridge that sends all notes."""
    bridge.configure(sync_followups="all", sync_solutions="on")
    return bridge


def written(ago: timedelta) -> str:
    return (datetime.now(UTC) - ago).isoformat()


def texts(stand_in: StandIn) -> list[str]:
    return [text for _, text, _ in notes_of(stand_in)]


def test_notes_from_before_the_issue_begin_with_their_day_and_time(noting: Bridge, stand_in: StandIn) -> None:
    noting.receive(
        followup_event(1, of_followup=followup(date=LONG_AGO.isoformat())),
        solution_event(2, of_solution={"id": 77, "content": "Replaced", "date": "2026-01-04T09:00:00Z"}),
    )
    noting.forward(task_event(3))
    assert texts(stand_in) == [
        "2026-01-04 08:05 (UTC+01:00):\n\nToner 77 ordered",
        "2026-01-04 09:00 (UTC):\n\nReplaced",
    ]


def test_who_is_named_comes_after_the_time(noting: Bridge, stand_in: StandIn) -> None:
    noting.receive(followup_event(1, of_followup=followup(date=LONG_AGO.isoformat(), user=STRANGER)))
    noting.forward(task_event(3))
    assert texts(stand_in) == ["2026-01-04 08:05 (UTC+01:00), Sam Stranger:\n\nToner 77 ordered"]


def test_a_note_on_time_and_one_whose_time_is_not_known_begin_with_their_text(
    noting: Bridge, stand_in: StandIn
) -> None:
    on_time = followup(78, date=written(notes.LATE - timedelta(minutes=1)))
    noting.forward(task_event(), followup_event(1), followup_event(2, of_followup=on_time))
    assert texts(stand_in) == ["Toner 77 ordered", "Toner 78 ordered"]


def test_a_text_that_is_empty_adds_no_note_however_late(noting: Bridge, stand_in: StandIn) -> None:
    empty = followup(date=LONG_AGO.isoformat(), content="<p> </p>")
    assert noting.forward(task_event(), followup_event(1, of_followup=empty)) == ["done", "skipped"]
    assert texts(stand_in) == []


def test_a_template_decides_alone(noting: Bridge, stand_in: StandIn) -> None:
    activate(noting, Operation.NOTE_CREATE, notes="{{note.content | plain}}")
    late = followup(date=LONG_AGO.isoformat())
    noting.forward(task_event(), followup_event(1, of_followup=late))
    assert texts(stand_in) == ["Toner 77 ordered"]


def test_a_note_that_became_late_after_its_answer_was_lost_is_found(
    noting: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    noting.forward(task_event())
    stand_in.fault("reset_after", method="PUT", path="/issues/6.json", count=1)
    noting.receive(followup_event(1, of_followup=followup(date=written(timedelta(0)))))
    noting.sync()
    monkeypatch.setattr(notes, "LATE", EVER_LATE)
    until_settled(noting)
    assert texts(stand_in) == ["Toner 77 ordered"], noting.steps()


def test_a_note_that_was_sent_on_time_is_recognised_after_a_restore(
    noting: Bridge, stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noting.forward(task_event())
    before = Backup(noting, tmp_path)
    event = followup_event(1, of_followup=followup(date=written(timedelta(0))))
    assert noting.forward(event) == ["done"]
    before.restore()
    monkeypatch.setattr(notes, "LATE", EVER_LATE)
    assert noting.forward(event) == ["done"]
    assert texts(stand_in) == ["Toner 77 ordered"], noting.steps()
