"""A real Redmine's pages show a description as it was written, in each text formatting that Redmine offers."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import requests
from lxml import html

from shared.events.formatting import Formatting, formatted
from tests.contract.conftest import REDMINE
from tests.contract.seed import User
from tests.contract.support import Tracker, unique
from tests.support.follow_ups import FOLLOW_UPS

OFFERED: dict[str, list[Formatting]] = {
    "5.0": ["textile", "markdown", "common_mark"],
    "6.0": ["textile", "common_mark"],
    "6.1": ["textile", "common_mark"],
}
DESCRIPTION = "contains(concat(' ', @class, ' '), ' description ')"
MENTIONED = "alice@example.test"

PROSE = [
    "Hello,\nthe printer in room 12 is broken. Thanks!",
    "Bonjour,\n\nl'imprimante du 2e étage (salle 12) ne marche plus - merci de venir.\nTél. +33 1 23 / Fax +33 1 24",
    "Error 0x80070005: access denied; it's a test_case, done 5/5 [urgent] at 12:30, 50 % of 3 * 4, x < y, AT&T.",
    "Really?! Yes... C++ and e-mail; \"quoted\" and 'single' {braces} $5 (see below) ~5 min.",
    "Name | Amount\nPaper | 5",
    "See\n\n[image]\n\nthere",
    "(c) (r) (tm) 1/2 \N{EM DASH} \N{HORIZONTAL ELLIPSIS} :-) \N{FIRE} שלום",
]
MARKUP = [
    "# systemctl restart x\n# journalctl",
    "service[123]: failed\nservice[124]: started",
    r"\\server\share and C:\Users\x and \* \_",
    "field <name> is empty, <b>bold</b> <script>alert(1)</script> <!-- gone -->",
    "see #12, ##1 and #note-1, r123, commit:abc, document:x, version#1",
    "{{include(x)}} {{toc}} {{macro(0)}} {{collapse\nhidden\n}}",
    "!http://localhost/p.gif! ![x](http://localhost/p.gif)",
    "@alice please help, @admin too (@bob), user:bob and user#5",
    "mail alice@example.test or mailto:bob@example.test",
    "http://x.example/a_b_c?d=e&f=1 and https://x.example, www.x.example, ftp://x.example",
    "[[Wiki]] [[a|b]] ![[x]]",
    "*bold* _leaning_ -gone- +new+ ^up^ ~down~ ??cited?? %span% @code@ **x** __x__ ~~x~~ `x` ==x==",
    "* one\n* two\n** three\n- four\n+ five\n1. six\n2) seven",
    "h1. Heading\n\nbq. quoted\n\np(. x\n\nfn1. note[1]",
    "Heading\n=======\nother\n---\n# x\n###### y",
    "> quoted\n> more\n>> deeper",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\na | b\n--|--\n1 | 2",
    "|_. head |\n|cell|",
    '"link":http://x.example "text":/path [text](http://x.example) [a][b]\n\n[b]: http://x.example',
    "note[^1]\n\n[^1]: the note",
    "&amp; &lt;b&gt; &#12; &copy; &copy &",
    "    indented code\n  less",
    "one  two   three\tfour",
    "PC(s) and HTML(Hypertext) and IBM(x)",
    "-5 degrees\nand\n-\n%s &\nmore",
    "Guten Tag\n-- \nMax".replace(" \n", "\n"),
    "---\n***\n___\n- - -",
    "```\ncode # @alice\n```\nafter @alice",
    "~~~\n@alice\n~~~~~~\n@alice [x]: http://x.example",
    "</pre> <pre> <code class='ruby'>x</code> <notextile> <redpre#0> x%x% :redsh#1: @alice",
    "init __init__.py snake_case *.log 2*3*4 x^2^",
    "!#12 !r1 !user:bob !{{toc}} !http://x.example",
    "[ ] open\n[x] done\n- [ ] task",
    "tag:version:1.0 source:a/b.c export:x attachment:a.png forum:x message#1 news#1 project:support",
    "{color:red}. x\n(class). y\n[fr]. z\n<>. |a|",
    "a line\n= x\n{ y\n| z",
    "10. December\nand 1986. A year",
    "line separators\u2028stay and\u00a0blanks".replace("\u00a0", " ") + " # x",
]


@dataclass(frozen=True)
class Pages:
    """The web pages of a Redmine as its administrator sees them."""

    base_url: str
    session: requests.Session

    def sign_in(self) -> None:
        """Sign in as the seed's administrator."""
        self._send("/login", "/login", {"username": "admin", "password": "admin"})

    def configure(self, settings: dict[str, Any]) -> None:
        """Change Redmine settings through its settings form."""
        fields = {
            f"settings[{name}]{'[]' * isinstance(value, list)}": value for name, value in settings.items()
        }
        self._send("/settings", "/settings/edit", fields)

    def descriptions(self, issue_ids: list[int]) -> list[html.HtmlElement]:
        """Return the description of each issue as the list of issues shows it."""
        query = {
            "set_filter": 1,
            "f[]": "issue_id",
            "op[issue_id]": "=",
            "v[issue_id][]": ",".join(map(str, issue_ids)),
            "c[]": ["subject", "description"],
            "per_page": 100,
        }
        page = self._get("/issues", query)
        return [
            page.xpath(f"//tr[@id='issue-{one}']/following-sibling::tr[1]//div[contains(@class, 'wiki')]")[0]
            for one in issue_ids
        ]

    def description(self, issue_id: int) -> html.HtmlElement:
        """Return the description as the issue's page shows it."""
        (found,) = self._get(f"/issues/{issue_id}").xpath(
            f"//div[{DESCRIPTION}]//div[contains(@class, 'wiki')]"
        )
        return found

    def _send(self, page: str, path: str, fields: dict[str, Any]) -> None:
        (token,) = self._get(page).xpath("//meta[@name='csrf-token']/@content")
        fields = {"authenticity_token": token, **fields}
        answer = self.session.post(self.base_url + path, fields, timeout=30, allow_redirects=False)
        assert answer.status_code == 302, (path, answer.status_code, answer.text[:500])

    def _get(self, path: str, query: dict[str, Any] | None = None) -> html.HtmlElement:
        answer = self.session.get(self.base_url + path, params=query, timeout=60)
        assert answer.status_code == 200, (path, answer.status_code)
        return html.fromstring(answer.text)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize `formatting` with each text formatting that the version offers."""
    if "formatting" in metafunc.fixturenames:
        offered = OFFERED[metafunc.config.getoption("--redmine") or "5.0"]
        metafunc.parametrize("formatting", offered, scope="module", indirect=True)


@pytest.fixture(scope="module")
def pages(tracker: Tracker) -> Iterator[Pages]:
    """Yield the pages, while Redmine mails new issues to the people mentioned in them."""
    with requests.Session() as session:
        made = Pages(tracker.base_url, session)
        made.sign_in()
        made.configure({"notified_events": ["issue_added"]})
        _notify(tracker, "only_my_events")
        yield made
        _notify(tracker, "none")
        made.configure({"notified_events": [""]})


def _notify(tracker: Tracker, of_what: str) -> None:
    answer = tracker.call("PUT", f"/users/{User.ALICE}.json", {"user": {"mail_notification": of_what}})
    assert answer.status_code == 204


@pytest.fixture(scope="module")
def formatting(request: pytest.FixtureRequest, pages: Pages) -> Iterator[Formatting]:
    """Yield a text formatting, to which the tracker is set during the tests."""
    before = html.fromstring(pages.session.get(f"{pages.base_url}/settings", timeout=30).text)
    (was,) = before.xpath("//select[@name='settings[text_formatting]']/option[@selected]/@value")
    pages.configure({"text_formatting": request.param})
    yield request.param
    pages.configure({"text_formatting": was})


def test_the_versions_formattings_are_all_here(pages: Pages, release: str) -> None:
    shown = html.fromstring(pages.session.get(f"{pages.base_url}/settings", timeout=30).text)
    offered = shown.xpath("//select[@name='settings[text_formatting]']/option/@value")
    assert {one for one in offered if one} == set(OFFERED[release])


def seen(element: html.HtmlElement) -> list[str]:
    """Return the visible lines; runs of blanks show only in preformatted text, or if they do not break lines."""
    lines: list[str] = []
    for one in element.xpath(".//br"):
        one.tail = "\n" + (one.tail or "").lstrip("\n")
    for block in element.xpath("./p|./pre"):
        text = block.text_content().replace("\u2060", "").strip("\n")
        text = text.expandtabs(4) if block.tag == "pre" else re.sub("[ \t]+", " ", text).replace("\xa0", " ")
        lines += [line.rstrip() for line in text.split("\n")] + [""]
    return _without_gaps(lines[:-1], element)


def expected(text: str, element: html.HtmlElement) -> list[str]:
    """Return the lines of a text as an element of a page should show them."""
    return _without_gaps([line.expandtabs(4).rstrip() for line in text.split("\n")], element)


def _without_gaps(lines: list[str], element: html.HtmlElement) -> list[str]:
    """Leave empty lines out if prose stands next to preformatted text: a page always parts the two."""
    return [line for line in lines if line] if element.xpath("./p") and element.xpath("./pre") else lines


def is_harmless(element: html.HtmlElement) -> bool:
    """Return whether an element only structures the text, or leads to the address that it shows."""
    if element.tag == "a":
        shown = element.text_content()
        return unquote(element.get("href")) in (shown, f"mailto:{shown}", f"http://{shown}")
    if element.tag == "span":  # Redmine 6.1 puts an escaped character into one
        return not element.attrib and len(element.text_content()) == 1
    return element.tag in ("div", "p", "br", "pre", "code")


def shown_by(
    tracker: Tracker, pages: Pages, formatting: Formatting, texts: list[str]
) -> dict[str, html.HtmlElement]:
    """Return what Redmine shows for each text, formatted as deskbridge sends a ticket's texts."""
    made = [tracker.issue(subject=unique("silent"), description=formatted(one, formatting)) for one in texts]
    return dict(zip(texts, pages.descriptions([one["id"] for one in made]), strict=True))


