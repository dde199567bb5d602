"""The catalogues of the pages' languages: the texts to translate are merged into each `.po` and compiled to its `.mo`.

`make messages` runs it: new texts are added empty, changed ones are marked fuzzy, unused ones are removed.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from jinja2.ext import babel_extract

from producer.admin.doctor.examination import RECORDS
from producer.admin.doctor.finding import LABELS
from producer.admin.knowledge.article import parse_article
from producer.console.rendering.markdown import texts_of
from shared.notices.kinds import Kind
from shared.notices.notice import CODES, Plural
from shared.templating.catalogue import catalogue_for
from shared.templating.operations import FieldType, Operation, fields_for

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "producer" / "console" / "languages"
KEYWORDS: dict[str, Any] = {"said": None, "N_": None, "_": None, "counted": (1, 2), "ngettext": (1, 2)}
OPTIONS = {"newstyle_gettext": "true", "trim_blocks": "true", "lstrip_blocks": "true"}
NO_WORDS = re.compile(r"\{[^}]*\}|`[^`]*`")
Text = str | tuple[str, str]


def texts() -> set[Text]:
    """Return every text that a page may show; for texts that depend on a count, both forms."""
    found: set[Text] = set()
    for folder in ("producer", "shared"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            found |= set(_extracted("python", path))
    for path in sorted((ROOT / "producer" / "console" / "views").glob("*.html")):
        found |= set(_extracted(babel_extract, path))
    for code in CODES.values():
        found |= {(one.one, one.many) if isinstance(one, Plural) else one for one in (code.text, code.why)}
    found |= {kind.noun for kind in Kind} | {LABELS.get(one, one) for one in RECORDS}
    for operation in Operation:
        found |= {one.description for one in catalogue_for(operation).variables}
        found |= {text for one in fields_for(operation) for text in (one.description, one.type)}
    found |= set(get_args(FieldType))
    for file in sorted((ROOT / "producer" / "admin" / "knowledge" / "records").glob("KB-*.md")):
        record = parse_article(file.read_text(encoding="utf-8"))
        found |= {str(record.metadata["title"]), *texts_of(record.body)}
    plural = {one[0] for one in found if isinstance(one, tuple)}
    return {
        one for one in found if one not in plural and any(map(str.isalnum, NO_WORDS.sub("", "".join(one))))
    }


def _extracted(method: Any, path: Path) -> Iterator[Text]:
    with path.open("rb") as file:
        for _line, found, _comments, _context in extract(method, file, keywords=KEYWORDS, options=OPTIONS):
            yield (found[0], found[1]) if isinstance(found, tuple) else found


def read(language: str) -> Catalog:
    """Return a language's catalogue."""
    with (FOLDER / language / "deskbridge.po").open("rb") as file:
        return read_po(file, locale=language)


def compiled(catalogue: Catalog) -> bytes:
    """Return a catalogue in its binary format."""
    made = io.BytesIO()
    write_mo(made, catalogue)
    return made.getvalue()


def main() -> None:
    """Update every catalogue."""
    wanted = Catalog(charset="utf-8")
    for one in sorted(texts(), key=str):
        wanted.add(one, flags=["no-python-format"] if "{" in str(one) else [])
    for folder in sorted(FOLDER.iterdir()):
        catalogue = read(folder.name)
        catalogue.update(
            wanted, no_fuzzy_matching=False, update_header_comment=False, update_creation_date=False
        )
        catalogue.obsolete.clear()
        with (folder / "deskbridge.po").open("wb") as file:
            write_po(file, catalogue, width=110, no_location=True, sort_output=True, omit_header=False)
        (folder / "deskbridge.mo").write_bytes(compiled(catalogue))
        empty = [one.id for one in catalogue if one.id and (one.fuzzy or not all(one.string or ("",)))]
        sys.stdout.write(f"{folder.name}: {len(catalogue)} texts, {len(empty)} to translate\n")


if __name__ == "__main__":
    main()
