"""`/_control`: controls and logs for tests. Loopback only, and with the control key if there is one."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

from deploy.sandbox.tracker import answers, fields, views
from deploy.sandbox.tracker.access import Request, sent_key
from deploy.sandbox.tracker.answers import Answer
from deploy.sandbox.tracker.faults import KINDS
from deploy.sandbox.tracker.records import Settings, TimeEntry
from deploy.sandbox.tracker.releases import RELEASES
from deploy.sandbox.tracker.sandbox import Sandbox
from deploy.sandbox.tracker.state import TABLES, Tracker

PREFIX = "/_control"
HELP = {
    "GET /_control/faults": "active faults with their hits",
    "POST /_control/faults": "switch a fault on: kind, method, path, count, probability, seconds, status,"
    " retry_after, seed",
    "DELETE /_control/faults": "all off; /_control/faults/N: one",
    "GET|POST /_control/settings": "the switches",
    "POST /_control/patch": 'change a row: {"table": "users", "id": 6, "set": {"language": "de"}}',
    "POST /_control/remove": 'delete a row of the definitions: {"table": "roles", "id": 4}',
    "POST /_control/supplant": 'replace an issue by one with its id: {"id": 6, "author_id": 7, "subject": "…"}',
    "POST /_control/reset": "back to the seed: data, switches, faults, log",
    "POST /_control/forget": "delete issues, time entries and the log; the rest stays",
    "GET /_control/state": "everything the tracker holds",
    "GET /_control/requests?since=N": "the requests after number N",
}


def answer(sandbox: Sandbox, request: Request, *, client: str) -> Answer:
    """Answer a control request; `client` is the caller's IP address."""
    if not (client.startswith("127.") or client in ("::1", "::ffff:127.0.0.1")):
        return Answer(403, answers.encode({"error": "only from this machine"}))
    path = request.path.removeprefix(PREFIX).rstrip("/")
    if path and sandbox.control_key not in (None, sent_key(request)):
        return Answer(401, answers.encode({"error": "only with the administrator's API key"}))
    work = _WORK.get((request.method, "/faults" if path.startswith("/faults/") else path))
    if work is None:
        return Answer(404, answers.encode({"error": "unknown", "known": HELP}))
    try:
        body = json.loads(request.body) if request.body else {}
        if not isinstance(body, dict):
            raise TypeError("the body must be a JSON object")
        return answers.ok(work(sandbox, request, body))
    except (ValueError, KeyError, TypeError) as error:
        return Answer(400, answers.encode({"error": str(error)}))


def settings_from(values: dict[str, Any], base: Settings) -> Settings:
    """Return settings with some values changed.

    Raises:
        ValueError: If a name is unknown or a value has the wrong type.
    """
    for name, value in values.items():
        present = getattr(base, name, None)
        if present is None:
            known = ", ".join(field.name for field in dataclasses.fields(Settings))
            raise ValueError(f"unknown setting {name!r}; known: {known}")
        numbers = isinstance(present, float) and type(value) in (int, float)
        if type(value) is not type(present) and not numbers:
            raise ValueError(f"{name} must be of type {type(present).__name__}")
        if name == "redmine" and value not in RELEASES:
            raise ValueError(f"redmine must be one of {', '.join(RELEASES)}")
    return dataclasses.replace(base, **values)


def _faults(sandbox: Sandbox, _request: Request, _body: dict[str, Any]) -> object:
    return {"faults": sandbox.faults.listed(), "kinds": KINDS}


def _add_fault(sandbox: Sandbox, _request: Request, body: dict[str, Any]) -> object:
    return sandbox.faults.add(**body).shown()


def _clear_faults(sandbox: Sandbox, request: Request, _body: dict[str, Any]) -> object:
    number = request.path.rstrip("/").rpartition("/")[2]
    sandbox.faults.clear(int(number) if number != "faults" else None)
    return {"faults": sandbox.faults.listed()}


def _settings(sandbox: Sandbox, _request: Request, _body: dict[str, Any]) -> object:
    return dataclasses.asdict(sandbox.tracker.settings)


def _set_settings(sandbox: Sandbox, _request: Request, body: dict[str, Any]) -> object:
    tracker = sandbox.tracker
    with tracker.lock:
        tracker.settings = settings_from(body, tracker.settings)
    return dataclasses.asdict(tracker.settings)


