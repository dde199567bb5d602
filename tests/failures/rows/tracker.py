"""Rows of what was changed on the tracker, so that it refuses, leaves out or does not take what is sent."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import update

from shared.notices.steps import What
from shared.store.configuration.links import LinkKind
from shared.store.tables.journal import EventState, JournalEvent
from shared.store.tables.types import clock
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
    """Call the tracker as its administrator; return the document that it answers."""
    at = urlsplit(stage.tracker.base_url)
    connection = http.client.HTTPConnection(at.hostname or "", at.port, timeout=10)
    connection.request(method, at.path + path, headers={"X-Redmine-API-Key": stage.tracker.api_key})
    text = connection.getresponse().read()
    connection.close()
    return json.loads(text) if text.strip() else None


def issue_id(stage: Stage) -> int:
    """Return the number of the ticket's issue."""
    with stage.bridge.store.transaction() as tx:
        row = tx.issues.get(4711)
    return (row.tracker_id if row else None) or 0


def category_gone(stage: Stage) -> None:
    """Delete the category of the link, before any event needs it."""
    stage.bridge.link(LinkKind.ENTITY, 3, 1, 2)
    stage.tracker.remove("categories", 2)


def issue_deleted(stage: Stage) -> None:
    """Delete the ticket's issue on the tracker."""
    stage.work()
    ask(stage, "DELETE", f"/issues/{issue_id(stage)}.json")


def held_for_long(stage: Stage) -> None:
    """Let an event wait for a decision for most of a day."""
    stage.work()
    with stage.bridge.store.database.transaction() as session:
        session.execute(update(JournalEvent).values(received_at=clock(-80_000)))


def decided(stage: Stage) -> None:
    """Type what the list of what is held says."""
    assert "deskbridge resolve KIND ID --create-again" in stage.shell.do("held")
    stage.shell.do("resolve", "ticket", "4711", "--create-again")


def project_fails(stage: Stage) -> None:
    """Have the tracker fail at one project whenever the metadata is read."""
    in_front(lambda _: page(500, path=CATEGORIES))(stage)
    stage.shell.fail("sync-metadata")


def project_mended(stage: Stage) -> None:
    """Mend the tracker, and read the metadata."""
    stage.front.rule = passes
    stage.shell.do("sync-metadata")


def solved(stage: Stage) -> None:
    """Let the ticket be solved."""
    stage.work()
    stage.bridge.forward(ticket_event(700, of_ticket=ticket(status=5)))


def workflow_mended(stage: Stage) -> None:
    """Allow the change of status for some role."""
    stage.tracker.settings(closed_moves=[])


