"""/api/links: the project and entity forms (SPEC 4.1), and the mappings that they created."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from producer.admin.presenters import shapes
from producer.admin.projects.mappings import all_mappings, mapping_with_project, named_mapping, remove_mapping
from producer.admin.projects.project_forms import FormRefused
from producer.admin.projects.requests import LinkForm
from producer.admin.services import Services
from producer.console.api.routes import api_router
from producer.console.auth.answers import Id, IdOrZero, WithServices
from producer.http.problems import Problem, refusals
from shared.notices.access import AccessRefusal
from shared.notices.render import sentence
from shared.store.configuration.mappings import MappingKind

router = api_router("/api/links", "links")


class Refreshed(shapes.Reasoned):
    """Whether the metadata sync after the change succeeded."""

    ok: bool
    error: str | None


class LinkMade(shapes.Link):
    """A mapping, and what its creation changed."""

    created: bool
    confirmed: bool
    skipped_events: int
    replayed: bool
    warnings: list[str]
    cautions: list[shapes.Caution]
    metadata: Refreshed


PUT: dict[int | str, dict[str, Any]] = {
    201: {"description": "The Redmine project was created.", "model": LinkMade},
    **refusals(404, 502),
}


@router.get("")
def links(services: WithServices) -> list[shapes.LinkNamed]:
    """List all project mappings, those of GLPI projects first."""
    return [named_mapping(services.names, link) for link in all_mappings(services.store)]


@router.get("/projects/{helpdesk_id}", responses=refusals(404))
def project_link(services: WithServices, helpdesk_id: Id) -> shapes.LinkShown:
    """Show the mapping of a GLPI project."""
    return mapping_with_project(services.store, services.names, MappingKind.PROJECT, helpdesk_id)


@router.get("/entities/{helpdesk_id}", responses=refusals(404))
def entity_link(services: WithServices, helpdesk_id: IdOrZero) -> shapes.LinkShown:
    """Show the mapping of a GLPI entity."""
    return mapping_with_project(services.store, services.names, MappingKind.ENTITY, helpdesk_id)


@router.put("/projects/{helpdesk_id}", responses=PUT)
def put_project_link(services: WithServices, helpdesk_id: Id, form: LinkForm, response: Response) -> LinkMade:
    """Map a GLPI project to an existing or a new Redmine project; 201 if the Redmine project was created."""
    return _put(services, MappingKind.PROJECT, helpdesk_id, form, response)


@router.put("/entities/{helpdesk_id}", responses=PUT)
def put_entity_link(
    services: WithServices, helpdesk_id: IdOrZero, form: LinkForm, response: Response
) -> LinkMade:
    """Map a GLPI entity to an existing or a new Redmine project; 201 if the Redmine project was created."""
    return _put(services, MappingKind.ENTITY, helpdesk_id, form, response)


@router.delete("/projects/{helpdesk_id}", status_code=204, responses=refusals(404))
def delete_project_link(services: WithServices, helpdesk_id: Id) -> Response:
    """Remove the mapping of a GLPI project."""
    remove_mapping(services.store, MappingKind.PROJECT, helpdesk_id)
    return Response(status_code=204)


@router.delete("/entities/{helpdesk_id}", status_code=204, responses=refusals(404))
def delete_entity_link(services: WithServices, helpdesk_id: IdOrZero) -> Response:
    """Remove the mapping of a GLPI entity."""
    remove_mapping(services.store, MappingKind.ENTITY, helpdesk_id)
    return Response(status_code=204)


def _put(
    services: Services, kind: MappingKind, helpdesk_id: int, form: LinkForm, response: Response
) -> LinkMade:
    try:
        made = form.carry_out(services.project_forms, kind, helpdesk_id)
    except FormRefused as refused:
        faults = [(f"create.{field}" if field else "create", problem) for field, problem in refused.faults]
        told = sentence(AccessRefusal.REQUEST_NOT_VALID())
        raise Problem(422, "Not valid", told, why=refused.notice, faults=faults) from None
    linked = made.linked
    response.status_code = 201 if made.created else 200
    return LinkMade.of(
        linked.mapping,
        created=made.created,
        confirmed=linked.confirmed,
        skipped_events=linked.events,
        replayed=linked.replayed,
        metadata=Refreshed(ok=bool(made.metadata), **shapes.failure_json(made.metadata.why)),
        **shapes.warnings_json(made.warnings),
    )