@pytest.fixture(scope="module")
def shown(tracker: Tracker, pages: Pages, formatting: Formatting) -> dict[str, html.HtmlElement]:
    """Return what Redmine shows for each text of this module."""
    return shown_by(tracker, pages, formatting, [*PROSE, *MARKUP, *FOLLOW_UPS.values()])


def random_text(chance: random.Random) -> str:
    """Return a text of words, characters with a meaning, and pieces of markup."""
    pieces = [
        *"ab#*-_~`<>@!{}[]()|=\\&;%1.:?+^\"', é",
        *" ".join(MARKUP).split(),
        "\n",
        "\n\n",
        "\n    ",
        "\n* ",
    ]
    parts = [chance.choice([*" ", ""]) + chance.choice(pieces) for _ in range(chance.choice([3, 6, 12, 24]))]
    text = re.sub(" +$", "", "".join(parts), flags=re.MULTILINE)
    return re.sub("\n{3,}", "\n\n", text).strip() or "a"


@pytest.mark.parametrize("text", PROSE)
def test_prose_is_shown_as_prose(shown: dict[str, html.HtmlElement], text: str) -> None:
    assert {one.tag for one in shown[text].iter()} <= {"div", "p", "br"}
    assert seen(shown[text]) == expected(text, shown[text])


