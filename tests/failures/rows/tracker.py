"""Rows about changes on the tracker, which make it refuse or ignore something that is sent."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from shared.notices.steps import What
from shared.store.configuration.mappings import MappingKind
from shared.store.tables.journal import EventState
from tests.failures.front import page, passes
from tests.failures.rows.connections import in_front
from tests.failures.rows.row import Nothing, Prevented, Row
from tests.failures.stage import Stage, both, configure, key, patch, remove, settings, template
from tests.support.events import ticket, ticket_event

CATEGORIES = "/projects/2/issue_categories.json"
NEW, IN_PROGRESS, RESOLVED = 1, 2, 3
FORWARDED = Nothing("it is forwarded all the same")
NO_COMMENT = '{"time_entry": {"activity_id": "9", "comments": ""}}'
COMMENT = '{"time_entry": {"activity_id": "9", "comments": "{{task.content | plain}}"}}'


def ask(stage: Stage, method: str, path: str) -> Any:
    """Call the tracker as its administrator; return the JSON document of the answer."""
    at = urlsplit(stage.tracker.base_url)
    connection = http.client.HTTPConnection(at.hostname or "", at.port, timeout=10)
    connection.request(method, at.path + path, headers={"X-Redmine-API-Key": stage.tracker.api_key})
    text = connection.getresponse().read()
    connection.close()
    return json.loads(text) if text.strip() else None


def issue_id(stage: Stage) -> int:
    """Return the id of the ticket's issue."""
    with stage.bridge.store.transaction() as tx:
        row = tx.issues.get(4711)
    return (row.tracker_id if row else None) or 0


def category_gone(stage: Stage) -> None:
    """Delete the category of a mapping before any event needs it."""
    stage.bridge.link(MappingKind.ENTITY, 3, 1, 2)
    stage.tracker.remove("categories", 2)


def issue_deleted(stage: Stage) -> None:
    """Delete the ticket's issue on the tracker."""
    stage.work()
    ask(stage, "DELETE", f"/issues/{issue_id(stage)}.json")


def held_for_long(stage: Stage) -> None:
    """Let an event wait for a decision for most of a day."""
    stage.work()
    stage.bridge.age(80_000)


def decided(stage: Stage) -> None:
    """Run the command that `hold list` names."""
    assert "deskbridge hold resolve KIND ID --create-again" in stage.shell.do("hold", "list")
    stage.shell.do("hold", "resolve", "ticket", "4711", "--create-again")


def project_fails(stage: Stage) -> None:
    """Make the tracker fail for one project whenever the metadata is read."""
    in_front(lambda _: page(500, path=CATEGORIES))(stage)
    stage.shell.fail("metadata", "sync")


def project_mended(stage: Stage) -> None:
    """Fix the tracker, and synchronise the metadata."""
    stage.front.rule = passes
    stage.shell.do("metadata", "sync")


def solved(stage: Stage) -> None:
    """Solve the ticket."""
    stage.work()
    stage.bridge.forward(ticket_event(700, of_ticket=ticket(status=5)))


def workflow_mended(stage: Stage) -> None:
    """Allow the change of status again."""
    stage.tracker.settings(closed_moves=[])


def given_by_a_second_call(stage: Stage) -> None:
    """Check that the issue has the ticket's status."""
    with stage.bridge.store.transaction() as tx:
        steps = {one.notice.code for one in tx.trace.of_ticket(4711)}
    assert What.STATUS_GIVEN in steps
    assert ask(stage, "GET", f"/issues/{issue_id(stage)}.json")["issue"]["status"]["id"] == IN_PROGRESS


def new_key(stage: Stage) -> None:
    """Store another key."""
    stage.shell.do("config", "set-api-key", stdin=stage.tracker.api_key)


