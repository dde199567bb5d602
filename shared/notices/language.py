"""The language of sentences: English, unless the reader asks for another one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from gettext import NullTranslations

ENGLISH = NullTranslations()
_words: ContextVar[NullTranslations] = ContextVar("words", default=ENGLISH)


@contextmanager
def speaking(words: NullTranslations) -> Iterator[None]:
    """Use a language for sentences within the block, in this context and its copies."""
    before = _words.set(words)
    try:
        yield
    finally:
        _words.reset(before)


def language() -> str:
    """Return the current language of sentences."""
    return _words.get().info().get("language", "en")


def N_(text: str) -> str:  # noqa: N802 (as gettext calls it)
    """Mark a text for translation where it is only defined."""
    return text


def said(text: str) -> str:
    """Return a text in the current language, or in English if it has no translation."""
    return _words.get().gettext(text) if text else text


def counted(one: str, many: str, count: int) -> str:
    """Return a text that depends on a count, in the current language."""
    return _words.get().ngettext(one, many, count)


def numeral(text: str) -> str:
    """Return a number in English notation with the separators of the current language."""
    sample = said("1,234.5")
    return text.translate({ord(","): sample[1], ord("."): sample[-2]})
