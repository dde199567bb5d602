"""If GLPI, Redmine or a setting stops a document, every surface names the cause, and one step fixes it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest

from deploy.sandbox.tracker.control import StandIn
from shared.monitoring.state_metrics import StateMetricsCollector
from shared.notices.faults import Fault
from shared.notices.reasons import Reason
from shared.store.tables.journal import EventState
from shared.telemetry import metrics
from tests.failures import test_a_status_that_is_not_taken as tracker
from tests.failures import test_all_forty_on_every_surface as table
from tests.failures.rows.row import Row
from tests.failures.rows.surfaces import doctor, not_well
from tests.failures.stage import Act, Stage, settings
from tests.integration.documents import documents_bridge
from tests.support.bridge import Bridge
from tests.support.events import document, document_event
from tests.support.glpi_api import CLIENT, CLIENT_SECRET, PASSWORD, USER, GlpiApi, glpi_api
from tests.unit.cli.conftest import Shell
from worker.ticket.retry import MOST_ATTEMPTS

played = table.played
COMMAND = re.compile(r"`deskbridge (event replay .+?)`")


@pytest.fixture
def helpdesk() -> Iterator[GlpiApi]:
    """Provide GLPI's API, which has the documents."""
    with glpi_api() as served:
        yield served


@pytest.fixture
def bridge(helpdesk: GlpiApi, stand_in: StandIn, redis_url: str, tmp_path: Path) -> Iterator[Bridge]:
    """Provide a deskbridge that sends documents."""
    with documents_bridge(helpdesk, stand_in, redis_url, tmp_path) as made:
        yield made


def attached(stage: Stage) -> list[str]:
    """Return the names of the files attached to the ticket's issue."""
    path = f"/issues/{tracker.issue_id(stage)}.json?include=attachments"
    return [one["filename"] for one in tracker.api(stage, "GET", path)[1]["issue"]["attachments"]]


def goes_on(stage: Stage, shell: Shell, typed: str) -> None:
    """Run the replay command; check that the document is attached and no work is left."""
    assert "1 event of 1 ticket will be processed again" in shell.do(*shlex.split(typed))
    stage.bridge.hurry()
    stage.bridge.sync()
    assert attached(stage) == ["scan-91.png"]
    assert stage.goes_on(), stage.events().text


def test_a_document_that_glpi_refuses_is_named_while_it_waits_and_attached_once_its_user_may_read_it(
    stage: Stage, shell: Shell, helpdesk: GlpiApi
) -> None:
    assert stage.work() == EventState.DONE
    helpdesk.forbidden.add(91)
    (event_id,) = stage.bridge.receive(document_event(700))
    stage.bridge.sync()
    told = stage.events()
    assert Fault.DOCUMENT_REFUSED in told.codes, told.text
    assert "GLPI does not give document 91" in told.text
    for _ in range(MOST_ATTEMPTS):
        stage.bridge.hurry()
        stage.bridge.sync()
    assert stage.bridge.event(event_id).state == EventState.FAILED
    assert attached(stage) == []
    helpdesk.forbidden.clear()
    goes_on(stage, shell, "event replay --state failed")


def arrives(stage: Stage) -> None:
    """Receive a document of the ticket and sync it until its attempts are used up."""
    stage.work()
    stage.bridge.receive(document_event(700))
    for _ in range(MOST_ATTEMPTS + 1):
        stage.bridge.hurry()
        stage.bridge.sync()


def configures(stage: Stage, helpdesk: GlpiApi) -> None:
    """Set DESKBRIDGE_GLPI_API_… for the command line, and run `reconcile`."""
    stage.patched.setenv("DESKBRIDGE_GLPI_API_URL", helpdesk.url)
    stage.patched.setenv("DESKBRIDGE_GLPI_API_CLIENT_ID", CLIENT)
    stage.patched.setenv("DESKBRIDGE_GLPI_API_CLIENT_SECRET", CLIENT_SECRET)
    stage.patched.setenv("DESKBRIDGE_GLPI_API_USER", USER)
    stage.patched.setenv("DESKBRIDGE_GLPI_API_PASSWORD", PASSWORD)
    stage.shell.do("reconcile")


def refuses(*numbers: int) -> Act:
    """Make GLPI refuse some documents."""

    def act(stage: Stage) -> None:
        stage.kept["helpdesk"].forbidden = set(numbers)

    return act


def failed(stage: Stage) -> str:
    """Return the metrics, which report the failed events."""
    collector = StateMetricsCollector(stage.bridge.redis, stage.bridge.store)
    return generate_latest(metrics.registry("console", collector)).decode()


ON_EVERY_SURFACE = [
    (
        Row(
            41,
            "GLPI refuses a document",
            refuses(91),
            EventState.FAILED,
            doctor="Document/91/Download: 403; check that deskbridge has the right to read it",
            step="fix the cause, then run `deskbridge event replay --state failed --code helpdesk_right_missing`",
            heal=refuses(),
            everywhere="GLPI does not give document 91",
            arrives=arrives,
        ),
        Reason.GAVE_UP,
    ),
    (
        Row(
            42,
            "the tracker refuses the type of a file",
            settings(refused_extensions=["png"]),
            EventState.FAILED,
            doctor="Attachment extension .png is not allowed",
            step="fix the cause, then run `deskbridge event replay --state failed --code tracker_rejected`",
            heal=settings(refused_extensions=[]),
            everywhere="Attachment extension .png is not allowed",
            arrives=arrives,
            real=False,
        ),
        Fault.TRACKER_REJECTED,
    ),
]


@pytest.mark.stand_in
@pytest.mark.parametrize(("row", "code"), ON_EVERY_SURFACE, ids=str)
def test_each_surface_names_a_document_that_is_not_attached_and_one_step_heals(
    played: Stage, helpdesk: GlpiApi, row: Row, code: str
) -> None:
    played.kept["helpdesk"] = helpdesk
    configures(played, helpdesk)
    assert not_well(doctor(played)) == 0
    row.stage(played)
    table.becomes(played, row)
    table.is_named(played, row)
    assert f'deskbridge_events_failed{{code="{code}"}} 1.0' in failed(played)
    table.heals(played, row)
    assert attached(played) == ["scan-91.png"]


@pytest.mark.parametrize(
    ("setting", "refusing", "sending", "reason"),
    [
        ("document_max_mb", 1, "2", Reason.DOCUMENT_TOO_LARGE),
        ("document_refused_types", (".png",), "[]", Reason.DOCUMENT_TYPE_REFUSED),
        ("sync_documents", "off", "on", Reason.DOCUMENTS_OFF),
    ],
)
def test_a_document_that_a_setting_stops_names_the_setting_and_the_replay(
    stage: Stage, shell: Shell, helpdesk: GlpiApi, setting: str, refusing: Any, sending: str, reason: Reason
) -> None:
    assert stage.work() == EventState.DONE
    size = 1024 * 1024 + 1
    helpdesk.documents[91] = bytes(size)
    stage.bridge.configure(**{setting: refusing})
    event = document_event(700, of_document=document(size=size))
    assert stage.bridge.forward(event) == [EventState.SKIPPED]
    for told in (stage.events(), stage.trace()):
        assert reason in told.codes, told.text
        assert setting in told.text
    (step,) = set(COMMAND.findall(stage.events().text))
    shell.do("config", "set", f"{setting}={sending}")
    goes_on(stage, shell, step)
