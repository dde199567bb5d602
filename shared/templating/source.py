"""A template's text as the person typed it, and places in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from shared.codes.coded import Coded
from shared.errors import TemplateError

_LINE_END = re.compile(r"\r\n|\n|\r")


class Source:
    """The text, and its lines.

    Args:
        text: the template's body.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column, both from 1, of the character at an offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def error(self, problem: Coded, offset: int) -> TemplateError:
        """Return the error that says what is wrong at an offset."""
        return TemplateError(problem, *self.place(offset))


@dataclass(frozen=True, slots=True)
class Text:
    """A text value: its decoded characters, and where each of them was typed.

    Attributes:
        text: decoded.
        offsets: for each decoded character its offset in the source; one more for the closing quote.
        at: offset of the opening quote.
    """

    text: str
    offsets: Sequence[int]
    at: int


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number, boolean or null of the body."""

    value: bool | int | float | None
    at: int


@dataclass(frozen=True, slots=True)
class Array:
    """A JSON array."""

    items: tuple[Node, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Object:
    """A JSON object; its keys are literal text."""

    members: dict[str, Node]
    at: int


Node = Text | Scalar | Array | Object
