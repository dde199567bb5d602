"""Three template engines before the same work: from one context to one request body, nulls left out.

Deskbridge's templates are JSON and give values; the other two give text, so each of their values is written as JSON
and the whole is read by `json.loads`, which is how people make JSON with them. Filters are each engine's own. The
filter `plain` is in none of the templates: it is the same function for all, and would hide the engines behind it.
"""

from __future__ import annotations

import json
from typing import Any

import chevron
from chevron.tokenizer import tokenize
from jinja2.sandbox import SandboxedEnvironment

from shared.events.text import cut
from shared.templating.catalogue import Context, catalogue_for
from shared.templating.operations import Operation
from shared.templating.render import Engine

Payload = dict[str, Any]

DESKBRIDGE = """{"issue": {
  "project_id": "{{project.tracker_project_id}}",
  "subject": "[{{ticket.id}}] {{ticket.title | trim | truncate: 240}}",
  "description": "{{ticket.content | default: 'none' | replace: '<p>' ' '}}",
  "tracker_id": "{{config.default_tracker_id}}",
  "priority_id": "{{config.default_priority_id}}",
  "status_id": "{{status.mapped_id}}",
  "category_id": "{{project.default_category_id}}",
  "watcher_user_ids": "{{config.default_watcher_ids}}",
  "custom_fields": [{"id": 7, "value": "{{ticket.technician.email | upper}}"}]
}}"""
JINJA2 = """{"issue": {
  "project_id": {{ project.tracker_project_id | tojson }},
  "subject": {{ ("[" ~ ticket.id ~ "] " ~ ticket.title | trim | truncate(240, true, "", 0)) | tojson }},
  "description": {{ ticket.content | default("none", true) | replace("<p>", " ") | tojson }},
  "tracker_id": {{ config.default_tracker_id | tojson }},
  "priority_id": {{ config.default_priority_id | tojson }},
  "status_id": {{ status.mapped_id | tojson }},
  "category_id": {{ project.default_category_id | tojson }},
  "watcher_user_ids": {{ config.default_watcher_ids | tojson }},
  "custom_fields": [{"id": 7, "value": {{ ticket.technician.email | upper | tojson }}}]
}}"""
CHEVRON = """{"issue": {
  "project_id": {{{project_id}}},
  "subject": "[{{{ticket_id}}}] {{{title}}}",
  "description": {{{description}}},
  "tracker_id": {{{tracker_id}}},
  "priority_id": {{{priority_id}}},
  "status_id": {{{status_id}}},
  "category_id": {{{category_id}}},
  "watcher_user_ids": {{{watcher_user_ids}}},
  "custom_fields": [{"id": 7, "value": {{{email}}}}]
}}"""


class Deskbridge:
    """Ours; it also looks for wrong types, and fills in what is missing."""

    name = "deskbridge"

    def __init__(self) -> None:
        self._engine = Engine(catalogue_for(Operation.ISSUE_CREATE))

    def compile(self, number: int) -> None:
        """Compile a template that was not compiled before."""
        self._engine.check(_new(DESKBRIDGE, number))

    def render(self, context: Context) -> Payload:
        """Return the payload."""
        return self._engine.render(DESKBRIDGE, context).payload


class Jinja2:
    """jinja2's sandbox."""

    name = "jinja2 sandbox"

    def __init__(self) -> None:
        self._environment = SandboxedEnvironment()
        self._template = self._environment.from_string(JINJA2)

    def compile(self, number: int) -> None:
        """Compile a template that was not compiled before."""
        self._environment.from_string(_new(JINJA2, number))

    def render(self, context: Context) -> Payload:
        """Return the payload."""
        return _loaded(self._template.render(context))


class Chevron:
    """chevron: it has no filters, so plain Python makes the values that it puts in."""

    name = "chevron"

    def __init__(self) -> None:
        self._tokens = list(tokenize(CHEVRON))

    def compile(self, number: int) -> None:
        """Tokenise a template that was not tokenised before; chevron compiles nothing further."""
        list(tokenize(_new(CHEVRON, number)))

    def render(self, context: Context) -> Payload:
        """Return the payload."""
        return _loaded(chevron.render(self._tokens, _values(context)))


Candidate = Deskbridge | Jinja2 | Chevron
ENGINES: tuple[type[Candidate], ...] = (Deskbridge, Jinja2, Chevron)


def _values(context: Context) -> dict[str, str]:
    ticket, project, config = context["ticket"], context["project"], context["config"]
    return {
        "project_id": json.dumps(project["tracker_project_id"]),
        "ticket_id": json.dumps(ticket["id"]),
        "title": json.dumps(cut(ticket["title"].strip(), 240, ""))[1:-1],
        "description": json.dumps((ticket["content"] or "none").replace("<p>", " ")),
        "tracker_id": json.dumps(config["default_tracker_id"]),
        "priority_id": json.dumps(config["default_priority_id"]),
        "status_id": json.dumps(context["status"]["mapped_id"]),
        "category_id": json.dumps(project["default_category_id"]),
        "watcher_user_ids": json.dumps(config["default_watcher_ids"]),
        "email": json.dumps(ticket["technician"]["email"].upper()),
    }


def _loaded(text: str) -> Payload:
    """Return the payload of a text; nulls, which only members of the issue are here, are left out."""
    issue = json.loads(text)["issue"]
    return {"issue": {name: value for name, value in issue.items() if value is not None}}


def _new(template: str, number: int) -> str:
    return template.replace('"id": 7', f'"id": {number}')
