"""Rich text becomes the text that people read, and the small conversions of SPEC 2.4 are correct."""

import html
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.events import rendering
from shared.events.size import MOST_BYTES, fitting
from shared.events.text import cut, hours, normalised, one_line, plain_text

MARKUP = [
    ("<p>a &amp; b</p>", "a & b"),
    ("<div>a</div><div>b</div>", "a\nb"),
    ("<p>a</p><p>b</p>", "a\n\nb"),
    ("<p>a</p><p>&nbsp;</p><p>&nbsp;</p><p>b</p>", "a\n\nb"),
    ("a<br>b<br/><br/><br/>c", "a\nb\n\nc"),
    ("<p>one\r\n  two</p>", "one two"),
    ("<p>a&nbsp;b</p>", "a b"),
    ("<p>wo<b>r</b>d and <em>word</em></p>", "word and word"),
    ("<p>press &lt;Enter&gt; for &amp;lt;</p>", "press <Enter> for &lt;"),
    ("<p>a < b, a<b and c>d, mail <y@z.example></p>", "a < b, a<b and c>d, mail <y@z.example>"),
    ("<p>mail</p>\n<o:p></o:p><p>end</p>", "mail\n\nend"),
    ("<ul><li>a</li><li>b</li></ul>", "* a\n* b"),
    ("<p>x</p><ol><li>a</li><li>b<ul><li>c</li></ul></li></ol>", "x\n\n1. a\n2. b\n   * c"),
    ('<p>see <a href="https://x.example/?a=1&amp;copy=2">the page</a> now</p>',
     "see the page (https://x.example/?a=1&copy=2) now"),
    ('<p><a href="https://x.example/">https://x.example</a>, <a href="mailto:a@x.example">a@x.example</a>',
     "https://x.example, a@x.example"),
    ('<a href="u">menu</a>', "menu (u)"),
    ('<a href="https://bad.example/">https://good.example</a>', "https://good.example (https://bad.example/)"),
    ('<p>a <a href="u">b </a>c<a href="#top">d</a> <a href="u"><img src="i.png"></a>e</p>', "a b (u) cd e"),
    ('<li><a href="u">t</a></li>', "* t (u)"),
    ('<p>a <img src="x.png" alt="screen"> b<img src="y.png"></p>', "a screen b"),
    ('<p>a</p><img src="data:image/png;base64,AAAA==">', "a\n\n[image]"),
    ("<table><tr><th>A</th><th>B</th></tr><tr><td><p>1</p></td><td>2 &amp;lt;</td></tr></table>",
     "A | B\n1 | 2 &lt;"),
    ("a<table><tr><td>x</td></tr></table>b", "a\nx\nb"),
    ("<table><tr><td><table><tr><td>x</td><td>y</td></tr></table></td></tr></table>", "x | y"),
    ("<style>p{}</style><script>alert('<p>')</script><!-- <p>no</p> --><p>yes</p>", "yes"),
    ('<p>a</p><p style="display: none">no</p>', "a"),
    ("<pre>a  b\n  c</pre>", "a  b\n  c"),
    ("<table><tr><td>a</td><td>b</td></tr></table><pre>c\n  d</pre><p>e</p>", "a | b\n\nc\n  d\n\ne"),
    ("<ul><li>a</li></ul><pre>b</pre><div><pre>c</pre></div>", "* a\n\nb\n\nc"),
    ("<p>a</p><pre>b</pre>c<pre>d</pre>", "a\n\nb\nc\nd"),
    ("<dl><dt>a</dt><dd>b</dd></dl>", "a\nb"),
    ("<P>A</P>", "A"),
    ("<?xml version='1.0' encoding='utf-8'?><!DOCTYPE html><html><body><p>a</p></body></html>", "a"),
    ("<p>never closed", "never closed"),
    ("<b>Urgent", "Urgent"),
    ("Please <strong>call back", "Please call back"),
    ("see\n<u>underlined <em>twice", "see underlined twice"),
    ("<p>a\x00b\x07c&#0;&#7;d\ud800e</p>", "abc\ufffdde"),
    ('<p style="margin-top: 90000em; padding-left: 90000em">a</p>', "a"),
]  # fmt: skip

