"""Payload templates: edit, preview, test, activate and roll back."""

from __future__ import annotations

import difflib
import json
from typing import Any

from fastapi import Request
from starlette.responses import JSONResponse, Response

from producer.admin.dryrun.results import DryRun
from producer.admin.queries.events import recent_events
from producer.admin.templates.defaults import WITH_TICKET, default_template
from producer.admin.templates.preview import preview as render
from producer.admin.templates.templates import EditedMeanwhile, Template, TemplateRefused
from producer.console.auth.answers import Id, WithServices
from producer.console.auth.visitors import Fields
from producer.console.pages.parts import Form, go, go_back, page_router, show
from producer.console.rendering.addresses import way_back, with_parameters
from producer.http.problems import Problem
from shared.bodies.contexts import NoContext, operation_of
from shared.errors import BridgeError, NotFound, TemplateError
from shared.notices.access import AccessRefusal
from shared.notices.language import said
from shared.notices.render import sentence
from shared.store.configuration.templates import Change
from shared.templating.catalogue import catalogue_for
from shared.templating.operations import Operation, fields_for

router = page_router()
PATH = "/console/templates"
RECENT = 15


@router.get("/templates")
def templates(request: Request, services: WithServices) -> Response:
    """List the templates by operation."""
    found = services.templates.list()
    by_operation = {
        operation: [one for one in found if one.operation is operation] for operation in Operation
    }
    return show(
        request,
        "templates",
        by_operation=by_operation,
        left=services.dry_runs.left(),
        with_ticket=WITH_TICKET,
    )


@router.get("/templates/new")
def new(
    request: Request, services: WithServices, operation: Operation, *, with_ticket: bool = False
) -> Response:
    """Start a template from the standard body, optionally with the ticket's number and a link to the ticket."""
    body = default_template(operation, services.templates.custom_fields(), with_ticket=with_ticket)
    return _editor(request, services, operation, body=body)


@router.post("/templates/new")
def create(request: Request, services: WithServices, form: Form) -> Response:
    """Save a new template, or make a dry run of it."""
    operation = _operation(form.text("operation"))
    body, name = form.raw("body"), form.text("name")
    if form.text("act") == "dryrun":
        return _try(request, services, operation, form, name=name)
    try:
        kept = services.templates.create(operation, name, body, request.state.who)
    except TemplateRefused as refused:
        faults = {field: sentence(problem) for field, problem in refused.faults} or {"": str(refused)}
        return _editor(request, services, operation, body=body, name=name, faults=faults, status=422)
    return go(f"{PATH}/{kept.id}", _saved(kept))


@router.post("/templates/preview")
def preview(services: WithServices, form: Form) -> Response:
    """Return what a body would send, or what is wrong with it."""
    return JSONResponse(
        _previewed(services, _operation(form.text("operation")), form.raw("body"), form.number("event")),
        headers={"Cache-Control": "no-store"},
    )


@router.get("/templates/{template_id}")
def template(
    request: Request, services: WithServices, template_id: Id, version: int | None = None
) -> Response:
    """Show a template in the editor."""
    found = services.templates.show(template_id, version)
    return _editor(request, services, found.operation, body=found.body, template_id=template_id)


@router.post("/templates/{template_id}")
def act(request: Request, services: WithServices, template_id: Id, form: Form) -> Response:
    """Save, test, activate, deactivate or roll back a template, or delete it."""
    who, what, version = request.state.who, form.text("act"), form.number("version")
    here = with_parameters(f"{PATH}/{template_id}", back=way_back(request.query_params.get("back")))
    store = services.templates
    try:
        if what in ("save", "save-activate"):
            based_on, activate = form.number("based_on") or 0, what == "save-activate"
            kept = store.edit(template_id, form.raw("body"), who, based_on=based_on, activate=activate)
            return go_back(request, here, "activated") if activate else go(here, _saved(kept))
        if what == "activate":
            store.activate(template_id, who, version)
            return go_back(request, here, "activated")
        if what == "deactivate":
            store.deactivate(template_id, who)
            return go(here, "deactivated")
        if what == "rollback":
            store.roll_back(template_id, who, version)
            return go(here, "rolled-back")
        if what == "delete":
            store.delete(template_id)
            return go(PATH, "deleted")
    except (TemplateError, TemplateRefused, EditedMeanwhile, NotFound) as refused:
        found = store.show(template_id)
        body = form.raw("body") if form.has("body") else found.body
        faults = {"": str(refused)}
        status = 409 if isinstance(refused, EditedMeanwhile) else 422
        return _editor(
            request,
            services,
            found.operation,
            body=body,
            template_id=template_id,
            faults=faults,
            status=status,
        )
    if what == "dryrun":
        found = store.show(template_id)
        return _try(request, services, found.operation, form, template_id=template_id)
    raise Problem(422, "Not valid", why=AccessRefusal.NOTHING_ASKED_FOR())


