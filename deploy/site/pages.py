"""The pages of the site: those of docs/ and some other files, with links adapted to the site."""

from __future__ import annotations

import posixpath
import re
import shutil
from pathlib import Path

from deploy.site import ROOT, tables

BESIDE = {
    "README.md": "index.md",
    "docs/README.md": "documentation.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    ".env.example": "env.example.txt",
    "deploy/site/nav.yml": ".nav.yml",
    "deploy/site/site.css": "site.css",
}
"""Files of the site outside the documentation folders: path in the repository, and path on the site."""
LINK = re.compile(r"\]\(([^)#:\s]+)((?:#[^)\s]*)?)\)")
CODE_IN_A_TABLE = re.compile(r"(?<=^\|)[^\n]*`[^\n]*\\\|[^\n]*$", re.MULTILINE)


def sources() -> dict[str, str]:
    """Return the files of the site: path in the repository, and path on the site."""
    found: dict[str, str] = {}
    for folder, place in (("docs", ""), (tables.RECORDS, "knowledge/")):
        files = (path for path in (ROOT / folder).rglob("*") if path.is_file())
        found |= {str(path.relative_to(ROOT)): place + str(path.relative_to(ROOT / folder)) for path in files}
    return found | BESIDE


def write(to: Path) -> None:
    """Write every page to a directory, replacing its contents."""
    shutil.rmtree(to, ignore_errors=True)
    places = sources()
    for source, place in places.items():
        target = to / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix == ".md":
            target.write_text(_page(source, places), encoding="utf-8")
        else:
            shutil.copy(ROOT / source, target)


def _page(source: str, places: dict[str, str]) -> str:
    """Return a page with its links adapted to the site; mkdocs reports the broken ones."""
    here = posixpath.dirname(places[source])

    def led(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("/", posixpath.dirname(source), found[1])).lstrip("/")
        place = posixpath.relpath(places[target], here or ".") if target in places else found[1]
        return f"]({place}{found[2]})"

    text = LINK.sub(led, (ROOT / source).read_text(encoding="utf-8"))
    # GitHub's Markdown needs a backslash before a bar in a table, even inside code; mkdocs would show it
    return CODE_IN_A_TABLE.sub(
        lambda row: re.sub(r"`[^`]*`", lambda c: c[0].replace("\\|", "|"), row[0]), text
    )
