"""Every code has an English sentence that fits all its uses, and codes of other versions stay readable."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import shared.notices
from shared.errors import TemplateError
from shared.notices.faults import Fault
from shared.notices.notice import CODES as KNOWN
from shared.notices.notice import Code, Notice, Plural, Written, codes_in, from_json, to_json, written
from shared.notices.render import because, sentence
from shared.notices.template import fill, names
from shared.notices.templates import TemplateProblem

ROOT = Path(shared.notices.__file__).parents[2]
SAMPLES: dict[str, object] = {"kind": "ticket"}
COUNTED = [
    "attempts",
    "deliveries",
    "entities",
    "entries",
    "events",
    "hours",
    "issues",
    "links",
    "matches",
    "minutes",
    "people",
    "projects",
    "tickets",
    "users",
]
LISTS = (
    *("errors", "facts", "faults", "warnings", "candidates", "tracker_ids", "hints"),
    *("issue_ids", "time_entry_ids"),
)


def subjects() -> list[type[Code]]:
    for module in (ROOT / "shared" / "notices").glob("*.py"):
        __import__(f"shared.notices.{module.stem}")
    return sorted(Code.__subclasses__(), key=lambda one: one.__name__)


CODES = [code for subject in subjects() for code in subject]


def params_for(code: Code, *, optional: bool) -> dict[str, object]:
    needed, left_out = set[str](), set[str]()
    for text in (code.text, code.why):
        has = names(text)
        needed, left_out = needed | has[0], left_out | has[1]
    wanted = needed | (left_out if optional else set())
    return {name: SAMPLES.get(name, [7] if name in LISTS else 7) for name in wanted}


def test_every_code_is_a_sentence_with_and_without_what_it_can_do_without() -> None:
    for code in CODES:
        for optional in (True, False):
            for said in (sentence(code(**params_for(code, optional=optional))), because(code())):
                assert not set("{}[]") & set(said), f"{code}: {said}"
                assert not said.startswith(f"{code} ("), f"{code}: {said}"
        assert sentence(code(**params_for(code, optional=True))), code


def test_one_is_said_as_one() -> None:
    for code in CODES:
        ones = {name: 1 for name in params_for(code, optional=True) if name not in SAMPLES}
        said = sentence(code(**{**params_for(code, optional=True), **ones, "count": 1}))
        assert not re.search(rf"\b1 ({'|'.join(COUNTED)})\b", said), f"{code}: {said}"


def test_no_two_subjects_have_the_same_code() -> None:
    assert sorted(set(CODES)) == sorted(CODES)
    assert [code for code in CODES if "_" not in code] == [], (
        "one word might be a person's login, and forgotten"
    )


def test_a_stored_code_finds_its_sentence() -> None:
    assert {code: KNOWN[code.value] for code in CODES} == {code: code for code in CODES}


def made(path: Path) -> Iterator[tuple[str, int, Code, set[str], bool]]:
    """Yield each place that makes a Notice: file, line, code, parameter names, and whether there may be more."""
    enumerations = {subject.__name__: subject for subject in subjects()}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        owner = node.func.value
        subject = enumerations.get(owner.id) if isinstance(owner, ast.Name) else None
        if subject is not None and node.func.attr in subject.__members__:
            given = {one.arg for one in node.keywords if one.arg}
            more = any(one.arg is None for one in node.keywords)
            yield str(path.relative_to(ROOT)), node.lineno, subject[node.func.attr], given, more


def test_every_place_that_makes_a_code_gives_it_what_its_sentence_needs() -> None:
    wrong = []
    for folder in ("shared", "worker", "producer"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for file, line, code, given, more in made(path):
                needed = {name for text in (code.text, code.why) for name in names(text)[0]}
                if not more and needed - given:
                    wrong.append(f"{file}:{line}: {code} lacks {', '.join(sorted(needed - given))}")
    assert wrong == []


def test_every_code_is_used() -> None:
    source = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("shared", "worker", "producer")
        for path in (ROOT / folder).rglob("*.py")
        if path.parent.name != "notices"
    )
    used = set(re.findall(r"\b([A-Z][A-Za-z]+\.[A-Z][A-Z_]+)\b", source))
    names = {f"{type(code).__name__}.{code.name}" for code in CODES if not isinstance(code, Written)}
    assert sorted(names - used) == []


def test_a_code_of_a_newer_version_is_shown_with_its_parameters() -> None:
    newer = Notice("of_a_newer_version", {"at": 7, "why": Notice("other", {"n": [1]})})
    assert sentence(newer) == "of_a_newer_version (at=7, why={'code': 'other', 'params': {'n': [1]}})"
    assert because(newer) == ""
    assert sentence(Notice("of_a_newer_version")) == "of_a_newer_version"


def test_a_code_whose_parameters_have_changed_is_shown_with_those_it_has() -> None:
    assert sentence(Notice(Written.AS_WRITTEN, {"words": 7})) == "as_written (words=7)"


def test_what_is_stored_comes_back_as_it_was() -> None:
    inner = written("the inner one")
    params = {"why": inner, "all": [inner, 1], "none": None, "text": "é€"}
    stored = to_json(params)
    assert stored["why"] == {"code": "as_written", "params": {"text": "the inner one"}}
    assert from_json(stored) == {"why": inner, "all": [inner, 1], "text": "é€"}
    assert from_json(None) == {}


def test_the_grammar_of_sentences() -> None:
    def said(text: str, **params: object) -> str:
        return fill(text, params, sentence)

    assert said("{a} and {b:.2f}", a="{b}", b=1.5) == "{b} and 1.50"
    assert said("#{ids:, #}: {words:; }", ids=[1, 2], words=["x", "y"]) == "#1, #2: x; y"
    assert said("no {kind:noun} of {kind} 7", kind="ticket-task") == "no time entry of ticket-task 7"
    assert said("said: {why}", why=written("it rains")) == "said: it rains"
    assert said("called[ as {login}][: {why}]", login=None, why=written("x")) == "called: x"
    some = Plural("{count} event", "{count} events")
    assert [fill(some, {"count": n}, sentence) for n in (0, 1, 2)] == ["0 events", "1 event", "2 events"]
    with pytest.raises(LookupError):
        said("{a}")


def test_what_is_wrong_with_a_template_is_a_code_and_what_the_version_before_stored_stays_readable() -> None:
    fault = TemplateError(TemplateProblem.ELSE_OUTSIDE_BLOCK(tag="{{else}}"), 2, 7)
    assert str(fault) == "line 2, column 7: {{else}} is outside a block"
    assert list(codes_in(fault.notice)) == [Fault.TEMPLATE_FAULTY, TemplateProblem.ELSE_OUTSIDE_BLOCK]
    before = Notice("template_faulty", {"line": 2, "column": 7, "message": "{{else}} is outside a block"})
    assert sentence(before) == str(fault)