def _patch(sandbox: Sandbox, _request: Request, body: dict[str, Any]) -> object:
    tracker, table, wanted = sandbox.tracker, body["table"], body["set"]
    if table not in TABLES:
        raise ValueError(f"unknown table {table!r}; known: {', '.join(TABLES)}")
    names = {field.name for field in dataclasses.fields(TABLES[table])} - {"id"}
    if not set(wanted) <= names:
        raise ValueError(f"{table} have only {', '.join(sorted(names))}")
    with tracker.lock:
        row = getattr(tracker, table).get(body["id"])
        if row is None:
            raise ValueError(f"no {table} row {body['id']}")
        for name, value in wanted.items():
            setattr(row, name, value)
        tracker.reindex()
        tracker.changes += 1
    return {"patched": body["id"]}


def _remove(sandbox: Sandbox, _request: Request, body: dict[str, Any]) -> object:
    tracker, table = sandbox.tracker, body["table"]
    if table not in TABLES:
        raise ValueError(f"unknown table {table!r}; known: {', '.join(TABLES)}")
    with tracker.lock:
        if getattr(tracker, table).pop(body["id"], None) is None:
            raise ValueError(f"no {table} row {body['id']}")
        if table == "users":
            tracker.give_to_anonymous(body["id"])
        tracker.reindex()
        tracker.changes += 1
    return {"removed": body["id"]}


def _supplant(sandbox: Sandbox, _request: Request, body: dict[str, Any]) -> object:
    with sandbox.tracker.lock:
        sandbox.tracker.supplant_issue(body["id"], body["author_id"], body["subject"])
    return {"supplanted": body["id"]}


def _reset(sandbox: Sandbox, _request: Request, _body: dict[str, Any]) -> object:
    sandbox.reset()
    return {"reset": True}


def _forget(sandbox: Sandbox, _request: Request, _body: dict[str, Any]) -> object:
    with sandbox.tracker.lock:
        sandbox.tracker.forget_work()
    sandbox.log.clear()
    return {"forgotten": True}


def _requests(sandbox: Sandbox, request: Request, _body: dict[str, Any]) -> object:
    shown = sandbox.log.since(int(request.query.get("since", 0)))
    text = json.dumps(shown)
    for key in sandbox.tracker.by_key:
        text = text.replace(key, "***")
    return {"requests": json.loads(text)}


def _state(sandbox: Sandbox, _request: Request, _body: dict[str, Any]) -> object:
    tracker = sandbox.tracker
    with tracker.lock:
        tracker.finish_deletions()
        return {
            "issues": [_issue(tracker, row.id) for row in tracker.issues.values()],
            "time_entries": [_time_entry(tracker, row) for row in tracker.time_entries.values()],
            "attachments": [
                _flat(row) | {"author": tracker.users[row.author_id].login}
                for row in tracker.attachments.values()
            ],
            "projects": [_flat(row) for row in tracker.projects.values()],
            "memberships": [
                _flat(row) | {"user": tracker.users[row.user_id].login}
                for row in tracker.memberships.values()
            ],
            "users": [_flat(row) for row in tracker.users.values() if row.login],
        }


def _time_entry(tracker: Tracker, row: TimeEntry) -> dict[str, Any]:
    return _flat(row) | {
        "hours": fields.listed_hours(row.hours, tracker.release),
        "user": tracker.users[row.user_id].login,
        "author": tracker.users[row.author_id].login,
    }


def _issue(tracker: Tracker, number: int) -> dict[str, Any]:
    row = tracker.issues[number]
    return _flat(row) | {
        "project": tracker.projects[row.project_id].identifier,
        "author": tracker.users[row.author_id].login,
        "status": tracker.statuses[row.status_id].name,
        "journals": [
            journal
            | {
                "user": tracker.users[journal["user_id"]].login,
                "created_on": views.stamp(journal["created_on"]),
            }
            for journal in row.journals
        ],
    }


def _flat(row: Any) -> dict[str, Any]:
    """Return a row as JSON: readable times, `values` under the API's name for it, no API key."""
    shown = dataclasses.asdict(row)
    shown.pop("committed", None)
    shown.pop("api_key", None)
    if "values" in shown:
        shown["custom_fields"] = shown.pop("values")
    for name in ("created_on", "updated_on", "closed_on"):
        if name in shown:
            shown[name] = views.stamp(shown[name])
    return shown


_WORK: dict[tuple[str, str], Callable[[Sandbox, Request, dict[str, Any]], object]] = {
    ("GET", ""): lambda _sandbox, _request, _body: HELP,
    ("GET", "/faults"): _faults,
    ("POST", "/faults"): _add_fault,
    ("DELETE", "/faults"): _clear_faults,
    ("GET", "/settings"): _settings,
    ("POST", "/settings"): _set_settings,
    ("POST", "/patch"): _patch,
    ("POST", "/remove"): _remove,
    ("POST", "/supplant"): _supplant,
    ("POST", "/reset"): _reset,
    ("POST", "/forget"): _forget,
    ("GET", "/state"): _state,
    ("GET", "/requests"): _requests,
}
