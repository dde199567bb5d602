"""Dry runs: each creates objects on the tracker as the API user, and deletes them again (SPEC 4.3).

What people may notice: the tracker sends its usual notifications of a new or changed issue, to those whom the
project's settings name, and to the watchers and the assignee of the payload. Redmine 5.0 offers nothing over REST
to suppress them: its model can (`notify`), but only imports and mails set it.
New projects, memberships and time entries, and all deletions, notify no one. A subtask also changes its parent's
dates and progress for a moment. Status updates, time entries and memberships are tried on a temporary issue or project,
so that existing ones are not touched.
"""

from __future__ import annotations

import time
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from producer.admin.dryrun.results import DryRun, DryRunRefused, Hint, Left
from producer.admin.dryrun.trials import NEEDS_ISSUE, Trial, Tried, rendering_with
from producer.admin.presenters.shapes import reason_json, warnings_json
from producer.admin.records.transaction import Store
from shared.bodies.contexts import custom_fields_of, dry_run_context
from shared.dryrun.cleanup import SETTLING_S
from shared.dryrun.objects import DryRunSession, json_in
from shared.errors import TrackerError
from shared.metadata.synchronisation import Connect
from shared.notices.changes import Did
from shared.notices.templates import TemplateRefusal
from shared.refusals.hints import explain, ignored
from shared.refusals.known import Explanation, KnownMetadata, known_of
from shared.templating.catalogue import catalogue_for
from shared.templating.operations import CustomField, Operation
from shared.templating.render import Engine, Rendering
from shared.tracker.answers import messages
from shared.tracker.lists import TrackerLists
from shared.tracker.projects import project_now

REFUSED = 422
NO_ISSUE_YET = 1
"""Stand-in for the temporary issue while a template is only checked against its context."""


@dataclass(frozen=True)
class DryRuns:
    """Makes dry runs, and lists what they have left.

    Attributes:
        connect: returns the Redmine settings and the tracker's client.
        settling: seconds to wait after a lost answer before anything is concluded from it.
    """

    store: Store
    connect: Connect
    settling: float = SETTLING_S

    def try_out(
        self,
        operation: Operation,
        body: str,
        *,
        event_id: int | None = None,
        context: dict[str, Any] | None = None,
    ) -> DryRun:
        """Make a dry run of a template with the data that its preview has.

        Args:
            operation: what the template is for.
            body: the template.
            event_id: an event of the journal.
            context: data in the shape of the template variables; without this and an event, the sample is used.

        Raises:
            NotFound, NoContext: if there is no such event, or it lacks what the operation needs.
            TemplateError, DryRunRefused, TrackerError, LeaseExpired, SettingsError: as `run`.
        """
        with self.store.transaction() as tx:
            data = dry_run_context(tx, operation, event_id=event_id, given=context)
            custom_fields = custom_fields_of(tx)
        return self.run(operation, body, data, custom_fields)

    def run(
        self,
        operation: Operation,
        body: str,
        context: dict[str, Any],
        custom_fields: tuple[CustomField, ...],
    ) -> DryRun:
        """Render a template, create what it describes on the tracker, and delete it.

        Args:
            operation: what the template is for.
            body: the template.
            context: data as `shared.templating.catalogue` builds it; it is only read.
            custom_fields: the tracker's.

        Raises:
            TemplateError: if the template is faulty; nothing was sent, or what was created for it is deleted.
            DryRunRefused: if the dry run cannot be made, with the reason.
            TrackerError: if the tracker cannot be reached, refuses the key, or asks to wait.
            LeaseExpired: if the process stood still for too long; what was created is in the list.
            SettingsError: if no tracker is configured.
        """
        operation = Operation(operation)
        render = rendering_with(Engine(catalogue_for(operation, custom_fields)), body, deepcopy(context))
        rendering = render(NO_ISSUE_YET) if operation in NEEDS_ISSUE else render(None)
        project_id = _project_of(operation, rendering, context)
        config, client = self.connect()
        started = time.monotonic()
        bench = DryRunSession(self.store, client, self.settling)
        with self.store.transaction() as tx:
            known = known_of(tx, project_id)
            tx.changes.note(Did.DRY_RUN_MADE(operation=operation))
        tried = Trial(operation, rendering, render, project_id, config, bench, known).carry_out()
        if project_id and tried.answer and tried.answer.status == REFUSED:
            with suppress(TrackerError):
                known = replace(known, project_now=project_now(TrackerLists(client).get, project_id))
        return self._told(tried, bench, _hints(operation, tried, known), started)

    def left(self) -> list[Left]:
        """Return everything that dry runs requested and that is not known to be gone, oldest first.

        It includes what a dry run that is still running has created.
        """
        with self.store.transaction() as tx:
            rows = tx.dry_runs.all()
        names = ("id", "kind", "mark", "tracker_id", "begun_at")
        return [
            Left(**{name: getattr(row, name) for name in names}, **reason_json(row.notice)) for row in rows
        ]

    def _told(self, tried: Tried, bench: DryRunSession, hints: list[Explanation], started: float) -> DryRun:
        rendering, answer = tried.rendering, tried.answer
        mine = {thing.row.id for thing in bench.things}
        left = [one for one in self.left() if one.id in mine]
        anything = any(not thing.refused for thing in bench.things)
        return DryRun(
            payload=rendering.payload,
            filled_in=list(rendering.filled_in),
            pruned=list(rendering.pruned),
            method=tried.method,
            path=tried.path,
            status=answer.status if answer else None,
            answer=answer.body if answer else "",
            ok=tried.ok,
            hints=[Hint.of(one) for one in hints],
            created=tried.created,
            deleted=not left if anything else None,
            left=left,
            milliseconds=round((time.monotonic() - started) * 1000),
            **warnings_json([*rendering.warnings, *tried.warnings]),
        )


def _hints(operation: Operation, tried: Tried, known: KnownMetadata) -> list[Explanation]:
    if tried.answer is None:
        return []
    payload = tried.rendering.payload
    said = bool(messages(tried.answer.body.encode()))
    found = explain(operation, payload, known, tried.answer.status, said=said)
    told = {one.field for one in found}
    more = ignored(operation, payload, json_in(tried.answer)) if tried.ok else []
    return found + [one for one in more if one.field not in told]


def _project_of(operation: Operation, rendering: Rendering, context: dict[str, Any]) -> int | None:
    """Return the tracker project of a payload; a template may name another one than the mapping."""
    if operation.from_form:
        return None
    project = context.get("project")
    found = project.get("tracker_project_id") if isinstance(project, dict) else None
    if operation is Operation.ISSUE_CREATE:
        found = rendering.payload["issue"].get("project_id")
    if type(found) is not int:
        raise DryRunRefused(TemplateRefusal.NO_PROJECT_FOR_DRY_RUN())
    return found
