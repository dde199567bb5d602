"""Checks of payload templates: do they render, do they send what the tracker requires, did dry runs leave anything?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from producer.admin.doctor.checks import Group, check
from producer.admin.doctor.finding import CheckResult, ok, warning
from producer.admin.doctor.installation import Installation
from producer.admin.dryrun.run import DryRuns
from producer.admin.records.transaction import Transaction
from shared.bodies.contexts import custom_fields_of, engine_for
from shared.errors import TemplateError
from shared.events.config import PluginConfig
from shared.notices.doctor_setup import Named
from shared.notices.doctor_work import WorkFinding
from shared.notices.hints import Hint
from shared.refusals.custom_field_hints import given_values
from shared.refusals.hints import hints
from shared.refusals.known import Explanation, known_of
from shared.store.configuration.metadata import MetadataKind
from shared.store.configuration.templates import ActiveTemplate
from shared.templating.catalogue import sample
from shared.templating.operations import CustomField, Operation

GONE = (
    Hint.UNKNOWN_CUSTOM_FIELD,
    Hint.UNKNOWN_PRIORITY,
    Hint.UNKNOWN_STATUS,
    Hint.UNKNOWN_ISSUE_TYPE,
    Hint.UNKNOWN_WATCHERS,
    Hint.UNKNOWN_ASSIGNEE,
)
CHOSEN = (Hint.CUSTOM_FIELD_NOT_A_CHOICE,)
CREATING = (Operation.ISSUE_CREATE, Operation.TIME_ENTRY_CREATE)
"""Operations that the worker does by itself; a project's form asks for what is required."""


@check(Group.TEMPLATES, {"templates": "KB-TEMPLATE-001"})
def active(installation: Installation) -> Iterator[CheckResult]:
    """Check that each active template can be rendered."""
    with installation.store.transaction() as tx:
        found = list(tx.templates.active().values())
        faults = [(one, fault) for one in found if isinstance(fault := _payload(tx, one), TemplateError)]
    for template, fault in faults:
        why = WorkFinding.TEMPLATE_NOT_RENDERED(**template.named, problem=fault.notice)
        yield warning("templates", why)
    if found and not faults:
        named = [Named.TEMPLATE_IN_FORCE(operation=str(one.operation), name=one.name) for one in found]
        yield ok("templates", WorkFinding.TEMPLATES_RENDER(templates=named))
    elif not found:
        yield ok("templates", WorkFinding.TEMPLATES_NOT_USED())


@check(Group.TEMPLATES)
def up_to_date(installation: Installation) -> Iterator[CheckResult]:
    """Check that active templates name only what the tracker has: it silently ignores unknown fields or statuses."""
    with installation.store.transaction() as tx:
        known = known_of(tx, None)
        payloads = [(one, _payload(tx, one)) for one in tx.templates.active().values()]
    for template, payload in payloads:
        operation = Operation(template.operation)
        if isinstance(payload, TemplateError):
            continue
        for hint in hints(operation, payload, known):
            if hint.why.code in GONE or (hint.why.code in CHOSEN and _is_literal(template, payload, hint)):
                why = WorkFinding.TEMPLATE_OUT_OF_DATE(
                    **template.named,
                    field=hint.field,
                    problem=hint.why,
                )
                yield warning("templates", why)


def _is_literal(template: ActiveTemplate, payload: dict[str, Any], hint: Explanation) -> bool:
    """Return whether a custom field's value is a literal in the template, and so the same for every ticket."""
    value = given_values(payload[Operation(template.operation).top_key]).get(hint.why.params["field_id"])
    return json.dumps(value, ensure_ascii=False) in template.body


@check(Group.TEMPLATES, {"custom fields": "KB-TRACKER-003"})
def custom_fields(installation: Installation) -> Iterator[CheckResult]:
    """Check that every required custom field is sent."""
    with installation.store.transaction() as tx:
        config, _ = tx.configs.get()
        required = [one for one in custom_fields_of(tx) if _is_required(tx, one, config)]
        active = tx.templates.active()
        sent = {operation: _sent(tx, active.get(operation)) for operation in CREATING}
    missing = [
        (operation, field)
        for operation in CREATING
        for field in required
        if field.belongs_to(operation) and field.id not in sent[operation]
    ]
    for operation in dict.fromkeys(operation for operation, _ in missing):
        named = [
            Named.FIELD_REQUIRED_THERE(id=field.id, name=field.name)
            for of, field in missing
            if of is operation
        ]
        why = WorkFinding.CUSTOM_FIELDS_NOT_SENT(operation=str(operation), fields=named)
        yield warning("custom fields", why)
    if not missing:
        yield ok("custom fields", WorkFinding.CUSTOM_FIELDS_SENT())


@check(Group.TEMPLATES, {"dry runs": "KB-TEMPLATE-002"})
def left_by_dry_runs(installation: Installation) -> Iterator[CheckResult]:
    """Check that dry runs have left nothing on the tracker."""
    left = DryRuns(installation.store, installation.connect).left()
    if left:
        named = [one.notice for one in left[:10]]
        yield warning("dry runs", WorkFinding.DRY_RUNS_LEFT(count=len(left), objects=named))
    else:
        yield ok("dry runs", WorkFinding.DRY_RUNS_CLEANED())


def _is_required(tx: Transaction, field: CustomField, config: PluginConfig) -> bool:
    """Return whether a value must be sent for a field; fields of other issue types than ours are left out."""
    if not field.required or field.default_value is not None:
        return False
    entry = tx.metadata.get(MetadataKind.CUSTOM_FIELD, field.id)
    types = entry.details["tracker_ids"] if entry else ()
    return not types or config.default_tracker_id is None or config.default_tracker_id in types


def _sent(tx: Transaction, template: ActiveTemplate | None) -> set[int]:
    """Return the custom fields that a template fills when it is rendered with the sample."""
    payload = _payload(tx, template) if template else {}
    if not template or isinstance(payload, TemplateError):
        return set()
    return set(given_values(payload[Operation(template.operation).top_key]))


def _payload(tx: Transaction, template: ActiveTemplate) -> dict[str, Any] | TemplateError:
    """Return a template rendered with the sample, or why that fails."""
    operation = Operation(template.operation)
    try:
        return (
            engine_for(operation, tx).render(template.body, sample(operation, custom_fields_of(tx))).payload
        )
    except TemplateError as fault:
        return fault
