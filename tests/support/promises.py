"""`python -m tests.support.promises`: each promise in docs/contributing/promises.md with its tests.

A marker names the promises that a test verifies, so moving a test changes no document.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "contributing" / "promises.md"
ROW = re.compile(r"^\| ([A-Z]{3}-\d\d) \| (.+) \|$", re.MULTILINE)


def promises() -> dict[str, str]:
    """Return every promise, by its name.

    Raises:
        ValueError: if two have the same name.
    """
    found: dict[str, str] = {}
    for name, text in ROW.findall(PAGE.read_text(encoding="utf-8")):
        if name in found:
            raise ValueError(f"two promises are called {name}")
        found[name] = text
    return found


def tests() -> dict[str, list[str]]:
    """Return the tests, or test files, with a promise's marker, by the promise's name."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        where, source = str(file.relative_to(ROOT)), file.read_text(encoding="utf-8")
        if "promise(" not in source:
            continue
        for node in ast.parse(source).body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "pytestmark":
                for name in _named(node.value):
                    found[name].append(where)
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                for decorator in node.decorator_list:
                    for name in _named(decorator):
                        found[name].append(f"{where}::{node.name}")
    return dict(found)


def _named(expression: ast.expr) -> list[str]:
    """Return the names in the `promise` markers inside an expression."""
    return [
        str(argument.value)
        for call in ast.walk(expression)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "promise"
        for argument in call.args
        if isinstance(argument, ast.Constant)
    ]


def main() -> None:
    """Print the table."""
    holding = tests()
    for name, text in promises().items():
        print(f"{name}  {text}")
        for test in holding.get(name, []):
            print(f"        {test}")


if __name__ == "__main__":
    main()
