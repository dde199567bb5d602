"""French typography has a space before a colon, in the catalogue and in the colons that pages add."""

from __future__ import annotations

import re
from importlib.resources import files

from babel.messages.pofile import read_po

from tests.support.documents import ROOT

FRENCH = ROOT / "producer/console/languages/fr/deskbridge.po"
CODE = re.compile(r"`[^`]*`|\b\w+://\S*|\{[^}]*\}|truncate:")
"""Commands, addresses, placeholders and a template filter, to which the rule does not apply."""

TOO_CLOSE = re.compile(r"[^\s\u00a0\u202f][:;?!](?=\s|$)")


def test_double_punctuation_has_a_space_before_it() -> None:
    with FRENCH.open("rb") as opened:
        catalogue = read_po(opened)
    texts = [
        text
        for message in catalogue
        if message.id
        for text in (message.string if isinstance(message.string, tuple) else (message.string,))
    ]
    wrong = [text for text in map(str, texts) if TOO_CLOSE.search(CODE.sub("x", text))]
    assert wrong == []


def test_no_view_puts_a_colon_between_texts_by_itself() -> None:
    views = files("producer.console") / "views"
    wrong = [
        (view.name, found.group())
        for view in views.iterdir()
        if view.name.endswith(".html")
        for found in re.finditer(r".{40}(?:\}\}|%\}|</a>|</strong>): .{20}", view.read_text("utf-8"))
    ]
    assert wrong == []
