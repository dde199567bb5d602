"""The commands in the documentation: every shell block, for the tests that run them and the one that checks for gaps.

Examples in the generated reference come from `--help`, and its tests check them.

A block that no test runs has a title that also tells readers so: ```sh title="not run: why".
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
        name: its page and the heading above it, as in a link: `install.md#settings`.
        language: language of the code, `sh` for commands.
        title: title above it.
        text: code without fences and indentation.
    """

    name: str
    language: str
    title: str
    text: str

    @property
    def is_run(self) -> bool:
        """Whether it contains commands that some test has to run."""
        return self.language == "sh" and not self.title.startswith(NOT_RUN)


def page_name(page: Path) -> str:
    """Return the name of a page: its path in docs/, or else its file name."""
    return str(page.relative_to(DOCS)) if page.is_relative_to(DOCS) else page.name


def blocks(page: Path) -> list[Block]:
    """Return every block of code on a page outside its generated parts."""
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
    """Return the anchors of a page's headings."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {_anchor(title) for title in found}


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def documented(name: str) -> str:
    """Return the commands under a heading, for a test that runs them.

    Raises:
        LookupError: if there are none, or they are marked as not run.
    """
    page = ROOT / name.partition("#")[0]
    page = page if page.exists() else DOCS / name.partition("#")[0]
    found = "".join(block.text for block in blocks(page) if block.name == name and block.is_run)
    if not found:
        raise LookupError(f"no commands to run at {name}")
    return found


def instead(text: str, *pairs: tuple[str, str]) -> str:
    """Replace the example values of a page with the test's; each must be in the text."""
    for old, new in pairs:
        assert old in text, f"{old!r} is not in {text}"
        text = text.replace(old, new)
    return text


def example_event() -> str:
    """Return the first event that docs/reference/events.md shows."""
    return next(one.text for one in blocks(DOCS / "reference" / "events.md") if one.language == "json")


def run_by_tests() -> set[str]:
    """Return the names of all blocks that some test runs."""
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
