"""`ticket history` tells a ticket's story to programs and to people who do not know the code."""

from __future__ import annotations

from datetime import UTC, datetime

from shared.notices.kinds import Kind
from shared.notices.notice import Notice, written
from shared.notices.steps import What
from shared.store.configuration.matching import TrackerPerson
from shared.store.journal.trace import Step
from shared.store.tables.journal import EventState
from tests.support.events import task, task_event, ticket, ticket_event
from tests.unit.cli.conftest import Shell
from tests.unit.cli.test_held import hold, link


def told(shell: Shell, ticket_id: int = 4711) -> str:
    """Return the output of `ticket history` on one line."""
    return " ".join(shell.do("ticket", "history", str(ticket_id)).split())


def test_a_ticket_never_heard_of_is_said_so(shell: Shell) -> None:
    assert "ticket 99" in shell.fail("ticket", "history", "99")


def test_a_new_event_is_a_step_and_its_task_is_pending(shell: Shell) -> None:
    (event_id,) = shell.receive(task_event(1))
    found = shell.ask("ticket", "history", "4711")
    assert list(found) == ["ticket_id", "link", "waits_for", "ticket_tasks", "notes", "documents", "steps"]
    assert found["waits_for"]["code"] == "worker_awaited"
    assert (found["ticket_id"], found["link"]) == (4711, None)
    assert found["ticket_tasks"] == [
        {
            "task_id": 512,
            "state": "pending",
            "time_entry_id": None,
            "hours": 1.5,
            "code": None,
            "params": {},
            "reason": None,
            "has_wrong_author": False,
        }
    ]
    (step,) = found["steps"]
    assert list(step) == ["at", "code", "params", "what", "why", "call"]
    assert step["what"].startswith(
        f"Event {event_id} arrived: ticket task 512 updated, Done, 1.5 h, ticket status 2"
    )
    assert "has no issue yet" in told(shell)


def test_what_the_helpdesk_has_named_is_shown_by_its_name(shell: Shell) -> None:
    technician = {"id": 7, "email": "alice@example.test", "name": "Alice Archer"}
    named = ticket(entity_name="Acme", technician=technician, category={"id": 12, "name": "Printers"})
    shell.skip(shell.receive(task_event(1, of_ticket=named)))
    assert "entity Acme (3), technician Alice Archer (7), category Printers (12)" in told(shell)


def test_a_linked_ticket_names_its_issue_its_author_and_its_time_entries(shell: Shell) -> None:
    ids = shell.receive(task_event(1), task_event(2, of_task=task(513, state=1)))
    with shell.store.transaction() as tx:
        tx.people.replace_cache([TrackerPerson(5, "alice", "Alice Archer")])
    link(shell, Kind.TICKET, 4711, 12)
    link(shell, Kind.TICKET_TASK, 512, 30)
    shell.end(ids[:1], EventState.DONE, "time entry #30")
    shell.end(ids[1:], EventState.SKIPPED, "the ticket task is not Done")
    found = shell.ask("ticket", "history", "4711")
    assert found["link"]["tracker_issue_id"] == 12
    assert found["link"]["tracker_project_id"] == 1
    assert found["link"]["author"] == "alice"
    assert [(one["task_id"], one["state"], one["time_entry_id"]) for one in found["ticket_tasks"]] == [
        (512, "linked", 30),
        (513, "skipped", None),
    ]
    assert "Ticket 4711 is issue #12 in Redmine project 1, written by alice; 1 ticket task logged" in told(
        shell
    )


def test_steps_and_calls_come_in_the_order_of_time(shell: Shell) -> None:
    shell.receive(task_event(1))
    call = {
        "method": "POST",
        "path": "/issues.json",
        "as": "alice",
        "status": 201,
        "ms": 4,
        "body": {"issue": {}},
    }
    with shell.store.transaction() as tx:
        tx.trace.append(
            [
                Step(4711, written("POST /issues.json answered 201"), call=call),
                Step(
                    4711,
                    What.CALL_UNANSWERED(
                        method="GET", path="/x", actor=Notice("as_administrator"), ms=5, error=written("why")
                    ),
                ),
            ]
        )
        tx.trace.append([Step(4711, written("Long ago"), at=datetime(2026, 1, 1, tzinfo=UTC))])
    found = shell.ask("ticket", "history", "4711")
    assert [step["what"].split()[0] for step in found["steps"]] == ["Long", "Event", "POST", "GET"]
    assert [step["call"] for step in found["steps"]] == [None, None, call, None]
    text = shell.do("ticket", "history", "4711")
    assert "  → POST /issues.json" in text
    assert "  because why" in text
    assert all(len(line) <= 100 for line in text.splitlines())


def test_what_waits_for_a_person_is_in_the_headline(shell: Shell) -> None:
    shell.receive(task_event(1))
    hold(shell, Kind.TICKET, 4711, candidates=(12, 14))
    assert shell.ask("ticket", "history", "4711")["link"]["candidates"] == [12, 14]
    assert "waits for a person" in told(shell)


def test_why_nothing_was_sent_is_in_the_headline(shell: Shell) -> None:
    shell.skip(shell.receive(ticket_event(1)))
    assert "Ticket 4711 has no issue: neither the ticket's GLPI project" in told(shell)


def test_a_status_that_is_still_to_be_given_is_in_the_headline(shell: Shell) -> None:
    shell.end(shell.receive(ticket_event(1)), EventState.DONE, "done")
    link(shell, Kind.TICKET, 4711, 12)
    assert "its status 2 is still to be given" in told(shell)


def test_a_helpdesk_clock_in_the_future_is_pointed_out(shell: Shell) -> None:
    shell.receive({**ticket_event(1), "occurred_at": "2999-01-01T00:00:00Z"})
    assert "clock is wrong" in told(shell)


def test_a_pruned_ticket_still_shows_its_issue(shell: Shell) -> None:
    link(shell, Kind.TICKET, 4711, 12)
    assert "is issue #12" in told(shell)
    assert shell.ask("ticket", "history", "4711")["steps"] == []


def test_the_highest_ids_are_shown_with_the_statement_for_the_helpdesk(shell: Shell) -> None:
    (of_tickets, *_) = shell.ask("ticket", "highest")
    statement = "ALTER TABLE glpi_tickets AUTO_INCREMENT = 1;"
    assert of_tickets == {"kind": "ticket", "highest": 0, "table": "glpi_tickets", "statement": statement}
    assert statement in shell.do("ticket", "highest")
