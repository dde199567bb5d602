"""How each operation is tried, so that only what was created for the trial is touched."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from producer.admin.dryrun.filling import temporary_issue, temporary_project
from producer.admin.dryrun.results import DryRunRefused
from shared.dryrun.marks import ObjectKind, marked, new_mark
from shared.dryrun.objects import FRESH_S, DryRunItem, DryRunSession, id_in
from shared.errors import BridgeError, LeaseExpired, OutcomeUnknown, TrackerBusy, TrackerClosed, TrackerError
from shared.events.config import PluginConfig
from shared.events.payloads import Body
from shared.notices.cautions import Caution
from shared.notices.faults import Detail
from shared.notices.invalid import Invalid
from shared.notices.notice import Notice
from shared.notices.templates import TemplateRefusal
from shared.refusals.hints import explain
from shared.refusals.known import Explanation, KnownMetadata
from shared.store.ledger.send_window import SendWindow
from shared.templating.operations import UPDATES, Operation
from shared.templating.render import Engine, Rendering
from shared.tracker.answers import RawAnswer, messages

Render = Callable[[int | None], Rendering]
NEEDS_ISSUE = (*UPDATES, Operation.TIME_ENTRY_CREATE)


@dataclass(frozen=True)
class Tried:
    """What was tried, and the tracker's answer, or None if none came.

    Attributes:
        created: such as `issue #17`.
        warnings: what a person should know about the way it was tried.
    """

    rendering: Rendering
    method: str
    path: str
    answer: RawAnswer | None
    created: str | None = None
    warnings: tuple[Notice, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the tracker took the payload."""
        return self.answer is not None and 200 <= self.answer.status < 300