PLAIN = [
    "a < b",
    "x <y@z>",
    "AT&T",
    "R&D; &unknown; &copy",
    "if (a<b) && c>d",
    "std::map<a, b> and List<String> and cmp <a> <b>",
    "replace <title> by your <address>",
    "a<b>c, press <b> or <i>, vector<i>x",
    "one\n  two\n\nthree\tfour",
    "<<<>>> </> <!--",
]


@pytest.mark.parametrize(("rich", "plain"), MARKUP)
def test_markup_becomes_what_a_person_would_read(rich: str, plain: str) -> None:
    assert plain_text(rich) == plain


@pytest.mark.parametrize(("rich", "plain"), MARKUP)
def test_markup_escaped_once_more_reads_the_same(rich: str, plain: str) -> None:
    assert plain_text(html.escape(rich)) == plain


def test_markup_escaped_with_numbers_reads_the_same() -> None:
    assert plain_text("&#60;p&#62;a &#38;amp; b&#60;/p&#62;") == "a & b"


@pytest.mark.parametrize("text", PLAIN)
def test_text_without_markup_is_kept(text: str) -> None:
    assert plain_text(text) == text


@pytest.mark.parametrize("text", PLAIN)
def test_escaped_text_without_markup_is_unescaped(text: str) -> None:
    assert plain_text(html.escape(text)) == text


def test_plain_text_folds_line_ends_and_empty_lines_and_outer_blanks() -> None:
    assert plain_text("  a \r\nb\r\rc\n\n\n\nd\xa0e \n") == "a\nb\n\nc\n\nd e"


@pytest.mark.parametrize("rich", [None, "", " \n", "<p></p>", "<html><body></body></html>"])
def test_nothing_to_read_is_the_empty_text(rich: str | None) -> None:
    assert plain_text(rich) == ""


def test_nothing_is_lost_below_the_depth_at_which_the_parser_stops() -> None:
    assert (
        plain_text("<p>first</p>" + "<div>" * 300 + "deep" + "</div>" * 300 + "<p>last</p>")
        == "first\n\ndeep\n\nlast"
    )


def test_texts_that_are_rendered_at_the_same_moment_keep_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second rendering starts in the middle of the first, as another thread's may at any point."""
    others = []
    monkeypatch.setattr(rendering, "_apply_style", lambda *_: others.append(plain_text("<p>another's</p>")))
    rich = '<html style=""><body><table><tr><td>one</td><td>two</td></tr></table>'
    assert plain_text(rich) == "one | two"
    assert others == ["another's"]


def test_the_tag_stripper_keeps_lines_and_lists() -> None:
    text = plain_text("<div>" * 300 + "<p>a &amp; <b>b</b></p><ul><li>c<li>d</ul><style>no</style>")
    assert text == "a & b\n\n* c\n* d"


BASE = "https://glpi.example.org"
KEY = "3bc71f89-0d1c4f0e-5e7d33d3.82755029"
PASTED = "/front/document.send.php?docid=1&amp;itemtype=Ticket&amp;items_id=65"
SHOWN = f"[image: {BASE}/front/document.send.php?docid=1&itemtype=Ticket&items_id=65]"

