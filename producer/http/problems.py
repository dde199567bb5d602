"""Refusals as RFC 9457 problem details, and how OpenAPI describes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema
from starlette.responses import Response

from shared.notices.notice import Notice, notice_json
from shared.notices.render import sentence

MEDIA_TYPE = "application/problem+json"


class FaultDetails(BaseModel):
    """A fault in a request; `path` is the path of the wrong field."""

    model_config = ConfigDict(extra="forbid")

    path: str
    detail: str
    code: Annotated[str, Field(description="Code of the fault, for programs. Codes are stable.")]
    params: Annotated[dict[str, Any], Field(description="The code's parameters.")]


class ProblemDetails(BaseModel):
    """Why a request was refused (RFC 9457)."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["about:blank"]
    title: Annotated[str, Field(description="The problem in a few words.")]
    status: int
    detail: Annotated[str, Field(description="The reason, or what to do about it.")] = ""
    code: Annotated[str, Field(description="Code of the reason, for programs. Codes are stable.")] = ""
    params: Annotated[dict[str, Any], Field(description="The code's parameters.")] = {}
    line: Annotated[int, Field(description="Line of the fault in a template.")] = 1
    column: Annotated[int, Field(description="Column of the fault in a template.")] = 1
    errors: Annotated[
        list[FaultDetails], Field(description="The faults of the request, each with its path.")
    ] = []


class Problem(Exception):
    """A refused request; nothing of it was stored.

    Args:
        status: HTTP status.
        title: what is wrong, in a few words.
        detail: what to do about it; by default the text of `why`.
        why: why it was refused.
        faults: (path, what was expected) for each fault.
        headers: further response headers.
        members: further members of the problem, such as line and column.
    """

    def __init__(
        self,
        status: int,
        title: str,
        detail: str = "",
        *,
        why: Notice | None = None,
        faults: Sequence[tuple[str, Notice]] = (),
        headers: Mapping[str, str] | None = None,
        members: Mapping[str, Any] | None = None,
    ) -> None:
        self.status, self.title, self.why, self.faults = status, title, why, tuple(faults)
        self._detail = detail
        self.headers, self.members = dict(headers or {}), dict(members or {})
        super().__init__(title)

    @property
    def detail(self) -> str:
        """What to do about it; by default the text of `why`."""
        return self._detail or (sentence(self.why) if self.why else "")

    def response(self) -> Response:
        """Return it as a response, in ASCII: names in a request may have characters that UTF-8 cannot encode."""
        content: dict[str, Any] = {"type": "about:blank", "title": self.title, "status": self.status}
        if self.detail:
            content["detail"] = self.detail
        if self.why:
            content |= notice_json(self.why)
        if self.faults:
            content["errors"] = [
                {"path": path, "detail": sentence(problem), **notice_json(problem)}
                for path, problem in self.faults
            ]
        content |= self.members
        return Response(
            json.dumps(content).encode(), self.status, headers=self.headers, media_type=MEDIA_TYPE
        )


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return how OpenAPI describes refusals with these statuses (FastAPI's `responses`)."""
    content = {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{ProblemDetails.__name__}"}}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}


def schemas_of(*models: type[BaseModel]) -> dict[str, Any]:
    """Return the schemas of models that no route names, by name, for OpenAPI's components."""
    template = "#/components/schemas/{model}"
    _, found = models_json_schema([(model, "validation") for model in models], ref_template=template)
    named: dict[str, Any] = found["$defs"]
    return named
