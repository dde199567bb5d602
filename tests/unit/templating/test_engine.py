"""The engine compiles once, keeps its limits, and renders payloads whose structure the data cannot change."""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import shared.templating.render as engine_module
from shared.errors import TemplateError
from shared.templating.catalogue import catalogue_for, sample
from shared.templating.filters import FUNCTIONS
from shared.templating.operations import Operation
from shared.templating.reader import read
from shared.templating.render import Engine, compile_template
from tests.unit.templating.support import ISSUE, PATIENTLY, PROFILE, body, context, fault, one, still

pytestmark = PATIENTLY


def test_a_template_is_compiled_once_per_body_and_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    real = compile_template

    def counting(source: Any, document: Any, catalogue: Any) -> Any:
        compiled.append(catalogue.version)
        return real(source, document, catalogue)

    monkeypatch.setattr(engine_module, "compile_template", counting)
    template = body("{{ticket.id}} once")
    for _ in range(3):
        Engine(catalogue_for(Operation.ISSUE_CREATE)).render(template, context())
        Engine(catalogue_for(Operation.ISSUE_UPDATE_STATUS)).render(template, context())
    assert len(compiled) == len(set(compiled)) == 2


def test_a_faulty_template_is_read_once_and_told_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    real = read

    def counting(text: str) -> Any:
        texts.append(text)
        return real(text)

    monkeypatch.setattr(engine_module, "read", counting)
    template = body("{{ticket.nothing}} once")
    first, second = fault(template), fault(template)
    assert texts == [template]
    assert str(first) == str(second)
    assert first is not second


def test_the_kept_programs_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "MOST_KEPT", 3)
    monkeypatch.setattr(engine_module, "_templates", {})
    for number in range(6):
        assert one(f"{{{{ticket.id}}}} {number}") == f"4711 {number}"
    assert len(engine_module._templates) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{{ticket.id}}" * 101, "more than 100 tags"),
        ("{{! }}" * 101, "more than 100 tags"),
        ("{{ticket.title" + "| trim" * 7 + "}}", "more than 6 filters"),
        ("{{#if ticket.id}}" * 5 + "x" + "{{/if}}" * 5, "nested more than 4 deep"),
        ("{{" + "(" * 5 + "ticket.id" + ")" * 5 + "}}", "parentheses nested more than 4"),
        ("{{" + "(" * 5000, "parentheses nested more than 4"),
    ],
)
def test_a_template_has_limits(text: str, words: str) -> None:
    assert words in fault(body(text)).message


def test_a_template_may_use_its_limits_to_the_full() -> None:
    assert one("{{ticket.id}}" * 100) == "4711" * 100
    assert one("{{ticket.title" + "| trim" * 6 + "}}")
    assert one("{{#if ticket.id}}" * 4 + "x" + "{{/if}}" * 4) == "x"


def test_tags_are_counted_over_the_whole_template() -> None:
    template = json.dumps({"issue": {"a": "{{ticket.id}}" * 60, "b": "{{ticket.id}}" * 60}})
    assert "more than 100 tags" in fault(template).message


def test_each_has_at_most_200_items() -> None:
    tag = "{{#each config.default_watcher_ids}}x{{/each}}"
    assert one(tag, config__default_watcher_ids=[1] * 200) == "x" * 200
    assert "200 items" in fault(body(tag), config__default_watcher_ids=[1] * 201).message


def test_the_result_has_at_most_1_mib() -> None:
    title = "x" * 600_000
    assert len(one("{{ticket.title}}", ticket__title=title)) == 600_000
    assert "1 MiB" in fault(body("{{ticket.title}} {{ticket.title}}"), ticket__title=title).message
    assert "1 MiB" in fault(body("{{ticket.title}}"), ticket__title=["é" * 600_000]).message
    assert "1 MiB" in fault(body("{{ticket.title}}"), ticket__title="x" * 1_100_000).message


