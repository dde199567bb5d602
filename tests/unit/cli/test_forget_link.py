"""`ticket forget` removes one link after explaining the consequences, and refuses while a creation is under way."""

from __future__ import annotations

import pytest

from producer.cli.commands import ticket as ticket_commands
from shared.notices.authors import Misattribution
from shared.notices.changes import Did
from shared.notices.kinds import Kind
from shared.notices.notice import written
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.store.tables.ledger import LedgerRow, LedgerState
from tests.support.events import task_event
from tests.unit.cli.conftest import Shell
from tests.unit.cli.test_held import claim, hold, link


def row(shell: Shell, kind: Kind, key: int) -> LedgerRow:
    with shell.store.transaction() as tx:
        found = tx.ledger(kind).get(key)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("kind", "key", "noun"), [(Kind.TICKET, 4711, "issue"), (Kind.TICKET_TASK, 512, "time entry")]
)
def test_a_link_is_forgotten_and_recorded(shell: Shell, kind: Kind, key: int, noun: str) -> None:
    link(shell, kind, key, 12)
    with shell.store.transaction() as tx:
        tx.misattributed.put(kind, key, 4711, 12, Misattribution.SWITCH_IGNORED(login="alice"))
    before = row(shell, kind, key).attempt
    told = shell.do("ticket", "forget", str(kind), str(key), "--yes")
    assert f"{noun} #12 stays in Redmine" in told
    assert f"creates another {noun}" in told
    now = row(shell, kind, key)
    assert (now.state, now.tracker_id, now.attempt) == (LedgerState.FREE, None, before + 1)
    assert now.has_code(Reason.LINK_FORGOTTEN)
    assert now.candidates == [12], "no lookup takes it for another's"
    assert shell.ask("author", "list") == []
    with shell.store.transaction() as tx:
        (step,) = tx.trace.of_ticket(4711)
        (change,) = tx.changes.find(limit=9)
    assert step.code == What.LINK_FORGOTTEN
    assert step.task_id == (key if kind is Kind.TICKET_TASK else None)
    assert (change.code, change.params["id"], change.params["tracker_id"]) == (Did.LINK_FORGOTTEN, key, 12)


def test_the_time_entries_of_a_forgotten_issue_stay_linked_and_are_counted(shell: Shell) -> None:
    link(shell, Kind.TICKET, 4711, 12)
    link(shell, Kind.TICKET_TASK, 512, 3)
    assert "1 time entry of the ticket stays linked" in shell.do(
        "ticket", "forget", "ticket", "4711", "--yes"
    )
    assert row(shell, Kind.TICKET_TASK, 512).state == LedgerState.LINKED


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("state", ["claimed", "in_doubt"])
def test_what_is_under_way_is_not_forgotten(shell: Shell, kind: Kind, state: str) -> None:
    key = 4711 if kind is Kind.TICKET else 512
    with shell.store.transaction() as tx:
        attempt = tx.ledger(kind).claim(claim(kind, key), 20)
        assert attempt
        if state == "in_doubt":
            tx.ledger(kind).doubt(key, attempt, 20, written("no answer"))
    assert "so its link cannot be removed now" in shell.fail("ticket", "forget", str(kind), str(key), "--yes")
    assert row(shell, kind, key).state == state


def test_an_issue_is_not_forgotten_while_time_is_logged_on_it(shell: Shell) -> None:
    link(shell, Kind.TICKET, 4711, 12)
    with shell.store.transaction() as tx:
        tx.times.claim(claim(Kind.TICKET_TASK, 512), 20)
    assert "so its link cannot be removed now" in shell.fail("ticket", "forget", "ticket", "4711", "--yes")
    assert row(shell, Kind.TICKET, 4711).state == LedgerState.LINKED


def test_what_waits_for_a_person_is_decided_on_with_resolve(shell: Shell) -> None:
    hold(shell, Kind.TICKET, 4711)
    assert "deskbridge hold resolve" in shell.fail("ticket", "forget", "ticket", "4711", "--yes")


def test_where_nothing_is_linked_there_is_nothing_to_forget(shell: Shell) -> None:
    assert "has no link to remove" in shell.fail("ticket", "forget", "ticket", "4711", "--yes")
    link(shell, Kind.TICKET, 4711, 12)
    shell.do("ticket", "forget", "ticket", "4711", "--yes")
    assert "has no link to remove" in shell.fail("ticket", "forget", "ticket", "4711", "--yes")


def test_it_asks_first_where_there_is_a_terminal(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    link(shell, Kind.TICKET, 4711, 12)
    assert "--yes" in shell.fail("ticket", "forget", "ticket", "4711", code=2)
    monkeypatch.setattr(ticket_commands, "can_ask", lambda: True)
    refused = shell.type("ticket", "forget", "ticket", "4711", stdin="n\n")
    assert refused.exit_code == 1
    assert "stays in Redmine" in refused.stdout
    assert row(shell, Kind.TICKET, 4711).state == LedgerState.LINKED
    assert "deskbridge forgot that ticket 4711 was linked" in shell.do(
        "ticket", "forget", "ticket", "4711", stdin="y\n"
    )


def test_events_that_wait_are_left_alone(shell: Shell) -> None:
    (event_id,) = shell.receive(task_event())
    link(shell, Kind.TICKET_TASK, 512, 3)
    shell.do("ticket", "forget", "ticket-task", "512", "--yes")
    assert shell.states() == {event_id: "pending"}
    assert shell.notified == []
