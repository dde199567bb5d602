"""/ajax/template_test.php: try a template before it is activated (SPEC 4.3); the path is the help desk's own."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import Field

from producer.admin.dryrun.results import DryRun
from producer.admin.records.rights import Right
from producer.admin.services import Services
from producer.admin.templates import preview as previews
from producer.admin.templates.preview import Preview
from producer.console.api.routes import RequestBody, api_router
from producer.console.auth.answers import WithServices
from producer.console.auth.rights import require
from producer.http.problems import Problem, refusals
from shared.notices.access import AccessRefusal
from shared.notices.invalid import Invalid
from shared.templating.operations import Operation
from shared.values.ids import LARGEST
from shared.values.validation import StrictId

router = api_router("/ajax", "templates")
QueryNumber = Annotated[int | None, Query(ge=1, le=LARGEST)]


class Action(StrEnum):
    """The kind of test."""

    PREVIEW = "preview"
    DRYRUN = "dryrun"


class Trial(RequestBody):
    """A template and the data to render it with: an event, a context, or by default the sample.

    The template is `body` with its `operation`, or the newest version of `template_id`.
    """

    operation: Operation | None = None
    body: str | None = None
    template_id: StrictId | None = None
    event_id: StrictId | None = Field(default=None, description="Id of an event in the journal.")
    context: dict[str, Any] | None = Field(default=None, description="Values of the variables.")


@router.post("/template_test.php", responses=refusals(404, 502))
def try_template(services: WithServices, request: Request, action: Action, trial: Trial) -> Preview | DryRun:
    """Preview a template, or make a dry run of it.

    A preview returns `payload`, `warnings`, `filled_in`, `pruned`, `unknown` fields, `compile_ms` and `render_ms`.
    A dry run creates the object in Redmine as the API user and deletes it again. It returns Redmine's `status` and
    `answer` unchanged, `ok`, `hints` (each with an article), `created`, `deleted`, and `left`: the objects that are not
    deleted yet. If the template is faulty, the answer is 422 with `line` and `column`.
    """
    operation, body = _template(services, trial)
    if trial.event_id is not None and trial.context is not None:
        raise Problem(422, "Not valid", why=AccessRefusal.EVENT_OR_CONTEXT())
    if action is Action.PREVIEW:
        return previews.preview(
            services.store, operation, body, event_id=trial.event_id, context=trial.context
        )
    require(request, Right.ADMINISTRATOR)
    return services.dry_runs.try_out(operation, body, event_id=trial.event_id, context=trial.context)


@router.get("/template_test.php", responses=refusals(404, 405), response_model=Preview)
def preview_template(
    services: WithServices,
    request: Request,
    action: Annotated[Action, Query()],
    operation: Annotated[Operation | None, Query()] = None,
    body: Annotated[str | None, Query()] = None,
    template_id: QueryNumber = None,
    event_id: QueryNumber = None,
) -> Any:
    """Preview a template; a dry run needs POST, because it changes Redmine."""
    if action is not Action.PREVIEW:
        raise Problem(
            405,
            "Not by GET",
            why=AccessRefusal.DRY_RUN_BY_GET(),
            headers={"Allow": "POST"},
        )
    trial = Trial(operation=operation, body=body, template_id=template_id, event_id=event_id)
    return try_template(services, request, action, trial)


def _template(services: Services, trial: Trial) -> tuple[Operation, str]:
    """Return the operation and the body to try."""
    if trial.template_id is not None and trial.body is None:
        found = services.templates.show(trial.template_id)
        if trial.operation not in (None, found.operation):
            other = Invalid.TEMPLATE_OF_ANOTHER(template_id=found.id, operation=str(found.operation))
            raise Problem(
                422, "Not valid", why=AccessRefusal.REQUEST_NOT_VALID(), faults=[("operation", other)]
            )
        return found.operation, found.body
    if trial.body is None or trial.operation is None or trial.template_id is not None:
        raise Problem(422, "Not valid", why=AccessRefusal.OPERATION_AND_BODY())
    return trial.operation, trial.body
