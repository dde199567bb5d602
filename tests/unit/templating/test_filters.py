"""Every filter and condition gives the result in the table."""

from __future__ import annotations

import re
from typing import Any

import pytest

from shared.events.text import plain_text
from shared.templating.catalogue import FormContext, TicketContext
from shared.templating.filters import CONDITIONS, FILTERS, FUNCTIONS, LETTERS
from tests.unit.templating.support import body, fault, one

RICH = "<p>It <b>burns</b> &amp; smokes</p><ul><li>a</li><li>b</li></ul>"

# value, filter, result
TABLE: list[tuple[Any, str, Any]] = [
    (None, "default: 'x'", "x"),
    ("", "default: 'x'", "x"),
    ([], "default: 'x'", "x"),
    (0, "default: 'x'", 0),
    (False, "default: 'x'", False),
    ("a", "default: 'x'", "a"),
    ("a", "default: null", "a"),
    ("", "default: null", None),
    ("", "default: ticket.id", 4711),
    ("abcdef", "truncate: 3", "abc"),
    (" a <b>\n c", "one_line", "a <b> c"),
    ("ab cdef", "truncate: 3", "ab"),
    ("abcdef", "truncate: 3 '…'", "ab…"),
    ("abcdef", "truncate: 6 '…'", "abcdef"),
    ("abcdef", "truncate: 0", ""),
    ("abcdef", "truncate: 2 '...'", ""),
    ("e\u0301e\u0301e\u0301", "truncate: 3", "e\u0301"),
    (12345, "truncate: 2", "12"),
    ("Straße ärgert", "upper", "STRASSE ÄRGERT"),
    ("ÄB", "lower", "äb"),
    ("hELLO World", "capitalize", "Hello world"),
    (" \n a b \t", "trim", "a b"),
    (RICH, "plain", plain_text(RICH)),
    ("1 < 2", "plain", "1 < 2"),
    ("<b> x", "plain", "<b> x"),
    ("<b>x", "plain: 'html'", "x"),
    ("<p>x</p>", "plain: 'plain'", "<p>x</p>"),
    ("<p>x</p>", "plain: null null", "x"),
    ('<p><a href="/y">x</a></p>', "plain: null 'https://h.example'", "x (https://h.example/y)"),
    ("# x", "formatted: 'common_mark'", "\\# x"),
    ("# x", "formatted: 'textile'", "&#35; x"),
    ("# x", "formatted: 'plain'", "# x"),
    ("# x", "formatted: null", "# x"),
    ("", "formatted: 'markdown'", ""),
    ("a.b.c", "replace: '.' '-'", "a-b-c"),
    ("a.b.c", "replace: '.' ''", "abc"),
    ("aXb", "replace: '.' '-'", "aXb"),
    ("abcdef", "slice: 2", "cdef"),
    ("abcdef", "slice: 1 3", "bcd"),
    ("abcdef", "slice: -2", "ef"),
    ("abcdef", "slice: -9 2", "ab"),
    ("abcdef", "slice: 1 -1", "bcde"),
    ("abcdef", "slice: 9 2", ""),
    ([1, 2, 3], "slice: 1 1", [2]),
    (" a  b\nc ", "split", ["a", "b", "c"]),
    ("a, b,c", "split: ','", ["a", " b", "c"]),
    ("", "split", []),
    ([1, "b", True], "join", "1, b, true"),
    ([1, 2], "join: ''", "12"),
    ([], "join: '-'", ""),
    ([1, 2], "first", 1),
    ([], "first", None),
    ("ab", "first", "a"),
    ("", "first", None),
    ([1, 2], "last", 2),
    ("ab", "last", "b"),
    ([1, 2], "length", 2),
    ("abc", "length", 3),
    ({"a": 1}, "length", 1),
    (None, "length", 0),
    (2, "map: 1 'new' 2 'open'", "open"),
    ("2", "map: 1 'new' 2 'open'", "open"),
    (3, "map: 1 'new' 2 'open'", None),
    (3, "map: 1 'new' 2 'open' 'other'", "other"),
    (None, "map: null 'none'", "none"),
    (True, "map: 1 'one' true 'yes'", "yes"),
    ("42", "int", 42),
    (" -7 ", "int", -7),
    (3.9, "int", 3),
    ("3.9", "int", 3),
    ("1.5", "float", 1.5),
    (2, "float", 2.0),
    (1.005, "round: 2", 1.01),
    (2.5, "round", 3),
    (-2.5, "round", -3),
    ("1.25", "round: 1", 1.3),
    (5400, "hours", 1.5),
    ("5400", "hours", 1.5),
    (4000, "hours | round: 2", 1.11),
    (7, "string", "7"),
    (True, "string", "true"),
    (2.0, "string", "2"),
    ("yes", "bool", True),
    ("Off", "bool", False),
    (" 1 ", "bool", True),
    ("", "bool", False),
    (None, "bool", False),
    (0, "bool", False),
    (3, "bool", True),
    ("2026-11-21T23:30:00Z", "date", "2026-11-21"),
    ("2026-11-21T23:30:00+02:00", "date: '%Y-%m-%dT%H:%M:%S%z'", "2026-11-21T21:30:00+00:00"),
    ("2026-11-21T23:30:00Z", "date: '%d.%m.%y %H:%M' 'Europe/Paris'", "22.11.26 00:30"),
    ("2026-11-21T23:30:00Z", "date: '%A %a %B %b %I %p %M %S %j %V %Z %%'",
     "Saturday Sat November Nov 11 PM 30 00 325 47 UTC %"),
    ("2026-01-02T00:05:00-03:30", "date: '%I %p %z' 'America/St_Johns'", "12 AM -03:30"),
    ("2026-11-21", "date: '%d/%m/%Y%z'", "21/11/2026"),
    ("2026-11-21 09:30:00", "date: '%H:%M' 'Asia/Tokyo'", "09:30"),
    ({"a": [1, "é", None]}, "json", '{"a":[1,"é",null]}'),
    (None, "json", "null"),
    ('a"b', "json", '"a\\"b"'),
    ("Über uns: Nord & Süd!", "slug", "uber-uns-nord-sud"),
    ("---", "slug", ""),
    ("x" * 150, "slug", "x" * 100),
    (5, "prefix: '#'", "#5"),
    ("", "prefix: '#'", ""),
    (5, "suffix: ' h'", "5 h"),
    ("", "suffix: ' h'", ""),
    (2, "eq: 2", True),
    (2, "eq: '2'", True),
    ("2", "eq: 2", True),
    (True, "eq: 1", False),
    (None, "eq: null", True),
    ("", "eq: null", False),
    ([1], "eq: 1", False),
    (2, "ne: 3", True),
    (2, "gt: 1", True),
    (2, "gt: 2", False),
    ("10", "gt: 9", True),
    (None, "gt: 0", False),
    (1, "and: 'a'", True),
    (1, "and: 'a' 0", False),
    (0, "or: '' 'x'", True),
    (0, "or: '' null", False),
    ([], "not", True),
    ("0", "not", False),
]  # fmt: skip