def given_by_a_second_call(stage: Stage) -> None:
    """The issue has the ticket's status."""
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
        doctor="default_priority_id: the tracker has no",
        step="`deskbridge config set default_priority_id=…`",
        heal="config set default_priority_id=2",
        everywhere="the tracker has no priority 4; there are: ",
        told_before=True,
    ),
    Row(
        6,
        "the default priority was switched off",
        both(configure(default_priority_id=2), patch("priorities", 2, active=False)),
        EventState.DONE,
        doctor="default_priority_id: 2 (Normal) is switched off",
        step="`deskbridge config set default_priority_id=…`",
        heal="config set default_priority_id=3",
        everywhere=FORWARDED,
        overview="default_priority_id: 2 (Normal) is switched off",
        told_before=True,
    ),
    Row(
        7,
        "a default watcher was locked",
        both(configure(default_watcher_ids=(6,)), patch("users", 6, status=3)),
        EventState.DONE,
        doctor="default_watcher_ids: the tracker has no active user 6",
        step="`deskbridge config set default_watcher_ids=…`",
        heal="config set default_watcher_ids=[]",
        events="with other values of watcher_user_ids than were sent",
        history="has other values of watcher_user_ids",
        ticket="a field has another value than was sent",
        overview="default_watcher_ids: the tracker has no active user 6",
        left="has other values than were sent",
        told_before=True,
    ),
    Row(
        8,
        "the category of a link was deleted",
        category_gone,
        EventState.FAILED,
        doctor="has no issue category 2",
        step="`deskbridge link entity 3 1 --category …`",
        heal="link entity 3 1 --category 1",
        everywhere="issue category 2",
        told_before=True,
    ),
    Row(
        13,
        "the tracker wants a comment, and the template sends none",
        both(settings(require_comments=True), template("time_entry.create", NO_COMMENT)),
        EventState.FAILED,
        doctor="Comment cannot be blank",
        step="fix it, then",
        heal=template("time_entry.create", COMMENT),
        everywhere="Comment cannot be blank",
        real=False,
    ),
    Row(
        19,
        "an issue that was deleted waits for a decision",
        issue_deleted,
        EventState.HELD,
        doctor="waits for a decision",
        step="`deskbridge held`",
        heal=decided,
        events="no longer exists",
        history="no longer exists",
        ticket="Somebody has to decide first",
        overview="1 issue or time entry may exist already, or is gone",
        arrives=held_for_long,
    ),
    Prevented(
        22,
        "nobody may create an issue in the status",
        settings(closed_moves=[[0, IN_PROGRESS]]),
        given_by_a_second_call,
        history="set to tracker status 2",
        arrives=lambda stage: stage.work(status=2),
    ),
    Row(
        25,
        "the tracker fails at one project when its metadata is read",
        project_fails,
        EventState.DONE,
        doctor=f"GET {CATEGORIES} answered 500",
        step="correct what the tracker fails on",
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
        doctor="the tracker does not know the API key: it was changed, or its owner is locked",
        step="store another with `deskbridge config set-api-key`",
        heal=new_key,
        everywhere="changed, or its owner is locked, which are answered alike",
        told_before=True,
    ),
    Row(
        31,
        "the default activity was switched off on the whole tracker",
        patch("activities", 9, active=False),
        EventState.FAILED,
        doctor="9 (Development) is switched off on the tracker",
        step="`deskbridge config set default_activity_id=…`",
        heal="config set default_activity_id=11",
        everywhere="activity 9 is switched off on the whole tracker",
        told_before=True,
    ),
    Row(
        32,
        "a custom field of time entries was made required",
        settings(required_custom_fields=[5]),
        EventState.FAILED,
        doctor="time_entry.create lacks required custom fields",
        step="give them a default value on the tracker",
        heal=settings(required_custom_fields=[]),
        everywhere="the tracker requires the custom field Helpdesk task",
        told_before=True,
    ),
    Row(
        33,
        "the project was closed",
        patch("projects", 1, status=5),
        EventState.FAILED,
        doctor="is closed",
        step="reopen it on the tracker",
        heal=patch("projects", 1, status=1),
        everywhere="tracker project 1 (Support) is closed",
        told_before=True,
    ),
    Row(
        34,
        "the issue type is not switched on in the project",
        configure(default_tracker_id=2),
        EventState.DONE,
        doctor="issue type 2 is not switched on in tracker project 1",
        step="or change default_tracker_id",
        heal=configure(default_tracker_id=1),
        events="with other values of tracker_id than were sent",
        history="has other values of tracker_id",
        ticket="a field has another value than was sent",
        overview="has other values than were sent",
        left="has other values than were sent",
        told_before=True,
    ),
    Row(
        36,
        "no role may set the status",
        settings(closed_moves=[[NEW, RESOLVED], [IN_PROGRESS, RESOLVED]]),
        EventState.FAILED,
        doctor="still has the status 2 (In Progress): no change from there to 3 (Resolved)",
        step="fix it, then `deskbridge replay",
        heal=workflow_mended,
        everywhere="still has the status 2 (In Progress): no change from there to 3 (Resolved)",
        arrives=solved,
    ),
]
