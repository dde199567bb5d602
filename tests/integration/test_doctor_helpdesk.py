"""`deskbridge doctor --helpdesk` tells whether the help desk is connected, and what to do if not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import update

from producer.admin.backfill.replay import replay_events
from producer.admin.doctor.examination import examine_helpdesk
from producer.admin.doctor.finding import CheckResult, Status
from producer.admin.doctor.installation import Installation
from producer.admin.review.forgotten_links import forget_link
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.notices.doctor_helpdesk import HelpdeskFinding
from shared.notices.invalid import Invalid
from shared.notices.kinds import Kind
from shared.store.tables.journal import EventState, JournalEvent
from shared.store.tables.types import clock
from tests.support.bridge import Bridge
from tests.support.events import deletion, followup_event, task, task_event, ticket, ticket_event
from tests.support.glpi_api import GlpiApi, glpi_api


@pytest.fixture
def api() -> Iterator[GlpiApi]:
    with glpi_api() as served:
        yield served


def examined(bridge: Bridge, api: GlpiApi | None = None) -> list[CheckResult]:
    settings = bridge.settings
    if api:
        access = api.access
        settings = settings.model_copy(
            update={
                "glpi_api_url": access.url,
                "glpi_api_client_id": access.client_id,
                "glpi_api_client_secret": access.client_secret,
                "glpi_api_user": access.user,
                "glpi_api_password": access.password,
            }
        )
    vault = Vault(settings.secret_keys)
    connect = Connector(bridge.store, vault).connect
    installation = Installation(settings, bridge.store, bridge.redis, vault, connect, lambda: True)
    return list(examine_helpdesk(installation))


def found(bridge: Bridge, api: GlpiApi | None = None) -> dict[str, tuple[Status, str]]:
    """Return the status and code of each check."""
    return {one.check: (one.status, one.found.code) for one in examined(bridge, api)}


def test_before_the_first_event_it_says_so(bridge: Bridge) -> None:
    assert found(bridge)["helpdesk events"] == (Status.WARNING, HelpdeskFinding.NO_EVENT_YET)


def test_after_a_quiet_day_it_asks_whether_that_is_right(bridge: Bridge) -> None:
    bridge.receive(task_event())
    assert found(bridge)["helpdesk events"] == (Status.OK, HelpdeskFinding.LAST_EVENT)
    with bridge.store.database.transaction() as session:
        session.execute(update(JournalEvent).values(received_at=clock(-2 * 86400)))
    assert found(bridge)["helpdesk events"] == (Status.WARNING, HelpdeskFinding.LAST_EVENT)


def test_deliveries_that_cannot_be_read_are_counted(bridge: Bridge) -> None:
    assert found(bridge)["deliveries"] == (Status.OK, HelpdeskFinding.DELIVERIES_READABLE)
    with bridge.store.transaction() as tx:
        tx.journal.park("id", "glpi/ticket", b"{}", [("item", Invalid.FIELD_REQUIRED())])
        tx.reconciliation.ran(datetime(2026, 1, 1, tzinfo=UTC), 0)
    assert found(bridge)["deliveries"] == (Status.FAILURE, HelpdeskFinding.DELIVERIES_UNREADABLE)
    with bridge.store.transaction() as tx:
        tx.reconciliation.ran(tx.now(), 0)
    assert found(bridge)["deliveries"] == (Status.OK, HelpdeskFinding.DELIVERIES_COMPARED)


def test_an_api_that_is_not_used_is_no_fault(bridge: Bridge) -> None:
    assert found(bridge)["helpdesk API"] == (Status.OK, HelpdeskFinding.HELPDESK_API_NOT_USED)


def test_the_api_is_asked_and_its_clock_compared(bridge: Bridge, api: GlpiApi) -> None:
    assert found(bridge, api)["helpdesk API"] == (Status.OK, HelpdeskFinding.HELPDESK_API_ANSWERS)
    api.ahead_s = 600
    assert found(bridge, api)["helpdesk API"] == (Status.WARNING, HelpdeskFinding.HELPDESK_CLOCK_DIFFERS)
    api.down = True
    assert found(bridge, api)["helpdesk API"] == (Status.FAILURE, HelpdeskFinding.HELPDESK_API_UNREACHABLE)


def test_what_had_been_missed_is_told_until_a_run_misses_nothing(bridge: Bridge, api: GlpiApi) -> None:
    assert found(bridge, api)["reconciliation"] == (Status.WARNING, HelpdeskFinding.NOT_RECONCILED)
    for missing, expected in (
        (3, HelpdeskFinding.EVENTS_WERE_MISSED),
        (0, HelpdeskFinding.NOTHING_WAS_MISSED),
    ):
        with bridge.store.transaction() as tx:
            tx.reconciliation.ran(datetime.now(UTC), missing)
        assert found(bridge, api)["reconciliation"][1] == expected


def test_while_documents_are_off_it_asks_for_nothing(bridge: Bridge) -> None:
    assert found(bridge)["documents"] == (Status.OK, HelpdeskFinding.DOCUMENTS_NOT_SENT)


def test_documents_without_glpis_api_are_a_failure(bridge: Bridge) -> None:
    bridge.configure(sync_documents="on")
    assert found(bridge)["documents"] == (Status.FAILURE, HelpdeskFinding.DOCUMENTS_WITHOUT_API)


def test_documents_that_cannot_be_fetched_are_a_failure(bridge: Bridge, api: GlpiApi) -> None:
    bridge.configure(sync_documents="on")
    assert found(bridge, api)["documents"] == (Status.OK, HelpdeskFinding.DOCUMENTS_REACHABLE)
    api.down = True
    assert found(bridge, api)["documents"] == (Status.FAILURE, HelpdeskFinding.DOCUMENTS_UNREACHABLE)


def deleted_tickets(bridge: Bridge) -> list[int]:
    """Return the deleted tickets that the doctor warns of."""
    (told,) = [one for one in examined(bridge) if one.check == "deleted tickets"]
    tickets: list[int] = told.found.params.get("tickets", [])
    assert told.status == (Status.WARNING if tickets else Status.OK)
    return tickets


def test_a_deleted_ticket_whose_number_a_restored_glpi_gave_away_is_named(bridge: Bridge) -> None:
    """The new ticket is sent once it was in the bin and came back, which the article says."""
    bridge.forward(task_event(), deletion(1, "ticket.deleted"))
    bridge.forward(ticket_event(2))  # GLPI removes its people while it purges it
    assert deleted_tickets(bridge) == []
    (event_id,) = bridge.receive(ticket_event(30, of_ticket=ticket(title="Another one")))
    bridge.sync()
    assert deleted_tickets(bridge) == [4711]
    bridge.forward(deletion(31, "ticket.deleted"), deletion(32, "ticket.restored"))
    assert deleted_tickets(bridge) == []
    assert bridge.event(event_id).state != EventState.SKIPPED


def test_changes_of_a_ticket_in_the_bin_are_no_other_ticket(bridge: Bridge) -> None:
    bridge.forward(deletion(1, "ticket.deleted"))
    bridge.forward(task_event(30, of_ticket=ticket(is_deleted=True)))
    assert deleted_tickets(bridge) == []


def test_the_warning_of_a_deleted_ticket_ends_after_a_week(bridge: Bridge) -> None:
    bridge.forward(deletion(1, "ticket.deleted"), ticket_event(30))
    assert deleted_tickets(bridge) == [4711]
    with bridge.store.database.transaction() as session:
        session.execute(update(JournalEvent).values(received_at=clock(-8 * 86400)))
    assert deleted_tickets(bridge) == []


def reused_ids(bridge: Bridge) -> list[str]:
    """Return the items that the doctor says to have the id of another one."""
    (told,) = [one for one in examined(bridge) if one.check == "reused ids"]
    keys: list[str] = told.found.params.get("keys", [])
    assert told.status == (Status.WARNING if keys else Status.OK)
    return keys


def test_new_items_with_the_ids_of_lost_ones_are_named_until_they_are_sent(bridge: Bridge) -> None:
    bridge.configure(sync_followups="all")
    added = "ticket_task.added"
    bridge.forward(task_event(event=added), followup_event(1))
    bridge.forward(task_event(event=added), task_event(30), followup_event(1))
    assert reused_ids(bridge) == [], "a delivery that came twice, and a change"
    another = bridge.receive(task_event(40, event=added, of_task=task(content="Another task")))
    bridge.sync()
    assert reused_ids(bridge) == ["ticket-task:512"]
    bridge.forward(followup_event(41))
    assert reused_ids(bridge) == ["followup:77", "ticket-task:512"]
    forget_link(bridge.store, Kind.TICKET_TASK, 512)
    replay_events(bridge.store, another)
    bridge.sync()
    assert reused_ids(bridge) == ["followup:77"]
