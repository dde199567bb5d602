"""GLPI's API v2 (high-level API): OAuth2 with the password grant, paged lists.

GLPI issues client-credentials tokens, but answers 401 to every read with one, because it belongs to no user.
"""

from __future__ import annotations

import hashlib
import json
import mimetypes
import operator
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, BinaryIO, TypeVar

from pydantic import SecretStr

from shared.errors import InvalidEvent
from shared.events.event import HOLDERS
from shared.events.parsing import parse_event
from shared.events.size import fitting
from shared.events.snapshots import MOST_EMAILS, Document
from shared.helpdesk.glpi_sign_in import sign_in_refused
from shared.helpdesk.lookup import (
    Changed,
    DocumentRefused,
    Download,
    HelpdeskRefused,
    HelpdeskUnreachable,
    NoteState,
    Role,
    with_emails,
)
from shared.notices.faults import HelpdeskFault
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.process.bounded import PIECE, Answered, OutOfTime, Unanswered, bounded_call
from shared.process.outbound import DIRECT, Outbound
from shared.values.ids import is_id

CALL_S = 5.0
DOWNLOAD_S = 60.0
BUSY = 429
"""The status code that is never about the requested document."""
LARGEST_ANSWER = 16 * 1024 * 1024
LARGEST_ERROR = 16 * 1024
PAGE_SIZE = 100
TICKETS = "/v2/Assistance/Ticket"
DOCUMENTS = "/v2/Management/Document"
ROLES: dict[Role, str] = {"technician": "assigned", "requester": "requester"}
MISSING = "ERROR_ITEM_NOT_FOUND"
ANY_TYPE = "application/octet-stream"
PAGES = ("text/html", "application/xhtml+xml", "application/json")
"""Types of what a proxy or a sign-in page answers when a document was asked for."""
PARTS = {Kind.FOLLOWUP: "Followup", Kind.SOLUTION: "Solution", Kind.TICKET_TASK: "Task"}
SEE_PUBLIC, SEE_PRIVATE = 1, 8192
"""GLPI's rights on follow-ups."""
MOST_PARTS = 1000
"""GLPI returns at most this many parts of a ticket of one kind."""
RENEW_BEFORE_S = 60.0
LONGEST_LIFE_S = 86400.0
"""The longest time that a token is used, whatever lifetime GLPI reports."""
LONGEST_NAME = 100
LONGEST_TEXT = 1000
"""Length of a cached text, so that the cache has a limit."""
ODD = (ArithmeticError, AttributeError, InvalidEvent, LookupError, TypeError, ValueError)
"""The exceptions that reading a malformed answer can raise."""
T = TypeVar("T")


@dataclass(frozen=True)
class GlpiAccess:
    """URL and credentials for GLPI's API.

    Attributes:
        url: GLPI's own URL, such as https://glpi.example.org.
        client_id, client_secret: credentials of an OAuth client with the grant `password` and the scope `api`.
        user, password: credentials of a user who may read tickets, ticket tasks and users of every entity.
        outbound: the trusted certificate authorities and the proxy.
        cache_s: seconds for which an answer about a person or a ticket is cached.
    """

    url: str
    client_id: str
    client_secret: SecretStr
    user: str
    password: SecretStr
    cache_s: float = 600.0
    outbound: Outbound = DIRECT


