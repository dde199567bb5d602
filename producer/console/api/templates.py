"""/api/templates: the template store, the variable catalogue and the field dictionary (SPEC 9.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from producer.admin.dryrun.results import Left
from producer.admin.presenters.shapes import Answer
from producer.admin.templates.defaults import default_template
from producer.admin.templates.templates import Template, TemplateChange
from producer.console.api.routes import RequestBody, api_router
from producer.console.auth.answers import Id, Who, WithServices
from producer.http.problems import refusals
from shared.templating import operations
from shared.templating.catalogue import Variable, catalogue_for
from shared.templating.operations import Operation, fields_for
from shared.values.ids import LARGEST
from shared.values.validation import StrictId

router = api_router("/api/templates", "templates")
Text = Annotated[str, Field(description="The template (docs/reference/templates.md), at most 64 KiB.")]
OfOperation = Annotated[Operation, Query(description="The operation of the templates.")]


class Generated(Answer):
    """A template that sends the standard body."""

    operation: Operation
    body: str


class NewTemplate(RequestBody):
    """A new template; if it is faulty, it is saved as a draft."""

    operation: Operation
    name: Annotated[str, Field(description="Name of the template, unique in its operation.")]
    body: Text


class Edit(RequestBody):
    """A new version of a template."""

    body: Text
    based_on: Annotated[StrictId, Field(description="The version on which the edit is based.")]


class Choice(RequestBody):
    """A version. By default, `activate` uses the newest, and `rollback` the previously active one."""

    version: StrictId | None = None


@router.get("")
def templates(
    services: WithServices,
    operation: Annotated[Operation | None, Query(description="Only templates of this operation.")] = None,
) -> list[Template]:
    """List the templates by operation and name; `fault` is the reason if the newest version is a draft."""
    return services.templates.list(operation)


@router.post("", status_code=201)
def create_template(services: WithServices, who: Who, form: NewTemplate) -> Template:
    """Save a new template without activating it."""
    return services.templates.create(form.operation, form.name, form.body, who)


@router.get("/variables")
def variables(services: WithServices, operation: OfOperation) -> list[Variable]:
    """List the variables that an operation's templates can read."""
    return list(catalogue_for(operation, services.templates.custom_fields()).variables)


@router.get("/fields")
def fields(services: WithServices, operation: OfOperation) -> list[operations.Field]:
    """List the fields that Redmine accepts, with its custom fields."""
    return list(fields_for(operation, services.templates.custom_fields()))


@router.get("/generate")
def generate(services: WithServices, operation: OfOperation, *, with_ticket: bool = False) -> Generated:
    """Return a template that sends the standard body, with Redmine's required custom fields.

    `with_ticket`: include the ticket number and a link to GLPI.
    """
    body = default_template(operation, services.templates.custom_fields(), with_ticket=with_ticket)
    return Generated(operation=operation, body=body)


@router.get("/left")
def left(services: WithServices) -> list[Left]:
    """List objects that dry runs have left in Redmine; they are deleted as soon as possible."""
    return services.dry_runs.left()


@router.get("/{template_id}", responses=refusals(404))
def template(
    services: WithServices,
    template_id: Id,
    version: Annotated[
        int | None, Query(ge=1, le=LARGEST, description="An earlier version instead of the newest.")
    ] = None,
) -> Template:
    """Show a template."""
    return services.templates.show(template_id, version)


@router.put("/{template_id}", responses=refusals(404))
def edit_template(services: WithServices, who: Who, template_id: Id, form: Edit) -> Template:
    """Save a new version; 409 if another user saved one after `based_on`. The active version stays active."""
    return services.templates.edit(template_id, form.body, who, based_on=form.based_on)


@router.delete("/{template_id}", responses=refusals(404), status_code=204)
def delete_template(services: WithServices, template_id: Id) -> Response:
    """Delete a template that is not active."""
    services.templates.delete(template_id)
    return Response(status_code=204)


@router.get("/{template_id}/history", responses=refusals(404))
def history(services: WithServices, template_id: Id) -> Sequence[TemplateChange]:
    """Show the changes of a template, newest first: what, when and by whom."""
    return services.templates.history(template_id)


@router.post("/{template_id}/activate", responses=refusals(404))
def activate(services: WithServices, who: Who, template_id: Id, choice: Choice | None = None) -> Template:
    """Activate a version; it replaces the active template of its operation."""
    version = choice.version if choice else None
    return services.templates.activate(template_id, who, version)


@router.post("/{template_id}/deactivate", responses=refusals(404))
def deactivate(services: WithServices, who: Who, template_id: Id) -> Template:
    """Deactivate a template; the standard body is sent again."""
    return services.templates.deactivate(template_id, who)


@router.post("/{template_id}/rollback", responses=refusals(404))
def roll_back(services: WithServices, who: Who, template_id: Id, choice: Choice | None = None) -> Template:
    """Activate an earlier version again."""
    version = choice.version if choice else None
    return services.templates.roll_back(template_id, who, version)