ROWS: list[Row | Prevented] = [
    Row(
        6,
        "the default priority was deleted",
        both(configure(default_priority_id=4), remove("priorities", 4)),
        EventState.FAILED,
        doctor="default_priority_id: Redmine has no priority 4",
        step="run `deskbridge config set default_priority_id=…`",
        heal="config set default_priority_id=2",
        everywhere="Redmine has no priority 4",
        told_before=True,
    ),
    Row(
        6,
        "the default priority was switched off",
        both(configure(default_priority_id=2), patch("priorities", 2, active=False)),
        EventState.DONE,
        doctor="default_priority_id: 2 (Normal) is disabled in Redmine",
        step="run `deskbridge config set default_priority_id=…`",
        heal="config set default_priority_id=3",
        everywhere=FORWARDED,
        overview="default_priority_id: 2 (Normal) is disabled in Redmine",
        told_before=True,
    ),
    Row(
        7,
        "a default watcher was locked",
        both(configure(default_watcher_ids=(6,)), patch("users", 6, status=3)),
        EventState.DONE,
        doctor="default_watcher_ids: Redmine has no active user 6",
        step="run `deskbridge config set default_watcher_ids=…`",
        heal="config set default_watcher_ids=[]",
        events="has other values of watcher_user_ids than deskbridge sent",
        history="has other values of watcher_user_ids than deskbridge sent",
        ticket="a different value in a field",
        overview="default_watcher_ids: Redmine has no active user 6",
        left="has other values in Redmine than deskbridge sent",
        told_before=True,
    ),
    Row(
        8,
        "the category of a link was deleted",
        category_gone,
        EventState.FAILED,
        doctor="has no issue category 2",
        step="`deskbridge mapping add entity 3 1 --category …`",
        heal="mapping add entity 3 1 --category 1",
        everywhere="issue category 2",
        told_before=True,
    ),
    Row(
        13,
        "the tracker wants a comment, and the template sends none",
        both(settings(require_comments=True), template("time_entry.create", NO_COMMENT)),
        EventState.FAILED,
        doctor="Comment cannot be blank",
        step="fix the cause, then",
        heal=template("time_entry.create", COMMENT),
        everywhere="Comment cannot be blank",
        real=False,
    ),
    Row(
        19,
        "an issue that was deleted waits for a decision",
        issue_deleted,
        EventState.ON_HOLD,
        doctor="needs your decision",
        step="`deskbridge hold list`",
        heal=decided,
        events="was deleted in Redmine",
        history="was deleted in Redmine",
        ticket="Needs a decision first",
        overview="1 creation may already exist, or was deleted in Redmine",
        arrives=held_for_long,
    ),
    Prevented(
        22,
        "nobody may create an issue in the status",
        settings(closed_moves=[[0, IN_PROGRESS]]),
        given_by_a_second_call,
        history="set to Redmine status 2",
        arrives=lambda stage: stage.work(status=2),
    ),
    Row(
        25,
        "the tracker fails at one project when its metadata is read",
        project_fails,
        EventState.DONE,
        doctor=f"GET {CATEGORIES} answered 500",
        step="fix the cause (see Redmine's log)",
        heal=project_mended,
        everywhere=FORWARDED,
        overview=f"GET {CATEGORIES} answered 500",
        told_before=True,
    ),
    Row(
        30,
        "the API key's owner was locked",
        key("0" * 40),
        EventState.PENDING,
        doctor="Redmine rejects the API key: it was changed, or its owner is locked",
        step="store another key with `deskbridge config set-api-key`",
        heal=new_key,
        everywhere="the API key was changed, or its owner is locked",
        told_before=True,
    ),
    Row(
        31,
        "the default activity was switched off on the whole tracker",
        patch("activities", 9, active=False),
        EventState.FAILED,
        doctor="9 (Development) is disabled in Redmine",
        step="`deskbridge config set default_activity_id=…`",
        heal="config set default_activity_id=11",
        everywhere="is disabled in all of Redmine",
        told_before=True,
    ),
    Row(
        32,
        "a custom field of time entries was made required",
        settings(required_custom_fields=[5]),
        EventState.FAILED,
        doctor="time_entry.create does not send these required custom fields",
        step="set a default value in Redmine",
        heal=settings(required_custom_fields=[]),
        everywhere="Redmine requires the custom field Helpdesk task, which has no value",
        told_before=True,
    ),
    Row(
        33,
        "the project was closed",
        patch("projects", 1, status=5),
        EventState.FAILED,
        doctor="is closed",
        step="reopen it in Redmine, or map to another project with `deskbridge mapping add",
        heal=patch("projects", 1, status=1),
        everywhere="Redmine project 1 (Support) is closed",
        told_before=True,
    ),
    Row(
        34,
        "the issue type is not switched on in the project",
        configure(default_tracker_id=2),
        EventState.DONE,
        doctor="is not enabled in Redmine project 1 (Support)",
        step="or change default_tracker_id",
        heal=configure(default_tracker_id=1),
        events="has other values of tracker_id than deskbridge sent",
        history="has other values of tracker_id",
        ticket="a different value in a field",
        overview="has other values in Redmine than deskbridge sent",
        left="has other values in Redmine than deskbridge sent",
        told_before=True,
    ),
    Row(
        36,
        "no role may set the status",
        settings(closed_moves=[[NEW, RESOLVED], [IN_PROGRESS, RESOLVED]]),
        EventState.FAILED,
        doctor="still has status 2 (In Progress), because no workflow allows the change to 3 (Resolved)",
        step="fix the cause, then run `deskbridge event replay",
        heal=workflow_mended,
        everywhere="still has status 2 (In Progress), because no workflow allows the change to 3 (Resolved)",
        arrives=solved,
    ),
]
