"""What the tracker sends back, before it becomes bytes on a socket."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

JSON_TYPE = "application/json; charset=utf-8"
HTML_TYPE = "text/html; charset=utf-8"


@dataclass(slots=True)
class Answer:
    """A status, a body, and the headers that are not the same for every answer."""

    status: int
    body: bytes = b""
    content_type: str | None = JSON_TYPE
    headers: dict[str, str] = field(default_factory=dict)


class RefusedError(Exception):
    """Ends a decision early with an answer that is not a success."""

    def __init__(self, answer: Answer) -> None:
        """Keep the answer that the caller is to get."""
        super().__init__(answer.status)
        self.answer = answer


def encode(document: object) -> bytes:
    """A JSON document as compact UTF-8."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def ok(document: object) -> Answer:
    """200 with a JSON document."""
    return Answer(200, encode(document))


def created(document: object, location: str) -> Answer:
    """201 with the new object and its address."""
    return Answer(201, encode(document), headers={"Location": location})


def done() -> Answer:
    """204: no body and no content type."""
    return Answer(204, content_type=None)


def empty(status: int) -> Answer:
    """401, 403, 404 or 412 as the tracker raises them: no body, a JSON content type."""
    headers = {"WWW-Authenticate": 'Basic realm="Redmine API"'} if status == 401 else {}
    return Answer(status, content_type="application/json", headers=headers)


def invalid(errors: list[str]) -> Answer:
    """422 with the validation errors, which may be an empty list (a conflict)."""
    return Answer(422, encode({"errors": errors}))


def unreadable(accept: str) -> Answer:
    """400 for a body that is no JSON: empty where the Accept header takes HTML, else a JSON document."""
    if _takes_html(accept):
        return Answer(400, content_type=HTML_TYPE)
    return Answer(400, encode({"status": 400, "error": "Bad Request"}))


def unknown_address(accept: str, *, bare: bool) -> Answer:
    """404 for an address that no route has: a page where the Accept header takes HTML, an empty one where `bare`."""
    if _takes_html(accept):
        return Answer(404, content_type=HTML_TYPE) if bare else page(404, "Page not found")
    return Answer(404, encode({"status": 404, "error": "Not Found"}))


def _takes_html(accept: str) -> bool:
    return "*/*" in accept or "text/html" in accept


def broken() -> Answer:
    """500 as the tracker answers where its own code fails."""
    return Answer(500, encode({"status": 500, "error": "Internal Server Error"}))


def missing_watcher() -> Answer:
    """The 404 with a body that an unknown watcher id causes."""
    return Answer(404, encode({"status": 404, "error": "Not Found"}))


def page(status: int, title: str) -> Answer:
    """An HTML page, for addresses that are not part of the API."""
    html = f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{title}</title></head>'
    return Answer(status, f"{html}<body><h1>{title}</h1></body></html>\n".encode(), HTML_TYPE)
