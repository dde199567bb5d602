"""With no active template every request is, byte for byte, what version 1.x sends (SPEC section 9).

`golden/requests.txt` was recorded before there were templates. A difference changes what trackers receive: first
announce it in the changelog, then change that file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.projects.project_forms import ProjectForm
from producer.admin.projects.projects import ProjectForms
from producer.admin.templates.defaults import default_template
from producer.admin.templates.templates import TemplateStore
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.metadata.synchronisation import synchronise
from shared.redis.locks import Locks
from shared.store.configuration.mappings import MappingKind
from shared.templating.operations import Operation
from shared.tracker.client import Request, TrackerClient
from shared.tracker.sessions import SendGuard
from tests.support.bridge import Bridge
from tests.support.events import BOB, SUPPORT_ENTITY, task, task_event, ticket, ticket_event

GOLDEN = Path(__file__).parent / "golden" / "requests.txt"
Recorded = Callable[[], str]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, stand_in: StandIn) -> Recorded:
    """What was written to the tracker so far, a line per request: method, path, person, body as sent."""
    lines: list[str] = []
    real = TrackerClient._answer

    async def noted(
        self: TrackerClient, guard: SendGuard, asked: Request, url: str, body: Any, headers: Any
    ) -> Any:
        if self.target.base_url == stand_in.base_url and asked.method != "GET":
            lines.append(f"{asked.method} {url} {headers.get('X-Redmine-Switch-User', '-')} {body.decode()}")
        return await real(self, guard, asked, url, body, headers)

    monkeypatch.setattr(TrackerClient, "_answer", noted)
    return lambda: "\n".join(lines) + "\n"


def test_every_operation_sends_what_it_sent_before_there_were_templates(
    bridge: Bridge, recorded: Recorded
) -> None:
    configure(bridge)
    forward_tickets(bridge)
    create_projects(bridge)
    assert recorded() == GOLDEN.read_text()


def test_the_generated_default_templates_send_the_same(bridge: Bridge, recorded: Recorded) -> None:
    configure(bridge)
    templates = TemplateStore(bridge.store)
    for operation in Operation:
        made = templates.create(operation, "default", default_template(operation), "a test")
        templates.activate(made.id, "a test")
    forward_tickets(bridge)
    create_projects(bridge)
    assert [readable(line) for line in recorded().splitlines()] == [
        readable(line) for line in GOLDEN.read_text().splitlines()
    ]
    assert any("from template" in step for step in bridge.steps(1))


def readable(line: str) -> tuple[str, Any]:
    """Return a recorded request with its body as data: the order of keys does not matter to a tracker."""
    request, _, body = line.partition(" {")
    return request, json.loads("{" + body)


def configure(bridge: Bridge) -> None:
    """Set every optional setting, so that the bodies have all fields."""
    bridge.configure(default_tracker_id=3, default_priority_id=2, default_watcher_ids=[5, 6])
    bridge.link(MappingKind.ENTITY, SUPPORT_ENTITY, 1, 1)
    bridge.link(MappingKind.PROJECT, 40, 2)


def forward_tickets(bridge: Bridge) -> None:
    """Forward all kinds of tickets: plain, hostile, empty, in a project, with mapped and unmapped statuses."""
    plain, hostile, empty = ticket(1), ticket(2, **HOSTILE), ticket(3, title=" ", content=None, status=99)
    elsewhere = ticket(4, project_id=40, technician=None, title="x" * 300)
    bridge.forward(task_event(0, of_ticket=plain, of_task=task(11)), ticket_id=1)
    bridge.forward(ticket_event(5, of_ticket={**plain, "status": 5}), ticket_id=1)
    bridge.forward(
        task_event(6, of_ticket={**plain, "status": 5}, of_task=task(12, user=BOB, content=None)), ticket_id=1
    )
    bridge.forward(
        task_event(7, of_ticket=hostile, of_task=task(21, content=HOSTILE["content"], actiontime=1000)),
        ticket_id=2,
    )
    bridge.forward(
        task_event(8, of_ticket=empty, of_task=task(31, content="x" * 2000, actiontime=1)), ticket_id=3
    )
    bridge.forward(ticket_event(9, of_ticket={**empty, "status": 6}), ticket_id=3)
    bridge.forward(task_event(10, of_ticket=elsewhere, of_task=task(41, user=None)), ticket_id=4)


HOSTILE = {
    "title": 'A "quoted" {{ticket.title}} <b>bold</b>\u2028 \U0001f9ea\x00 \n two',
    "content": "<p>{{#if x}} &amp; \\ / '</p><ul><li>one</li><li>two</li></ul>\x00",
}


def create_projects(bridge: Bridge) -> None:
    """Create one project with the required fields only, and one with all fields."""
    connect = Connector(bridge.store, Vault(bridge.settings.secret_keys)).connect
    locks = Locks(bridge.redis, 60)
    assert synchronise(bridge.store, locks, connect)
    forms = ProjectForms(bridge.store, locks, connect, bridge.settings.settling_time, bridge.notified.extend)
    forms.create(MappingKind.ENTITY, 8, ProjectForm.of({"name": "Lab", "identifier": "Lab-1"}))
    full = {
        "name": "North \U0001f9ea",
        "identifier": "North",
        "description": "Tickets of the north",
        "is_public": True,
        "parent_id": 1,
        "enabled_module_names": ["issue_tracking", "time_tracking"],
        "custom_field_values": {"2": "CC-17"},
    }
    forms.create(MappingKind.PROJECT, 9, ProjectForm.of(full))
