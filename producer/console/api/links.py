"""/api/links: the project and entity forms (SPEC 4.1), and the links they made."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from producer.admin.desk import Desk
from producer.admin.projects.links import all_links, link_with_project, remove_link
from producer.admin.projects.project_forms import FormRefused, ProjectForm
from producer.admin.projects.projects import Made
from producer.admin.showing import shapes
from producer.console.api.routes import api_router
from producer.console.entry.answers import AtDesk, Id, IdOrZero
from producer.web.problems import Problem, refusals
from shared.errors import NotFound
from shared.notices.access import AccessRefusal
from shared.notices.render import sentence
from shared.store.configuration.links import Link, LinkKind
from shared.values.ids import LARGEST

router = api_router("/api/links", "links")


class Refreshed(shapes.Reasoned):
    """Whether the metadata was read after a form."""

    ok: bool
    error: str | None


class LinkMade(shapes.Link):
    """A link, and what making it changed."""

    created: bool
    confirmed: bool
    skipped_events: int
    replayed: bool
    warnings: list[str]
    cautions: list[shapes.Caution]
    metadata: Refreshed


PUT: dict[int | str, dict[str, Any]] = {
    201: {"description": "The tracker project was created.", "model": LinkMade},
    **refusals(404, 502),
}
TrackerId = Annotated[int, Field(ge=1, le=LARGEST, strict=True)]


class LinkForm(BaseModel):
    """Link to an existing tracker project, or create one and link to it."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    tracker_project_id: TrackerId | None = Field(default=None, description="An active tracker project.")
    create: dict[str, Any] | None = Field(
        default=None,
        description="A new project: name, description, is_public, identifier, parent_id, enabled_module_names, "
        "custom_field_values (SPEC 2.3).",
    )
    default_category_id: TrackerId | None = Field(
        default=None,
        description="Category of new issues; left out, a stored one stays, null removes it.",
    )
    replay: bool = Field(default=False, description="Send now what had been skipped for want of this link.")


@router.get("")
def links(desk: AtDesk) -> list[shapes.Link]:
    """List every link, projects first."""
    return [shapes.Link.of(link) for link in all_links(desk.store)]


@router.get("/projects/{helpdesk_id}", responses=refusals(404))
def project_link(desk: AtDesk, helpdesk_id: Id) -> shapes.LinkShown:
    """Show the link of a helpdesk project."""
    return link_with_project(desk.store, LinkKind.PROJECT, helpdesk_id)


@router.get("/entities/{helpdesk_id}", responses=refusals(404))
def entity_link(desk: AtDesk, helpdesk_id: IdOrZero) -> shapes.LinkShown:
    """Show the link of a helpdesk entity."""
    return link_with_project(desk.store, LinkKind.ENTITY, helpdesk_id)


@router.put("/projects/{helpdesk_id}", responses=PUT)
def put_project_link(desk: AtDesk, helpdesk_id: Id, form: LinkForm, response: Response) -> LinkMade:
    """Link a helpdesk project, creating the tracker project where that is asked for; 201 where it was created."""
    return _put(desk, LinkKind.PROJECT, helpdesk_id, form, response)


@router.put("/entities/{helpdesk_id}", responses=PUT)
def put_entity_link(desk: AtDesk, helpdesk_id: IdOrZero, form: LinkForm, response: Response) -> LinkMade:
    """Link a helpdesk entity, creating the tracker project where that is asked for; 201 where it was created."""
    return _put(desk, LinkKind.ENTITY, helpdesk_id, form, response)


@router.delete("/projects/{helpdesk_id}", status_code=204, responses=refusals(404))
def delete_project_link(desk: AtDesk, helpdesk_id: Id) -> Response:
    """Remove the link of a helpdesk project."""
    remove_link(desk.store, LinkKind.PROJECT, helpdesk_id)
    return Response(status_code=204)


@router.delete("/entities/{helpdesk_id}", status_code=204, responses=refusals(404))
def delete_entity_link(desk: AtDesk, helpdesk_id: IdOrZero) -> Response:
    """Remove the link of a helpdesk entity."""
    remove_link(desk.store, LinkKind.ENTITY, helpdesk_id)
    return Response(status_code=204)


def _put(desk: Desk, kind: LinkKind, helpdesk_id: int, form: LinkForm, response: Response) -> LinkMade:
    made = _make(desk, kind, helpdesk_id, form)
    linked = made.linked
    response.status_code = 201 if made.created else 200
    return LinkMade.of(
        linked.link,
        created=made.created,
        confirmed=linked.confirmed,
        skipped_events=linked.events,
        replayed=linked.replayed,
        metadata=Refreshed(ok=bool(made.metadata), **shapes.failure_json(made.metadata.why)),
        **shapes.warnings_json(made.warnings),
    )


def _make(desk: Desk, kind: LinkKind, helpdesk_id: int, form: LinkForm) -> Made:
    if (form.create is None) == (form.tracker_project_id is None):
        raise Problem(422, "Not valid", why=AccessRefusal.PROJECT_OR_CREATE())
    keep = "default_category_id" not in form.model_fields_set
    if form.tracker_project_id is not None:
        link = Link(kind, helpdesk_id, form.tracker_project_id, form.default_category_id)
        try:
            return desk.project_forms.link(link, replay=form.replay, keep_category=keep)
        except NotFound as unknown:
            raise Problem(422, "Not valid", why=unknown.notice) from None
    try:
        wanted = ProjectForm.of(form.create or {})
        return desk.project_forms.create(
            kind,
            helpdesk_id,
            wanted,
            category=form.default_category_id,
            keep_category=keep,
            replay=form.replay,
        )
    except FormRefused as refused:
        faults = [(f"create.{field}" if field else "create", problem) for field, problem in refused.faults]
        told = sentence(AccessRefusal.REQUEST_NOT_VALID())
        raise Problem(422, "Not valid", told, why=refused.notice, faults=faults) from None
