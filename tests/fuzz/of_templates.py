"""Each template renders to JSON or raises a TemplateError, within a bounded time."""

from __future__ import annotations

import json
import time
from pathlib import Path

from producer.admin.templates.defaults import default_template
from shared.errors import TemplateError
from shared.templating.catalogue import catalogue_for, sample
from shared.templating.operations import Operation
from shared.templating.render import Engine
from tests.fuzz.chance import Chance
from tests.support.bridge import Bridge
from tests.unit.templating.test_attacks import ATTACKS

LONGEST_S = 20.0
TAGS = [
    *ATTACKS,
    "{{ticket.title}}", "{{{ticket.content}}}", "{{plain ticket.content}}", "{{#if ticket.title}}a{{else}}b{{/if}}",
    "{{truncate ticket.title 5}}", "{{default ticket.project_id 0}}", "{{#unless ticket.id}}x{{/unless}}",
    "{{date task.date '%d.%m.%Y'}}", "{{json ticket}}", "{{#each config.default_watcher_ids}}{{this}},{{/each}}",
]  # fmt: skip


class OfTemplates:
    """The template engine of every operation."""

    def __init__(self, bridge: Bridge, directory: Path) -> None:
        del bridge, directory
        self._texts = [default_template(operation) for operation in Operation] + TAGS

    def close(self) -> None:
        """Do nothing, since nothing is open."""

    def attempt(self, chance: Chance) -> None:
        """Render one template."""
        operation = chance.choice(list(Operation))
        data = sample(operation)
        if chance.often(0.5):
            data = {
                name: chance.bend(part) if isinstance(part, dict) else part for name, part in data.items()
            }
        body = self._body(chance)
        started = time.thread_time()
        try:
            rendered = Engine(catalogue_for(operation)).render(body, data)
            json.dumps(rendered.payload)
        except TemplateError:
            pass
        assert time.thread_time() - started < LONGEST_S, body[:2000]

    def _body(self, chance: Chance) -> str:
        if chance.often(0.5):
            value = chance.spliced(self._texts)
            return json.dumps(
                {"issue": {"subject": value, "project_id": 1, "x": chance.choice((value, [value]))}}
            )
        text = chance.spliced(self._texts)
        return (
            chance.torn(text.encode("utf-8", "replace")).decode("utf-8", "replace")
            if chance.often(0.5)
            else text
        )
