"""A document that GLPI does not give, or that the settings do not send: what names it, and the step that heals it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.notices.faults import Fault
from shared.notices.reasons import Reason
from shared.store.tables.journal import EventState
from tests.failures import test_a_status_that_is_not_taken as tracker
from tests.failures.stage import Stage
from tests.integration.documents import documents_bridge
from tests.support.bridge import Bridge
from tests.support.events import document, document_event
from tests.support.glpi_api import GlpiApi, glpi_api
from tests.unit.cli.conftest import Shell
from worker.ticket.retry import MOST_ATTEMPTS

COMMAND = re.compile(r"`deskbridge (event replay .+?)`")


@pytest.fixture
def helpdesk() -> Iterator[GlpiApi]:
    """GLPI's API, which has the documents."""
    with glpi_api() as served:
        yield served


@pytest.fixture
def bridge(helpdesk: GlpiApi, stand_in: StandIn, redis_url: str, tmp_path: Path) -> Iterator[Bridge]:
    """A deskbridge that sends documents."""
    with documents_bridge(helpdesk, stand_in, redis_url, tmp_path) as made:
        yield made


def attached(stage: Stage) -> list[str]:
    """Return the file names at the ticket's issue."""
    path = f"/issues/{tracker.issue_id(stage)}.json?include=attachments"
    return [one["filename"] for one in tracker.api(stage, "GET", path)[1]["issue"]["attachments"]]


def goes_on(stage: Stage, shell: Shell, typed: str) -> None:
    """Replay as typed; the document is attached, and nothing is left."""
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
