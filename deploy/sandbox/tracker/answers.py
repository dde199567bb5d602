"""The tracker's responses, before they become bytes on a socket."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

JSON_TYPE = "application/json; charset=utf-8"
HTML_TYPE = "text/html; charset=utf-8"


@dataclass(slots=True)
class Answer:
    """A status, a body, and the headers that differ between responses."""

    status: int
    body: bytes = b""
    content_type: str | None = JSON_TYPE
    headers: dict[str, str] = field(default_factory=dict)


class RefusedError(Exception):
    """Ends a decision early with a response that is not a success."""

    def __init__(self, answer: Answer) -> None:
        """Store the response for the caller."""
        super().__init__(answer.status)
        self.answer = answer


def encode(document: object) -> bytes:
    """Return a JSON document as compact UTF-8."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def ok(document: object) -> Answer:
    """Return 200 with a JSON document."""
    return Answer(200, encode(document))


def created(document: object, location: str) -> Answer:
    """Return 201 with the new object and its address."""
    return Answer(201, encode(document), headers={"Location": location})


def done() -> Answer:
    """Return 204, without a body or a content type."""
    return Answer(204, content_type=None)


def empty(status: int) -> Answer:
    """Return 401, 403, 404 or 412 as the tracker does: no body, a JSON content type."""
    headers = {"WWW-Authenticate": 'Basic realm="Redmine API"'} if status == 401 else {}
    return Answer(status, content_type="application/json", headers=headers)


def invalid(errors: list[str]) -> Answer:
    """Return 422 with the validation errors, which may be an empty list (a conflict)."""
    return Answer(422, encode({"errors": errors}))


def unreadable(accept: str) -> Answer:
    """Return 400 for a body that is not JSON: empty if the Accept header allows HTML, else a JSON document."""
    if _takes_html(accept):
        return Answer(400, content_type=HTML_TYPE)
    return Answer(400, encode({"status": 400, "error": "Bad Request"}))


def unknown_address(accept: str, *, bare: bool) -> Answer:
    """Return 404 for an unknown address: if the Accept header allows HTML, a page, or an empty one if `bare`."""
    if _takes_html(accept):
        return Answer(404, content_type=HTML_TYPE) if bare else page(404, "Page not found")
    return Answer(404, encode({"status": 404, "error": "Not Found"}))


def _takes_html(accept: str) -> bool:
    return "*/*" in accept or "text/html" in accept


def broken() -> Answer:
    """Return 500, as the tracker does if its own code fails."""
    return Answer(500, encode({"status": 500, "error": "Internal Server Error"}))


def missing_watcher() -> Answer:
    """Return the 404 with a body that an unknown watcher id causes."""
    return Answer(404, encode({"status": 404, "error": "Not Found"}))


def page(status: int, title: str) -> Answer:
    """Return an HTML page, for addresses that are not part of the API."""
    html = f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{title}</title></head>'
    return Answer(status, f"{html}<body><h1>{title}</h1></body></html>\n".encode(), HTML_TYPE)
