"""Payload templates: can those in force be rendered, do they send what the tracker requires, is anything left?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from producer.admin.doctor.finding import Finding, ok, warning
from producer.admin.doctor.patient import Patient
from producer.admin.dryrun.run import DryRuns
from shared.bodies.contexts import custom_fields_of, engine_for
from shared.config import PluginConfig
from shared.errors import TemplateError
from shared.refusals.custom_field_hints import given_values
from shared.store import Transaction
from shared.store.metadata import MetadataKind
from shared.store.templates import ActiveTemplate
from shared.templating import Operation
from shared.templating.contexts import sample
from shared.templating.operations import CustomField

CREATING = (Operation.ISSUE_CREATE, Operation.TIME_ENTRY_CREATE)
"""Operations that the worker makes alone; a project's form asks for what is required."""


def in_force(patient: Patient) -> Iterator[Finding]:
    """Each template in force can be rendered."""
    with patient.store.transaction() as tx:
        found = list(tx.templates.active().values())
        faults = [(one, fault) for one in found if isinstance(fault := _payload(tx, one), TemplateError)]
    for template, fault in faults:
        yield warning(
            "templates",
            f"{template} for {template.operation} cannot be rendered, so the standard body is sent: {fault}",
            f"`deskbridge template preview {template.id}`, mend it, or `deskbridge template rollback {template.id}`",
        )
    if not faults:
        told = ", ".join(f"{one.operation} ({one.name})" for one in found)
        yield ok(
            "templates", f"in force: {told}" if found else "none in force: every body is the standard one"
        )


def custom_fields(patient: Patient) -> Iterator[Finding]:
    """No custom field is required that is not sent."""
    with patient.store.transaction() as tx:
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
        names = ", ".join(f"{field.id} ({field.name})" for of, field in missing if of is operation)
        yield warning(
            "custom fields",
            f"{operation} lacks required custom fields: {names}",
            f"give them a default value on the tracker, or activate a template for {operation} "
            f"(`deskbridge template generate --operation {operation}`)",
        )
    if not missing:
        yield ok("custom fields", "whatever is required is sent, or has a default value")


def left_by_dry_runs(patient: Patient) -> Iterator[Finding]:
    """Dry runs have left nothing on the tracker."""
    left = DryRuns(patient.store, patient.connect).left()
    if left:
        told = "; ".join(map(str, left[:10]))
        todo = "delete it on the tracker, or wait: the sweep tries again"
        yield warning("dry runs", f"{len(left)} left on the tracker: {told}", todo)
    else:
        yield ok("dry runs", "nothing is left of them on the tracker")


def _is_required(tx: Transaction, field: CustomField, config: PluginConfig) -> bool:
    """Tell whether something must be sent for a field; one of other issue types than ours is left out."""
    if not field.required or field.default_value is not None:
        return False
    entry = tx.metadata.get(MetadataKind.CUSTOM_FIELD, field.id)
    types = entry.details["tracker_ids"] if entry else ()
    return not types or config.default_tracker_id is None or config.default_tracker_id in types


def _sent(tx: Transaction, template: ActiveTemplate | None) -> set[int]:
    """Return the custom fields that a template fills, by the sample."""
    payload = _payload(tx, template) if template else {}
    if not template or isinstance(payload, TemplateError):
        return set()
    return set(given_values(payload[Operation(template.operation).top_key]))


def _payload(tx: Transaction, template: ActiveTemplate) -> dict[str, Any] | TemplateError:
    """Return what a template makes of the sample, or why it makes nothing."""
    operation = Operation(template.operation)
    try:
        return (
            engine_for(operation, tx).render(template.body, sample(operation, custom_fields_of(tx))).payload
        )
    except TemplateError as fault:
        return fault


CHECKS = (in_force, custom_fields, left_by_dry_runs)