RICH = [
    ("<font color=red>q", "q"),
    ('<input type="text" value="x">q', "q"),
    ('<span style="color: red">hi', "hi"),
    ('<pre class="language-php"><code>if (x) {\n    y();\n}</code></pre><p>z</p>', "if (x) {\n    y();\n}\n\nz"),
    ("<pre><span>a\n  b</span>\n<em>c</em></pre>", "a\n  b\nc"),
    ('<div style="white-space: pre-wrap">a\n  b <b>c\nd</b></div>', "a\n  b c\nd"),
    ('<p style="white-space: pre-line">a\n<i>b\nc</i></p>', "a\nb\nc"),
    ('<pre>a\n<span style="white-space: normal">b\nc</span></pre>', "a\nb c"),
    (f'<p>a<a href="{PASTED}"><img alt="{KEY}" src="{PASTED}" width="9"></a>b</p>', f"a\n{SHOWN}\nb"),
    (f'<p><img alt="" src="{PASTED}"> b</p>', f"{SHOWN}\nb"),
    ('<p><img alt="5d9f6b1e-3a4c-4f0e-9b7a-0c1d2e3f4a5b" src="https://x.example/a.png"></p>',
     "[image: https://x.example/a.png]"),
    (f'<p><img alt="{KEY}" src="data:image/png;base64,AAAA"></p>', "[image]"),
    ('<img src="data:image/png;base64,AAAA">', "[image]"),
    ("<p>see <IMG SRC='DATA:image/svg+xml;charset=utf-8,%3Csvg%3E%3C/svg%3E' alt=''> there</p>",
     "see\n\n[image]\nthere"),
    ('<p><img src=" data:image/png;base64,AA\nAA+/= "></p>then', "[image]\n\nthen"),
    ('<p>a <img alt="the error" src="data:image/png;base64,AAAA"> b</p>', "a the error b"),
    ("&lt;p&gt;old &lt;img src=&quot;data:image/png;base64,AAAA&quot;&gt;&lt;/p&gt;", "old\n\n[image]"),
    (f'<p>a <img alt="the error" src="{PASTED}"> b</p>', "a the error b"),
    (f'<p><a href="/x">see <img alt="{KEY}" src="/y.png"></a></p>', f"see\n[image: {BASE}/y.png] ({BASE}/x)"),
    ('<p>see <a href="/front/ticket.form.php?id=5">ticket 5</a> <a href="#top">above</a></p>',
     f"see ticket 5 ({BASE}/front/ticket.form.php?id=5) above"),
    ('<p><a href="//x.example/a">a</a> <a href="b">b</a></p>', f"a (https://x.example/a) b ({BASE}/b)"),
    ('<ol start="3"><li>a</li><li>b</li></ol><p>x</p><ol start="5"><li>c</li></ol>', "3. a\n4. b\n\nx\n\n5. c"),
    ('<ol><li>a</li><p>x</p><li>b</li><li value="9">c</li><li value="²">d</li></ol>',
     "1. a\n\n   x\n\n2. b\n9. c\n10. d"),
    ("<ul><li>a</li></ul><table><tr><td>1</td><td>2</td></tr></table>", "* a\n\n1 | 2"),
    ("<ol><li>a</li></ol><div><table><tr><td>1</td><td>2</td></tr></table></div>", "1. a\n\n1 | 2"),
    ("<table><tr><th>A<th>B<th>C<tr><td>1<td><td>3<tr><td><td>2<td><tr><td>1<td><td></table>",
     "A | B | C\n1 | | 3\n| 2 |\n1 | |"),
    ("<table><tr><td></td><td>a mail's layout</td></tr></table>", "a mail's layout"),
    ("<html><head><title>T</title></head><body><title>U</title><p>a</p></body></html>", "a"),
    ('<p>a<svg width="1"><title>x</title><path d="M0"/><text>no</text></svg>b</p>', "ab"),
    ("<p>a <svg> is not closed</p>", "a is not closed"),
    ('<p hidden>no</p><p>a</p><div hidden="">no<p>no</p></div>b', "a\n\nb"),
    ('<p>a</p><div style="visibility:hidden">no</div><div style="mso-hide: all">no</div>', "a"),
    ('<div style="font-size:0;line-height:0">no<span>no</span></div><p>a</p>', "a"),
    ('<table><tr><td style="font-size:0px">no<div style="font-size:13px">a</div>no</td></tr></table>', "a"),
    ('<p style="font-size:0.9em">a</p>', "a"),
    ("<p>&lt;![if !vml]&gt;a&lt;![endif]&gt;<![if !vml]>b<![endif]></p>", "ab"),
    ("<p>\x93a\x94 \x96 5 \x80, it\x92s\x85</p>", "“a” – 5 €, it’s…"),
]  # fmt: skip


