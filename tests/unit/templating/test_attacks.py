"""Templates that are known to break pybars3 do not break this engine."""

from __future__ import annotations

import contextlib
import json
import linecache
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from shared.errors import TemplateError
from shared.notices.templates import TemplateWarning
from shared.templating.catalogue import catalogue_for, sample
from shared.templating.operations import Operation
from shared.templating.render import Engine
from tests.unit.templating.support import ISSUE, body, context, one

ROOT = Path(__file__).resolve().parents[3]
CODE = "{{[x') or str(__import__('os').getpid()) or str('y]}}"
ATTACKS = [
    CODE,
    "{{#if [x') or str(__import__('os').getpid()) or str('y]}}a{{/if}}",
    "{{> [x') or str(__import__('os').getpid()) or str('y]}}",
    "{{{ticket.title.__class__}}}",
    "{{ticket.title.__class__.__mro__}}",
    "{{ticket.__class__}}",
    "{{{ticket.setdefault 'x'}}}",
    "{{ticket.setdefault}}",
    "{{{ticket.title.format}}}",
    "{{{ticket.title.format 'x'}}}",
    "{{ticket.title.join}}",
    "{{ticket.keys}}",
    "{{config.default_watcher_ids.append 1}}",
    "{{config.default_watcher_ids.append}}",
    "{{lookup ticket '__class__'}}",
    "{{#with ticket}}{{#each ..}}x{{/each}}{{/with}}",
    "{{#with ticket}}{{title}}{{/with}}",
    "{{@root.ticket.title}}",
    "{{../ticket.title}}",
    "{{ticket..title}}",
    "{{ticket.[title]}}",
    "{{['title']}}",
    "{{> partial}}",
    "{{log ticket.title}}",
    "{{helperMissing}}",
    "{{blockHelperMissing ticket.title}}",
    "{{#helperMissing}}x{{/helperMissing}}",
    "{{put 0}}",
    "{{{open 0}}}",
    "{{#when 0}}x{{/when}}",
    "{{#loop 0}}x{{/loop}}",
    "{{{{raw}}}}x{{{{/raw}}}}",
    "{{ticket.title a=b}}",
    "{{#each config.default_watcher_ids as |x|}}{{x}}{{/each}}",
    "{{^if ticket.title}}x{{/if}}",
    "{{& ticket.title}}",
    "{{~ticket.title~}}",
    "{{=<% %>=}}",
    "{{this}}",
    "{{.}}",
    "{{*decorator}}",
    "pre {{b",
    "pre {{#if a}}yes",
    "pre {{#if ticket.title}}yes",
    "{{#if ticket.title}}a{{else if ticket.id}}b{{/if}}",
    "{{ticket.title",
    "{{{ticket.title}}",
    "{{}}",
    "{{ }}",
    "{{!",
    "{{/if}}",
    "{{else}}",
]


@pytest.mark.promise("SEC-51")
@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_a_template_error_at_a_place(attack: str) -> None:
    with pytest.raises(TemplateError) as caught:
        ISSUE.render(body(attack), context())
    assert caught.value.line == 1
    assert caught.value.column > body("").index('""')


@pytest.mark.parametrize(
    "attack", [*ATTACKS, "{0.__class__}", "{ticket}", "%(ticket)s", "%1000000000d", "${x}"]
)
def test_an_attack_in_a_title_is_only_text(attack: str) -> None:
    assert one("{{ticket.title}} {{ticket.id}}", ticket__title=attack) == f"{attack} 4711"


@pytest.mark.parametrize("name", ["__class__", "__len__", "items", "clear", "pop", "setdefault"])
def test_a_map_gives_its_own_keys_and_no_attribute(name: str) -> None:
    data = context()
    rendering = ISSUE.render(body(f"{{{{config.status_map.{name}}}}}"), data)
    assert "x" not in rendering.payload["issue"]
    assert rendering.warnings == (TemplateWarning.VALUE_IS_ABSENT(name=f"config.status_map.{name}"),)
    assert data == context()


