"""/api/templates: the template store, the variable catalogue and the field dictionary (SPEC 9.1)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from producer.admin.templates.defaults import default_template
from producer.admin.templates.template_shapes import (
    change_json,
    field_json,
    left_json,
    template_json,
    variable_json,
)
from producer.console.api import models
from producer.console.api.routes import api_router
from producer.console.entry.answers import AtDesk, Id, Who
from producer.web.problems import refusals
from shared.templating.catalogue import catalogue_for
from shared.templating.operations import Operation, fields_for
from shared.values.ids import LARGEST

router = api_router("/api/templates", "templates")
Version = Annotated[int, Field(ge=1, le=LARGEST, strict=True)]
Text = Annotated[str, Field(description="The template (docs/reference/templates.md), at most 64 KiB.")]
OfOperation = Annotated[Operation, Query(description="What the templates are for.")]


class NewTemplate(BaseModel):
    """A template to be kept; a faulty one is kept as a draft."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    operation: Operation
    name: Annotated[str, Field(description="For people; unique among the operation's.")]
    body: Text


class Edit(BaseModel):
    """A new version of a template."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    body: Text
    based_on: Annotated[Version, Field(description="The version that was edited.")]


class Choice(BaseModel):
    """Which version; the newest (to activate) or the one in force before (to roll back) unless named."""

    model_config = ConfigDict(extra="forbid")

    version: Version | None = None


@router.get("", response_model=list[models.Template])
def templates(
    desk: AtDesk, operation: Annotated[Operation | None, Query(description="Only of this operation.")] = None
) -> Any:
    """List the templates, by operation and name; `fault` says why a newest version is a draft."""
    return [template_json(one) for one in desk.templates.list(operation)]


@router.post("", status_code=201, response_model=models.Template)
def create_template(desk: AtDesk, who: Who, form: NewTemplate) -> Any:
    """Keep a new template; it is not in force before it is activated."""
    return template_json(desk.templates.create(form.operation, form.name, form.body, who))


@router.get("/variables", response_model=list[models.Variable])
def variables(desk: AtDesk, operation: OfOperation) -> Any:
    """List the variables that an operation's templates can read."""
    return [variable_json(one) for one in catalogue_for(operation, desk.templates.custom_fields()).variables]


@router.get("/fields", response_model=list[models.Field])
def fields(desk: AtDesk, operation: OfOperation) -> Any:
    """List the fields that the tracker takes, with its own custom fields."""
    return [field_json(one) for one in fields_for(operation, desk.templates.custom_fields())]


@router.get("/generate", response_model=models.Generated)
def generate(desk: AtDesk, operation: OfOperation, *, with_ticket: bool = False) -> Any:
    """Return a template that sends the standard body, with the tracker's required custom fields.

    `with_ticket`: with the ticket's number and a link back to the helpdesk.
    """
    body = default_template(operation, desk.templates.custom_fields(), with_ticket=with_ticket)
    return {"operation": operation, "body": body}


@router.get("/left", response_model=list[models.Left])
def left(desk: AtDesk) -> Any:
    """List what dry runs have left on the tracker; it is deleted as soon as that can be done."""
    return [left_json(one) for one in desk.dry_runs.left()]


@router.get("/{template_id}", responses=refusals(404), response_model=models.Template)
def template(
    desk: AtDesk,
    template_id: Id,
    version: Annotated[int | None, Query(ge=1, le=LARGEST, description="An earlier version.")] = None,
) -> Any:
    """Show a template."""
    return template_json(desk.templates.show(template_id, version))


@router.put("/{template_id}", responses=refusals(404), response_model=models.Template)
def edit_template(desk: AtDesk, who: Who, template_id: Id, form: Edit) -> Any:
    """Keep a new version; 409 where somebody else saved one after `based_on`. What is in force stays in force."""
    return template_json(desk.templates.edit(template_id, form.body, who, based_on=form.based_on))


@router.delete("/{template_id}", responses=refusals(404), status_code=204)
def delete_template(desk: AtDesk, template_id: Id) -> Response:
    """Delete a template that is not active."""
    desk.templates.delete(template_id)
    return Response(status_code=204)


@router.get("/{template_id}/history", responses=refusals(404), response_model=list[models.TemplateChange])
def history(desk: AtDesk, template_id: Id) -> Any:
    """Tell what was done to a template, when and by whom; newest first."""
    return [change_json(one) for one in desk.templates.history(template_id)]


@router.post("/{template_id}/activate", responses=refusals(404), response_model=models.Template)
def activate(desk: AtDesk, who: Who, template_id: Id, choice: Choice | None = None) -> Any:
    """Put a version in force, in place of whatever was in force for the operation."""
    version = choice.version if choice else None
    return template_json(desk.templates.activate(template_id, who, version))


@router.post("/{template_id}/deactivate", responses=refusals(404), response_model=models.Template)
def deactivate(desk: AtDesk, who: Who, template_id: Id) -> Any:
    """Take a template out of force: the standard body is sent again."""
    return template_json(desk.templates.deactivate(template_id, who))


@router.post("/{template_id}/rollback", responses=refusals(404), response_model=models.Template)
def roll_back(desk: AtDesk, who: Who, template_id: Id, choice: Choice | None = None) -> Any:
    """Put an earlier version in force again."""
    version = choice.version if choice else None
    return template_json(desk.templates.roll_back(template_id, who, version))
