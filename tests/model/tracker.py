"""The mock Redmine without HTTP: the state machine decides which requests are lost, late or refused."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from email.utils import formatdate
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

from requests.structures import CaseInsensitiveDict

from deploy.sandbox.tracker import access
from deploy.sandbox.tracker import answers as tracker_answers
from deploy.sandbox.tracker.access import Request
from deploy.sandbox.tracker.answers import Answer as Raw
from deploy.sandbox.tracker.records import Attachment
from deploy.sandbox.tracker.seed import DEFAULT_KEY, seeded
from shared.errors import OutcomeUnknown, TrackerError, TrackerUnreachable
from shared.notices.faults import Detail
from shared.notices.kinds import Kind
from shared.tracker.answers import Answer, read_answer
from shared.tracker.client import CallRecord
from shared.tracker.client import Request as Asked
from tests.model.clock import Clock
from tests.model.stage import Actor, Stage
from tests.support.workflows import CREATING, creates
from worker.ticket.match import fingerprint

TIME_OUT_S = 5.0
SEEDED = 5
NOTES = (Kind.FOLLOWUP, Kind.SOLUTION)
Row = tuple[Kind, int]
"""A ledger row: the kind of object that it creates, and its key."""


class Fate(StrEnum):
    """The outcome of a call."""

    ANSWERED = "answered"
    NEVER_SENT = "never sent"
    LOST_BEFORE = "lost before it had an effect"
    LOST_AFTER = "had its effect, the answer was lost"
    LATE = "had its effect long after the caller had given up"
    BUSY = "429"
    BROKEN = "500, without an effect"
    BROKEN_AFTER = "500, after it had its effect"
    GARBAGE = "201 that cannot be read"
    CLOSED = "401"
    REFUSED = "422"


PlannedFate = Fate | tuple[str, Fate]
"""A fate; with a method it is the fate of the next call with this method, and calls before that one are answered."""


@dataclass
class Made:
    """An issue, time entry, note or attachment that deskbridge created.

    Attributes:
        key: key of the ledger row that it was created for.
        overdue: whether its process was stopped between the check of the lease and the system call, beyond every lease.
        told: the worker that learned of it, and in which of its passes; None if none did.
        fingerprint: equal for objects that cannot be told apart.
    """

    kind: Kind
    tracker_id: int
    key: int
    fingerprint: str
    overdue: bool = False
    told: tuple[Actor, int] | None = None

    @property
    def is_excused(self) -> bool:
        """Whether no worker can know of it: sent after every lease by a process that got no answer or was killed."""
        return self.overdue and (self.told is None or self.told[1] in self.told[0].killed)


class SimulatedTracker:
    """The tracker's data and the requests on their way to it.

    Args:
        clock: the simulated time.
        stage: knows the running actor.
        skew: how far the tracker's clock is ahead of the database's, in seconds.
        date_header: whether its answers have a Date header.
        latest: how long a request may take to have its effect, in seconds.
        overstretch: whether a request may be sent after its worker was stopped beyond every lease.

    Attributes:
        fates: outcomes of the next calls; when they are used up, calls are answered.
        made: every object that was created since the start.
    """

    def __init__(
        self, clock: Clock, stage: Stage, *, skew: float, date_header: bool, latest: float, overstretch: bool
    ) -> None:
        self._clock, self._stage = clock, stage
        self._skew, self._date_header, self._latest = skew, date_header, latest
        self._overstretch = overstretch
        self.data = seeded()
        self._arrived_at: float | None = None
        self.data.now = lambda: (self._arrived_at or clock.now) + skew  # type: ignore[method-assign]
        self.fates: deque[PlannedFate] = deque()
        self.made: list[Made] = []
        self._under_way: list[tuple[float, Callable[[], Any]]] = []

    def call(self, method: str, path: str, **options: Any) -> Answer:
        """Stand in for `TrackerClient.call`."""
        return self.send_from_thread(Asked(method, path, **options))

    def send_from_thread(self, request: Asked) -> Answer:
        """Stand in for `TrackerClient.send_from_thread`, without logs and without a rate limit."""
        method, path, body, login = request.method, request.path, request.body, request.login
        self._stage.point(f"before {method} {path}")
        if request.before_send:
            request.before_send()
        checked_at = self._clock.now
        self._stage.point(f"sending {method} {path}")
        status, error = None, None
        try:
            try:
                raw = self._exchange(request, checked_at)
            finally:
                self._stage.point(f"answered {method} {path}")
            status, headers = raw.status, self._headers(raw)
            return read_answer(
                method, path, status=status, headers=headers, body=raw.body, impersonating=login is not None
            )
        except TrackerError as failure:
            error = failure.notice
            raise
        finally:
            if request.observe:
                request.observe(CallRecord(method, path, login, body, status, 1, error))

    async def send(self, request: Asked) -> Answer:
        """Stand in for `TrackerClient.send`; concurrent calls end in any order."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, copy_context().run, self.send_from_thread, request)

    is_limited = False

    def wait_for_rate_limit(self) -> None:
        """Stand in for `TrackerClient.wait_for_rate_limit`: there is no rate limit."""

    @property
    def is_anything_under_way(self) -> bool:
        """Whether a request was sent that has not arrived."""
        return bool(self._under_way)

    def notes(self) -> dict[int, tuple[int, dict[str, Any]]]:
        """Return the notes of all issues by id, each with the id of its issue."""
        return {
            one["id"]: (issue.id, one)
            for issue in self.data.issues.values()
            for one in issue.journals
            if one["notes"]
        }

    def attachments(self) -> dict[int, Attachment]:
        """Return the attachments of all issues by id, without uploads that no issue has."""
        return {one.id: one for one in self.data.attachments.values() if one.issue_id is not None}

    def drop_uploads(self) -> None:
        """Drop uploads that were not attached, as the tracker does once a day."""
        self.data.attachments = self.attachments()

    def delete_attachment(self, attachment_id: int) -> None:
        """Delete an attachment, as a person does on the tracker's own pages."""
        del self.data.attachments[attachment_id]

    def delete_note(self, note_id: int) -> None:
        """Delete a note, as a person does on the tracker's own pages."""
        issue_id, note = self.notes()[note_id]
        self.data.issues[issue_id].journals.remove(note)

    def move(self, issue_id: int, project_id: int) -> None:
        """Move an issue to another project, as a person does on the tracker's own pages."""
        issue = self.data.issues.get(issue_id)
        if issue is None or issue.project_id == project_id:
            return
        change = {"name": "project_id", "from": issue.project_id, "to": project_id}
        issue.journals.append({"user_id": 1, "created_on": self.data.now(), "notes": "", "details": [change]})
        issue.project_id = project_id

    def let_time_pass(self) -> None:
        """Carry out the late requests that have arrived by now, each at the time of its arrival."""
        arrived = [one for one in self._under_way if one[0] <= self._clock.now]
        self._under_way = [one for one in self._under_way if one[0] > self._clock.now]
        for self._arrived_at, effect in sorted(arrived, key=lambda one: one[0]):
            effect()
        self._arrived_at = None

    def _exchange(self, asked: Asked, checked_at: float) -> Raw:
        method, path, body = asked.method, asked.path, asked.body
        self._clock.now += 0.05
        self.let_time_pass()
        actor, creating = self._stage.actor, CREATING.get()
        row = creating if creates(method, path, body) else None
        fate = self._next_fate(method)
        send_by = actor.claims[row] if row else float("inf")
        overdue = checked_at < send_by < self._clock.now
        if overdue and not self._overstretch:
            fate = Fate.LOST_BEFORE
        request = _request(asked)

        def effect() -> Raw:
            return self._decide(request, row, body, overdue=overdue)

        if fate is Fate.NEVER_SENT:
            raise TrackerUnreachable(method, path, detail=Detail.NO_CONNECTION(error="refused"))
        if fate is Fate.LATE:
            at = self._clock.now + self._latest
            self._under_way.append((at if overdue else min(at, send_by), effect))
        refusal = _refusal(fate)
        if refusal:
            return refusal
        answer = None if fate in (Fate.LOST_BEFORE, Fate.LATE) else effect()
        if fate in (Fate.LOST_BEFORE, Fate.LOST_AFTER, Fate.LATE):
            self._clock.now += TIME_OUT_S
            raise OutcomeUnknown(method, path, detail=Detail.TIME_OUT())
        assert answer is not None
        if fate is Fate.BROKEN_AFTER:
            return tracker_answers.broken()
        if fate is Fate.GARBAGE:
            return Raw(answer.status, b"{<html>")
        if creating and answer.status in (200, 201):
            self._tell(creating, actor)
        return answer

    def _next_fate(self, method: str) -> Fate:
        planned = self.fates[0] if self.fates else Fate.ANSWERED
        of_method, fate = (method, planned) if isinstance(planned, Fate) else planned
        if of_method != method:
            return Fate.ANSWERED
        if self.fates:
            self.fates.popleft()
        return fate

    def _decide(self, request: Request, row: Row | None, body: Any, *, overdue: bool) -> Raw:
        before = self._added(row[0]) if row else set()
        answer = access.answer(self.data, request)
        if row is None:
            return answer
        kind, key = row
        if kind.is_addition:
            self.made += [
                Made(kind, tracker_id, key, self._fingerprint(kind, body, tracker_id), overdue)
                for tracker_id in self._added(kind) - before
            ]
        elif answer.status == 201:
            tracker_id = json.loads(answer.body)[kind.wire_name]["id"]
            self.made.append(Made(kind, tracker_id, key, fingerprint(kind, body), overdue))
        return answer

    def _added(self, kind: Kind) -> set[int]:
        """Return the ids of the notes of all issues, or of their attachments."""
        return set(self.attachments() if kind is Kind.DOCUMENT else self.notes())

    def _fingerprint(self, kind: Kind, body: Any, tracker_id: int) -> str:
        """Return the fingerprint of a note or an attachment; the request that attaches a file lacks its size."""
        if kind is not Kind.DOCUMENT:
            return fingerprint(kind, body, self.notes()[tracker_id][0])
        file = self.data.attachments[tracker_id]
        return fingerprint(kind, {**body, "document": {"size": file.filesize}}, file.issue_id)

    def _tell(self, creating: Row, actor: Actor) -> None:
        """Record that a worker learned of its creation; of an addition, when it reads the addition back."""
        for one in self.made:
            if (one.kind, one.key) == creating and one.told is None:
                one.told = (actor, actor.syncs)

    def _headers(self, raw: Raw) -> CaseInsensitiveDict[str]:
        date = {"Date": formatdate(int(self._clock.now + self._skew), usegmt=True)}
        return CaseInsensitiveDict({**raw.headers, **(date if self._date_header else {})})


def _request(asked: Asked) -> Request:
    headers = {"x-redmine-api-key": DEFAULT_KEY, "content-type": "application/json"}
    data = b"" if asked.body is None else json.dumps(asked.body).encode()
    if asked.upload:
        headers["content-type"] = "application/octet-stream"
        asked.upload.file.seek(0)
        data = asked.upload.file.read()
    if asked.login:
        headers["x-redmine-switch-user"] = asked.login
    return Request(asked.method, asked.path, urlencode(asked.params or {}), headers, data)


def _refusal(fate: Fate) -> Raw | None:
    if fate is Fate.BUSY:
        return tracker_answers.empty(429)
    if fate is Fate.CLOSED:
        return tracker_answers.empty(401)
    if fate is Fate.BROKEN:
        return tracker_answers.broken()
    if fate is Fate.REFUSED:
        return tracker_answers.invalid(["no"])
    return None
