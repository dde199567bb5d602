"""The GLPI plugin's texts: each is translated, and what GLPI reads (.mo) is what people edit (.po)."""

from __future__ import annotations

import gettext
import re
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parents[3] / "deploy" / "glpi-plugin" / "deskbridge"
LANGUAGES = ["en_GB", "fr_FR"]
QUOTED = r"'((?:[^'\\]|\\.)*)'"
TEXT = re.compile(rf"\b__\(\s*{QUOTED},\s*'deskbridge'\s*\)")
COUNTED = re.compile(rf"\b_n\(\s*{QUOTED},\s*{QUOTED},")
ENTRY = re.compile(r'^msgid "(.+)"\n(?:msgid_plural "(.+)"\n)?((?:msgstr.*\n)+)', re.MULTILINE)
HOLE = re.compile(r"%(?:\d\$)?[ds]")


def used() -> set[str]:
    """Return the texts of the plugin's sources; of a counted one the form for one."""
    found: set[str] = set()
    for file in [*PLUGIN.rglob("*.php"), *PLUGIN.rglob("*.twig")]:
        source = file.read_text()
        found |= {text[1].replace(r"\'", "'") for text in [*TEXT.finditer(source), *COUNTED.finditer(source)]}
    return found


def translated(language: str) -> dict[str, list[str]]:
    """Return the translations of each text in a .po file."""
    content = (PLUGIN / "locales" / f"{language}.po").read_text()
    return {
        unescaped(entry[1]): [
            unescaped(text) for text in re.findall(r'^msgstr.*?"(.*)"$', entry[3], re.MULTILINE)
        ]
        for entry in ENTRY.finditer(content + "\n")
    }


def unescaped(text: str) -> str:
    return text.replace('\\"', '"').replace("\\\\", "\\")


def test_there_are_texts() -> None:
    assert len(used()) > 30


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_text_is_translated_and_none_is_left_over(language: str) -> None:
    assert set(translated(language)) == used()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_translation_has_the_holes_of_its_text(language: str) -> None:
    for text, translations in translated(language).items():
        for translation in translations:
            assert sorted(HOLE.findall(translation)) == sorted(HOLE.findall(text))


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_glpi_reads_was_compiled_from_what_people_edit(language: str) -> None:
    with (PLUGIN / "locales" / f"{language}.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for text, translations in translated(language).items():
        if len(translations) == 1:
            assert compiled.gettext(text) == translations[0]
        else:
            assert [compiled.ngettext(text, "", count) for count in (1, 2)] == translations
