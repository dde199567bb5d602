"""`python -m tests.bench.engines`: three template engines build the same request body from the same context.

deskbridge's templates are JSON and yield values. The other two yield text: each value is written as JSON and
`json.loads` reads the result, which is common practice. Each engine uses its own filters. No template uses the filter
`plain`: it would be the same function for all three, and would hide the differences between them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from itertools import count, islice, repeat
from statistics import median
from typing import Any, TypeVar

import chevron
from chevron.tokenizer import tokenize
from jinja2.sandbox import SandboxedEnvironment

from shared.events.config import PluginConfig
from shared.events.parsing import parse_event
from shared.events.text import cut
from shared.templating.catalogue import Context, catalogue_for, from_ticket
from shared.templating.operations import Operation
from shared.templating.render import Engine
from tests.bench.errors import BrokenRun
from tests.bench.workload import batch
from tests.support.bridge import SUPPORT

Payload = dict[str, Any]
T = TypeVar("T")

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
    """Our engine, which also rejects wrong types and fills in missing members."""

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
    """The sandbox of jinja2."""

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
    """chevron, which has no filters: plain Python prepares its values."""

    name = "chevron"

    def __init__(self) -> None:
        self._tokens = list(tokenize(CHEVRON))

    def compile(self, number: int) -> None:
        """Tokenise a template that was not tokenised before; chevron has no other compilation."""
        list(tokenize(_new(CHEVRON, number)))

    def render(self, context: Context) -> Payload:
        """Return the payload."""
        return _loaded(chevron.render(self._tokens, _values(context)))


Candidate = Deskbridge | Jinja2 | Chevron
ROUNDS, RENDERINGS, COMPILATIONS = 7, 500, 8
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
    """Return the payload of a text without nulls, which occur only as members of the issue here."""
    issue = json.loads(text)["issue"]
    return {"issue": {name: value for name, value in issue.items() if value is not None}}


def _new(template: str, number: int) -> str:
    return template.replace('"id": 7', f'"id": {number}')


def main() -> None:
    """Print the microseconds of processor time that each engine takes to render and to compile.

    Raises:
        BrokenRun: if the engines gave different bodies.
    """
    engines, context = [make() for make in ENGINES], _sample()
    bodies = {engine.name: json.dumps(engine.render(context)) for engine in engines}
    if len(set(bodies.values())) != 1:
        raise BrokenRun(f"the engines gave different bodies: {bodies}")
    rendered, compiled = ({engine.name: list[float]() for engine in engines} for _ in range(2))
    numbers = count(1000)
    for _ in range(ROUNDS):
        for engine in engines:
            rendered[engine.name].append(_microseconds(engine.render, repeat(context, RENDERINGS)))
            compiled[engine.name].append(_microseconds(engine.compile, islice(numbers, COMPILATIONS)))
    for name, figures in (("render", rendered), ("compile", compiled)):
        shown = ", ".join(f"{engine} {median(rounds):.0f} µs" for engine, rounds in figures.items())
        print(f"{name} a template of 10 tags: {shown}")


def _sample() -> Context:
    """Return the context of an event."""
    event = parse_event(batch(1).events[0])
    return from_ticket(
        event.ticket,
        event.task,
        PluginConfig(default_activity_id=9, default_role_id=4, status_map={2: 2}),
        occurred_at=event.occurred_at,
        tracker_project_id=SUPPORT,
        project_name="Support",
        issue_id=17,
        tracker_user_id=5,
        login="alice",
        event_name=event.event,
    )


def _microseconds(work: Callable[[T], object], arguments: Iterable[T]) -> float:
    given = list(arguments)
    began = time.process_time()
    for argument in given:
        work(argument)
    return (time.process_time() - began) / len(given) * 1e6


if __name__ == "__main__":
    main()
