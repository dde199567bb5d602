"""Plain text that the tracker's formatter would change is protected from it; other text stays as it is."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.events.formatting import Formatting, formatted
from tests.support.follow_ups import FOLLOW_UPS

JOINER = "\u2060"

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
    "[[Wiki]]",
    "{{include(x)}}",
    "!http://host/p.gif!",
    "keep !#12 as it is",
    "field <name> is empty",
    "<!-- hidden -->",
    "&amp; is written",
    "  indented",
    "one  two",
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
    assert formatted(text, formatting).replace("  \n", "\n").replace("\xa0", " ") == text


@pytest.mark.parametrize(
    ("text", "formatting"),
    [
        *((text, one) for text in CHANGED for one in RENDERED),
        *((text, "textile") for text in CHANGED_BY_TEXTILE),
        *((text, one) for text in CHANGED_BY_MARKDOWN for one in MARKDOWN),
    ],
)
def test_what_a_formatter_would_change_is_escaped(text: str, formatting: Formatting) -> None:
    whole = f"Hello,\n\nbefore.\n{text}\nbehind."
    body = formatted(whole, formatting)
    assert body.replace("  \n", "\n") != whole
    assert plain(body, formatting) == whole
    assert "~~~" not in body
    assert "<pre>" not in body


def plain(body: str, formatting: Formatting) -> str:
    """Return the text that a body shows."""
    body = body.replace(JOINER, "").replace("  \n", "\n")
    if formatting == "textile":
        return re.sub("&#([0-9]+);", lambda escape: chr(int(escape[1])), body).replace("\xa0", " ")
    unlinked = re.sub(r"(?<!\\)<(https?://[^<> ]+)>", r"\1", body)
    unescaped = re.sub(
        r"\\([!-/:-@\[-`{-~])|&#([0-9]+);", lambda escape: escape[1] or chr(int(escape[2])), unlinked
    )
    return unescaped.replace("\xa0", " ")


@pytest.mark.parametrize(
    ("text", "textile", "markdown", "common_mark"),
    [
        ("- item", "- item", r"\- item", r"\- item"),
        ("* a *b*", "&#42; a &#42;b*", r"\* a \*b\*", r"\* a \*b\*"),
        ("a_b _c_", "a_b &#95;c_", r"a_b \_c\_", r"a_b \_c\_"),
        ("> quoted", "&#62; quoted", r"\> quoted", r"\> quoted"),
        ("1. one", "1. one", r"1\. one", r"1\. one"),
        (r"\\server\share", r"\\server\share", r"\\\server\share", r"\\\server\share"),
        ("h1. x", "h1&#46; x", "h1. x", "h1. x"),
        ("see #12, r12", "see &#35;12, &#114;12", "see &#35;12, &#114;12", f"see #{JOINER}12, r{JOINER}12"),
        ("@bob", "&#64;bob", "&#64;bob", f"@{JOINER}bob"),
        ("user:bob", "user&#58;bob", "user&#58;bob", f"user{JOINER}:bob"),
        ("[[Wiki]]", "&#91;[Wiki]]", "&#91;[Wiki]]", f"[{JOINER}[Wiki]]"),
        ("a {{toc}}", "a {&#123;toc}}", r"a {\{toc}}", r"a {\{toc}}"),
        ("  in", "\xa0\xa0in", "\xa0\xa0in", "\xa0\xa0in"),
        ("a  b", "a \xa0b", "a \xa0b", "a \xa0b"),
    ],
)
def test_only_what_the_formatter_interprets_is_escaped(
    text: str, textile: str, markdown: str, common_mark: str
) -> None:
    assert [formatted(text, one) for one in RENDERED] == [textile, markdown, common_mark]


@pytest.mark.parametrize("formatting", RENDERED)
@pytest.mark.parametrize(
    "address",
    [
        "https://x.example",
        "http://x.example/a_b/c-d?e=f&g=%20#h",
        "https://x.example/A_(B)",
        "www.x.example/a",
        "ftp://x.example/a",
        "a.b_c-d+e@x-y.example",
    ],
)
@pytest.mark.parametrize("around", ["see {} there", "{}.", "({})", "<{}>", '"{}"', "{}, x\ny"])
def test_an_address_stays_as_it_is_so_that_it_becomes_a_link(
    address: str, around: str, formatting: Formatting
) -> None:
    text = around.format(address)
    body = formatted(text, formatting)
    kept = f"<{address}>" if address.startswith("http") and formatting != "textile" else address
    assert kept in body
    assert plain(body, formatting) == text


@pytest.mark.parametrize("formatting", RENDERED)
@pytest.mark.parametrize(
    "text",
    ["https://medium.example/@alice/x", "https://x.example/a*b*", "user:a@x.example", "mailto:a@x.example"],
)
def test_an_address_with_markup_or_a_mention_is_no_link(text: str, formatting: Formatting) -> None:
    body = formatted(text, formatting)
    assert text not in body
    assert plain(body, formatting) == text


@pytest.mark.parametrize("formatting", RENDERED)
@pytest.mark.parametrize("lines", ["a      5\nbc    10", "x:\n    y\nz:\n    w", "one\ttwo", "    code"])
def test_only_lines_that_need_columns_are_fenced(lines: str, formatting: Formatting) -> None:
    opening, closing = ("<pre>", "</pre>") if formatting == "textile" else ("~~~", "~~~")
    code = lines.removeprefix("x:\n")
    before = "before.\nx:" if code != lines else "before."
    end = "" if formatting != "common_mark" else "  "
    body = formatted(f"{before}\n{code}\n\nbehind.", formatting)
    assert body == f"{before}\n\n{opening}\n{code}\n{closing}\n\nbehind.".replace(".\nx", f".{end}\nx")


@pytest.mark.parametrize("formatting", RENDERED)
def test_a_long_line_is_never_fenced(formatting: Formatting) -> None:
    text = "A letter.   " + "It goes on. " * 20 + "\t\t* [x]"
    body = formatted(text, formatting)
    assert "~~~" not in body
    assert "<pre>" not in body
    assert "\t" not in body


@pytest.mark.parametrize("formatting", RENDERED)
@pytest.mark.parametrize("name", FOLLOW_UPS)
def test_a_mail_is_prose_with_a_block_only_around_columns(name: str, formatting: Formatting) -> None:
    text = FOLLOW_UPS[name]
    body = formatted(text, formatting)
    assert ("~~~\n" in body or "<pre>" in body) == (name in ("table of blanks", "code"))
    shown = plain(re.sub(r"\n*^(?:</?pre>|~~~)$\n*", "\n", body, flags=re.MULTILINE), formatting)
    assert re.sub("\n+", "\n", shown) == re.sub("\n+", "\n", text)
    assert_mentions_no_one(body)


def assert_mentions_no_one(body: str) -> None:
    """Look for mentions as Redmine does before it sends mails: in the text as sent, except in fences."""
    unfenced = re.sub(
        "<pre>.*?</pre>", "", re.sub("(~~~|```).*?(~~~|```)", "", body, flags=re.DOTALL), flags=re.DOTALL
    )
    assert re.findall(r"(?:^|\W)@([A-Za-z0-9_@.-]+)", unfenced, re.ASCII | re.MULTILINE) == []


@given(st.text("ab @~`<>/pre\n.x-_:") | st.text("a@`~\n    "), st.sampled_from(RENDERED))
def test_nobody_is_mentioned(text: str, formatting: Formatting) -> None:
    assert_mentions_no_one(formatted(text, formatting))


@pytest.mark.parametrize("text", [*PROSE, *CHANGED])
def test_plain_changes_nothing(text: str) -> None:
    assert formatted(text, "plain") == text


@pytest.mark.parametrize("formatting", RENDERED)
def test_no_text_stays_no_text(formatting: Formatting) -> None:
    assert formatted("", formatting) == ""


def test_a_fence_is_longer_than_any_run_of_tildes_in_the_text() -> None:
    assert formatted("~~~~\n# x\ty", "common_mark") == "\\~\\~\\~\\~\n\n~~~\n# x\ty\n~~~"
    assert formatted("~~~~\tx", "common_mark") == "~~~~~\n~~~~\tx\n~~~~~"


def test_a_tag_that_would_end_the_fence_of_textile_is_parted() -> None:
    text = "</pre> <PRE> <code class='ruby'> <notextile> <redpre#0>\tx%x%"
    parted = (
        "<\u2060/pre> <\u2060PRE> <\u2060code class='ruby'> <\u2060notextile> <\u2060redpre#0>\tx%\u2060x%"
    )
    assert formatted(text, "textile") == f"<pre>\n{parted}\n</pre>"


@pytest.mark.parametrize("inner", ["```", "~~~", "~~~~~~"])
def test_a_fence_inside_the_text_uncovers_no_mention(inner: str) -> None:
    for formatting in MARKDOWN:
        body = formatted(f"{inner}\tx\n\t@admin\n\nprose\n\n\t@admin", formatting)
        assert body.count("@\u2060admin") == 2


def test_a_line_that_is_a_fence_does_not_end_the_fence_of_markdown() -> None:
    text = "~~~\tx\n```\tx"
    assert formatted(text, "markdown") == "~~~~\n\u2060~~~\tx\n\u2060```\tx\n~~~~"


def test_lines_of_prose_stay_lines_where_common_mark_joins_them() -> None:
    assert formatted("a\nb\n\nc\nd", "common_mark") == "a  \nb\n\nc  \nd"
    assert formatted("a\nb", "markdown") == formatted("a\nb", "textile") == "a\nb"


@given(st.text("ab #*-_~`<>/pre\n@!{}[]()|=\\\\&;x%1."), st.sampled_from(RENDERED))
def test_nothing_but_escapes_and_fences_is_added(text: str, formatting: Formatting) -> None:
    lines = [line.strip(" ") for line in text.split("\n")]
    text = "\n".join(re.sub(" +", " ", line) for line in lines).strip("\n")
    assert plain(formatted(text, formatting), formatting) == text


@pytest.mark.slow
@pytest.mark.parametrize("formatting", RENDERED)
@pytest.mark.parametrize(
    "piece",
    ["(", "*", " *", "x*", "-a ", "~", "<", "[ ", "] ", " ", "?", " ?-", "a\n", "| ", "-|: ", "@", "A", "A(",
     "x%", "&", "&#", "```\n", "(x ", "https://a.(", "a.", "a@", "[a", "!a-", "\\ ", "=", "{"],
)  # fmt: skip
def test_hostile_text_takes_no_time(piece: str, formatting: Formatting) -> None:
    started = time.process_time()
    formatted(piece * (200_000 // len(piece)), formatting)
    assert time.process_time() - started < 1
