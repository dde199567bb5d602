"""Bodies of temporary issues and projects: minimal, but with the custom fields that the tracker requires."""

from __future__ import annotations

from typing import Any

from producer.admin.dryrun.results import DryRunRefused
from shared.events.config import PluginConfig
from shared.events.payloads import Body
from shared.notices.templates import TemplateRefusal
from shared.refusals.custom_field_hints import fields_of, is_missing
from shared.refusals.known import KnownMetadata
from shared.store.configuration.metadata import Entry

ANY_VALUE = {"bool": "0", "int": "1", "float": "1", "date": "2000-01-01"}
TEXTS = ("string", "text", "link")
TEXT = "deskbridge dry run"


def temporary_issue(mark: str, tracker_project_id: int, known: KnownMetadata, config: PluginConfig) -> Body:
    """Return the body of a temporary issue, on which something is tried.

    Args:
        mark: its whole subject.
        tracker_project_id: the project in which it is created.
        known: the cached metadata.
        config: the Redmine settings.

    Raises:
        DryRunRefused: if the tracker requires a custom field for which no value can be chosen here.
    """
    issue: dict[str, Any] = {"project_id": tracker_project_id, "subject": mark}
    for name, value in (
        ("tracker_id", config.default_tracker_id),
        ("priority_id", config.default_priority_id),
    ):
        if value is not None:
            issue[name] = value
    required = _required(known, "issue", config.default_tracker_id)
    if required:
        issue["custom_fields"] = [
            {"id": one.tracker_id, "value": _any_value(one, "issue")} for one in required
        ]
    return {"issue": issue}


def temporary_project(mark: str, known: KnownMetadata) -> Body:
    """Return the body of a temporary project, private and without modules, to which a member is added.

    Args:
        mark: its identifier and name.
        known: the cached metadata.

    Raises:
        DryRunRefused: as `temporary_issue`.
    """
    required = _required(known, "project", None)
    project: dict[str, Any] = {
        "name": mark,
        "identifier": mark,
        "is_public": False,
        "enabled_module_names": [],
    }
    if required:
        project["custom_field_values"] = {str(one.tracker_id): _any_value(one, "project") for one in required}
    return {"project": project}


def _required(known: KnownMetadata, customized_type: str, issue_type_id: int | None) -> list[Entry]:
    return [one for one in fields_of(known, customized_type, issue_type_id) if is_missing(one)]


def _any_value(field: Entry, noun: str) -> Any:
    """Return any value that a field accepts."""
    kind = field.details["field_format"]
    choices = [one["value"] for one in field.details["possible_values"]]
    value = next(iter(choices), None) or ANY_VALUE.get(kind) or (TEXT if kind in TEXTS else None)
    if value is None:
        raise DryRunRefused(TemplateRefusal.TEMPORARY_NOT_FILLED(kind=noun, name=field.name, format=kind))
    return [value] if field.details["multiple"] else value