@pytest.mark.parametrize(("rich", "plain"), RICH)
def test_rich_text_of_mails_and_editors_is_read_as_it_is_shown(rich: str, plain: str) -> None:
    assert plain_text(rich, base=BASE) == plain
    assert plain_text(rich, "html", BASE) == plain


def test_a_base_address_may_have_a_path() -> None:
    rich = '<a href="front/x">a</a> <a href="/glpi/front/y">b</a></p>'
    shown = "a (https://x.example/glpi/front/x) b (https://x.example/glpi/front/y)"
    assert (
        plain_text(rich, base="https://x.example/glpi")
        == plain_text(rich, base="https://x.example/glpi/")
        == shown
    )


def test_without_a_base_address_a_pasted_image_says_only_that_it_is_one() -> None:
    rich = f'<p>a<a href="{PASTED}"><img alt="{KEY}" src="{PASTED}"></a></p><p><a href="/x">b</a></p>'
    assert plain_text(rich) == "a\n[image]\n\nb (/x)"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("<b>bold", "bold"),
        ("a <i>leaning</i>", "a leaning"),
        ("a &eacute; &lt;b&gt;\nb", "a é <b>\nb"),
        ("a & b\nfield <name> is empty", "a & b\nfield <name> is empty"),
        ("&lt;p&gt;a&lt;/p&gt;", "a"),
    ],
)
def test_what_is_said_to_be_html_is_html(text: str, plain: str) -> None:
    assert plain_text(text, "html") == plain


@pytest.mark.parametrize("text", ["<p>a</p> &amp; b", "&lt;b&gt;", "<b>bold</b>", *PLAIN])
def test_what_is_said_to_be_plain_keeps_every_character(text: str) -> None:
    assert plain_text(text, "plain") == text


@pytest.mark.parametrize(
    "text", ["invoice_\u202efdp.exe", "\u2067invoice\u2069_fdp.exe", "invoice\u202d_fdp.exe"]
)
def test_no_character_shows_a_title_in_another_order(text: str) -> None:
    assert one_line(text, 255) == "invoice_fdp.exe"


@pytest.mark.parametrize(
    "text", ["\u200b", "\u2060\ufeff \xad\u200e", "\u3164", "\u2800", "\ufe0f", "\u202e"]
)
def test_a_text_that_shows_nothing_is_empty(text: str) -> None:
    assert plain_text(text) == plain_text(text, "html") == plain_text(text, "plain") == ""