@router.get("/templates/{template_id}/compare")
def compare(request: Request, services: WithServices, template_id: Id, old: int, new: int) -> Response:
    """Show the differences between two versions."""
    before, after = services.templates.show(template_id, old), services.templates.show(template_id, new)
    lines = list(difflib.ndiff(before.body.splitlines(), after.body.splitlines()))
    told = [(line[:1], line[2:]) for line in lines if not line.startswith("?")]
    return show(request, "compare", template=after, old=old, new=new, lines=told)


def _saved(kept: Template) -> str:
    """Return the name of the message: a template with a fault is a draft."""
    return "draft" if kept.fault else "saved"


def _operation(text: str) -> Operation:
    try:
        return operation_of(text)
    except NotFound as unknown:
        raise Problem(422, "Not valid", why=unknown.notice) from None


def _previewed(
    services: WithServices, operation: Operation, body: str, event_id: int | None
) -> dict[str, Any]:
    """Return a preview for the editor: the payload, the fault, and remarks."""
    try:
        shown = render(services.store, operation, body, event_id=event_id)
    except TemplateError as fault:
        place = said("Line %(line)d, column %(column)d: %(problem)s") % {
            "line": fault.line,
            "column": fault.column,
            "problem": fault.message,
        }
        told = [{"text": place, "bad": True}]
        return {"payload": "", "fault": {"line": fault.line, "column": fault.column}, "told": told}
    except (NoContext, NotFound) as refused:
        return {"payload": "", "fault": None, "told": [{"text": str(refused), "bad": True}]}
    told = [{"text": one, "bad": False} for one in shown.warnings]
    for label, names in (
        (said("Filled in: %(names)s"), shown.filled_in),
        (said("Left out because they are empty: %(names)s"), shown.pruned),
        (said("Unknown fields, which Redmine may ignore: %(names)s"), shown.unknown),
    ):
        if names:
            told.append({"text": label % {"names": ", ".join(names)}, "bad": False})
    return {"payload": json.dumps(shown.payload, indent=2, ensure_ascii=False), "fault": None, "told": told}


def _try(
    request: Request, services: WithServices, operation: Operation, form: Fields, **shown: Any
) -> Response:
    """Make a dry run, and show its result beside the body."""
    body, event = form.raw("body"), form.number("event")
    try:
        made = services.dry_runs.try_out(operation, body, event_id=event)
    except BridgeError as refused:
        shown |= {"faults": {"": str(refused)}, "status": 422}
    else:
        shown |= {"made": made}
    return _editor(request, services, operation, body=body, event=event, **shown)


def _editor(
    request: Request,
    services: WithServices,
    operation: Operation,
    *,
    body: str,
    template_id: int | None = None,
    name: str = "",
    made: DryRun | None = None,
    faults: dict[str, str] | None = None,
    event: int | None = None,
    status: int = 200,
) -> Response:
    found = services.templates.show(template_id) if template_id else None
    history = services.templates.history(template_id) if template_id else []
    custom_fields = services.templates.custom_fields()
    shown = _previewed(services, operation, body, event)
    saved = [one for one in history if one.what == Change.SAVED]
    return show(
        request,
        "template",
        status=status,
        operation=operation,
        template=found,
        name=name,
        body=body,
        history=history,
        versions=saved,
        variables=catalogue_for(operation, custom_fields).variables,
        fields=fields_for(operation, custom_fields),
        recent=[] if operation.from_form else recent_events(services.store, RECENT),
        event=event,
        shown=shown,
        made=made,
        sentence=sentence,
        faults=faults or {},
    )
