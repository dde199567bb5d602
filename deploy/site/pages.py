"""The pages of the site: those of docs/ and what stands beside it, with links that lead there."""

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
"""What is part of the site and in no folder of documents: where it is in the repository, and on the site."""
LINK = re.compile(r"\]\(([^)#:\s]+)((?:#[^)\s]*)?)\)")
CODE_IN_A_TABLE = re.compile(r"(?<=^\|)[^\n]*`[^\n]*\\\|[^\n]*$", re.MULTILINE)


def sources() -> dict[str, str]:
    """Return what the site is made of: each file's path in the repository, and on the site."""
    found: dict[str, str] = {}
    for folder, place in (("docs", ""), (tables.RECORDS, "knowledge/")):
        files = (path for path in (ROOT / folder).rglob("*") if path.is_file())
        found |= {str(path.relative_to(ROOT)): place + str(path.relative_to(ROOT / folder)) for path in files}
    return found | BESIDE


def write(to: Path) -> None:
    """Write every page into a new directory, in place of what was there."""
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
    """Return a page whose links lead to where things are on the site; mkdocs complains of those that lead nowhere."""
    here = posixpath.dirname(places[source])

    def led(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("/", posixpath.dirname(source), found[1])).lstrip("/")
        place = posixpath.relpath(places[target], here or ".") if target in places else found[1]
        return f"]({place}{found[2]})"

    text = LINK.sub(led, (ROOT / source).read_text(encoding="utf-8"))
    # where Markdown is as GitHub has it a bar in a table needs a backslash even inside code; here it would be shown
    return CODE_IN_A_TABLE.sub(
        lambda row: re.sub(r"`[^`]*`", lambda c: c[0].replace("\\|", "|"), row[0]), text
    )
