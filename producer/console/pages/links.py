"""Project mappings: the forms for a help desk project or entity (SPEC 4.1)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Request
from starlette.responses import Response

from producer.admin.configuration.metadata import names
from producer.admin.people.people import find_tracker_users
from producer.admin.projects.mappings import (
    OF_THE_CATEGORY,
    find_mapping,
    named_mappings,
    remove_mapping,
    skipped_for,
)
from producer.admin.projects.project_forms import FormRefused, fields_of_projects
from producer.admin.projects.projects import ProjectInDoubt
from producer.admin.projects.requests import LinkForm, LinkRefused
from producer.console.auth.answers import WithServices
from producer.console.auth.visitors import Fields
from producer.console.pages.parts import Form, go, go_back, page_router, paginate, show
from producer.http.problems import Problem
from shared.errors import LockBusy, NotFound, SettingsError, TrackerError
from shared.notices.invalid import Invalid
from shared.notices.refusals import Refusal
from shared.notices.render import sentence
from shared.store.configuration.mappings import MappingKind
from shared.store.configuration.metadata import MetadataKind
from shared.values.ids import LARGEST, read_id

router = page_router()
PATH = "/console/links"
MODULES = (
    "issue_tracking",
    "time_tracking",
    "news",
    "documents",
    "files",
    "wiki",
    "repository",
    "boards",
    "calendar",
    "gantt",
)
MOST_PEOPLE = 200
CUSTOM = "custom_field_values."
HelpdeskId = Annotated[int, Path(ge=0, le=LARGEST)]


@router.get("/links")
def links(
    request: Request, services: WithServices, kind: str = "entity", find: str = "", after: int = 0
) -> Response:
    """List the mappings of entities, or of projects."""
    return _list(request, services, kind, find, after)


def _list(
    request: Request,
    services: WithServices,
    kind: str,
    find: str = "",
    after: int = 0,
    *,
    wrong: str | None = None,
) -> Response:
    shown = MappingKind.PROJECT if kind == "project" else MappingKind.ENTITY
    found = named_mappings(services.store, shown)
    projects, text = found.projects, find.strip().lower()
    rows = [
        one
        for one in found.mappings
        if not text
        or text
        in f"{services.names.numbered(str(shown), one.helpdesk_id)} {projects.get(one.tracker_project_id, '')}".lower()
    ]
    return show(
        request,
        "links",
        **paginate(rows, after, PATH, kind=kind, find=find),
        kind=shown,
        kinds=(MappingKind.ENTITY, MappingKind.PROJECT),
        names=projects,
        categories=found.categories,
        find=find.strip(),
        total=len(found.mappings),
        wrong=wrong,
        status=200 if wrong is None else 422,
    )


@router.get("/links/open")
def open_form(request: Request, services: WithServices) -> Response:
    """Redirect to the form of the help desk project or entity whose number was typed."""
    kind = "project" if request.query_params.get("kind") == "project" else "entity"
    asked = (request.query_params.get("id") or "").strip()
    number = read_id(asked)
    if number is not None:
        return go(f"{PATH}/{kind}/{number}")
    return _list(request, services, kind, wrong=asked[:200])


@router.get("/links/{kind}/{helpdesk_id}")
def form_page(
    request: Request, services: WithServices, kind: MappingKind, helpdesk_id: HelpdeskId
) -> Response:
    """Show the form of a help desk project or entity."""
    _check(kind, helpdesk_id)
    return _show(request, services, kind, helpdesk_id)


@router.post("/links/{kind}/{helpdesk_id}")
def save(
    request: Request, services: WithServices, kind: MappingKind, helpdesk_id: HelpdeskId, form: Form
) -> Response:
    """Map to an existing project, or create one and map to it; the metadata is read afterwards."""
    _check(kind, helpdesk_id)
    status = 422
    try:
        made = _filled(services, form).carry_out(services.project_forms, kind, helpdesk_id)
        did = "created" if form.text("how") == "new" else "linked" if made.linked.confirmed else "unconfirmed"
        sent = len(made.linked.tickets) if made.linked.replayed else None
        return go_back(request, f"{PATH}?kind={kind}", did, sent=sent or None, of=f"{kind}:{helpdesk_id}")
    except LinkRefused as refused:
        of_category = refused.notice.code in OF_THE_CATEGORY
        faults = {"default_category_id" if of_category else "tracker_project_id": str(refused)}
    except FormRefused as refused:
        faults = {field: sentence(problem) for field, problem in refused.faults}
    except (SettingsError, TrackerError, ProjectInDoubt, LockBusy) as failure:
        faults, status = {"": str(failure)}, 503 if isinstance(failure, (ProjectInDoubt, LockBusy)) else 502
    return _show(request, services, kind, helpdesk_id, form=form, faults=faults, status=status)


@router.post("/links/{kind}/{helpdesk_id}/remove")
def remove(services: WithServices, kind: MappingKind, helpdesk_id: HelpdeskId) -> Response:
    """Remove a mapping."""
    try:
        remove_mapping(services.store, kind, helpdesk_id)
    except NotFound:
        return go(f"{PATH}?kind={kind}", "unchanged")
    return go(f"{PATH}?kind={kind}", "unlinked")


def _check(kind: MappingKind, helpdesk_id: int) -> None:
    if kind is MappingKind.PROJECT and helpdesk_id == 0:
        raise Problem(404, "Not found", why=Refusal.HELPDESK_PROJECT_ZERO())


def _filled(services: WithServices, form: Fields) -> LinkForm:
    """Return the request that a form describes.

    Raises:
        FormRefused: if no project was chosen.
    """
    replay = form.has("replay")
    if form.text("how") == "new":
        return LinkForm(create=_project(services, form), replay=replay)
    project_id = form.number("tracker_project_id")
    if not project_id:
        raise FormRefused([("tracker_project_id", Invalid.PROJECT_NOT_CHOSEN())])
    category = form.number("default_category_id")
    return LinkForm(tracker_project_id=project_id, default_category_id=category or None, replay=replay)


def _project(services: WithServices, form: Fields) -> dict[str, Any]:
    """Return the new project that a form describes."""
    return {
        "name": form.text("name"),
        "identifier": form.text("identifier"),
        "description": form.raw("description").strip() or None,
        "is_public": form.has("is_public"),
        "parent_id": form.number("parent_id"),
        "enabled_module_names": form.all("enabled_module_names") if form.has("choose_modules") else None,
        "custom_field_values": _custom_values(services, form),
    }


def _custom_values(services: WithServices, form: Fields) -> dict[str, Any]:
    several = {str(one.tracker_id) for one in fields_of_projects(services.store) if one.details["multiple"]}
    given = form.under(CUSTOM)
    values: dict[str, Any] = {}
    for name, found in given.items():
        filled = [one.strip() for one in found if one.strip()]
        if filled:
            values[name] = filled if name in several else filled[-1]
    return values


def _show(
    request: Request,
    services: WithServices,
    kind: MappingKind,
    helpdesk_id: int,
    *,
    form: Fields | None = None,
    faults: dict[str, str] | None = None,
    status: int = 200,
) -> Response:
    store, fields = services.store, fields_of_projects(services.store)
    link = find_mapping(store, kind, helpdesk_id)
    chosen = form.number("tracker_project_id") if form else link.tracker_project_id if link else None
    category = form.number("default_category_id") if form else link.default_category_id if link else None
    parent = form.number("parent_id") if form else None
    names_people = any(one.details["field_format"] == "user" for one in fields)
    return show(
        request,
        "link",
        status=status,
        kind=kind,
        helpdesk_id=helpdesk_id,
        link=link,
        skipped=skipped_for(store, kind, helpdesk_id),
        chosen=chosen,
        category=category,
        parent=parent,
        names=names(store, MetadataKind.PROJECT, {one for one in (chosen, parent) if one}),
        categories=names(store, MetadataKind.CATEGORY, [category]) if category else {},
        fields=fields,
        people=find_tracker_users(store, "", MOST_PEOPLE) if names_people else [],
        modules=MODULES,
        typed=form,
        faults=faults or {},
    )
