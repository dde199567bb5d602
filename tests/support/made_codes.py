"""Checks at run time that each code that the program makes in a test has the parameters that its sentence needs.

The test that reads the source (`tests/unit/codes/test_sentences.py`) only sees codes that are called by name with
named parameters. Codes from tables, and parameters from other functions, are only visible at run time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from shared.notices.notice import CODES, Code, Notice
from shared.notices.template import names

ROOT = Path(__file__).parents[2]
OURS = tuple(f"{ROOT / folder}/" for folder in ("shared", "worker", "producer"))
_incomplete: list[str] = []
_make = Code.__call__


@cache
def needed(code: str) -> frozenset[str]:
    """Return the parameters that the sentences of a code need."""
    known = CODES[code]
    return frozenset(name for text in (known.text, known.why) for name in names(text)[0])


def _make_and_look(self: Code, **params: Any) -> Notice:
    caller = sys._getframe(1)
    if caller.f_code.co_filename.startswith(OURS):
        lacking = sorted(name for name in needed(self) if params.get(name) is None)
        if lacking:
            place = f"{caller.f_code.co_filename}:{caller.f_lineno}"
            _incomplete.append(f"{place}: {self} lacks {', '.join(lacking)}")
    return _make(self, **params)


Code.__call__ = _make_and_look  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def codes_with_what_they_need() -> Iterator[list[str]]:
    """Fail a test if the program made a code without a parameter that its sentence needs."""
    _incomplete.clear()
    yield _incomplete
    assert _incomplete == []
