"""The pages in other languages: everything that people read is translated, numbers and dates are written as there."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from gettext import GNUTranslations, NullTranslations
from html.parser import HTMLParser
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.records.rights import Right
from producer.admin.showing.moments import when
from producer.console.drawing.languages import Languages
from producer.console.drawing.view import _exact, _many
from shared.metadata.synchronisation import synchronise
from shared.sentences.language import speaking
from shared.sentences.template import Plural, names
from tests.browser.pages import PAGES, filled
from tests.integration.console.conftest import ComeIn, Console
from tests.integration.console.pages import Visitor
from tests.support import catalogue
from tests.support.bridge import Bridge

PLACEHOLDER = re.compile(r"%\((\w+)\)")
FORMATS = ("%Y-", "1,234")
NOT_WORDS = re.compile(
    r"deskbridge|English|Français|UTC|https://|X-Redmine-API-Key|X-Tracker-API-Key|KB-[A-Z]+-\d+"
    r"|Contract number|Cost centre"  # the stand-in's own names
)


class Marked(NullTranslations):
    """A language in which every text stands in brackets."""

    def gettext(self, message: str) -> str:
        return message if message.startswith(FORMATS) else f"⟦{message}⟧"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"⟦{msgid1 if n == 1 else msgid2}⟧"


class Reader(HTMLParser):
    """Collects what people read on a page and no bracket is around."""

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
    desk = console.app.state.desk
    assert synchronise(desk.store, desk.locks, desk.connector.connect)
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


@pytest.mark.parametrize("language", ["fr"])
def test_a_catalogue_has_every_text_and_every_placeholder(language: str) -> None:
    kept = catalogue.read(language)
    entries = {one.id: one for one in kept if one.id}
    wanted = catalogue.texts()
    assert {str(one[0] if isinstance(one, tuple) else one) for one in entries} == {
        str(one[0] if isinstance(one, tuple) else one) for one in wanted
    }
    assert [one.id for one in entries.values() if one.fuzzy] == []
    for text, entry in entries.items():
        mine, english = _forms(entry.string), _forms(text)
        assert all(mine), text
        for one, other in zip(english, mine, strict=True):
            assert sorted(PLACEHOLDER.findall(one)) == sorted(PLACEHOLDER.findall(other)), one
        if not any("%(" in one for one in english):
            assert names(_sentence(mine)) == names(_sentence(english)), text


def _forms(text: Any) -> list[str]:
    return list(text) if isinstance(text, (tuple, list)) else [text or ""]


def _sentence(forms: list[str]) -> str | Plural:
    return Plural(*forms) if len(forms) == 2 else forms[0]


@pytest.mark.parametrize("language", ["fr"])
def test_what_is_compiled_is_what_is_written(language: str) -> None:
    kept = (catalogue.FOLDER / language / "deskbridge.mo").read_bytes()
    assert kept == catalogue.compiled(catalogue.read(language)), "run `make messages`"


def test_the_browsers_preference_counts_until_somebody_chooses(visitor: Visitor) -> None:
    assert "Vue d’ensemble" in visitor.open("/console", Accept_Language="fr-CH, fr;q=0.9, en;q=0.8")
    assert '<html lang="fr">' in visitor.page
    assert "Overview" in visitor.open("/console", Accept_Language="de, en;q=0.8, fr;q=0.5")
    visitor.do("/console/language", {"language": "fr", "next": "/console/events"})
    assert "Événements" in visitor.open("/console/events", Accept_Language="en")


def test_sentences_hints_and_findings_are_french_too(visitor: Visitor) -> None:
    visitor.do("/console/language", {"language": "fr"})
    page = visitor.open("/console/tickets/4712")
    assert "1 saisie de temps manque dans l’outil de suivi" in page
    assert "l’outil de suivi a refusé l’appel" in page
    assert "Événement 2 reçu : tâche de ticket 47120 (mise à jour), terminée, 1,5 h" in page.replace(
        "\xa0", " "
    )
    assert "statuts" in visitor.open("/console/doctor")
    assert "a ajouté le compte 2 (administrateur)" in visitor.open("/console/changes")


def test_knowledge_records_are_french_to_their_last_step(visitor: Visitor) -> None:
    page = visitor.open("/console/knowledge/KB-TRACKER-002", Accept_Language="fr")
    for part in (
        "L’outil de suivi refuse la clé d’API",
        "Pourquoi.",
        "deskbridge config set-api-key",
        "reprend",
    ):
        assert part in page
    assert "Seen as" not in page


def test_dates_and_numbers_are_written_as_in_french() -> None:
    with speaking(french()):
        assert _exact(datetime(2026, 11, 5, 14, 30, 9, tzinfo=UTC)) == "05/11/2026 14:30:09 UTC"
        assert when(datetime(2026, 1, 5, 14, 30, tzinfo=UTC)) == "05/01/2026 14:30"
        assert _many(1000) == "1\u202f000"
    assert _many(1000) == "1,000"


def french() -> GNUTranslations:
    with (catalogue.FOLDER / "fr" / "deskbridge.mo").open("rb") as file:
        return GNUTranslations(file)
