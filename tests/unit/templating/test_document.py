"""A template is strict JSON, and a fault has the line and the column of the typed text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import TemplateError
from shared.templating.reader import Array, Node, Object, Text, read
from tests.unit.templating.support import PATIENTLY, PROFILE, fault

pytestmark = PATIENTLY

NAMES = st.text(st.characters(exclude_categories=("Cc", "Cs")))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


def plain(node: Node) -> object:
    if isinstance(node, Object):
        return {key: plain(member) for key, member in node.members.items()}
    if isinstance(node, Array):
        return [plain(item) for item in node.items]
    return node.text if isinstance(node, Text) else node.value


@PROFILE
@given(
    VALUES.map(lambda value: json.dumps(value, indent=1))
    | VALUES.map(lambda v: json.dumps(v, ensure_ascii=False))
)
def test_it_reads_json_as_python_does(text: str) -> None:
    if "{{" not in text.replace('"', ""):
        assert plain(read(text)[1]) == json.loads(text)


@PROFILE
@given(st.text(st.sampled_from('{}[]:,"\\ \n\ttfnu0123e+-.ENaI"abc'), max_size=30))
def test_it_takes_nothing_that_python_refuses(text: str) -> None:
    try:
        found = plain(read(text)[1])
    except TemplateError:
        return
    assert found == json.loads(text)


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, 1, "not JSON"),
        ('{"issue": {"a": 1, "a": 2}}', 1, 20, "twice"),
        ('{"issue": {"a": NaN}}', 1, 17, "NaN is not JSON"),
        ('{"issue": {"a": -Infinity}}', 1, 17, "-Infinity is not JSON"),
        ('{"issue": {"a": Infinity}}', 1, 17, "Infinity is not JSON"),
        ('{"issue": {"a": 1e999}}', 1, 17, "out of range"),
        ('{"issue": {"a": 9223372036854775808}}', 1, 17, "out of range"),
        ('{"issue": {"a": ' + "9" * 5000 + "}}", 1, 17, "out of range"),
        ('{"issue": {"a": 01}}', 1, 18, 'expected a "," or "}"'),
        ('{"issue": {"a": 1,}}', 1, 19, "no comma before"),
        ('{"issue": {"a": [1,]}}', 1, 20, "expected a value"),
        ("{\"issue\": {'a': 1}}", 1, 12, "double quotes"),
        ('{"issue": {"a": True}}', 1, 17, "expected a value"),
        ('{"issue": {}} x', 1, 15, "the end"),
        ('{"issue": {"a": "b}}', 1, 17, "not closed"),
        ('{"issue": {"a": "b\n"}}', 1, 19, "line break"),
        ('{"issue": {"a": "\\x"}}', 1, 18, "unknown escape"),
        ('{"issue": {"a": "\\u12"}}', 1, 18, "hexadecimal"),
        ('{"issue": {"a": "\\ud800"}}', 1, 17, "half a character"),
        ('{"issue": {"a": "\\ud800\\u0041"}}', 1, 18, "half a character"),
        ('{"issue": {"a": "\\{{x"}}', 1, 18, "two backslashes"),
        ('{\n  "issue": {\n    "a": {{ticket.id}}\n  }\n}', 3, 10, "put quotes around this tag"),
        ('{\r\n  "issue": {\r\n    "a": {{ticket.id}}\r\n  }\r\n}', 3, 10, "put quotes around this tag"),
        ('{"issue": {"a": [{{ticket.id}}]}}', 1, 18, "put quotes around this tag"),
        ('{"issue": { {{#if ticket.id}} "a": 1 {{/if}} }}', 1, 13, "a tag is only allowed in a quoted value"),
        ('{"issue": {"a": 1 {{#if ticket.id}}}}', 1, 19, "a tag is only allowed in a quoted value"),
        ('{"issue": {"{{ticket.id}}": 1}}', 1, 12, "only allowed in a value, not in a name"),
        ('{"issue": {"a": 1, "a\\u0000": 2}}', 1, 20, "a name must not contain control characters"),
        ('{"issue": {}, "issue\\u0000": {}}', 1, 15, "a name must not contain control characters"),
        ('{"issue": {"a": "{{ticket.title | default: "none"}}"}}', 1, 45, "single quotes"),
        ("[" * 30, 1, 22, "levels deep"),
        ("{{ticket.id}}", 1, 1, "put quotes around this tag"),
        ("[]", 1, 1, '"issue"'),
        ('{"time_entry": {}}', 1, 1, '"issue"'),
        ('{"issue": []}', 1, 11, "must be an object"),
        ('{"issue": "text"}', 1, 11, "must be an object"),
        ('{"issue": null}', 1, 11, "must be an object"),
        ('{"issue": {"a": "' + "x" * 70_000 + '"}}', 1, 1, "64 KiB"),
        ('{"issue": {"a": "' + "é" * 33_000 + '"}}', 1, 1, "64 KiB"),
    ],
)
def test_a_fault_is_told_with_its_place(text: str, line: int, column: int, words: str) -> None:
    found = fault(text)
    assert words in found.message
    assert (found.line, found.column) == (line, column)
    assert str(found) == f"line {line}, column {column}: {found.message}"


def test_a_body_that_is_no_text_is_a_template_error() -> None:
    assert "text" in fault(None).message  # type: ignore[arg-type]
    assert "text" in fault([]).message  # type: ignore[arg-type]
