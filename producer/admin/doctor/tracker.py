"""The tracker: can it be reached, is the key an administrator's, can one act as somebody else."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from producer.admin.doctor.finding import CheckResult, failure, ok
from producer.admin.doctor.installation import Installation
from shared.codes.findings import Finding
from shared.errors import (
    BridgeError,
    ImpersonationRefused,
    OutcomeUnknown,
    SettingsError,
    TrackerClosed,
    TrackerError,
    TrackerRejected,
)
from shared.store.links import Link
from shared.tracker.client import USERS, TrackerClient
from shared.tracker.lists import PAGE_SIZE

MODULES = ("issue_tracking", "time_tracking")
MOST_PROBED = 200


def connection(installation: Installation) -> Iterator[CheckResult]:
    """The tracker answers this key as it answers an administrator's; lists would answer anybody (OBSERVED)."""
    try:
        config, client = installation.connect()
    except SettingsError as missing:
        yield failure("tracker", Finding.TRACKER_NOT_SET_UP(problem=missing.coded))
        return
    try:
        answer = client.call("GET", USERS, params={"limit": PAGE_SIZE, "offset": 0})
    except TrackerClosed as closed:
        yield ok("tracker", Finding.TRACKER_ANSWERS(base_url=config.base_url))
        known = closed.status != 401
        yield failure("administrator", Finding.KEY_NOT_ADMINISTRATOR() if known else Finding.KEY_NOT_KNOWN())
    except TrackerError as error:
        yield failure("tracker", Finding.TRACKER_NOT_USABLE(problem=error.coded))
    else:
        installation.is_tracker_open = True
        if answer.at:
            installation.tracker_clocks.append((answer.at, datetime.now(UTC)))
        yield ok("tracker", Finding.TRACKER_ANSWERS(base_url=config.base_url))
        yield ok("administrator", Finding.KEY_OF_ADMINISTRATOR())
        yield from _impersonation(client)
    finally:
        client.close()


def _impersonation(client: TrackerClient) -> Iterator[CheckResult]:
    """Nobody can be impersonated who does not exist: an answer of 412 proves that the header is respected."""
    header = f"X-{client.target.header_prefix}-Switch-User"
    try:
        client.call("GET", "/trackers.json", login=f"deskbridge-nobody-{secrets.token_hex(8)}")
    except ImpersonationRefused as refused:
        if refused.status == 412:
            yield ok("impersonation", Finding.IMPERSONATION_WORKS(header=header))
            return
        problem = Finding.IMPERSONATION_UNEXPECTED(status=refused.status, header=header)
    except TrackerError as error:
        problem = Finding.IMPERSONATION_UNKNOWN(problem=error.coded)
    else:
        problem = Finding.IMPERSONATION_IGNORED(header=header)
    yield failure("impersonation", problem)


def projects(installation: Installation) -> Iterator[CheckResult]:
    """Each linked project has the modules and the activity that are needed; asked only where that is wanted."""
    if not installation.is_tracker_open:
        return
    if not installation.probe:
        yield ok("modules", Finding.MODULES_NOT_CHECKED())
        return
    with installation.store.transaction() as tx:
        links = list({link.tracker_project_id: link for link in tx.links.all()}.values())[:MOST_PROBED]
    config, client = installation.connect()
    try:
        found = [one for link in links for one in _probe(client, link, config.default_activity_id)]
    finally:
        client.close()
    yield from found or [ok("modules", Finding.MODULES_ENABLED(count=len(links)))]


def _probe(client: TrackerClient, link: Link, activity_id: int | None) -> Iterator[CheckResult]:
    project_id = link.tracker_project_id
    path, params = f"/projects/{project_id}.json", {"include": "enabled_modules,time_entry_activities"}
    try:
        project = client.call("GET", path, params=params).object("project")
    except KeyError:
        yield failure("tracker", Finding.PROJECT_NOT_READ(problem=OutcomeUnknown("GET", path).coded))
        return
    except TrackerRejected as refused:
        gone = Finding.LINKED_PROJECT_GONE(
            project_id=project_id,
            link=str(link),
            problem=refused.coded,
            kind=str(link.kind),
            id=link.helpdesk_id,
        )
        yield failure("links", gone)
        return
    except BridgeError as error:
        yield failure("tracker", Finding.PROJECT_NOT_READ(problem=error.coded))
        return
    name = f"tracker project {project_id} ({project.get('name')})"
    if project.get("status", 1) != 1:
        yield failure("links", Finding.LINKED_PROJECT_CLOSED(project=name))
    missing = [module for module in MODULES if module not in _names(project.get("enabled_modules"))]
    if missing:
        yield failure("modules", Finding.MODULES_MISSING(project=name, modules=missing))
    activities = project.get("time_entry_activities")
    if activity_id and isinstance(activities, list) and activity_id not in _ids(activities):
        choices = [f"{one.get('id')} ({one.get('name')})" for one in activities if isinstance(one, dict)]
        why = Finding.ACTIVITY_NOT_USABLE(activity_id=activity_id, project=name, choices=choices)
        yield failure("activity", why)


def _names(rows: Any) -> list[Any]:
    return (
        [one.get("name") for one in rows if isinstance(one, dict)]
        if isinstance(rows, list)
        else list(MODULES)
    )


def _ids(rows: list[Any]) -> list[Any]:
    return [one.get("id") for one in rows if isinstance(one, dict)]


CHECKS = (projects,)
