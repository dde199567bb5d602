"""Plain text that the tracker's formatter would change is protected from it; other text stays as it is."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.events.formatting import Formatting, formatted, is_changed

MARKDOWN: list[Formatting] = ["markdown", "common_mark"]
RENDERED: list[Formatting] = ["textile", *MARKDOWN]

PROSE = [
    "Hello,\nthe printer in room 12 is broken. Thanks!",
    "Bonjour,\n\nl'imprimante du 2e étage (salle 12) ne marche plus - merci de venir.\nTél. +33 1 23 / Fax +33 1 24",
    "Error 0x80070005: access denied; it's a test_case, done 5/5 [urgent] at 12:30, 50 % of 3 * 4, x < y, AT&T.",
    "Really?! Yes... C++ and e-mail; \"quoted\" and 'single' {braces} $5 (see below) ~5 min.",
    "Name | Amount\nPaper | 5",
    "A sentence.  Two blanks after it.",
    "Ein- und Ausgang",
]
CHANGED = [
    "# systemctl restart x",
    "* item",
    "> quoted",
    "| a | b |",
    "see #12",
    "fixed in r123",
    "commit:abc123",
    'document:"Some document"',
    "ask user:bob",
    "@admin please",
    "mail to a@x.example",
    "http://x.example/",
    "ftp://x.example/",
    "see www.x.example",
    "[[Wiki]]",
    "{{include(x)}}",
    "!http://host/p.gif!",
    "keep !#12 as it is",
    "field <name> is empty",
    "<!-- hidden -->",
    "&amp; is written",
    "  indented",
    "one\ttwo",
    "one   two",
]
CHANGED_BY_TEXTILE = [
    "h1. Heading",
    "bq. quoted",
    "p(. padded",
    "fn1. note",
    "service[123]: failed",
    "PC(s) are off",
    "*bold*",
    "_leaning_",
    "a -deleted- word",
    "+inserted+ and ^above^ and ~below~",
    "%span% of it",
    "??cited??",
    'a "link":/to',
    "-5 degrees\nand\n-",
    "%s &\nmore",
    "==as it is==",
    "---",
    "(a) x|b|",
    "a line\n=",
]
CHANGED_BY_MARKDOWN = [
    r"\\server\share",
    "`code`",
    "*bold*",
    "__init__",
    "~~gone~~",
    "x^2",
    "[text](address)",
    "[text] (address)",
    "[word]: defined",
    "a line\n=",
    "a line\n--",
    "- item",
    "+ item",
    "1. first",
    "1) first",
    "a | b\n--|--\n1 | 2",
]


@pytest.mark.parametrize("formatting", RENDERED)
@pytest.mark.parametrize("text", PROSE)
def test_prose_stays_prose(text: str, formatting: Formatting) -> None:
    assert not is_changed(text, formatting)
    assert formatted(text, formatting).replace("  \n", "\n") == text


@pytest.mark.parametrize(
    ("text", "formatting"),
    [
        *((text, one) for text in CHANGED for one in RENDERED),
        *((text, "textile") for text in CHANGED_BY_TEXTILE),
        *((text, one) for text in CHANGED_BY_MARKDOWN for one in MARKDOWN),
    ],
)
def test_what_a_formatter_would_change_goes_into_one_fence_as_a_whole(
    text: str, formatting: Formatting
) -> None:
    whole = f"Hello,\n\nbefore.\n{text}\nbehind."
    opening, closing = ("<pre>", "</pre>") if formatting == "textile" else ("~~~", "~~~")
    assert formatted(whole, formatting) == f"{opening}\n{whole}\n{closing}"


@pytest.mark.parametrize("text", [*PROSE, *CHANGED])
def test_plain_changes_nothing(text: str) -> None:
    assert formatted(text, "plain") == text
    assert not is_changed(text, "plain")


@pytest.mark.parametrize("formatting", RENDERED)
def test_no_text_stays_no_text(formatting: Formatting) -> None:
    assert formatted("", formatting) == ""


def test_a_fence_is_longer_than_any_run_of_tildes_in_the_text() -> None:
    assert formatted("~~~~\n# x", "common_mark") == "~~~~~\n~~~~\n# x\n~~~~~"


def test_a_tag_that_would_end_the_fence_of_textile_is_parted() -> None:
    text = "</pre> <PRE> <code class='ruby'> <notextile> <redpre#0> x%x%"
    parted = (
        "<\u2060/pre> <\u2060PRE> <\u2060code class='ruby'> <\u2060notextile> <\u2060redpre#0> x%\u2060x%"
    )
    assert formatted(text, "textile") == f"<pre>\n{parted}\n</pre>"


@pytest.mark.parametrize("inner", ["```", "~~~", "~~~~~~"])
def test_a_fence_inside_the_text_uncovers_no_mention(inner: str) -> None:
    for formatting in MARKDOWN:
        body = formatted(f"{inner}\n@admin", formatting)
        assert "@\u2060admin" in body


def test_a_line_that_is_a_fence_does_not_end_the_fence_of_markdown() -> None:
    assert formatted("~~~\nx\n```", "markdown") == "~~~~\n\u2060~~~\nx\n\u2060```\n~~~~"


def test_lines_of_prose_stay_lines_where_common_mark_joins_them() -> None:
    assert formatted("a\nb\n\nc\nd", "common_mark") == "a  \nb\n\nc  \nd"
    assert formatted("a\nb", "markdown") == formatted("a\nb", "textile") == "a\nb"


@given(st.text("ab #*-_~`<>/pre\n@!{}[]()|=\\&;x%1."), st.sampled_from(RENDERED))
def test_nothing_but_the_joiner_and_the_fence_is_added(text: str, formatting: Formatting) -> None:
    body = formatted(text, formatting)
    inner = re.sub(r"\A(?:<pre>|~{3,})\n|\n(?:</pre>|~{3,})\Z", "", body) if body != text else body
    assert inner.replace("\u2060", "").replace("  \n", "\n") == text.replace("  \n", "\n")


@pytest.mark.slow
@pytest.mark.parametrize("formatting", RENDERED)
@pytest.mark.parametrize(
    "piece",
    ["(", "*", " *", "x*", "-a ", "~", "<", "[ ", "] ", " ", "?", " ?-", "a\n", "| ", "-|: ", "@", "A", "A(",
     "x%", "&", "&#", "```\n", "(x "],
)  # fmt: skip
def test_hostile_text_takes_no_time(piece: str, formatting: Formatting) -> None:
    started = time.process_time()
    formatted(piece * (200_000 // len(piece)), formatting)
    assert time.process_time() - started < 1