def test_rendering_ends_after_half_a_second() -> None:
    ticking = count()
    engine = Engine(catalogue_for(Operation.ISSUE_CREATE), clock=lambda: next(ticking) * 0.1)
    assert "longer than 0.5 s" in fault(body("{{ticket.id | string}} " * 9), engine).message


def test_waiting_for_a_busy_machine_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def waiting(value: str) -> str:
        time.sleep(0.6)
        return value

    monkeypatch.setitem(FUNCTIONS, "trim", replace(FUNCTIONS["trim"], apply=waiting))
    assert one("{{ticket.id}} {{ticket.title | trim}}", ticket__title="late") == "4711 late"


def test_loops_inside_loops_end_after_half_a_second() -> None:
    tag = "{{#each config.default_watcher_ids}}" * 4 + "{{/each}}" * 4
    began = time.thread_time()
    assert "longer than 0.5 s" in fault(body(tag), config__default_watcher_ids=[1] * 200).message
    assert time.thread_time() - began < 2


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize(
    "piece", ["\u0316\u0301", "<p>", "<", "&amp;", "a ", "9", "\ufdfa", "{{", "\x00", "'\\"]
)
def test_no_filter_is_slow_with_a_long_text(name: str, piece: str) -> None:
    text = ("a" + piece * 200_000)[:200_000]
    arguments = {
        "truncate": " 1000",
        "replace": " 'a' 'bc'",
        "slice": " 1",
        "split": " 'a'",
        "map": " 'a' 'b'",
    }
    given = arguments.get(name, " 'a'" * sum(one.required for one in FUNCTIONS[name].parameters))
    template = body(f"{{{{{name} ticket.title{given}}}}}")
    data = context(ticket__title=text)
    began = time.thread_time()
    with contextlib.suppress(TemplateError):
        ISSUE.render(template, data)
    assert time.thread_time() - began < 2


def test_check_needs_no_data() -> None:
    ISSUE.check(body("{{ticket.title | upper}}"))


def test_a_fault_inside_the_engine_is_a_template_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret of a ticket")

    monkeypatch.setattr(engine_module, "pruned", broken)
    found = fault(body("x"))
    assert found.message == "the template could not be rendered (ZeroDivisionError)"


HOSTILE_TEXT = st.text(max_size=60) | st.lists(
    st.sampled_from(
        ["{{", "}}", "{{{", '"', "'", "\\", "}", "{", "\n", "\r", "\u2028", "😀", "a", "{{ticket.id}}", "</b>", "\x00"]
    ),
    max_size=12,
).map("".join)  # fmt: skip
TEMPLATE = json.dumps(
    {
        "issue": {
            "project_id": "{{project.tracker_project_id}}",
            "subject": "{{ticket.title}} ",
            "description": "a {{#if ticket.title}}{{ticket.title | upper}}{{/if}} b",
            "x": ["{{ticket.title}}", {"y": "{{ticket.title | json}}"}],
        }
    }
)


@PROFILE
@given(HOSTILE_TEXT)
@example('"}, "project_id": 1, "x": "')
@example("{{#if ticket.id}}")
@example("\u2028\u2029\ufeff\u202e")
def test_a_title_never_changes_the_structure(title: str) -> None:
    engine = Engine(catalogue_for(Operation.ISSUE_CREATE), still)
    payload = json.loads(json.dumps(engine.render(TEMPLATE, context(ticket__title=title)).payload))
    issue = payload["issue"]
    assert set(payload) == {"issue"}
    assert list(issue) == ["project_id", "subject", "description", "x"]
    assert issue["project_id"] == 11
    assert all(isinstance(issue[name], str) for name in ("subject", "description"))
    assert issue["x"][1].keys() == {"y"}
    clean = title.translate(dict.fromkeys((*range(9), 11, 12, *range(14, 32))))
    assert issue["x"][0] == clean


def test_the_first_rendering_is_as_the_next() -> None:
    engine, data = Engine(catalogue_for("issue.create")), sample(Operation.ISSUE_CREATE)
    assert engine.render(TEMPLATE, data) == engine.render(TEMPLATE, data)
