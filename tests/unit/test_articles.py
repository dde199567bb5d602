"""Knowledge articles are short and quote what deskbridge shows; test_knowledge checks their format."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import shared.notices.render  # noqa: F401 (loads every code)
from producer.admin.doctor.examination import RECORDS
from producer.admin.doctor.finding import LABELS
from producer.admin.knowledge.article import Article, parse_article
from shared.notices.notice import CODES, Plural, Sentence
from shared.notices.template import PLACEHOLDER
from shared.store.tables.journal import EventState

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "producer" / "admin" / "knowledge" / "records").glob("KB-*.md"))
RULES = ROOT / "deploy" / "monitoring" / "alerts.yml"
CONSOLE = "{{ $externalLabels.console }}/console/knowledge/"
PARTS = re.compile(
    r"# .+?\n\n\*\*Seen as\.\*\* .+?\n\n\*\*Why\.\*\* .+?\n\n\*\*What to do\.\*\*\n\n(?P<steps>.+)", re.DOTALL
)
QUOTE = re.compile(r"(?<!\*)\*([^*]+)\*(?!\*)")
CODE = re.compile(r"`[^`]+`")
ANOTHER_PROGRAMS = {
    "Anonymous", "Issue tracking", "Password", "Send everything now", "Text formatting", "Time tracking",
    "View private notes", "api", "cannot be blank", "too many clients", "too many connections",
}  # fmt: skip
"""Quotes from Redmine, GLPI or PostgreSQL."""
OUR_OWN = {"Back up and restore", "Recovery mode is on"}
"""The title of a guide, and output of `deskbridge event list`."""
LONGEST = 25
"""The maximum number of words in a sentence; a quote counts as one."""


def article(path: Path) -> Article:
    return parse_article(path.read_text(encoding="utf-8"))


def shown(text: Sentence) -> list[str]:
    """Return a code's sentences as people see them, with an ellipsis for each parameter."""
    forms = [text.one, text.many] if isinstance(text, Plural) else [text]
    return [PLACEHOLDER.sub("…", one.replace("[", "").replace("]", "")) for one in forms]


SENTENCES = [one for code in CODES.values() for text in (code.text, code.why) for one in shown(text)]
CHECKS = [LABELS.get(one, one) for one in RECORDS]
VIEWS = "".join(
    path.read_text(encoding="utf-8") for path in (ROOT / "producer" / "console" / "views").glob("*.html")
)


def is_shown(quote: str) -> bool:
    """Return whether deskbridge shows a text as a check, a state, a page's title or part of a message."""
    if quote in {*CHECKS, *EventState} or f'_("{quote}")' in VIEWS:
        return True
    pattern = re.compile(".*".join(re.escape(part.strip()) for part in quote.split("…") if part.strip()))
    return any(pattern.search(one) for one in SENTENCES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_article_names_surfaces_reason_and_steps(path: Path) -> None:
    parts = PARTS.fullmatch(article(path).body)
    assert parts, "expected Seen as, Why, What to do with numbered steps"
    steps = [int(number) for number in re.findall(r"^(\d+)\. ", parts["steps"], re.MULTILINE)]
    assert steps == [*range(1, len(steps) + 1)]
    assert len(steps) > 1, "the last step shows that it is healed"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_an_article_quotes_is_what_deskbridge_shows(path: Path) -> None:
    quotes = {" ".join(one.split()) for one in QUOTE.findall(CODE.sub("", article(path).body))}
    of_menus = {one for one in quotes if "→" in one}
    assert [one for one in quotes - of_menus - ANOTHER_PROGRAMS - OUR_OWN if not is_shown(one)] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_sentence_of_an_article_is_long(path: Path) -> None:
    text = QUOTE.sub("quote", CODE.sub("code", re.sub(r"\*\*.+?\*\*", "", article(path).body)))
    sentences = re.split(r"(?<=[.:?])\s+|\n\n|\n(?=\d+\. |- )", text)
    assert [one for one in sentences if len(one.split()) > LONGEST] == []


def test_every_alert_leads_to_the_article_that_names_it() -> None:
    (group,) = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    leads: list[tuple[str, str]] = [(rule["alert"], _runbook(rule["annotations"])) for rule in group["rules"]]
    names = [
        (alert, path.stem)
        for path in FILES
        for alert in set(re.findall(r"\bDeskbridge[A-Z]\w+", path.read_text(encoding="utf-8")))
    ]
    assert sorted(leads) == sorted(names)


def _runbook(notes: dict[str, Any]) -> str:
    assert list(notes) == ["summary", "description", "runbook_url"]
    return str(notes["runbook_url"]).removeprefix(CONSOLE)