HOSTILE = {
    "deep nesting": "<div>" * 100_000 + "x" + "</div>" * 100_000,
    "angle brackets": "<" * 1_000_000,
    "angle brackets in a paragraph": "<p>" + "<" * 1_000_000,
    "ampersands": "<p>" + "&" * 1_000_000,
    "huge table": "<table>" + "<tr><td>a</td><td>b</td></tr>" * 34_000 + "</table>",
    "table of the largest size rendered": "<table>" + "<tr><td>a</td><td>b</td></tr>" * 2_400 + "</table>",
    "one long cell above many rows": f"<table><tr><td>{'a' * 60_000}" + "<tr><td>b" * 7_000 + "</table>",
    "nested tables": "<table><tr><td>" * 75 + "&amp;" * 180_000,
    "many short tags": f"<p>{'x' * 60_000}" + "<b>a</b>" * 7_000,
    "one long line with tags": f"<p>{'x' * 990_000}" + "<b>a</b>" * 400,
    "unclosed tags": "<p " * 330_000 + "</p>",
    "unclosed attributes": '<p a="' * 170_000,
    "attributes": "<p" + " a=b" * 250_000,
    "blanks": "<p" + " " * 1_000_000,
    "blanks in a line": "a" + " " * 1_000_000 + "b",
    "unclosed comments": "</p>" + "<!--" * 250_000,
    "unclosed scripts": "</p>" + "<script>" * 125_000,
    "half scripts": "</p>" + "<script" * 140_000,
    "closing tags": "</p>" * 250_000,
    "line breaks": "<br>" * 250_000,
    "links": '<a href="u">' * 80_000,
    "a few thousand links": '<a href="u">t' * 4_000 + "</a>",
    "long reference": "<p>&#" + "1" * 1_000_000 + ";</p>",
    "long reference in an address": '<a href="&#' + "1" * 900_000 + ';">x</a>',
    "long list number": "<ol><li value=" + "1" * 10_000 + ">x</ol>",
    "many styles": '<p style="' + "style:" * 160_000 + '">x</p>',
    "drawings": "</p>" + "<svg>" * 200_000,
    "half closed drawings": "<svg>" * 100_000 + "</svg" * 100_000,
    "titles": "<title>" * 100_000 + "</title>",
    "escaped conditions": "<p>" + "&lt;![if " * 110_000 + "</p>",
    "hidden elements": "<p hidden>a" * 7_000 + "x" * 60_000,
    "font sizes": '<p style="' + "font-size:0" * 90_000 + '">x</p>',
    "pasted images": '<a href="u"><img alt="0123456789abcdef" src="/x">' * 7_000,
    "file keys": '<p><img alt="' + "aaaaaa-" * 140_000 + '"></p>',
    "tables after lists": "<ul><li>a</ul>" + "<div><table><tr><td>x</table></div>" * 2_500,
    "combining marks": "<p>" + "\u0301" * 500_000 + "</p>",
}


@pytest.mark.slow
@pytest.mark.parametrize("rich", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_takes_no_time(rich: str) -> None:
    started = time.process_time()
    one_line(rich, 255)
    assert time.process_time() - started < 5


PIECES = [
    "<p>", "</p>", "<p", "<b>", "</b>", "<a href='u'>", "</a>", "<table>", "<tr>", "<td>", "</td>",
    "</table>", "<ul>", "<ol>", "<li>", "<li value='²'>", "</ul>", "<pre>", "<script>", "</script>", "<!--",
    "-->", "<![", "<?xml", "<div style='display:none'>", "<img alt='x'>", "<o:p>", "<title>", "<select>",
    "<textarea>", "<frameset>", "&amp;", "&lt;", "&gt;", "&#38;", "&#0;", "&#x1;", "&", "<", ">", '"', "'",
]  # fmt: skip


def rich_texts() -> st.SearchStrategy[str]:
    """Return a strategy for texts of HTML pieces and any characters, including lone surrogates."""
    pieces = st.sampled_from(PIECES)
    characters = st.text(st.characters(), max_size=8)
    return st.lists(st.one_of(pieces, characters), max_size=25).map("".join)


@settings(max_examples=300, deadline=None)
@given(rich_texts())
def test_any_text_gives_clean_lines(rich: str) -> None:
    text = plain_text(rich)
    assert not any(
        (ord(c) < 32 and c not in "\n\t") or "\ud800" <= c <= "\udfff" or c == "\xa0" for c in text
    )
    assert "\n\n\n" not in text
    assert text == text.strip()
    assert all(line == line.rstrip() for line in text.split("\n"))


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_characters="&")).filter(lambda text: "</" not in text))
def test_text_without_markup_is_kept_a_second_time(text: str) -> None:
    assert plain_text(plain_text(text)) == plain_text(text)


@settings(max_examples=200, deadline=None)
@given(rich_texts(), st.integers(0, 30))
def test_one_line_is_one_line_of_at_most_the_limit(rich: str, limit: int) -> None:
    line = one_line(rich, limit)
    assert len(line) <= limit
    assert line == " ".join(line.split())