class GlpiLookup:
    """Queries a GLPI 11 (see `shared.helpdesk.lookup.HelpdeskLookup`); safe to share between threads.

    Args:
        access: URL and credentials.
        clock: a monotonic clock, in seconds.
    """

    def __init__(self, access: GlpiAccess, clock: Callable[[], float] = time.monotonic) -> None:
        self._access, self._clock = access, clock
        self._api = access.url.rstrip("/") + "/api.php"
        self._lock = threading.Lock()
        self._token, self._token_ends = "", 0.0
        self._known: dict[tuple[str, int], tuple[float, Any]] = {}

    def now(self) -> datetime:
        """Return GLPI's current time, to find out whether its API works."""
        told = self._get("/v2/Session", missing={}).get("current_time")
        try:
            return datetime.fromisoformat(str(told)).astimezone(UTC)
        except (ValueError, OverflowError):
            raise HelpdeskUnreachable(
                HelpdeskFault.HELPDESK_TOLD_NO_TIME(method="GET", path="/v2/Session")
            ) from None

    def emails_of(self, helpdesk_user_id: int) -> list[str]:
        """Return a user's e-mail addresses, the default first; none if there is no such user."""

        def ask() -> list[str]:
            path = f"/v2/Administration/User/{helpdesk_user_id}"
            user = self._get(path, missing={})
            with _reading(path):
                rows = [row for row in user.get("emails") or [] if row.get("email")]
                rows.sort(key=lambda row: not row.get("is_default"))
                return [_text(row["email"]) for row in rows[:MOST_EMAILS]]

        return list(self._remembered(("user", helpdesk_user_id), ask))

    def person_of(self, ticket_id: int, role: Role) -> int | None:
        """Return the id of a ticket's first technician or first requester, or None."""

        def ask() -> dict[str, int | None]:
            path = f"{TICKETS}/{ticket_id}"
            ticket = self._get(path, missing={})
            with _reading(path):
                return {role: _first(ticket, role) for role in ROLES}

        people: dict[str, int | None] = self._remembered(("people", ticket_id), ask)
        return people[role]

    def changed_since(self, moment: datetime) -> Iterator[Changed]:
        """Yield every ticket that has changed since a moment, each followed by its ticket tasks."""
        for row in self._changed_tickets(f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"):
            with _reading(TICKETS):
                ticket = self._ticket(row)
                changed = _changed(self._access.url, "ticket.updated", ticket, None, row)
            yield changed
            path = f"{TICKETS}/{ticket['id']}/Timeline/Task"
            tasks = self._get(path, missing=[])
            with _reading(path):
                items = [one["item"] for one in tasks if "item" in one]
                found = [
                    _changed(self._access.url, "ticket_task.updated", ticket, self._task(task), task)
                    for task in items
                ]
            yield from found

    def parts_of(self, ticket_id: int, kind: Kind) -> dict[int, bool] | None:
        """Return a ticket's follow-ups, solutions or tasks that the API's user sees, and whether each is private."""
        path = f"{TICKETS}/{ticket_id}/Timeline/{PARTS[kind]}"
        rows = self._get(path, missing=[])
        with _reading(path):
            parts = {row["item"]["id"]: bool(row["item"].get("is_private")) for row in rows}
        return parts if len(rows) < MOST_PARTS else None

    def unlisted(self, ticket_id: int, kind: Kind, number: int, *, also_private: bool) -> NoteState:
        """Return the state of a follow-up or solution that `parts_of` does not list.

        GLPI answers the same about what was deleted and about what its user may not see, so the user's rights decide.
        """
        ticket = f"{TICKETS}/{ticket_id}"
        item = self._get(f"{ticket}/Timeline/{PARTS[kind]}/{number}", missing={})
        if item:
            return NoteState.PRIVATE if item.get("is_private") else NoteState.PUBLIC
        may_see = bool(self._get(ticket, missing={}))
        if may_see and kind is Kind.FOLLOWUP:
            session = self._get("/v2/Session", missing={})
            may_see = bool(_rights(session) & (SEE_PRIVATE if also_private else SEE_PRIVATE | SEE_PUBLIC))
        return NoteState.DELETED if may_see else NoteState.HIDDEN

    def withdrawn(self, ticket_id: int, document: Document) -> Download | None:
        """Return whether a document is gone from its ticket or private now.

        GLPI hides what its user may not read. Whatever may be hidden counts as unchanged.
        """
        try:
            told = self._get(f"{DOCUMENTS}/{document.id}", missing={})
            if told.get("is_deleted"):
                return Download.GONE
            return self._left(ticket_id, document) if told else None
        except HelpdeskRefused:
            return None

    def _left(self, ticket_id: int, document: Document) -> Download | None:
        """Return `withdrawn` of a document that exists."""
        item, hidden = document.item, list[Any]()
        if item and item.type in HOLDERS:
            parts = self.parts_of(ticket_id, HOLDERS[item.type])
            if not parts or parts.get(item.id) is False:
                return None
            return Download.PRIVATE if item.id in parts else Download.GONE
        path = f"{TICKETS}/{ticket_id}/Timeline/Document"
        rows = self._get(path, missing=hidden)
        with _reading(path):
            is_linked = document.id in {row["item"]["documents_id"] for row in rows}
        return None if is_linked or rows is hidden or len(rows) >= MOST_PARTS else Download.GONE

    def document(self, document: Document, into: BinaryIO, most: int) -> Download:
        """Write a document's content to a file."""
        path = f"{DOCUMENTS}/{document.id}/Download"

        def ask(headers: dict[str, str]) -> tuple[int, Answered]:
            into.seek(0)
            into.truncate()
            wanted = headers | {"Accept": ANY_TYPE, "Accept-Encoding": "identity"}
            try:
                answer = self._exchange("GET", path, DOWNLOAD_S, most, into=into, headers=wanted)
            except HelpdeskUnreachable as broken:
                raise self._unless_away(broken.problem) from None
            return answer.status, answer

        status, answer = self._signed_in(ask)
        about = {"method": "GET", "path": path, "status": status}
        if status == 404 and _is_missing(_start_of(into)):
            return Download.GONE
        if status == 403:
            raise DocumentRefused(HelpdeskFault.HELPDESK_RIGHT_MISSING(**about, user=self._access.user))
        if status == BUSY:
            raise HelpdeskUnreachable(HelpdeskFault.HELPDESK_ANSWER_UNUSABLE(**about))
        if status != 200:
            raise self._unless_away(HelpdeskFault.HELPDESK_ANSWER_UNUSABLE(**about))
        if answer.content is None:
            return Download.TOO_LARGE
        size = into.tell()
        if size != document.size and not self._is_announced(document, into, answer.media_type):
            raise self._unless_away(
                HelpdeskFault.HELPDESK_SENT_ANOTHER_FILE(
                    method="GET",
                    path=path,
                    size=size,
                    type=answer.media_type[:LONGEST_NAME] or None,
                    announced=document.size,
                )
            )
        return Download.WHOLE

    def _is_announced(self, document: Document, into: BinaryIO, media_type: str) -> bool:
        """Return whether a file of another size, or of an unknown one, is the document: its checksum decides.

        GLPI's user may lack the right to read the checksum. Then the announced size decides, or at least the type.
        """
        try:
            told = self._get(f"{DOCUMENTS}/{document.id}", missing={})
        except HelpdeskRefused:
            told = {}
        if checksum := told.get("sha1sum"):
            digest = hashlib.sha1(usedforsecurity=False)
            into.seek(0)
            for piece in iter(partial(into.read, PIECE), b""):
                digest.update(piece)
            return bool(digest.hexdigest() == checksum)
        if document.size is not None or media_type not in PAGES:
            return document.size is None
        return media_type in (document.mime_type, mimetypes.guess_type(document.name or "")[0])

    def _unless_away(self, problem: Notice) -> DocumentRefused:
        """Return the error that the document causes a problem, after checking that GLPI answers other calls.

        Raises:
            HelpdeskUnreachable: if it does not.
        """
        self.now()
        return DocumentRefused(problem)

    def _ticket(self, row: Mapping[str, Any]) -> dict[str, Any]:
        technician = _first(row, "technician")
        return {
            "id": row["id"],
            "title": row.get("name") or "",
            "content": fitting(row.get("content")),
            "status": row["status"]["id"],
            "entity_id": row["entity"]["id"],
            "entity_name": row["entity"].get("completename") or row["entity"].get("name"),
            "technician": with_emails(technician, self.emails_of(technician)) if technician else None,
            "is_deleted": bool(row["is_deleted"]) if row.get("is_deleted") is not None else None,
            "created_at": row.get("date_creation"),
        }

    def _task(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "id": row["id"],
            "content": fitting(row.get("content")),
            "state": row["state"],
            "actiontime": row["duration"],
            "user": self._person(row.get("user")),
            "technician": self._person(row.get("user_tech")),
            "date": str(row.get("planned_begin") or row.get("date") or "")[:10] or None,
            "is_private": bool(row.get("is_private")),
            "copied_from_ticket": row.get("source_item_id") or None,
            "created_at": row.get("date_creation"),
        }

    def _person(self, user: dict[str, Any] | None) -> dict[str, Any] | None:
        known = user if user and user.get("id") else None
        return known and with_emails(known["id"], self.emails_of(known["id"])) | {"name": known.get("name")}

    def _changed_tickets(self, since: str) -> Iterator[dict[str, Any]]:
        """Yield the changed tickets, paged by id and not by position, because tickets change while they are read."""
        last = 0
        while True:
            wanted = {
                "filter": f"date_mod=ge={since};id=gt={last}",
                "sort": "id:asc",
                "limit": str(PAGE_SIZE),
            }
            page = self._get(TICKETS, wanted, missing=[])
            with _reading(TICKETS):
                ids = [last, *(row["id"] for row in page)]
                if not all(is_id(one) for one in ids[1:]) or any(map(operator.ge, ids, ids[1:])):
                    raise ValueError("it was asked for the next tickets, in the order of their ids")
            yield from page
            if len(page) < PAGE_SIZE:
                return
            last = ids[-1]

    def _remembered(self, what: tuple[str, int], ask: Callable[[], Any]) -> Any:
        until, known = self._known.get(what, (0.0, None))
        if until > self._clock():
            return known
        answer = ask()
        if len(self._known) > 10_000:
            self._known.clear()
        self._known[what] = (self._clock() + self._access.cache_s, answer)
        return answer

    def _get(self, path: str, params: Mapping[str, str] | None = None, *, missing: Any) -> Any:
        """Read a path; return `missing` if it does not exist."""
        status, answer = self._signed_in(
            lambda headers: self._call("GET", path, headers=headers, params=params)
        )
        if status == 404 and _is_missing(answer):
            return missing
        about = {"method": "GET", "path": path, "status": status}
        if status in (401, 403):
            raise HelpdeskRefused(HelpdeskFault.HELPDESK_RIGHT_MISSING(**about, user=self._access.user))
        if status not in (200, 206) or not isinstance(answer, type(missing)):
            raise HelpdeskUnreachable(HelpdeskFault.HELPDESK_ANSWER_UNUSABLE(**about))
        return answer

    def _signed_in(self, ask: Callable[[dict[str, str]], tuple[int, T]]) -> tuple[int, T]:
        """Call `ask` with the headers of a GET; if GLPI no longer accepts the token, renew it and repeat once."""
        for renewed in (False, True):
            # GLPI answers 400 to a GET that has a Content-Type and no body
            headers = {
                "Authorization": f"Bearer {self._bearer(renew=renewed)}",
                "GLPI-Entity-Recursive": "true",
            }
            status, answer = ask(headers)
            if status not in (400, 401):  # 400: a token of before a restore
                break
        return status, answer

    def _bearer(self, *, renew: bool) -> str:
        if not self._lock.acquire(timeout=CALL_S):
            raise HelpdeskUnreachable(HelpdeskFault.HELPDESK_ANSWER_AWAITED(method="POST", path="/token"))
        try:
            if renew or self._clock() >= self._token_ends:
                self._sign_in()
            return self._token
        finally:
            self._lock.release()

    def _sign_in(self) -> None:
        access = self._access
        body = {
            "grant_type": "password",
            "client_id": access.client_id,
            "client_secret": access.client_secret.get_secret_value(),
            "username": access.user,
            "password": access.password.get_secret_value(),
            "scope": "api",
        }
        status, answer = self._call("POST", "/token", json=body)
        if status in (400, 401, 403):
            raise HelpdeskRefused(sign_in_refused(status, answer))
        token = answer.get("access_token") if isinstance(answer, dict) else None
        if status != 200 or not isinstance(token, str):
            raise HelpdeskUnreachable(
                HelpdeskFault.HELPDESK_ANSWER_UNUSABLE(method="POST", path="/token", status=status)
            )
        lives = answer.get("expires_in")
        seconds = min(lives, LONGEST_LIFE_S) if isinstance(lives, (int, float)) and lives > 0 else 0
        self._token = token
        self._token_ends = self._clock() + max(0.0, seconds - RENEW_BEFORE_S)

    def _call(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        """Make one call, limited in time and size; return its status and its JSON, or None if it is not JSON."""
        status, content, _ = self._exchange(method, path, CALL_S, LARGEST_ANSWER, **options)
        if content is None:
            raise HelpdeskUnreachable(HelpdeskFault.HELPDESK_TOO_SLOW(method=method, path=path))
        return status, _parsed(content)

    def _exchange(self, method: str, path: str, within: float, most: int, **options: Any) -> Answered:
        try:
            return bounded_call(
                self._access.outbound, method, self._api + path, within=within, most=most, **options
            )
        except OutOfTime:
            raise HelpdeskUnreachable(HelpdeskFault.HELPDESK_TOO_SLOW(method=method, path=path)) from None
        except Unanswered as failed:
            raise HelpdeskUnreachable(
                HelpdeskFault.HELPDESK_CALL_FAILED(method=method, path=path, error=failed.error)
            ) from None


def _parsed(content: bytes) -> Any:
    """Return the JSON in an answer, or None if it has none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _start_of(file: BinaryIO) -> Any:
    """Return the JSON in a small file, or None if it has none."""
    file.seek(0)
    return _parsed(file.read(LARGEST_ERROR))


def _is_missing(answer: Any) -> bool:
    """Return whether it is GLPI that says that something does not exist, and not a web server in front of it."""
    return isinstance(answer, dict) and answer.get("status") == MISSING


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Turn the exceptions that reading a malformed answer raises into one error.

    Raises:
        HelpdeskUnreachable: if the answer is malformed.
    """
    try:
        yield
    except ODD:
        raise HelpdeskUnreachable(
            HelpdeskFault.HELPDESK_ANSWER_UNUSABLE(method="GET", path=path, status=200)
        ) from None


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise TypeError
    return value


def _rights(session: Mapping[str, Any]) -> int:
    """Return the rights on follow-ups of the API's user; none if GLPI does not tell them."""
    try:
        return int(session["active_profile"]["rights"]["followup"])
    except ODD:
        return 0


def _first(ticket: Mapping[str, Any], role: Role) -> int | None:
    """Return the id of the first user with a role in a ticket, or None."""
    members = (member.get("id") for member in ticket.get("team") or [] if member.get("role") == ROLES[role])
    return next((member for member in members if is_id(member)), None)


def _changed(
    base: str, name: str, ticket: dict[str, Any], task: dict[str, Any] | None, row: Mapping[str, Any]
) -> Changed:
    """Return a change with a valid event.

    Raises:
        InvalidEvent, ValueError: if the answer does not yield a valid event.
    """
    changed_at = datetime.fromisoformat(row["date_mod"])
    event = {
        "event": name,
        "occurred_at": changed_at.isoformat(),
        "content_format": "html",
        "helpdesk_url": base,
        "ticket": ticket,
        **({"task": task} if task else {}),
        "source": {"helpdesk": "glpi", "read": "api"},
        "incomplete": ["ticket.project_id"],
    }
    parse_event(event)
    return Changed(event, changed_at)
