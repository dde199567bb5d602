"""The pages in other languages: all visible text is translated, and numbers and dates follow the language's rules."""

from __future__ import annotations

import re
from gettext import NullTranslations
from html.parser import HTMLParser

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.records.rights import Right
from producer.console.rendering.languages import Languages
from shared.metadata.synchronisation import synchronise
from tests.browser.pages import PAGES, filled
from tests.integration.console.conftest import ComeIn, Console
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge

FORMATS = ("%Y-", "1,234")
NOT_WORDS = re.compile(
    r"deskbridge|English|Français|UTC|https://|X-Redmine-API-Key|X-Tracker-API-Key|KB-[A-Z]+-\d+"
    r"|Contract number|Cost centre"  # the stand-in's own names
    r"|Printer \d+ on fire"  # a ticket's title, also in the title of its page, which can have no markup
)


class Marked(NullTranslations):
    """A language that puts every text in brackets."""

    def gettext(self, message: str) -> str:
        return message if message.startswith(FORMATS) else f"⟦{message}⟧"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"⟦{msgid1 if n == 1 else msgid2}⟧"


class Reader(HTMLParser):
    """Collects the visible text of a page that is not in brackets."""

    SPOKEN = (
        "title",
        "aria-label",
        "placeholder",
        "alt",
        "data-ask",
        "data-wait",
        "data-old",
        "data-nothing",
    )
    DATA = ("code", "pre", "textarea", "script", "style", "bdi", "option")
    ALONE = ("input", "br", "meta", "link", "img", "line", "rect")

    def __init__(self) -> None:
        super().__init__()
        self.bare: list[str] = []
        self._depth, self._open = 0, list[tuple[str, bool]]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        for name in self.SPOKEN:
            text = given.get(name) or ""
            if not (tag == "time" and name == "title"):
                self._judge(text, 0)
        if tag == "td":
            self._judge(given.get("data-name") or "", 0)
        if tag not in self.ALONE:
            is_data = (
                tag in ("code", "pre", "textarea", "script", "style", "bdi", "option") or "lang" in given
            )
            self._open.append((tag, (is_data and tag != "html") or "mono" in (given.get("class") or "")))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        self._judge(data, self._depth, data=any(is_data for _, is_data in self._open))
        self._depth += data.count("⟦") - data.count("⟧")

    def _judge(self, text: str, depth: int, *, data: bool = False) -> None:
        outside = []
        for piece in re.split(r"([⟦⟧])", text):
            if piece in ("⟦", "⟧"):
                depth += 1 if piece == "⟦" else -1
            elif depth == 0:
                outside.append(piece)
        left = NOT_WORDS.sub(" ", " ".join(outside))
        if not data and re.search(r"[^\W\d_]{2}", left):
            self.bare.append(" ".join(left.split()))


@pytest.fixture
def visitor(console: Console, bridge: Bridge, stand_in: StandIn, come_in: ComeIn) -> Visitor:
    filled(bridge, stand_in)
    services = console.app.state.services
    assert synchronise(services.store, services.locks, services.connector.connect)
    return come_in(Right.ADMINISTRATOR, "2")


def test_every_text_of_every_page_can_be_translated(
    console: Console, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Languages, "chosen", lambda *_: Marked())
    found: dict[str, list[str]] = {}
    for path in PAGES:
        status = 404 if path in ("/tickets/99", "/nowhere") else 200
        visitor.open(f"/console{path}", status=status)
        reader = Reader()
        reader.feed(visitor.page)
        if reader.bare:
            found[path] = reader.bare
    assert not found, "\n".join(f"{path}: {bare}" for path, bare in found.items())


def test_the_browsers_preference_counts_until_somebody_chooses(visitor: Visitor) -> None:
    assert "Vue d’ensemble" in visitor.open("/console", Accept_Language="fr-CH, fr;q=0.9, en;q=0.8")
    assert '<html lang="fr">' in visitor.page
    assert "Overview" in visitor.open("/console", Accept_Language="de, en;q=0.8, fr;q=0.5")
    visitor.do("/console/language", {"language": "fr", "next": "/console/events"})
    assert "Événements" in visitor.open("/console/events", Accept_Language="en")


def test_sentences_hints_and_findings_are_french_too(visitor: Visitor) -> None:
    visitor.do("/console/language", {"language": "fr"})
    page = visitor.open("/console/tickets/4712")
    assert "1 saisie de temps manque dans Redmine" in page
    assert "Redmine a refusé l’appel" in page
    assert "L’événement 2 est arrivé : tâche 47120 mise à jour, Terminée, 1,5 h" in page.replace("\xa0", " ")
    assert "statuts" in visitor.open("/console/doctor")
    assert "a ajouté le compte 2 (administrateur)" in visitor.open("/console/changes")


def test_knowledge_records_are_french_to_their_last_step(visitor: Visitor) -> None:
    page = visitor.open("/console/knowledge/KB-TRACKER-002", Accept_Language="fr")
    for part in (
        "Redmine refuse la clé d’API",
        "Pourquoi.",
        "deskbridge config set-api-key",
        "reprennent",
    ):
        assert part in page
    assert "Seen as" not in page