def test_one_line_folds_white_space_and_marks_no_cut() -> None:
    assert one_line(" a\nb\t \n\nc ", 255) == "a b c"
    assert one_line("abc def", 5) == "abc d"
    assert one_line("abc def", 4) == "abc"
    assert one_line(None, 255) == ""


@pytest.mark.parametrize(
    "title",
    [
        "The <select> box is empty & <table> broken",
        "<script>alert(1)</script> blocked by WAF",
        "<b>Urgent</b> &amp; &lt;p&gt; &#60; 5 <",
        "AT&T &copy",
        "<br>",
    ],
)
def test_a_title_is_text_as_written(title: str) -> None:
    assert one_line(title) == title


def test_a_title_is_decoded_where_glpi_10_stored_it_encoded() -> None:
    assert one_line("The &#60;b&#62; box &#38;amp; R&#38;D") == "The <b> box &amp; R&D"
    assert one_line("The &#60;b> box") == "The &#60;b> box"


def test_one_line_does_not_split_a_composed_character() -> None:
    assert one_line("abe\u0301", 3) == "ab"
    assert one_line("ab\U0001f469\u200d\U0001f4bb", 4) == "ab"
    assert len(one_line("a" + "\u0301" * 500, 255)) == 255


def test_cut_marks_a_cut_with_an_ellipsis() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdef", 5) == "abcd…"
    assert cut("abc def", 5) == "abc…"
    assert cut("abc", 1) == "…"
    assert cut("abc", 0) == ""


@settings(max_examples=200, deadline=None)
@given(st.text(), st.integers(0, 30))
def test_cut_keeps_the_limit(text: str, limit: int) -> None:
    assert len(cut(text, limit)) <= limit


@pytest.mark.parametrize(("seconds", "expected"), [(0, 0.0), (5400, 1.5), (36, 0.01), (1, 1 / 3600)])
def test_seconds_become_decimal_hours(seconds: int, expected: float) -> None:
    assert hours(seconds) == expected


def test_normalised_folds_line_ends_and_outer_blanks_only() -> None:
    assert normalised("\n a  \r\nb\rc \n") == "a  \nb\nc"


PICTURE = "iVBORw0KGgo" * 100_000
"""The data of a picture of about 1 MB."""


def test_a_text_is_kept_without_the_data_of_its_pictures() -> None:
    text = f'<p>a</p><img alt="" src="data:image/png;base64,{PICTURE}"><p>b</p>'
    assert fitting(text) == '<p>a</p><img alt="" src="data:"><p>b</p>'
    assert fitting(f"<p>a</p>&lt;img src=&quot;data:image/png;base64,{PICTURE}&quot;&gt;") == (
        "<p>a</p>&lt;img src=&quot;data:&quot;&gt;"
    )
    assert plain_text(fitting(text)) == plain_text(text) == "a\n\n[image]\n\nb"
    assert (fitting(None), fitting("")) == (None, "")


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("\u20ac" * MOST_BYTES, "\u20ac"),
        ("x" * (MOST_BYTES - 4) + "<a href='u'>", "x"),
        ("x" * (MOST_BYTES - 2) + "&amp;", "x"),
        ("a < b" + "x" * MOST_BYTES, "x"),
    ],
)
def test_a_text_that_is_still_too_long_is_truncated_with_a_note(text: str, end: str) -> None:
    assert fitting("x" * MOST_BYTES) == "x" * MOST_BYTES
    kept = fitting(text) or ""
    size = f"{round(len(text.encode()) / 1000)} kB"
    assert kept.endswith(f"{end}<p>[Truncated here: the text has {size}, and deskbridge keeps 300 kB.]</p>")
    assert len(kept.encode()) <= MOST_BYTES + 100
    assert len(kept.encode()) > MOST_BYTES - 5000
