"""Any template and any context soon give a result or a TemplateError, and nothing else."""

from __future__ import annotations

import json
import time
from typing import Any

from hypothesis import event as seen
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import TemplateError
from shared.templating.catalogue import catalogue_for, sample
from shared.templating.filters import FUNCTIONS
from shared.templating.operations import OPERATIONS
from shared.templating.render import Engine
from tests.unit.templating.support import PATIENTLY, PROFILE

pytestmark = PATIENTLY

ENGINES = {operation: Engine(catalogue_for(operation)) for operation in OPERATIONS}
PATHS = sorted({one.path for operation in OPERATIONS for one in catalogue_for(operation).variables})
PIECES = [
    "{{", "}}", "{{{", "}}}", "{{{{", "{{#if ", "{{#each ", "{{#unless ", "{{/if}}", "{{/each}}", "{{/unless}}",
    "{{else}}", "{{!", "{{!--", "--}}", "{{>", "{{&", "{{^", "{{~", "~}}", "{{#with ", "{{lookup ", "\\{{", "\\",
    "'", '"', "|", ":", ",", "(", ")", "[", "]", ".", "..", "@", "@root", "this", "=", " ", "\n", "\t", "0", "-1",
    "1.5", "99999999999", "1e9", "null", "true", "'a'", "''", "'%Y'", "__class__", "constructor", "{", "}",
    "__import__('os')", "é", "😀", "\u2028", "\x00", *FUNCTIONS, *PATHS,
]  # fmt: skip
PATH = st.sampled_from(PATHS)
LITERAL = st.sampled_from(
    ["'a'", "''", "0", "1", "-1", "3.5", "null", "true", "'%Y'", "'UTC'", "1000000", "'{{'", "'}}'"]
)
ARGUMENT = PATH | LITERAL
FILTER = st.builds(
    lambda name, values: f" | {name}" + (": " + " ".join(values) if values else ""),
    st.sampled_from(sorted(FUNCTIONS)),
    st.lists(ARGUMENT, max_size=3),
)
EXPRESSION = st.builds(lambda head, filters: head + "".join(filters), ARGUMENT, st.lists(FILTER, max_size=4))
TAG = st.builds("{{{{{}}}}}".format, EXPRESSION)
BLOCK = st.builds(
    lambda kind, condition, body, other: f"{{{{#{kind} {condition}}}}}{body}{{{{else}}}}{other}{{{{/{kind}}}}}",
    st.sampled_from(["if", "unless", "each"]), EXPRESSION, TAG, st.just("") | TAG,
)  # fmt: skip
WELL_FORMED = st.lists(TAG | BLOCK | st.text(max_size=5), max_size=4).map("".join)
SHREDS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
VALUE = WELL_FORMED | SHREDS | st.text(max_size=20)
OPERATION = st.sampled_from(OPERATIONS)


def outcome(operation: Any, template: Any, context: Any) -> object:
    found: TemplateError | None = None
    began = time.thread_time()
    try:
        rendering = ENGINES[operation].render(template, context)
    except TemplateError as error:
        found = error
    assert time.thread_time() - began < 5
    if found is not None:
        assert found.line >= 1
        assert found.column >= 1
        return found
    text = json.dumps(rendering.payload, allow_nan=False)
    assert len(text) < 8 * 1024 * 1024
    assert isinstance(rendering.payload[operation.top_key], dict)
    assert _has_no_null(rendering.payload)
    return rendering


def _has_no_null(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_has_no_null, value.values()))
    return all(map(_has_no_null, value)) if isinstance(value, list) else value is not None


@PROFILE
@given(OPERATION, st.lists(VALUE, min_size=1, max_size=3), st.booleans())
def test_hostile_tags_give_a_result_or_a_template_error(
    operation: Any, values: list[str], ascii_only: bool
) -> None:
    members = {f"x{number}": value for number, value in enumerate(values)}
    template = json.dumps({operation.top_key: members}, ensure_ascii=ascii_only)
    seen(type(outcome(operation, template, sample(operation))).__name__)


@PROFILE
@given(
    OPERATION,
    st.lists(st.sampled_from([*PIECES, '{"issue": ', "[", '{"', '": "', '"}', "NaN"]), max_size=12).map(
        "".join
    ),
)
def test_hostile_texts_give_a_result_or_a_template_error(operation: Any, text: str) -> None:
    outcome(operation, text, sample(operation))
    outcome(operation, f'{{"{operation.top_key}": {{"x": "{text}"}}}}', sample(operation))


class Touchy:
    """An object that a template must not look into."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)

    def __call__(self) -> Any:
        raise AssertionError("called")


SCALAR = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | st.binary(max_size=5)
    | st.just("x" * 5000) | st.just("<p>" * 500) | st.just("{{ticket.id}}") | st.builds(Touchy)
    | st.builds(lambda: 10**5000) | st.dates() | st.just("\ud800\x00")
)  # fmt: skip
DATA: Any = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=4)
    | st.tuples(inner) | st.sets(st.integers(), max_size=3),
    max_leaves=10,
)  # fmt: skip


@settings(PROFILE, max_examples=PROFILE.max_examples // 2)
@given(OPERATION, st.lists(WELL_FORMED, min_size=1, max_size=3), st.data())
def test_hostile_contexts_give_a_result_or_a_template_error(
    operation: Any, values: list[str], data: Any
) -> None:
    context: Any = sample(operation)
    for group in list(context):
        what = data.draw(st.sampled_from(["as it is", "members", "whole", "gone"]))
        if what == "members" and isinstance(context[group], dict):
            context[group] = {name: data.draw(DATA) for name in context[group]}
        elif what == "whole":
            context[group] = data.draw(DATA)
        elif what == "gone":
            del context[group]
    template = json.dumps({operation.top_key: {f"x{number}": value for number, value in enumerate(values)}})
    seen(type(outcome(operation, template, context)).__name__)


def test_endless_data_is_a_template_error() -> None:
    endless: list[Any] = []
    endless.append(endless)
    context = sample(OPERATIONS[0])
    context["ticket"]["title"] = endless
    for tag in (
        "{{ticket.title}}",
        "a{{ticket.title}}",
        "{{ticket.title | json}}",
        "{{eq ticket.title ticket.title}}",
    ):
        template = json.dumps({"issue": {"x": tag}})
        assert isinstance(outcome(OPERATIONS[0], template, context), TemplateError)
