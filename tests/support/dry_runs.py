"""Helpers for tests of dry runs: a template for each operation, and time that passes at once."""

from __future__ import annotations

import json
from typing import Any

import requests
from sqlalchemy import update

from deploy.sandbox.tracker.control import StandIn
from producer.admin.dryrun.results import DryRun
from producer.admin.dryrun.run import DryRuns
from producer.admin.records.transaction import Store
from shared.dryrun.cleanup import clean_up
from shared.store.tables.ledger import DryRunObject
from shared.store.tables.types import clock
from shared.templating.catalogue import Context, sample
from shared.templating.operations import Operation

ISSUE, TIME = Operation.ISSUE_CREATE, Operation.TIME_ENTRY_CREATE
STATUS, NOTE, PROJECT, MEMBER = (
    Operation.ISSUE_UPDATE_STATUS,
    Operation.NOTE_CREATE,
    Operation.PROJECT_CREATE,
    Operation.MEMBERSHIP_CREATE,
)

BODIES: dict[Operation, dict[str, Any]] = {
    Operation.ISSUE_CREATE: {"issue": {"subject": "{{ticket.title}}", "description": "{{ticket.content | plain}}"}},
    Operation.ISSUE_UPDATE_STATUS: {"issue": {"status_id": 2}},
    Operation.NOTE_CREATE: {"issue": {"notes": "{{note.content | plain}}"}},
    Operation.TIME_ENTRY_CREATE: {"time_entry": {"comments": "{{task.content | plain}}", "activity_id": 9}},
    Operation.PROJECT_CREATE: {"project": {"name": "{{form.name}}", "identifier": "{{form.identifier | slug}}"}},
    Operation.MEMBERSHIP_CREATE: {"membership": {"user_id": 7, "role_ids": [4]}},
}  # fmt: skip
"""Bodies that a tracker with the contract suite's seed accepts."""


def context_for(operation: Operation, tracker_project_id: int = 1) -> Context:
    """Return the sample context, in a tracker project that exists."""
    context = sample(operation)
    if not operation.from_form:
        context["project"]["tracker_project_id"] = tracker_project_id
    return context


def dry_run(
    runs: DryRuns, operation: Operation, body: dict[str, Any] | None = None, *, tracker_project_id: int = 1
) -> DryRun:
    """Make a dry run.

    Args:
        runs: runner of dry runs.
        operation: operation of the template.
        body: fields below the top key; by default those that the tracker accepts.
        tracker_project_id: project of the dry run.
    """
    document = BODIES[operation] if body is None else {operation.top_key: body}
    context = context_for(operation, tracker_project_id)
    if operation is Operation.MEMBERSHIP_CREATE:  # a membership is always that of the person in the context
        context["person"]["tracker_user_id"] = document["membership"]["user_id"]
    return runs.run(operation, json.dumps(document), context, ())


def make_due(store: Store) -> None:
    """Make the next attempt due, without letting more time pass."""
    with store.database.transaction() as session:
        session.execute(update(DryRunObject).values(next_attempt_at=clock(-1)))


def let_time_pass(store: Store) -> None:
    """Let enough time pass for every call to have taken effect, or never to."""
    with store.database.transaction() as session:
        session.execute(update(DryRunObject).values(next_attempt_at=clock(-1), begun_at=clock(-1000)))


def clean(runs: DryRuns) -> int:
    """Clean up as the sweep does; return the number of removed objects."""
    return clean_up(runs.store, runs.connect)


def calls(stand_in: StandIn, method: str, path: str = "") -> list[str]:
    """Return the paths of the received calls with a method."""
    return [one["path"] for one in stand_in.requests() if one["method"] == method and path in one["path"]]


def real(stand_in: StandIn, path: str, body: dict[str, Any]) -> int:
    """Create an object in the tracker as its administrator; return its id."""
    headers = {"X-Redmine-API-Key": stand_in.api_key}
    answer = requests.post(stand_in.base_url + path, json=body, headers=headers, timeout=5)
    assert answer.status_code == 201, answer.text
    return int(next(iter(answer.json().values()))["id"])
