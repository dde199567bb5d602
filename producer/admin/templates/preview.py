"""What a template would send, without sending it (SPEC 4.3 "preview")."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from producer.admin.presenters.shapes import Answer, Caution, warnings_json
from producer.admin.records.transaction import Store
from producer.admin.templates.template_values import unfit_values
from shared.bodies.contexts import custom_fields_of, engine_for, preview_context
from shared.events.config import PluginConfig
from shared.events.payloads import roles_beyond
from shared.notices import cautions
from shared.notices.notice import Notice
from shared.templating.operations import CustomField, Operation, fields_for


class Preview(Answer):
    """What a template would send; `unknown` lists fields outside the field dictionary, which Redmine mostly ignores."""

    operation: Operation
    payload: dict[str, Any]
    warnings: list[str]
    cautions: list[Caution]
    filled_in: list[str]
    pruned: list[str]
    unknown: list[str]
    compile_ms: float
    render_ms: float

    printed_last = ("cautions",)

    @property
    def notices(self) -> list[Notice]:
        """The warnings as codes with parameters."""
        return [one.notice for one in self.cautions]


def preview(
    store: Store,
    operation: Operation,
    body: str,
    *,
    event_id: int | None = None,
    context: Mapping[str, Any] | None = None,
) -> Preview:
    """Render a template from a stored event, a given context, or else the sample.

    Args:
        store: the database.
        operation: what the template is for.
        body: the template.
        event_id: an event of the journal.
        context: plain data, in place of an event.

    Raises:
        TemplateError: if the template is faulty.
        NotFound: if there is no such event.
        NoContext: if the operation cannot be rendered from that event.
    """
    with store.transaction() as tx:
        engine, custom_fields = engine_for(operation, tx), custom_fields_of(tx)
        data = preview_context(tx, operation, event_id=event_id, given=context)
        config, _ = tx.configs.get()
    started = time.perf_counter()
    engine.check(body)
    compiled = time.perf_counter()
    rendering = engine.render(body, data)
    ended = time.perf_counter()
    with store.transaction() as tx:
        unfit = [one.notice for one in unfit_values(tx, operation, rendering.payload)]
    warnings = (*rendering.warnings, *unfit, *_refused_roles(operation, rendering.payload, config))
    return Preview(
        operation=operation,
        payload=rendering.payload,
        filled_in=list(rendering.filled_in),
        pruned=list(rendering.pruned),
        unknown=unknown_fields(operation, rendering.payload, custom_fields),
        compile_ms=round((compiled - started) * 1000, 3),
        render_ms=round((ended - compiled) * 1000, 3),
        **warnings_json(warnings),
    )


def _refused_roles(operation: Operation, payload: dict[str, Any], config: PluginConfig) -> list[Notice]:
    """Return a warning if a membership has roles that templates must not give."""
    beyond = roles_beyond(payload, config) if operation is Operation.MEMBERSHIP_CREATE else []
    return [cautions.Caution.ROLES_NOT_ALLOWED(roles=list(beyond))] if beyond else []


def unknown_fields(
    operation: Operation, payload: Mapping[str, Any], custom_fields: tuple[CustomField, ...]
) -> list[str]:
    """Return the fields of a payload that are not in the field dictionary."""
    top = operation.top_key
    known = {field.name for field in fields_for(operation, custom_fields)}
    unknown = [f"{top}.{name}" for name in payload[top] if name not in known]
    if not custom_fields:
        return unknown  # an empty cache cannot tell
    own = {str(field.id) for field in custom_fields if field.belongs_to(operation)}
    named = [str(one.get("id")) for one in payload[top].get("custom_fields", ())]
    named += payload[top].get("custom_field_values", ())
    return unknown + [f"{top}.custom_fields[{one}]" for one in named if one not in own]
