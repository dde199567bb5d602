"""No module of the product imports another in a circle, not for its types either."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("shared", "producer", "worker")
    for path in (ROOT / package).rglob("*.py")
}


def imported(path: Path) -> Iterator[str]:
    """Yield every module that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                member = f"{node.module}.{one.name}"
                yield member if member in FILES else node.module


def test_no_import_goes_in_a_circle() -> None:
    graph = {name: {one for one in imported(path) if one in FILES} - {name} for name, path in FILES.items()}
    assert sum(map(len, graph.values())) > len(FILES)
    TopologicalSorter(graph).prepare()  # names the circle where there is one