@pytest.mark.parametrize("text", MARKUP)
def test_markup_is_shown_as_it_was_written(shown: dict[str, html.HtmlElement], text: str) -> None:
    page = shown[text]
    assert [html.tostring(one) for one in page.iter() if not is_harmless(one)] == []
    assert seen(page) == expected(text, page)


@pytest.mark.parametrize("name", FOLLOW_UPS)
def test_a_mail_is_shown_as_it_was_written(shown: dict[str, html.HtmlElement], name: str) -> None:
    text = FOLLOW_UPS[name]
    page = shown[text]
    assert [html.tostring(one) for one in page.iter() if not is_harmless(one)] == []
    assert seen(page) == expected(text, page)
    assert (page.find(".//pre") is not None) == (name in ("table of blanks", "code"))


def test_the_addresses_of_a_mail_are_links(shown: dict[str, html.HtmlElement]) -> None:
    page = shown[FOLLOW_UPS["addresses"]]
    assert [unquote(one) for one in page.xpath(".//a/@href") if one.startswith("https")] == [
        "https://shop.example.com/cart?item=12&step=2#pay_now",
        "https://docs.example.com/a_b_c/",
        "https://de.wikipedia.org/wiki/Drucker_(Begriff)",
        "https://status.example.com",
    ]


@pytest.mark.parametrize("seed", range(2))
def test_a_random_text_is_shown_as_it_was_written(
    tracker: Tracker, pages: Pages, formatting: Formatting, seed: int
) -> None:
    chance = random.Random(seed)
    texts = list({random_text(chance) for _ in range(100)})
    for text, page in shown_by(tracker, pages, formatting, texts).items():
        assert [html.tostring(one) for one in page.iter() if not is_harmless(one)] == [], text
        assert "".join(seen(page)) == "".join(expected(text, page)), text


def test_the_issues_own_page_shows_the_same(
    tracker: Tracker, pages: Pages, formatting: Formatting, shown: dict[str, html.HtmlElement]
) -> None:
    for text in (PROSE[0], MARKUP[0]):
        page = pages.description(tracker.issue(description=formatted(text, formatting))["id"])
        assert seen(page) == seen(shown[text]) == expected(text, page)


def test_a_text_of_a_ticket_mails_nobody(
    tracker: Tracker, shown: dict[str, html.HtmlElement], request: pytest.FixtureRequest
) -> None:
    assert shown
    inbox = Path(request.config.stash[REDMINE]["dir"]) / "mails" / MENTIONED
    mentioned = unique("mentioned")
    tracker.issue(subject=mentioned, description="@alice please")
    deadline = time.monotonic() + 20
    while not inbox.exists() or mentioned not in inbox.read_text(errors="replace"):
        assert time.monotonic() < deadline, "Redmine did not mail whom a description mentions"
        time.sleep(0.05)
    assert "silent" not in inbox.read_text(errors="replace")


def test_what_is_stored_of_a_fence_is_what_was_sent(tracker: Tracker, formatting: Formatting) -> None:
    sent = formatted("Hello,\n\n# x\ny", formatting)
    issue_id = tracker.issue(description=sent)["id"]
    assert tracker.read(f"/issues/{issue_id}.json")["issue"]["description"] == sent.replace("\n", "\r\n")
