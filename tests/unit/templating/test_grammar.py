"""The template language inside text values, and the places of its faults."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shared.notices.templates import TemplateWarning
from tests.unit.templating.support import body, fault, one, render

TITLE = "Printer on the 2nd floor"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("plain text", "plain text"),
        ("{{ticket.title}}", TITLE),
        ("{{ ticket.title }}", TITLE),
        ("{{{ticket.title}}}", TITLE),
        ("{{\n ticket.title\t}}", TITLE),
        ("<{{ticket.title}}>", f"<{TITLE}>"),
        ("{{ticket.title | upper}}", TITLE.upper()),
        ("{{upper ticket.title}}", TITLE.upper()),
        ("{{truncate ticket.title 7}}", "Printer"),
        ("{{ticket.title | truncate: 7}}", "Printer"),
        ("{{ticket.title|truncate:7|upper}}", "PRINTER"),
        ("{{truncate ticket.title 7 | upper}}", "PRINTER"),
        ("{{ticket.title | truncate: 10, '…'}}", "Printer o…"),
        ("{{upper (truncate ticket.title 7)}}", "PRINTER"),
        ("{{(ticket.title | truncate: 7) | upper}}", "PRINTER"),
        ("{{'a literal'}}", "a literal"),
        ('{{"a literal"}}', "a literal"),
        ("{{'it\\'s'}} ok", "it's ok"),
        ("{{'a\\nb'}}!", "a\nb!"),
        ("{{'}}'}}!", "}}!"),
        ("{{'{{'}}", "{{"),
        ("\\{{ticket.title}}", "{{ticket.title}}"),
        ("\\{{{ticket.title}}}", "{{{ticket.title}}}"),
        ("\\\\{{ticket.id}}", "\\4711"),
        ("\\\\\\{{ticket.id}}", "\\{{ticket.id}}"),
        ("C:\\temp {{ticket.id}}", "C:\\temp 4711"),
        ("a }} b", "a }} b"),
        ("{ {ticket.id} }", "{ {ticket.id} }"),
        ("{{ticket.id}}}", "4711}"),
        ("a{{! a comment }}b", "ab"),
        ("a{{!-- with }} inside --}}b", "ab"),
        ("{{! note }}{{ticket.id}}", 4711),
        ("{{#if ticket.id}}yes{{/if}}", "yes"),
        ("{{#if ticket.id}}yes{{else}}no{{/if}}", "yes"),
        ("{{#unless ticket.id}}yes{{else}}no{{/unless}}", "no"),
        ("{{# if ticket.id }}yes{{/ if }}", "yes"),
        ("{{#if (eq ticket.status 2)}}two{{/if}}", "two"),
        ("{{#if eq ticket.status 2}}two{{/if}}", "two"),
        ("{{#if ticket.status | eq: 2}}two{{/if}}", "two"),
        ("{{#if (and ticket.id (not (eq ticket.status 2)))}}a{{else}}b{{/if}}", "b"),
        ("{{#each config.default_watcher_ids}}<{{this}}>{{/each}}", "<5><6>"),
        ("{{#each (split 'a b')}}{{this | upper}}{{else}}none{{/each}}", "AB"),
        ("{{#each config.default_watcher_ids}}{{ticket.id}},{{/each}}", "4711,4711,"),
        ("{{#each (slice config.default_watcher_ids 9)}}x{{else}}none{{/each}}", "none"),
        ("{{config.default_watcher_ids.1}}", 6),
        ("{{config.status_map.5}}", 3),
    ],
)
def test_a_text_becomes(text: str, result: object) -> None:
    assert one(text) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{ticket.id}}", 4711),
        ("{{config.default_watcher_ids}}", [5, 6]),
        (
            "{{ticket.technician}}",
            {
                "id": 7,
                "email": "alice@example.org",
                "emails": ["a@example.org"],
                "name": "Alice Archer",
            },
        ),
        ("{{eq ticket.status 2}}", True),
        ("{{null}}", None),
        ("{{1.5}}", 1.5),
        ("{{ticket.id | string}}", "4711"),
        (" {{ticket.id}}", " 4711"),
        ("{{ticket.id}}{{ticket.id}}", "47114711"),
        ("{{#if ticket.id}}{{ticket.id}}{{/if}}", 4711),
        ("{{#if ticket.id}}{{#if ticket.status}}{{ticket.status}}{{/if}}{{else}}x{{/if}}", 2),
        ("{{#if ticket.id}}a{{ticket.id}}{{/if}}", "a4711"),
        ("{{#unless ticket.id}}{{ticket.id}}{{/unless}}", None),
        ("{{#each config.default_watcher_ids}}{{this}}{{/each}}", "56"),
        ("{{#unless ticket.id}}a{{/unless}}{{#unless ticket.id}}b{{/unless}}", ""),
    ],
)
def test_a_tag_that_is_the_whole_value_keeps_its_type(text: str, result: object) -> None:
    found = one(text)
    assert found == result
    assert type(found) is type(result)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "<>"), (True, "<true>"), (False, "<false>"), (2, "<2>"), (1.5, "<1.5>"), (2.0, "<2>"), ([1, "a"], "<1, a>"),
     ({"a": None}, '<{"a":null}>'), ("&<\"'>", "<&<\"'>>")],
)  # fmt: skip
def test_a_value_inside_a_text_is_written_out_and_never_escaped(value: Any, text: str) -> None:
    assert one("<{{ticket.title}}>", ticket__title=value) == text


def test_nulls_are_pruned_and_named() -> None:
    rendering = render(
        {"a": "{{ticket.project_id}}", "b": [1, "{{ticket.project_id}}", None, 0], "c": ""},
        ticket__project_id=None,
    )
    assert rendering.payload["issue"]["x"] == {"b": [1, 0], "c": ""}
    assert rendering.pruned == ("issue.x.a", "issue.x.b.1", "issue.x.b.2")
    assert rendering.warnings == ()


def test_nulls_inside_a_native_value_are_pruned_too() -> None:
    rendering = render("{{ticket.title}}", ticket__title={"a": None, "b": [None, {"c": None}]})
    assert rendering.payload["issue"]["x"] == {"b": [{}]}
    assert rendering.pruned == ("issue.x.a", "issue.x.b.0", "issue.x.b.1.c")


def test_a_known_variable_without_a_value_is_pruned_with_a_warning() -> None:
    rendering = render("{{config.status_map.77}}")
    assert "x" not in rendering.payload["issue"]
    assert rendering.warnings == (TemplateWarning.VALUE_IS_ABSENT(name="config.status_map.77"),)


@pytest.mark.parametrize(
    "text",
    [
        "{{config.status_map.77 | default: 1}}",
        "{{#if config.status_map.77}}a{{/if}}",
        "{{ticket.project_id}}",
    ],
)
def test_a_variable_that_may_be_empty_gives_no_warning(text: str) -> None:
    assert render(text, ticket__project_id=None).warnings == ()


def test_what_no_tracker_takes_is_left_out() -> None:
    assert one("{{ticket.title}}", ticket__title="a\x00b\ud800c\td\u2028😀") == "abc\td\u2028😀"


START = body("").index('""') + 2  # column of the first character of the value


@pytest.mark.parametrize(
    ("text", "offset", "words"),
    [
        ("ab {{nothing}}", 5, "unknown variable"),
        ("{{ticket.titel}}", 2, "did you mean ticket.title?"),
        ("{{ticket.title.x}}", 2, "ticket.title is a text"),
        ("{{ticket.id.0}}", 2, "ticket.id is an integer"),
        ("{{config.default_watcher_ids.x}}", 2, "is a list"),
        ("{{ticket.title | uper}}", 17, "unknown filter"),
        ("{{uper ticket.title}}", 2, "unknown filter"),
        ("{{upper}}", 2, "upper needs a value"),
        ("{{ticket.title | truncate}}", 17, "it takes: length, mark"),
        ("{{ticket.title | truncate: 1 'a' 2}}", 17, "it takes: length, mark"),
        ("{{ticket.title | upper: 1}}", 17, "takes none"),
        ("{{ticket.title | truncate: 'x'}}", 27, "must be a number"),
        ("{{ticket.title | date: 'Y-m-d'}}", 23, "a date format"),
        ("{{ticket.title | date: '%1000000d'}}", 23, "a date format"),
        ("{{ticket.title | date: '%Y' 'Mars/Base'}}", 28, "unknown time zone"),
        ("{{ticket.title | date: '%Y' '../../etc/passwd'}}", 28, "unknown time zone"),
        ("{{ticket.title | truncate 7}}", 26, "follow a colon"),
        ("{{ticket.title | }}", 17, "the name of a filter"),
        ("{{ticket.title || upper}}", 16, "the name of a filter"),
        ("{{ticket.title | truncate: }}", 27, "expected a variable"),
        ("{{upper (truncate ticket.title 7}}", 32, "expected )"),
        ("{{ticket.title)}}", 14, "expected | or }}"),
        ("{{ticket.title ticket.id}}", 15, "expected |"),
        ("{{ticket.[title]}}", 8, "single points"),
        ("{{[title]}}", 2, "brackets"),
        ("{{ticket..title}}", 8, "single points"),
        ("{{../title}}", 2, "single points"),
        ("{{@index}}", 2, "@ variables"),
        ("{{a=b}}", 3, "no names"),
        ("{{ticket.title ; x}}", 15, "not allowed in a tag"),
        ("{{'abc}}", 2, "not closed"),
        ("{{99999999999999999999}}", 2, "64 bits"),
        ("a {{> partial}}", 4, "partials"),
        ("a {{ > partial}}", 5, "partials"),
        ("{{& ticket.title}}", 2, "without &"),
        ("{{^ticket.title}}", 2, "{{else}}"),
        ("{{~ticket.title}}", 2, "~ is not supported"),
        ("{{#with ticket}}{{/with}}", 0, "#with"),
        ("x{{#loop ticket}}{{/loop}}", 1, "unknown block"),
        ("{{lookup ticket 'id'}}", 2, "lookup"),
        ("ab {{ticket.title", 3, "not closed"),
        ("ab {{{ticket.title}}", 18, "close a tag that starts with {{{ with }}}"),
        ("{{{#if ticket.id}}}", 3, "not allowed before #"),
        ("{{{{raw}}}}", 0, "four braces"),
        ("{{ {{ticket.id}} }}", 3, "a tag inside a tag"),
        ("{{}}", 0, "empty"),
        ("a {{! never closed", 2, "comment is not closed"),
        ("a {{#if ticket.id}} b", 2, "{{#if}} is not closed"),
        ("a {{#if ticket.id}} b {{/each}}", 22, "expected {{/if}}"),
        ("a {{/if}}", 2, "not opened"),
        ("a {{else}}", 2, "outside a block"),
        ("{{#if ticket.id}}{{else}}{{else}}{{/if}}", 25, "only one {{else}}"),
        ("{{#if ticket.id}}{{else if ticket.id}}{{/if}}", 17, "{{else if}} is not allowed"),
        ("{{#if}}x{{/if}}", 5, "expected a variable"),
        ("{{#each ticket.title}}x{{/each}}", 0, "#each requires a list"),
        ("{{this}}", 2, "only allowed inside #each"),
        ("{{#each config.default_watcher_ids}}{{this.x}}{{/each}}", 38, "this is an integer"),
        ("{{#each config.default_watcher_ids}}{{../ticket}}{{/each}}", 38, "single points"),
    ],
)
def test_a_fault_in_a_tag_is_told_with_its_place(text: str, offset: int, words: str) -> None:
    found = fault(body(text))
    assert words in found.message
    assert (found.line, found.column) == (1, START + offset)


def test_columns_count_characters_as_typed_in_spite_of_escapes() -> None:
    template = '{"issue": {\n  "x": "\\u00e9\\n\\"\\ud83d\\ude00 é😀 {{nothing}}"}}'
    found = fault(template)
    assert (found.line, found.column) == (2, template.split("\n")[1].index("nothing") + 1)


def test_the_place_of_a_fault_inside_a_literal_block_is_its_line() -> None:
    template = json.dumps({"issue": {"a": "{{ticket.id}}", "b": "{{#if ticket.id}}{{bad}}{{/if}}"}}, indent=2)
    found = fault(template)
    assert found.line == 4
    assert template.splitlines()[3][found.column - 1 :].startswith("bad}}")