@pytest.mark.parametrize(("value", "call", "result"), TABLE)
def test_a_filter_makes(value: Any, call: str, result: Any) -> None:
    found = one("{{ticket.content | " + call + "}}", ticket__content=value)
    assert found == result
    assert type(found) is type(result)


def test_the_table_has_every_filter_and_condition() -> None:
    assert {name for _, call, _ in TABLE for name in re.findall(r"(?:^|\| )(\w+)", call)} == set(FUNCTIONS)


@pytest.mark.parametrize("name", [one.name for one in FILTERS if not one.takes_null])
def test_null_passes_through(name: str) -> None:
    call = next(call for _, call, _ in TABLE if re.match(rf"{name}\b", call))
    assert one("{{ticket.content | " + call + "}}", ticket__content=None) is None


@pytest.mark.parametrize(
    ("value", "call", "words"),
    [
        ([1], "upper", "must be a text, not a list"),
        ({}, "trim", "must be a text, not an object"),
        ("a", "truncate: -1", "0 or more"),
        ("a", "plain: ticket.title", "must be one of html, plain"),
        ("a", "formatted: ticket.title", "must be one of plain, textile, markdown, common_mark"),
        ("a", "replace: '' 'b'", "text to search for is empty"),
        ("a", "split: ''", "separator is empty"),
        ("a", "join", "must be a list, not a text"),
        ("a", "int", "must be a number"),
        ("1e5", "int", "must be a number"),
        ("٣", "int", "must be a number"),
        ("9" * 30, "int", "64 bits"),
        (True, "int", "not a boolean"),
        ("a", "float", "must be a number"),
        (1, "round: 11", "0 to 10"),
        ("maybe", "bool", "must be one of true, yes, on, 1, false, no, off, 0"),
        ([1], "bool", "not a list"),
        ("yesterday", "date", "date: must be a date"),
        (20261121, "date", "date: must be a date"),
        ("0001-01-01T00:00:00+10:00", "date", "out of range"),
        ("a", "gt: 1", "must be a number"),
        ([1], "gt: 1", "both sides must be numbers"),
        ("a" * 1000, "replace: 'a' ticket.title", "longer than 1 MiB"),
    ],
)
def test_a_value_that_does_not_fit_is_an_error_at_the_filter(value: Any, call: str, words: str) -> None:
    template = body("{{ticket.content | " + call + "}}")
    found = fault(template, ticket__content=value, ticket__title="b" * 2000)
    assert words in found.message
    assert found.column == template.index(call.split(":")[0].split()[0], 20) + 1


def test_a_join_cannot_outgrow_the_output() -> None:
    found = fault(
        body("{{ticket.content | split: ',' | join: ticket.title}}"),
        ticket__content="," * 5000,
        ticket__title="x" * 5000,
    )
    assert "1 MiB" in found.message


def test_no_filter_has_the_name_of_a_group_of_variables() -> None:
    groups = {*TicketContext.model_fields, *FormContext.model_fields, "this", "else"}
    assert not groups & set(FUNCTIONS)
    assert len(FUNCTIONS) == len(FILTERS) + len(CONDITIONS)


@pytest.mark.parametrize("letter", LETTERS)
def test_every_letter_of_a_date_gives_something(letter: str) -> None:
    assert one("{{event.occurred_at | date: '%" + letter + "'}}")
