"""/api/tickets: what the help desk's own ticket page shows about a ticket."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.access.accounts import AccountStore
from producer.admin.queries.outcome import ticket_outcome
from producer.admin.records.rights import Right
from tests.integration.console.conftest import Console
from tests.integration.documents import documents_bridge
from tests.support.bridge import Bridge
from tests.support.events import (
    document_event,
    followup_event,
    solution_event,
    task,
    task_event,
    ticket,
    ticket_event,
)
from tests.support.glpi_api import glpi_api

UNLINKED = 99


def test_a_ticket_tells_its_issue_with_a_link_and_the_hours_of_each_task(
    console: Console, bridge: Bridge
) -> None:
    console.do("POST", "/api/metadata/sync")
    bridge.forward(task_event(), task_event(1, of_task=task(513, state=1)), ticket_event(2))
    found = console.get("/api/tickets/4711")
    issue = found["issue"]
    assert (found["ticket_id"], found["state"]) == (4711, "linked")
    assert issue["url"] == f"{console.get('/api/config')['base_url']}/issues/{issue['id']}"
    assert issue["project"]
    assert issue["status"]
    logged, waiting = found["tasks"]
    assert (logged["id"], logged["state"], logged["hours"]) == (512, "linked", 1.5)
    assert logged["time_entry_id"]
    assert (waiting["id"], waiting["state"], waiting["code"]) == (513, "skipped", "not_done")
    assert waiting["time_entry_id"] is None


def test_a_ticket_tells_no_hours_of_an_imported_link(console: Console, bridge: Bridge) -> None:
    with bridge.store.transaction() as tx:
        tx.issues.take_over(4711, 4711, 6, tracker_project_id=1, issue_id=None, author_id=5)
        tx.times.take_over(512, 4711, 9, tracker_project_id=1, issue_id=6, author_id=5)
    (logged,) = console.get("/api/tickets/4711")["tasks"]
    assert (logged["id"], logged["state"], logged["hours"]) == (512, "linked", None)


def test_a_ticket_tells_what_became_of_its_follow_ups_solutions_and_documents(
    console: Console, bridge: Bridge
) -> None:
    bridge.configure(sync_followups="public")
    bridge.forward(task_event(), followup_event(1), solution_event(2), document_event(3))
    found = console.get("/api/tickets/4711")
    sent, not_sent = found["notes"]
    assert (sent["kind"], sent["id"], sent["state"]) == ("followup", 77, "linked")
    assert sent["note_id"]
    assert (not_sent["kind"], not_sent["id"], not_sent["state"]) == ("solution", 77, "skipped")
    assert (not_sent["note_id"], not_sent["code"]) == (None, "solutions_off")
    assert "sync_solutions is off" in not_sent["reason"]
    (document,) = found["documents"]
    assert (document["id"], document["state"], document["code"]) == (91, "skipped", "documents_off")
    assert document["attachment_id"] is None


def test_a_ticket_tells_the_attachment_of_a_document(
    stand_in: StandIn, redis_url: str, tmp_path: Path
) -> None:
    with glpi_api() as api, documents_bridge(api, stand_in, redis_url, tmp_path) as sending:
        sending.forward(task_event(), document_event(1))
        (document,) = ticket_outcome(sending.store, 4711).documents
    assert (document.id, document.state) == (91, "linked")
    assert document.attachment_id


@pytest.mark.parametrize(
    ("asks_for", "words"),
    [(None, "neither the ticket's GLPI project"), ("fr-FR,fr;q=0.9", "ni le projet")],
)
def test_a_ticket_without_an_issue_says_why_in_the_language_of_who_looks(
    console: Console, bridge: Bridge, asks_for: str | None, words: str
) -> None:
    bridge.forward(task_event(of_ticket=ticket(entity_id=UNLINKED)))
    headers = {"Authorization": "Bearer the-token-of-the-tests"} | (
        {"Accept-Language": asks_for} if asks_for else {}
    )
    found = console.http.get(f"{console.base_url}/api/tickets/4711", headers=headers, timeout=30).json()
    assert (found["issue"], found["state"], found["code"]) == (None, "skipped", "no_link")
    assert words in found["reason"]


def test_a_helpdesk_s_token_reads_tickets_and_links_and_nothing_else(
    console: Console, accounts: AccountStore, bridge: Bridge
) -> None:
    bridge.forward(task_event())
    token = accounts.add_token("glpi", Right.LINKS)
    assert console.ask("GET", "/api/tickets/4711", token=token).status_code == 200
    assert console.ask("GET", "/api/links", token=token).status_code == 200
    for path in ("/api/trace/4711", "/api/events", "/api/config"):
        console.refused("GET", path, 403, token=token)


def test_a_ticket_that_nobody_told_of_is_not_found(console: Console) -> None:
    assert console.refused("GET", "/api/tickets/99", 404)["code"] == "ticket_unknown"