def test_the_text_that_takes_pybars_17_seconds_takes_none() -> None:
    text = "\n" + "{{!a}}  " * 16 + "x"
    began = time.thread_time()
    assert one(text) == "\n" + "  " * 16 + "x"
    assert one("{{ticket.title}}", ticket__title=text) == text
    assert one("{{ticket.id}}" + text) == "4711\n" + "  " * 16 + "x"
    assert time.thread_time() - began < 2


@pytest.mark.promise("SEC-51")
def test_no_module_of_the_program_names_pybars() -> None:
    files = [
        file
        for package in ("shared", "worker", "producer", "deploy")
        for file in (ROOT / package).rglob("*.py")
    ]
    assert ROOT / "shared/templating/render.py" in files
    assert [file for file in files if "pybars" in file.read_text(encoding="utf-8")] == []


def test_a_context_is_never_changed() -> None:
    data = context()
    before = json.dumps(data)
    payload = ISSUE.render(body("{{config.default_watcher_ids}}"), data).payload
    payload["issue"]["x"].append(99)
    assert json.dumps(data) == before


class Trap(dict[str, Any]):
    """A mapping that records whether it was read."""

    was_read = False

    def __contains__(self, key: object) -> bool:
        self.was_read = True
        return super().__contains__(key)

    def __getitem__(self, key: str) -> Any:
        self.was_read = True
        return super().__getitem__(key)


def test_only_plain_objects_are_looked_into() -> None:
    trap = Trap(title="a trap")
    assert one("<{{ticket.title}}>", ticket=trap) == "<>"
    assert not trap.was_read


@pytest.mark.parametrize("group", ["a text", 5, 1.5, True, [1], b"bytes", object()])
def test_what_is_no_object_has_no_parts(group: object) -> None:
    assert one("<{{ticket.title}}{{ticket.id}}>", ticket=group) == "<>"


@pytest.mark.parametrize("value", [Trap(x=1), object(), lambda: "called", b"bytes", (1, 2), {1: 2}, 10**400])
def test_a_context_that_is_not_plain_data_is_a_template_error(value: object) -> None:
    with pytest.raises(TemplateError):
        one("{{ticket.title}}", ticket__title=value)


@pytest.mark.parametrize("data", [None, [], "text", 5, Trap()])
def test_a_context_that_is_no_object_gives_a_result_or_a_template_error(data: Any) -> None:
    with contextlib.suppress(TemplateError):
        assert ISSUE.render(body("{{ticket.title}}"), data).payload


def test_errors_never_quote_the_ticket() -> None:
    for tag in (
        "{{ticket.title | int}}",
        "{{ticket.title | date}}",
        "{{ticket.title | bool}}",
        "{{join ticket.title}}",
    ):
        with pytest.raises(TemplateError) as caught:
            one(tag, ticket__title="sesame 4242")
        assert "sesame" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__


@pytest.mark.slow
def test_240_renderings_by_8_threads_do_not_mix_templates_up() -> None:
    engine = Engine(catalogue_for(Operation.ISSUE_CREATE))
    data = sample(Operation.ISSUE_CREATE)
    wrong: list[str] = []

    def work(thread: int) -> None:
        for number in range(30):
            mark = f"{thread}-{number}"
            tags = (thread + number) % 10  # so the threads compile different programs
            text = f"{mark} {{{{#if ticket.id}}}}{{{{ticket.id}}}}{{{{/if}}}} {mark}" + "{{ticket.id}}" * tags
            found = engine.render(body(text), data | {"ticket": data["ticket"] | {"id": thread}})
            if found.payload["issue"]["x"] != f"{mark} {thread} {mark}" + str(thread) * tags:
                wrong.append(mark)

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_compiling_leaves_nothing_behind_in_the_process() -> None:
    one("{{ticket.id}} warm")
    modules, lines = set(sys.modules), len(linecache.cache)
    for number in range(20):
        one("{{ticket.id}} " * number)
    assert {name for name in set(sys.modules) - modules if "pybars" in name} == set()
    assert len(linecache.cache) <= lines + 1
