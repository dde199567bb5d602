"""One request as the decisions see it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from deploy.sandbox.tracker import permissions, texts
from deploy.sandbox.tracker.answers import RefusedError, empty
from deploy.sandbox.tracker.records import Project, User
from deploy.sandbox.tracker.state import Tracker


@dataclass(slots=True)
class Call:
    """A request with its caller known and its body read.

    Attributes:
        tracker: The data.
        user: The acting user: the key's owner, the impersonated user, or the anonymous one.
        language: Language of error texts.
        host: Authority for the Location header.
        arrived: Monotonic time of arrival, in seconds.
        rest_off: The REST setting is off, so the key was ignored.
        ids: Values of the path's placeholders.
        query: Query parameters; the last of several with the same name wins.
        params: The body's object; empty if there was none.
        media_type: The body's media type, in lower case.
        content: The body itself.
    """

    tracker: Tracker
    user: User
    language: str = "en"
    host: str = "127.0.0.1"
    arrived: float = 0.0
    rest_off: bool = False
    ids: tuple[str, ...] = ()
    query: dict[str, str] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    media_type: str = ""
    content: bytes = b""

    def forbidden(self) -> RefusedError:
        """Return 403 for a known caller, 401 for an anonymous one (also 403 while REST is off)."""
        anonymous = permissions.is_anonymous(self.user) and not self.rest_off
        return RefusedError(empty(401 if anonymous else 403))

    def require(self, permission: str, project: Project) -> None:
        """Refuse the call unless the caller has a permission in the project.

        If no one can have it (archived, closed, module off), an anonymous caller gets 403 too.
        """
        if not permissions.possible(project, permission):
            raise RefusedError(empty(403))
        if not permissions.allowed(self.tracker, self.user, permission, project):
            raise self.forbidden()

    def require_admin(self) -> None:
        """Refuse the call unless the caller is an administrator."""
        if not self.user.admin:
            raise self.forbidden()

    def project_in_path(self) -> Project:
        """Return the project that the path names by id or identifier; 404 if there is none."""
        project = self.tracker.find_project(self.ids[0])
        if project is None:
            raise RefusedError(empty(404))
        return project

    def location(self, path: str) -> str:
        """Return the address of a new object."""
        return f"http://{self.host}{path}"

    def fault(self, field_name: str, kind: str, limit: int = 0) -> str:
        """Return a validation error in the caller's language."""
        return texts.fault(self.language, field_name, kind, limit)
