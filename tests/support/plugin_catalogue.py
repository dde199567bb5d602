"""The catalogues of GLPI's plugin: the template with the texts to translate, each `.po`, and its `.mo`.

`make messages` runs it: new texts are added empty, and unused ones are removed.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

PLUGIN = Path(__file__).parents[2] / "deploy" / "glpi-plugin" / "deskbridge"
FOLDER = PLUGIN / "locales"
TEMPLATE = FOLDER / "deskbridge.pot"
LANGUAGES = ("de_DE", "en_GB", "fr_FR")
QUOTED = r"'((?:[^'\\]|\\.)*)'"
TEXT = re.compile(rf"\b__\(\s*{QUOTED},\s*'deskbridge'\s*\)")
COUNTED = re.compile(rf"\b_n\(\s*{QUOTED},\s*{QUOTED},")
MADE = datetime(2026, 1, 1, tzinfo=UTC)
"""Fixed, so that the same texts give the same file on any day."""

Text = str | tuple[str, str]


def used() -> list[Text]:
    """Return the texts of the plugin's sources in order; for counted ones, both forms."""
    found: dict[Text, None] = {}
    for file in sorted([*PLUGIN.rglob("*.php"), *PLUGIN.rglob("*.twig")]):
        source = file.read_text(encoding="utf-8")
        for match in COUNTED.finditer(source):
            found[_plain(match[1]), _plain(match[2])] = None
        for match in TEXT.finditer(source):
            found[_plain(match[1])] = None
    return list(found)


def template() -> str:
    """Return the template with the texts to translate."""
    return _written(_of({}, None))


def catalogue(language: str) -> Catalog:
    """Return the catalogue of a language, as translators have edited it."""
    with (FOLDER / f"{language}.po").open("rb") as file:
        read = read_po(file, locale=language)
    read.creation_date = MADE
    return read


def translated(language: str) -> dict[Text, Text]:
    """Return the translation of each text."""
    return {_text(one.id): _text(one.string) for one in catalogue(language) if one.id}


def compiled(language: str) -> bytes:
    """Return the `.mo` of a language, which GLPI reads."""
    file = io.BytesIO()
    write_mo(file, catalogue(language))
    return file.getvalue()


def main() -> None:
    """Update every catalogue."""
    TEMPLATE.write_text(template(), encoding="utf-8")
    for language in LANGUAGES:
        made = _of(translated(language), language)
        (FOLDER / f"{language}.po").write_text(_written(made), encoding="utf-8")
        (FOLDER / f"{language}.mo").write_bytes(compiled(language))


def _of(translated: dict[Text, Text], language: str | None) -> Catalog:
    made = Catalog(locale=language, project="deskbridge", fuzzy=False, charset="UTF-8")
    for text in used():
        made.add(text, translated.get(text, ("", "") if isinstance(text, tuple) else ""))
    return made


def _written(made: Catalog) -> str:
    """Return a catalogue without a header that changes with the day."""
    file = io.BytesIO()
    write_po(file, made, width=0, omit_header=True)
    lines = ["Content-Type: text/plain; charset=UTF-8", "Content-Transfer-Encoding: 8bit"]
    if made.locale:
        lines = [f"Language: {made.locale}", *lines, f"Plural-Forms: {made.plural_forms}"]
    header = "".join(f'"{line}\\n"\n' for line in ["MIME-Version: 1.0", *lines])
    return f'msgid ""\nmsgstr ""\n{header}\n{file.getvalue().decode()}'.rstrip("\n") + "\n"


def _text(found: str | Sequence[str] | None) -> Text:
    if found is None or isinstance(found, str):
        return found or ""
    one, many = found
    return one, many


def _plain(quoted: str) -> str:
    return quoted.replace(r"\'", "'").replace(r"\\", "\\")


if __name__ == "__main__":
    main()
