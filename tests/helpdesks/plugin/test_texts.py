"""The GLPI plugin's texts: each is translated, and the .mo file for GLPI matches the .po file that people edit."""

from __future__ import annotations

import re

import pytest

from tests.support import plugin_catalogue
from tests.support.plugin_catalogue import FOLDER, LANGUAGES, TEMPLATE, Text, translated, used

HOLE = re.compile(r"%(?:\d\$)?[ds]")


def forms(text: Text) -> tuple[str, ...]:
    return text if isinstance(text, tuple) else (text,)


def test_there_are_texts() -> None:
    assert len(used()) > 30


def test_the_template_has_every_text() -> None:
    assert TEMPLATE.read_text(encoding="utf-8") == plugin_catalogue.template()


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_text_is_translated_and_none_is_left_over(language: str) -> None:
    found = translated(language)
    assert set(found) == set(used())
    assert [text for text, words in found.items() if not all(forms(words))] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_translation_has_the_holes_of_its_text(language: str) -> None:
    for text, words in translated(language).items():
        for form in forms(words):
            assert sorted(HOLE.findall(form)) == sorted(HOLE.findall(forms(text)[0]))


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_glpi_reads_was_compiled_from_what_people_edit(language: str) -> None:
    assert (FOLDER / f"{language}.mo").read_bytes() == plugin_catalogue.compiled(language)
