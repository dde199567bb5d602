"""`hold list` and `hold resolve`: creations on hold and a person's decisions about them."""

from __future__ import annotations

import pytest

from producer.cli.commands.hold import in_short
from shared.notices.authors import Misattribution
from shared.notices.kinds import Kind
from shared.notices.notice import written
from shared.store.ledger.statements import Claim
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerState
from tests.support.events import task_event, ticket_event
from tests.unit.cli.conftest import Shell

BODY = {"issue": {"subject": "Printer"}}


def claim(kind: Kind, key: int, event_id: int = 1) -> Claim:
    """Return a claim of ticket 4711."""
    return Claim(
        key=key,
        ticket_id=4711,
        event_id=event_id,
        tracker_project_id=1,
        issue_id=None if kind is Kind.TICKET else 12,
        body=BODY,
        authors=[],
        fingerprint="f",
    )


def hold(shell: Shell, kind: Kind, key: int, event_id: int = 1, candidates: tuple[int, ...] = ()) -> None:
    """Put a creation on hold."""
    with shell.store.transaction() as tx:
        tx.ledger(kind).claim(claim(kind, key, event_id), 20)
        tx.ledger(kind).hold(key, None, written("no verdict"), candidates)


def link(shell: Shell, kind: Kind, key: int, tracker_id: int, event_id: int = 1) -> None:
    """Create a ledger row with a link."""
    with shell.store.transaction() as tx:
        attempt = tx.ledger(kind).claim(claim(kind, key, event_id), 20)
        assert attempt
        tx.ledger(kind).link(key, attempt, tracker_id, 5, written(f"created by event {event_id}"))


def test_held_shows_what_waits_with_the_exact_body_that_was_sent(shell: Shell) -> None:
    hold(shell, Kind.TICKET, 4711, candidates=(12, 14))
    (row,) = shell.ask("hold", "list")
    since = row.pop("since")
    assert since.endswith("Z")
    assert row == {
        "kind": "ticket",
        "id": 4711,
        "code": "as_written",
        "params": {"text": "no verdict"},
        "reason": "no verdict",
        "sent": BODY,
        "candidates": [12, 14],
        "ticket_id": 4711,
        "title": None,
    }
    told = shell.do("hold", "list")
    assert "ticket 4711" in told
    assert "#12, #14" in told


def test_held_is_an_empty_list_when_nothing_waits(shell: Shell) -> None:
    assert shell.ask("hold", "list") == []
    assert "Nothing is on hold" in shell.do("hold", "list")


def test_adopting_an_issue_links_it_and_lets_what_waited_go_on(shell: Shell) -> None:
    shell.do("config", "set", 'status_map={"2": 3}')
    waiting, other = shell.receive(task_event(1), ticket_event(2))
    shell.end([waiting], EventState.ON_HOLD, "waits")
    shell.end([other], EventState.DONE, "done")
    hold(shell, Kind.TICKET, 4711, waiting, (12,))
    result = shell.type("hold", "resolve", "ticket", "4711", "--adopt", "12")
    assert result.exit_code == 0
    assert "issue #12 was adopted without a check: Redmine is not configured" in result.stderr
    with shell.store.transaction() as tx:
        row, state = tx.issues.get(4711), tx.statuses.get(4711)
        steps = [step.what for step in tx.trace.of_ticket(4711)]
    assert row
    assert (row.state, row.tracker_id, row.adopted) == (LedgerState.LINKED, 12, True)
    assert state
    assert state.status_due
    assert shell.states() == {waiting: "pending", other: "done"}
    assert shell.notified == [4711]
    assert any("An operator resolved" in step for step in steps)
    assert shell.ask("hold", "list") == []


def test_creating_again_frees_the_row_and_replays_its_own_event(shell: Shell) -> None:
    (event_id,) = shell.receive(task_event(1))
    shell.end([event_id], EventState.DONE, "time entry #3")
    hold(shell, Kind.TICKET_TASK, 512, event_id)
    shell.do("hold", "resolve", "ticket-task", "512", "--create-again")
    with shell.store.transaction() as tx:
        row = tx.times.get(512)
    assert row
    assert row.state == LedgerState.FREE
    assert shell.states() == {event_id: "pending"}
    assert shell.notified == [4711]


