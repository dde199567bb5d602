"""`deskbridge doctor --helpdesk` tells whether the help desk is connected, and what to do if not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import update

from producer.admin.doctor.examination import examine_helpdesk
from producer.admin.doctor.finding import Status
from producer.admin.doctor.installation import Installation
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.notices.doctor_helpdesk import HelpdeskFinding
from shared.notices.invalid import Invalid
from shared.store.tables.journal import JournalEvent
from shared.store.tables.types import clock
from tests.support.bridge import Bridge
from tests.support.events import task_event
from tests.support.glpi_api import GlpiApi, glpi_api


@pytest.fixture
def api() -> Iterator[GlpiApi]:
    with glpi_api() as served:
        yield served


def found(bridge: Bridge, api: GlpiApi | None = None) -> dict[str, tuple[Status, str]]:
    """Return the status and code of each check."""
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
    return {one.check: (one.status, one.found.code) for one in examine_helpdesk(installation)}


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
