"""The commands of the documents: every shell block, for the test that runs it and for the one that misses none.

Examples in the generated reference are those of `--help`, and belong to its tests.

A block that no test runs says so above itself, for its readers, too: ```sh title="not run: why".
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from deploy.site.reference import PART

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
RECORDS = ROOT / "producer" / "admin" / "knowledge" / "records"
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")),
    *sorted(DOCS.rglob("*.md")),
    *sorted(RECORDS.glob("*.md")),
]
NOT_RUN = "not run: "
HEADING = re.compile(r"#+ (.+)")
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?$")


@dataclass(frozen=True)
class Block:
    """A block of code.

    Attributes:
        name: its page and the heading above it, as a link would name them: `install.md#settings`.
        language: of what, `sh` for commands.
        title: what is shown above it.
        text: without its fences and indentation.
    """

    name: str
    language: str
    title: str
    text: str

    @property
    def is_run(self) -> bool:
        """Whether it holds commands that some test has to run."""
        return self.language == "sh" and not self.title.startswith(NOT_RUN)


def page_name(page: Path) -> str:
    """Return how a page is called here: by its path in docs/, others by their own name."""
    return str(page.relative_to(DOCS)) if page.is_relative_to(DOCS) else page.name


def blocks(page: Path) -> list[Block]:
    """Return every block of code that a person wrote on a page."""
    found: list[Block] = []
    lines: list[str] = []
    heading, opened = "", None
    for line in PART.sub("", page.read_text(encoding="utf-8")).splitlines():
        fence = FENCE.match(line)
        if opened and line.strip() == "```":
            indent = len(opened["indent"])
            text = "\n".join(one[indent:] for one in lines) + "\n"
            found.append(
                Block(f"{page_name(page)}#{heading}", opened["language"], opened["title"] or "", text)
            )
            opened = None
        elif opened:
            lines.append(line)
        elif fence:
            opened, lines = fence, []
        elif title := HEADING.fullmatch(line):
            heading = _anchor(title[1])
    return found


def headings(page: Path) -> set[str]:
    """Return every heading of a page, as a link would name it."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {_anchor(title) for title in found}


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def documented(name: str) -> str:
    """Return the commands under a heading, for a test that runs them.

    Raises:
        LookupError: there are none, or they are marked as not run.
    """
    page = ROOT / name.partition("#")[0]
    page = page if page.exists() else DOCS / name.partition("#")[0]
    found = "".join(block.text for block in blocks(page) if block.name == name and block.is_run)
    if not found:
        raise LookupError(f"no commands to run at {name}")
    return found


def instead(text: str, *pairs: tuple[str, str]) -> str:
    """Put what is here in place of what a page has for an example; the page must have it."""
    for old, new in pairs:
        assert old in text, f"{old!r} is not in {text}"
        text = text.replace(old, new)
    return text


def example_event() -> str:
    """Return the first event that docs/reference/events.md shows."""
    return next(one.text for one in blocks(DOCS / "reference" / "events.md") if one.language == "json")


def run_by_tests() -> set[str]:
    """Return the names of all blocks that some test asks for."""
    sources = [file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py")]
    return {
        str(node.args[0].value)
        for source in sources
        if "documented(" in source
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", getattr(node.func, "attr", "")) == "documented"
        and isinstance(node.args[0], ast.Constant)
    }
