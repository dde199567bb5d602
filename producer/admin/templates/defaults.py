"""The default template of each operation (SPEC 9.1 "Template store"): it renders exactly the 1.x body.

Required custom fields of the tracker are merged in, each with a value that an administrator can then change.
"""

from __future__ import annotations

import json
from typing import Any

from shared.events.payloads import LONGEST_COMMENT, LONGEST_SUBJECT
from shared.templating.operations import CustomField, Operation
from shared.templating.values import TAGS

_DEFAULTS: dict[Operation, dict[str, Any]] = {
    Operation.ISSUE_CREATE: {
        "project_id": "{{project.tracker_project_id}}",
        "subject": f"{{{{ticket.title | one_line | truncate: {LONGEST_SUBJECT}"
        " | default: (prefix ticket.id 'Ticket #')}}",
        "description": "{{ticket.content | plain: ticket.content_format ticket.helpdesk_url"
        " | formatted: config.text_formatting | default: null}}",
        "tracker_id": "{{config.default_tracker_id}}",
        "priority_id": "{{config.default_priority_id}}",
        "status_id": "{{status.mapped_id}}",
        "category_id": "{{project.default_category_id}}",
        "watcher_user_ids": "{{config.default_watcher_ids | default: null}}",
    },
    Operation.ISSUE_UPDATE_STATUS: {"status_id": "{{status.mapped_id}}"},
    Operation.TIME_ENTRY_CREATE: {
        "issue_id": "{{issue.id}}",
        "hours": "{{task.actiontime | hours}}",
        "comments": "{{task.content | plain: task.content_format task.helpdesk_url"
        " | default: (prefix ticket.id 'Work on helpdesk ticket #')"
        f" | truncate: {LONGEST_COMMENT} '…'}}}}",
        "activity_id": "{{config.default_activity_id}}",
        "spent_on": "{{#if (eq config.spent_on 'task_date')}}{{task.date}}{{/if}}",
    },
    Operation.NOTE_CREATE: {
        "notes": "{{note.content | plain: note.content_format note.helpdesk_url"
        " | formatted: config.text_formatting}}",
        "private_notes": "{{note.is_private}}",
    },
    Operation.PROJECT_CREATE: {
        "name": "{{form.name}}",
        "identifier": "{{form.identifier | lower}}",
        "description": "{{form.description}}",
        "is_public": "{{form.is_public}}",
        "parent_id": "{{form.parent_id}}",
        "enabled_module_names": "{{form.enabled_module_names}}",
        "custom_field_values": "{{form.custom_field_values | default: null}}",
    },
    Operation.MEMBERSHIP_CREATE: {
        "user_id": "{{person.tracker_user_id}}",
        "role_ids": ["{{config.default_role_id}}"],
    },
}
WITH_TICKET: dict[Operation, dict[str, Any]] = {
    Operation.ISSUE_CREATE: {
        "subject": "[GLPI {{ticket.id}}] {{ticket.title | one_line | truncate: 220}}",
        "description": "{{#if ticket.url}}{{ticket.url}}\n\n{{/if}}"
        "{{ticket.content | plain: ticket.content_format ticket.helpdesk_url | formatted: config.text_formatting}}",
    },
    Operation.TIME_ENTRY_CREATE: {
        "comments": "GLPI {{ticket.id}}: {{task.content | plain: task.content_format task.helpdesk_url"
        " | default: 'Work' | truncate: 990 '…'}}"
    },
}
"""Fields with the ticket's number and a link back to it. Without a # before the number: that would mean an issue."""
MOST_NAMED = TAGS - len(_DEFAULTS[Operation.PROJECT_CREATE]) + 1
"""If there are more fields than tags left, the form's map is used as it is; the form asks for required fields."""
_SEEDS = {
    "date": "{{event.occurred_at | date}}",
    "user": "{{person.tracker_user_id | string}}",
    "bool": "0",
    "int": "0",
    "float": "0",
}


def default_template(
    operation: Operation | str, custom_fields: tuple[CustomField, ...] = (), *, with_ticket: bool = False
) -> str:
    """Return an operation's default template.

    Args:
        operation: one of OPERATIONS.
        custom_fields: the tracker's, from the metadata cache; those that the operation requires are merged in.
        with_ticket: include the ticket's number, and a link back to the help desk if the event has its address.

    Returns:
        JSON with tags, laid out for people.

    Raises:
        ValueError: if there is no such operation.
    """
    operation = Operation(operation)
    body = dict(_DEFAULTS[operation]) | (WITH_TICKET.get(operation, {}) if with_ticket else {})
    own = [field for field in custom_fields if field.belongs_to(operation)]
    if any(field.required for field in own):
        if operation.from_form and len(own) <= MOST_NAMED:
            # The form's whole map cannot be merged with defaults, so each field that may be in it is named.
            body["custom_field_values"] = {str(field.id): _from_form(field) for field in own}
        elif not operation.from_form:
            body["custom_fields"] = [{"id": one.id, "value": _seed(one)} for one in own if one.required]
    return json.dumps({operation.top_key: body}, indent=2, ensure_ascii=False) + "\n"


def _from_form(field: CustomField) -> str:
    path = f"form.custom_field_values.{field.id}"
    preset = field.default_value or next(iter(field.possible_values), None)
    if not field.required or preset is None:
        return f"{{{{{path}}}}}"
    return f"{{{{{path} | default: {_quoted(preset)}}}}}"


def _seed(field: CustomField) -> Any:
    preset = field.default_value or next(iter(field.possible_values), None)
    value = (
        _escaped(preset) if preset else _SEEDS.get(field.field_format, "{{ticket.id | prefix: 'Ticket #'}}")
    )
    return [value] if field.multiple else value


def _quoted(text: str) -> str:
    """Return a text as a literal inside a tag."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _escaped(text: str) -> str:
    """Return a text for use outside tags, in which a literal {{ keeps its meaning."""
    return f"{{{{{_quoted(text)}}}}}" if "{{" in text else text
