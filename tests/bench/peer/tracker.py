"""The peer's calls to the tracker: one requests session per thread."""

from __future__ import annotations

import logging
import threading
from typing import Any

import requests

from tests.bench.peer.config import Config

log = logging.getLogger(__name__)
TIMEOUT_S = 5


class Tracker:
    """Calls the tracker."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._local = threading.local()
        self._members: set[tuple[int, int]] = set()

    def create(self, path: str, name: str, body: dict[str, Any], login: str | None) -> int:
        """Create an object as a person, or as the API user if that is refused; return its id."""
        response = self._send("POST", path, {name: body}, login)
        if login and response.status_code in (403, 412):
            log.warning("%s may not POST %s; repeated as the administrator", login, path)
            response = self._send("POST", path, {name: body})
        response.raise_for_status()
        return int(response.json()[name]["id"])

    def set_status(self, issue_id: int, status_id: int) -> None:
        """Set an issue's status."""
        self._send("PUT", f"/issues/{issue_id}.json", {"issue": {"status_id": status_id}}).raise_for_status()

    def ensure_member(self, project_id: int, user_id: int) -> None:
        """Make a person a member of a project, once per process."""
        if (project_id, user_id) in self._members:
            return
        body = {"membership": {"user_id": user_id, "role_ids": [self._config.default_role_id]}}
        response = self._send("POST", f"/projects/{project_id}/memberships.json", body)
        if response.status_code != 422:  # already a member
            response.raise_for_status()
        self._members.add((project_id, user_id))

    def _send(self, method: str, path: str, body: object, login: str | None = None) -> requests.Response:
        headers = {"X-Redmine-API-Key": self._config.api_key}
        if login:
            headers["X-Redmine-Switch-User"] = login
        url = self._config.tracker_url + path
        return self._session().request(method, url, json=body, headers=headers, timeout=TIMEOUT_S)

    def _session(self) -> requests.Session:
        if not hasattr(self._local, "session"):
            self._local.session = requests.Session()
        session: requests.Session = self._local.session
        return session
