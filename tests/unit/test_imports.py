"""The layout of the code: short files, no import cycles, even for types, and front ends that only call services."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("shared", "producer", "worker")
    for path in (ROOT / package).rglob("*.py")
}

MOST_LINES = 500


@cache
def imported(path: Path) -> list[str]:
    """Return every module that a file imports, also inside functions."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                member = f"{node.module}.{one.name}"
                found.append(member if member in FILES else node.module)
    return found


def test_no_file_has_more_than_five_hundred_lines() -> None:
    tops = [*FILES.values(), *(path for top in ("deploy", "tests") for path in (ROOT / top).rglob("*.py"))]
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in tops}
    assert len(lengths) > len(FILES)
    assert {path: length for path, length in lengths.items() if length > MOST_LINES} == {}


def test_no_import_goes_in_a_circle() -> None:
    graph = {name: {one for one in imported(path) if one in FILES} - {name} for name, path in FILES.items()}
    assert sum(map(len, graph.values())) > len(FILES)
    TopologicalSorter(graph).prepare()  # its error names the cycle


def test_no_folder_needs_one_that_needs_it() -> None:
    """The files of a folder form one layer; a subfolder is a separate layer."""
    folders = {name: path.parent.relative_to(ROOT).as_posix() for name, path in FILES.items()}
    graph: dict[str, set[str]] = {folder: set() for folder in folders.values()}
    for name, path in FILES.items():
        needed = {folders[one] for one in imported(path) if one in FILES}
        graph[folders[name]] |= needed - {folders[name]}
    assert (len(graph) > 40, sum(map(len, graph.values())) > 300) == (True, True)
    TopologicalSorter(graph).prepare()  # its error names the cycle


def test_the_workflow_of_a_ticket_imports_no_event_loop_no_driver_and_no_web_framework() -> None:
    """It uses only its context, so tests can run it step by step and another scheduler could drive it."""
    forbidden = (
        "asyncio",
        "celery",
        "fastapi",
        "kombu",
        "psycopg2",
        "redis",
        "requests",
        "sqlalchemy",
        "starlette",
    )
    workflow = {name: path for name, path in FILES.items() if name.startswith("worker.ticket.")}
    found = {
        (name, one)
        for name, path in workflow.items()
        for one in imported(path)
        if one.split(".")[0] in forbidden
    }
    assert (len(workflow) > 20, found) == (True, set())


def test_a_folder_loads_nothing_that_was_not_asked_for() -> None:
    packages = [path for path in FILES.values() if path.stem == "__init__"]
    loading = [str(path.parent.relative_to(ROOT)) for path in packages if imported(path)]
    assert (len(packages) > 40, loading) == (True, [])


def test_the_doors_read_no_store_and_notify_nobody_themselves() -> None:
    """People's actions are in producer/admin; the command line and the console only call them and show results."""
    doors = [path for name, path in FILES.items() if name.startswith(("producer.cli", "producer.console"))]
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in doors
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"\.transaction\(|services\.notify\(", line)
    ]
    assert (len(doors) > 40, found) == (True, [])


def test_who_asks_for_every_table_gets_every_table_whatever_else_was_imported() -> None:
    """Personal data in a missing table would not be erased."""
    sources = [path.read_text(encoding="utf-8") for path in FILES.values()]
    tables = {name for source in sources for name in re.findall(r'__tablename__ = "(\w+)"', source)}
    asked = "from producer.admin.records.models import TABLES; print(*TABLES.tables)"
    known = subprocess.check_output([sys.executable, "-c", asked], cwd=ROOT, text=True).split()
    assert (len(tables) > 20, set(known)) == (True, tables)