def test_an_issue_that_is_gone_can_be_created_again(shell: Shell) -> None:
    link(shell, Kind.TICKET, 4711, 12)
    with shell.store.transaction() as tx:
        tx.issues.gone(4711, 12, written("deleted"))
    assert shell.ask("hold", "list")[0]["reason"] == "deleted"
    shell.do("hold", "resolve", "ticket", "4711", "--create-again")


@pytest.mark.parametrize(
    ("kind", "fields", "line"),
    [
        (Kind.TICKET, {"subject": "Printer"}, "Printer"),
        (Kind.TICKET_TASK, {"hours": 1.5, "comments": "Toner"}, "1.5 h: Toner"),
        (Kind.FOLLOWUP, {"notes": "Toner\nordered"}, "Toner ordered"),
        (Kind.SOLUTION, {"notes": "word " * 50}, "word " * 19 + "word…"),
        (Kind.DOCUMENT, {"filename": "scan-91.png", "filesize": 7}, "scan-91.png"),
    ],
)
def test_a_person_is_shown_what_they_are_about_to_adopt(
    kind: Kind, fields: dict[str, object], line: str
) -> None:
    assert in_short(kind, fields) == line


def test_what_belongs_to_another_row_cannot_be_adopted(shell: Shell) -> None:
    link(shell, Kind.TICKET, 4712, 12)
    hold(shell, Kind.TICKET, 4711)
    assert "ticket 4712" in shell.fail("hold", "resolve", "ticket", "4711", "--adopt", "12")
    assert len(shell.ask("hold", "list")) == 1
    assert shell.notified == []


def test_a_possible_duplicate_can_adopt_the_id_that_it_holds_itself(shell: Shell) -> None:
    link(shell, Kind.TICKET, 4711, 12)
    with shell.store.transaction() as tx:
        tx.issues.late_answer(4711, 14)
    assert shell.ask("hold", "list")[0]["candidates"] == [12, 14]
    shell.do("hold", "resolve", "ticket", "4711", "--adopt", "12")
    assert shell.ask("hold", "list") == []


def test_resolving_what_does_not_wait_fails(shell: Shell) -> None:
    assert "deskbridge hold list" in shell.fail("hold", "resolve", "ticket", "1", "--create-again")
    link(shell, Kind.TICKET, 4711, 12)
    assert "it is linked" in shell.fail("hold", "resolve", "ticket", "4711", "--adopt", "13")


def test_resolve_wants_exactly_one_verdict(shell: Shell) -> None:
    shell.fail("hold", "resolve", "ticket", "1", code=2)
    shell.fail("hold", "resolve", "ticket", "1", "--adopt", "1", "--create-again", code=2)
    shell.fail("hold", "resolve", "ticket", "1", "--adopt", "0", code=2)
    shell.fail("hold", "resolve", "tickets", "1", "--create-again", code=2)


def test_what_has_another_author_than_was_meant_is_listed_as_long_as_it_is_linked(shell: Shell) -> None:
    assert shell.ask("author", "list") == []
    link(shell, Kind.TICKET, 4711, 12)
    why = Misattribution.SWITCH_IGNORED(login="alice")
    with shell.store.transaction() as tx:
        tx.misattributed.put(Kind.TICKET, 4711, 4711, 12, why)
        tx.misattributed.put(Kind.TICKET_TASK, 512, 4711, 13, why)
    (one,) = shell.ask("author", "list")
    assert (one["kind"], one["id"], one["tracker_id"], one["code"]) == (
        "ticket",
        4711,
        12,
        "switch_was_ignored",
    )
    assert "a proxy removes the header" in one["todo"], "the doctor alone knows which cause it is"
    assert "`deskbridge doctor` says which" in one["todo"]
    assert "issue #12" in shell.do("author", "list")
