"""Helpers of the contract tests: a thin HTTP driver and assertions on whole answers."""

from __future__ import annotations

import itertools
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

import requests

from tests.contract import seed

Json = dict[str, Any]
Version = tuple[int, int]
"""A Redmine version such as (6, 0)."""

NO_PROJECT = ["Project cannot be blank", "Tracker cannot be blank", "Status cannot be blank"]
"""Redmine's answer for a project that is unknown, closed, archived or hidden from the person."""

PATH_OF = {
    "issue": "issues",
    "time_entry": "time_entries",
    "project": "projects",
    "membership": "memberships",
}

_counter = itertools.count(1)
_run = uuid.uuid4().hex[:8]


def unique(word: str = "contract") -> str:
    """Return a text that no other test, and no earlier run on the same tracker, has used."""
    return f"{word}-{_run}-{next(_counter)}"


@dataclass(frozen=True)
class Tracker:
    """A driver for the tracker under test that remembers the objects to delete.

    Attributes:
        base_url: Address without a trailing slash.
        api_key: An administrator's key.
        session: Keeps the connection alive between calls.
        created: Paths of the created objects, which `clean_up` deletes.
    """

    base_url: str
    api_key: str
    session: requests.Session = field(default_factory=requests.Session)
    created: list[str] = field(default_factory=list)

    def call(
        self,
        method: str,
        path: str,
        payload: object = None,
        *,
        su: str | None = None,
        key: str | None = None,
        **options: Any,
    ) -> requests.Response:
        """Make one call.

        Args:
            method: HTTP method.
            path: Path and query, with the leading slash.
            payload: JSON body, or None for no body.
            su: Login to act as (X-Redmine-Switch-User); None omits the header.
            key: API key in place of the administrator's.
            **options: Other arguments of `requests.Session.request`.

        Returns:
            The answer, whatever its status.
        """
        headers = {"X-Redmine-API-Key": self.api_key if key is None else key}
        if su is not None:
            headers["X-Redmine-Switch-User"] = su
        headers |= options.pop("headers", {})
        answer = self.session.request(
            method, self.base_url + path, json=payload, headers=headers, timeout=30, **options
        )
        if answer.status_code == 201:
            kind, value = next(iter(answer.json().items()))
        if answer.status_code == 201 and kind in PATH_OF:
            self.created.append(f"/{PATH_OF[kind]}/{value['id']}.json")
        return answer

    def read(self, path: str, **options: Any) -> Json:
        """GET `path` and return its JSON object; anything but 200 fails the test."""
        answer = self.call("GET", path, **options)
        assert answer.status_code == 200, (path, answer.status_code, answer.text[:500])
        body: Json = answer.json()
        return body

    def create_issue(self, *, su: str | None = None, **fields: object) -> requests.Response:
        """POST an issue, by default in SUPPORT and with a unique subject."""
        wanted: Json = {"project_id": seed.Project.SUPPORT, "subject": unique()} | fields
        return self.call("POST", "/issues.json", {"issue": wanted}, su=su)

    def issue(self, *, su: str | None = None, **fields: object) -> Json:
        """Create an issue, which must succeed, and return it."""
        created: Json = accepted(self.create_issue(su=su, **fields))["issue"]
        return created

    def update_issue(self, issue_id: int, *, su: str | None = None, **fields: object) -> requests.Response:
        """PUT fields of an issue."""
        return self.call("PUT", f"/issues/{issue_id}.json", {"issue": fields}, su=su)

    def upload(
        self,
        content: bytes,
        name: str,
        *,
        su: str | None = None,
        media_type: str = "application/octet-stream",
    ) -> requests.Response:
        """POST a file; the tracker deletes it later if it is not attached."""
        headers = {"Content-Type": media_type}
        return self.call(
            "POST", "/uploads.json", su=su, params={"filename": name}, data=content, headers=headers
        )

    def attachments(self, issue_id: int) -> list[Json]:
        """Return the attachments of an issue."""
        found: list[Json] = self.read(f"/issues/{issue_id}.json?include=attachments")["issue"]["attachments"]
        return found

    def log_time(self, issue_id: int, *, su: str | None = None, **fields: object) -> requests.Response:
        """POST a time entry on an issue, by default 1.5 hours of DEVELOPMENT."""
        wanted = {
            "issue_id": issue_id,
            "hours": 1.5,
            "comments": unique(),
            "activity_id": seed.Activity.DEVELOPMENT,
        } | fields
        return self.call("POST", "/time_entries.json", {"time_entry": wanted}, su=su)

    def create_project(self, *, su: str | None = None, **fields: object) -> requests.Response:
        """POST a project, by default private and with a unique name and identifier."""
        identifier = unique()
        wanted: Json = {"name": identifier, "identifier": identifier, "is_public": False} | fields
        return self.call("POST", "/projects.json", {"project": wanted}, su=su)

    def add_member(
        self, project_id: int, user_id: int, *roles: int, su: str | None = None
    ) -> requests.Response:
        """POST a membership."""
        body = {"membership": {"user_id": user_id, "role_ids": list(roles)}}
        return self.call("POST", f"/projects/{project_id}/memberships.json", body, su=su)

    def wait_until_gone(self, path: str) -> None:
        """Wait until a deleted object is gone; newer versions delete projects in the background."""
        deadline = time.monotonic() + 30
        while self.call("GET", path).status_code != 404:
            assert time.monotonic() < deadline, f"{path} was deleted and is still there"
            time.sleep(0.05)

    def clean_up(self) -> None:
        """Delete the objects that this driver created, newest first; an object may be gone already."""
        while self.created:
            answer = self.call("DELETE", self.created.pop())
            assert answer.status_code in {204, 404}, (answer.request.url, answer.status_code)


def accepted(answer: requests.Response) -> Json:
    """Assert a 201 with a JSON body and return its object."""
    assert answer.status_code == 201, (answer.status_code, answer.text[:500])
    assert answer.headers["Content-Type"].startswith("application/json")
    body: Json = answer.json()
    return body


def assert_done(answer: requests.Response) -> None:
    """Assert a 204 without a body and without a Content-Type, the answer to PUT and DELETE."""
    assert answer.status_code == 204, (answer.status_code, answer.text[:500])
    assert answer.content == b""
    assert "Content-Type" not in answer.headers


def assert_empty(answer: requests.Response, status: int) -> None:
    """Assert a refusal with this status and an empty body, although its Content-Type is JSON."""
    assert answer.status_code == status, (answer.status_code, answer.text[:500])
    assert answer.content == b""
    assert answer.headers["Content-Type"].startswith("application/json")


def assert_rejected(answer: requests.Response, *errors: str) -> None:
    """Assert a 422 with exactly these texts, in this order."""
    assert answer.status_code == 422, (answer.status_code, answer.text[:500])
    assert answer.json() == {"errors": list(errors)}
