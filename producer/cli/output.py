"""Output of commands: tables and sentences for people, one JSON document for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from producer.admin.presenters.moments import stamp
from shared.values.characters import NOT_FOR_A_TERMINAL
from shared.values.visible import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

WIDTH = 100
"""Width of output to a file or pipe; on a terminal it is the terminal's."""

COLOURS = {
    "pending": "yellow",
    "on_hold": "magenta",
    "done": "green",
    "skipped": "dim",
    "superseded": "dim",
    "failed": "red",
    "linked": "green",
    "claimed": "yellow",
    "in_doubt": "yellow",
    "gone": "magenta",
}


def console(*, stderr: bool = False) -> Console:
    """Return a console for standard output (or error), coloured on a terminal only."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(
        stderr=stderr, width=None if stream.isatty() else WIDTH, highlight=False, markup=False, emoji=False
    )


def say(*lines: str | Text) -> None:
    """Print lines for a person; the terminal folds long ones, so that they can be copied."""
    out = console()
    for line in lines:
        out.print(plain(line) if isinstance(line, str) else line, soft_wrap=True)


def warn(text: str) -> None:
    """Print a warning on standard error."""
    console(stderr=True).print(f"warning: {plain(text)}", style="yellow", soft_wrap=True)


def complain(text: str) -> None:
    """Print why a command failed, on standard error."""
    console(stderr=True).print(f"deskbridge: {plain(text)}", style="red", soft_wrap=True)


def print_json(data: object) -> None:
    """Print one JSON document, ASCII only, so that no locale can break it."""
    sys.stdout.write(json.dumps(data, indent=2, default=_as_json) + "\n")
    sys.stdout.flush()


def _as_json(value: Any) -> object:
    """Return the members of an answer or a data class, or a time as text."""
    if hasattr(value, "printed"):
        return value.printed()
    if is_dataclass(value):
        return {one.name: getattr(value, one.name) for one in fields(value)}
    return stamp(value)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; cells are text, never markup."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in made.columns:
        column.overflow = "fold"
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(plain(cell)) for cell in row))
    console().print(made)


def state_text(state: str) -> Text:
    """Return a state in its colour."""
    from rich.text import Text

    return Text(plain(state.replace("_", " ")), style=COLOURS.get(state, ""))


def plain(value: object) -> str:
    """Return text without terminal control characters, and with invisible ones marked; None becomes an empty text."""
    return "" if value is None else visible(NOT_FOR_A_TERMINAL.sub("", str(value)))


def count(number: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun: `1 event`, `2 events`."""
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"
