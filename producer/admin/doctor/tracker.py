"""The tracker: can it be reached, is the key an administrator's, can one act as somebody else."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from producer.admin.doctor.finding import Finding, failure, ok
from producer.admin.doctor.patient import Patient
from shared.errors import (
    BridgeError,
    ImpersonationRefused,
    SettingsError,
    TrackerClosed,
    TrackerError,
    TrackerRejected,
)
from shared.store.links import Link
from shared.tracker.client import TrackerClient
from shared.tracker.lists import PAGE_SIZE, USERS

MODULES = ("issue_tracking", "time_tracking")
MOST_PROBED = 200


def connection(patient: Patient) -> Iterator[Finding]:
    """The tracker answers this key as it answers an administrator's; lists would answer anybody (OBSERVED)."""
    try:
        config, client = patient.connect()
    except SettingsError as missing:
        yield failure("tracker", str(missing), "set up the tracker first")
        return
    try:
        answer = client.call("GET", USERS, params={"limit": PAGE_SIZE, "offset": 0})
    except TrackerClosed as closed:
        yield ok("tracker", f"{config.base_url} answers")
        yield failure("administrator", *_why_closed(closed))
    except TrackerError as error:
        yield failure("tracker", str(error), "check that it runs, and `deskbridge config show`")
    else:
        patient.is_tracker_open = True
        if answer.at:
            patient.tracker_clocks.append((answer.at, datetime.now(UTC)))
        yield ok("tracker", f"{config.base_url} answers")
        yield ok("administrator", "the API key is an administrator's, and the REST API is on")
        yield from _impersonation(client)
    finally:
        client.close()


def _why_closed(closed: TrackerClosed) -> tuple[str, str]:
    if closed.status == 401:
        return "the tracker does not know the API key", "store another with `deskbridge config set-api-key`"
    return (
        "the REST API is switched off, or the API key is not an administrator's",
        "switch the REST API on in the tracker's settings, or store an administrator's key",
    )


def _impersonation(client: TrackerClient) -> Iterator[Finding]:
    """Nobody can be impersonated who does not exist: an answer of 412 proves that the header is heeded."""
    header = f"X-{client.target.header_prefix}-Switch-User"
    try:
        client.call("GET", "/trackers.json", login=f"deskbridge-nobody-{secrets.token_hex(8)}")
    except ImpersonationRefused as refused:
        if refused.status == 412:
            yield ok("impersonation", f"the tracker heeds {header}")
            return
        problem = f"the tracker answered {refused.status} to {header}"
    except TrackerError as error:
        problem = str(error)
    else:
        problem = f"the tracker ignores {header}: everything would be the administrator's"
    yield failure(
        "impersonation", problem, "check header_prefix (`deskbridge config show`) and the proxies between"
    )


def projects(patient: Patient) -> Iterator[Finding]:
    """Each linked project has the modules and the activity that are needed; asked only where that is wanted."""
    if not patient.is_tracker_open:
        return
    if not patient.probe:
        yield ok("modules", "not asked for (`deskbridge doctor --probe`)")
        return
    with patient.store.transaction() as tx:
        links = list({link.tracker_project_id: link for link in tx.links.all()}.values())[:MOST_PROBED]
    config, client = patient.connect()
    try:
        found = [one for link in links for one in _probe(client, link, config.default_activity_id)]
    finally:
        client.close()
    yield from found or [ok("modules", f"all {len(links)} linked tracker projects have what is needed")]


def _probe(client: TrackerClient, link: Link, activity_id: int | None) -> Iterator[Finding]:
    project_id = link.tracker_project_id
    params = {"include": "enabled_modules,time_entry_activities"}
    try:
        project = client.call("GET", f"/projects/{project_id}.json", params=params).object("project")
    except (TrackerRejected, KeyError) as refused:
        problem = f"tracker project {project_id} ({link}) is closed, archived or gone: {refused}"
        yield failure("links", problem, f"open it, or `deskbridge unlink {link.kind} {link.helpdesk_id}`")
        return
    except BridgeError as error:
        yield failure("tracker", str(error), "try again")
        return
    name = f"tracker project {project_id} ({project.get('name')})"
    if project.get("status", 1) != 1:
        yield failure("links", f"{name} is closed", "open it, or link another one")
    missing = [module for module in MODULES if module not in _names(project.get("enabled_modules"))]
    if missing:
        yield failure(
            "modules", f"{name} lacks {', '.join(missing)}", "switch them on in the project's settings"
        )
    activities = project.get("time_entry_activities")
    if activity_id and isinstance(activities, list) and activity_id not in _ids(activities):
        there_are = ", ".join(
            f"{one.get('id')} ({one.get('name')})" for one in activities if isinstance(one, dict)
        )
        yield failure(
            "activity",
            f"activity {activity_id} cannot be used in {name}; there are: {there_are}",
            "enable it in the project's settings, or change default_activity_id",
        )


def _names(rows: Any) -> list[Any]:
    return (
        [one.get("name") for one in rows if isinstance(one, dict)]
        if isinstance(rows, list)
        else list(MODULES)
    )


def _ids(rows: list[Any]) -> list[Any]:
    return [one.get("id") for one in rows if isinstance(one, dict)]


CHECKS = (projects,)
