"""Templates create issues that 1.x cannot create, and the default templates create the same issues as 1.x."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from producer.admin.templates.defaults import default_template
from producer.admin.templates.templates import TemplateStore
from shared.bodies.contexts import custom_fields_of
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.metadata.synchronisation import sync_metadata
from shared.store.configuration.mappings import MappingKind
from shared.templating.operations import Operation
from tests.contract import seed
from tests.contract.strictness import required
from tests.contract.support import Json, Tracker
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket, ticket_event

ENTITY = 77
TICKET_FIELD = int(seed.CustomField.ISSUE_TICKET)


@pytest.fixture
def bridge(tracker: Tracker, redis_url: str, tmp_path: Path, project: Json) -> Iterator[Bridge]:
    """A deskbridge whose entity is mapped to a fresh project of the tracker under test."""
    made = Bridge(f"sqlite:///{tmp_path}/bridge.sqlite3", redis_url, tracker.base_url, tracker.api_key)
    made.link(MappingKind.ENTITY, ENTITY, int(project["id"]))
    yield made
    made.close()


def synchronise(bridge: Bridge) -> None:
    """Fill the metadata cache."""
    _, client = Connector(bridge.store, Vault(bridge.settings.secret_keys)).connect()
    sync_metadata(bridge.store, client)


def activate(bridge: Bridge, operation: Operation, body: str) -> None:
    """Create and activate a template."""
    templates = TemplateStore(bridge.store)
    templates.activate(templates.create(operation, "of the test", body, "a test").id, "a test")


def forward(bridge: Bridge, ticket_id: int = 4711) -> list[str]:
    """Forward a finished ticket task and a later ticket update; return the events' states."""
    first = ticket(ticket_id, entity_id=ENTITY, content="<p>It <b>burns</b> &amp; smokes</p>")
    events = (
        task_event(0, of_ticket=first, of_task=task(ticket_id + 1)),
        ticket_event(5, of_ticket={**first, "status": 5}),
    )
    return bridge.forward(*events, ticket_id=ticket_id)


def issues(tracker: Tracker, project: Json) -> list[Json]:
    """Return the project's issues, oldest first."""
    path = f"/issues.json?project_id={project['id']}&status_id=*&sort=id"
    found: list[Json] = tracker.read(path)["issues"]
    return found


def test_a_template_makes_the_issue_that_1x_cannot_where_a_custom_field_is_required(
    bridge: Bridge, tracker: Tracker, project: Json
) -> None:
    with required(tracker, TICKET_FIELD):
        assert forward(bridge)[0] == "failed"
        assert issues(tracker, project) == []
        synchronise(bridge)
        with bridge.store.transaction() as tx:
            generated = default_template(Operation.ISSUE_CREATE, custom_fields_of(tx))
        body: dict[str, Any] = json.loads(generated)
        assert [one["id"] for one in body["issue"]["custom_fields"]] == [TICKET_FIELD]
        body["issue"]["custom_fields"][0]["value"] = "T-{{ticket.id}}"
        activate(bridge, Operation.ISSUE_CREATE, json.dumps(body))
        assert forward(bridge, 4712) == ["done", "done"], bridge.steps(4712)
    (issue,) = issues(tracker, project)
    assert {one["id"]: one["value"] for one in issue["custom_fields"]}[TICKET_FIELD] == "T-4712"
    assert issue["author"]["id"] == seed.User.ALICE


def test_the_refusal_without_a_template_is_explained_in_the_trace(bridge: Bridge, tracker: Tracker) -> None:
    with required(tracker, TICKET_FIELD):
        synchronise(bridge)
        forward(bridge)
    (told,) = [step for step in bridge.steps() if "Possible cause of the rejection" in step]
    assert f"issue.custom_fields[{TICKET_FIELD}]" in told
    assert "KB-HINT-003" in told


def test_the_default_templates_create_what_1x_creates(
    bridge: Bridge, tracker: Tracker, project: Json
) -> None:
    assert forward(bridge) == ["done", "done"]
    for operation in Operation:
        activate(bridge, operation, default_template(operation))
    assert forward(bridge, 4811) == ["done", "done"], bridge.steps(4811)
    plain, templated = issues(tracker, project)
    same = ("description", "author", "status", "priority", "tracker", "category", "project", "custom_fields")
    assert [templated.get(name) for name in same] == [plain.get(name) for name in same]
    assert templated["subject"] == plain["subject"].replace("4711", "4811")
    entries = [
        tracker.read(f"/time_entries.json?issue_id={one['id']}")["time_entries"] for one in (plain, templated)
    ]
    (before,), (after,) = entries
    for name in ("hours", "user", "activity"):
        assert after[name] == before[name]
