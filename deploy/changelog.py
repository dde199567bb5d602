"""The changelog's fragments: one file per change in changelog.d/, moved to CHANGELOG.md for a release."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = "changelog.d"
UNRELEASED = "## Unreleased\n"
KINDS = ("added", "changed", "deprecated", "removed", "fixed", "security")
NAME = re.compile(rf".+\.({'|'.join(KINDS)})\.md")


class BadFragment(Exception):
    """A fragment cannot be moved to the changelog; the message has the reason."""


def assemble(root: Path) -> int:
    """Move the fragments to CHANGELOG.md, under Unreleased.

    Args:
        root: the folder of the sources.

    Returns:
        The number of fragments.

    Raises:
        BadFragment: if a fragment violates changelog.d/README.md; nothing is changed then.
    """
    fragments = sorted(one for one in (root / FOLDER).glob("*") if one.name != "README.md")
    entries: dict[str, str] = {}
    for one in fragments:
        named, text = NAME.fullmatch(one.name), one.read_text(encoding="utf-8").strip()
        if named is None:
            raise BadFragment(f"{FOLDER}/{one.name}: name it NAME.KIND.md, with a KIND of {', '.join(KINDS)}")
        if not text.startswith("- "):
            raise BadFragment(f"{FOLDER}/{one.name}: begin each entry with `- `")
        entries[named[1]] = entries.get(named[1], "") + text + "\n"
    if not fragments:
        return 0
    changelog = root / "CHANGELOG.md"
    before, heading, rest = changelog.read_text(encoding="utf-8").partition(UNRELEASED)
    if not heading:
        raise BadFragment("CHANGELOG.md has no `## Unreleased` for the fragments: add it above the versions")
    cut = re.search(r"(?m)^## ", rest)
    end = cut.start() if cut else len(rest)
    written = before + heading + _merged(rest[:end], entries) + rest[end:]
    changelog.write_text(written, encoding="utf-8")
    for one in fragments:
        one.unlink()
    return len(fragments)


def _merged(unreleased: str, entries: dict[str, str]) -> str:
    """Return the unreleased part with entries added to the section of their kind."""
    for kind in KINDS:
        if kind not in entries:
            continue
        title = f"### {kind.capitalize()}\n"
        if title in unreleased:
            unreleased = unreleased.replace(title, title + entries[kind], 1)
        else:
            unreleased = unreleased.rstrip("\n") + f"\n\n{title}{entries[kind]}\n"
    return unreleased
