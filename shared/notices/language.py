"""In which language sentences are made: English, unless someone who reads them asks for another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from gettext import NullTranslations

ENGLISH = NullTranslations()
_words: ContextVar[NullTranslations] = ContextVar("words", default=ENGLISH)


@contextmanager
def speaking(words: NullTranslations) -> Iterator[None]:
    """Make sentences in a language within the block, in this thread and those it asks."""
    before = _words.set(words)
    try:
        yield
    finally:
        _words.reset(before)


def language() -> str:
    """Return the language in which sentences are made."""
    return _words.get().info().get("language", "en")


def N_(text: str) -> str:  # noqa: N802 (as gettext calls it)
    """Mark a text for translation where it is only kept."""
    return text


def said(text: str) -> str:
    """Return a text in that language; in English if it has no translation."""
    return _words.get().gettext(text) if text else text


def counted(one: str, many: str, count: int) -> str:
    """Return a text that depends on a count in that language."""
    return _words.get().ngettext(one, many, count)


def numeral(text: str) -> str:
    """Return a number that is written as in English with the separators of that language."""
    sample = said("1,234.5")
    return text.translate({ord(","): sample[1], ord("."): sample[-2]})
