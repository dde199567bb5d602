"""Refusals as RFC 9457 problem details (CONTRACT "HTTP: producer")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import JSONResponse


class Problem(Exception):
    """A request that is refused; nothing of it was kept.

    Args:
        status: HTTP status.
        title: what is wrong, in a few words.
        detail: what to do about it.
        faults: (path, what was expected) for each fault of an event.
        headers: further response headers.
        members: further members of the problem, such as line and column.
    """

    def __init__(
        self,
        status: int,
        title: str,
        detail: str = "",
        *,
        faults: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        members: Mapping[str, Any] | None = None,
    ) -> None:
        self.status, self.title, self.detail, self.faults = status, title, detail, tuple(faults)
        self.headers, self.members = dict(headers or {}), dict(members or {})
        super().__init__(title)

    def response(self) -> JSONResponse:
        """Return it as an answer."""
        content: dict[str, Any] = {"type": "about:blank", "title": self.title, "status": self.status}
        if self.detail:
            content["detail"] = self.detail
        if self.faults:
            content["errors"] = [{"path": path, "detail": problem} for path, problem in self.faults]
        content |= self.members
        return JSONResponse(content, self.status, headers=self.headers, media_type="application/problem+json")