@dataclass(frozen=True)
class Trial:
    """The trial of one dry run.

    Attributes:
        rendering: the rendered template, with a stand-in for the temporary issue's id.
        render: renders the template again, with the id of the temporary issue.
        project_id: the tracker project; None for a new one.
        known: the cached metadata, for that project.
    """

    operation: Operation
    rendering: Rendering
    render: Render
    project_id: int | None
    config: PluginConfig
    bench: DryRunSession
    known: KnownMetadata

    def carry_out(self) -> Tried:
        """Try the operation, and delete what was created.

        Raises:
            TemplateError: if the template does not work with the temporary issue's id.
            DryRunRefused: if a temporary object that is needed could not be created.
            TrackerError: if the tracker cannot be reached, refuses the key, or asks to wait.
        """
        if self.operation is Operation.ISSUE_CREATE:
            return self._creation(ObjectKind.ISSUE)
        if self.operation is Operation.PROJECT_CREATE:
            return self._creation(ObjectKind.PROJECT)
        if self.operation is Operation.MEMBERSHIP_CREATE:
            return self._in_project()
        return self._on_issue()

    def _creation(self, kind: ObjectKind) -> Tried:
        mark = new_mark(kind)
        thing = self.bench.make(kind, mark, marked(kind, self.rendering.payload, mark), self.project_id)
        self.bench.remove(thing)
        self._raise_outage("POST", kind.path, thing.answer)
        created = f"{kind} #{thing.tracker_id}" if thing.tracker_id else None
        warnings = (Caution.IDENTIFIER_NOT_ASKED(),) if kind is ObjectKind.PROJECT else ()
        return Tried(self.rendering, "POST", kind.path, thing.answer, created, warnings)

    def _on_issue(self) -> Tried:
        mark = new_mark(ObjectKind.ISSUE)
        issue, issue_id = self._temporary(
            ObjectKind.ISSUE, mark, temporary_issue(mark, self.project_id or 0, self.known, self.config)
        )
        try:
            rendering = self.render(issue_id)
            if self.operation in UPDATES:
                path = f"/issues/{issue_id}.json"
                answer = self._send("PUT", path, _still_marked(rendering.payload, mark), issue)
                return Tried(rendering, "PUT", path, answer, f"issue #{issue_id}")
            path = "/time_entries.json"
            answer = self._send("POST", path, rendering.payload, issue)
            created = self._delete_time_entry(id_in(answer, "time_entry"))
            return Tried(rendering, "POST", path, answer, created)
        finally:
            self.bench.remove(issue)

    def _in_project(self) -> Tried:
        mark = new_mark(ObjectKind.PROJECT)
        project, project_id = self._temporary(ObjectKind.PROJECT, mark, temporary_project(mark, self.known))
        try:
            path = f"/projects/{project_id}/memberships.json"
            answer = self._send("POST", path, self.rendering.payload, project)
            made = id_in(answer, "membership")
            created = f"membership #{made}" if made else None
            return Tried(self.rendering, "POST", path, answer, created, (Caution.MEMBERSHIP_NOT_ASKED(),))
        finally:
            self.bench.remove(project)

    def _temporary(self, kind: ObjectKind, mark: str, body: Body) -> tuple[DryRunItem, int]:
        """Create a temporary object, on which something is tried."""
        thing = self.bench.make(kind, mark, body, self.project_id if kind is ObjectKind.ISSUE else None)
        if thing.tracker_id is not None:
            return thing, thing.tracker_id
        self.bench.remove(thing)
        self._raise_outage("POST", kind.path, thing.answer)
        raise self._no(kind, body, thing)

    def _no(self, kind: ObjectKind, body: Body, thing: DryRunItem) -> BridgeError:
        if thing.answer is None:
            return OutcomeUnknown("POST", kind.path, detail=Detail.TEMPORARY_UNCLEAR(kind=str(kind)))
        hints: list[Explanation] = []
        if thing.refused:
            creating = Operation.ISSUE_CREATE if kind is ObjectKind.ISSUE else Operation.PROJECT_CREATE
            said = bool(messages(thing.answer.body.encode()))
            hints = explain(creating, body, self.known, thing.answer.status, said=said)
        return DryRunRefused(
            TemplateRefusal.TEMPORARY_REFUSED(
                kind=str(kind),
                status=thing.answer.status,
                errors=messages(thing.answer.body.encode()) or [Invalid.NO_REASON_TOLD()],
                hints=[one.notice for one in hints],
            )
        )

    def _send(self, method: str, path: str, payload: Body, within: DryRunItem) -> RawAnswer | None:
        """Make the call to be tried; return None if no answer came: what it created is inside the temporary object."""
        try:
            answer = self.bench.client.raw(method, path, body=payload, before_send=within.window.check)
        except OutcomeUnknown:
            return None
        self._raise_outage(method, path, answer)
        return answer

    def _delete_time_entry(self, entry_id: int | None) -> str | None:
        """Delete a new time entry; if that fails, it is deleted with the temporary issue."""
        if entry_id is None:
            return None
        with suppress(TrackerError, LeaseExpired):
            path = f"/time_entries/{entry_id}.json"
            self.bench.client.call("DELETE", path, before_send=SendWindow(FRESH_S).check)
        return f"time entry #{entry_id}"

    def _raise_outage(self, method: str, path: str, answer: RawAnswer | None) -> None:
        """Raise an error if the answer concerns the tracker or the key, and not the payload.

        Raises:
            TrackerClosed: if the key is refused, or the REST API is off.
            TrackerBusy: if the tracker asks to wait.
        """
        status = answer.status if answer else None
        if status == 401:
            raise TrackerClosed(method, path, status=status)
        if status == 429:
            raise TrackerBusy(method, path, status=status, retry_after=None)
        if status == 403:
            self.bench.client.call("GET", "/users.json", params={"limit": 1})


def _still_marked(payload: Body, mark: str) -> Body:
    """Return an update of an issue that keeps the mark, even if it changes the subject."""
    return marked(ObjectKind.ISSUE, payload, mark) if "subject" in payload["issue"] else payload


def rendering_with(engine: Engine, body: str, context: dict[str, Any]) -> Render:
    """Return a function that renders a template for an issue's id; None leaves the context as it is."""

    def render(issue_id: int | None) -> Rendering:
        return engine.render(body, context if issue_id is None else {**context, "issue": {"id": issue_id}})

    return render
