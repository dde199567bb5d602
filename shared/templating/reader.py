"""Reads a template's body as strict JSON and keeps the position of everything in it.

Python's own decoder accepts NaN and duplicate keys and loses the position of each character of a text, which a
person needs to fix a template.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from shared.errors import TemplateError
from shared.notices.notice import Notice
from shared.notices.templates import Expected, TemplateProblem
from shared.templating.values import BODY_BYTES, JSON_DEPTH, UnlocatedError, number
from shared.values.characters import NOT_TEMPLATE_TEXT

_LINE_END = re.compile(r"\r\n|\n|\r")


class Source:
    """A template's text, and its lines.

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

    def error(self, problem: Notice, offset: int) -> TemplateError:
        """Return the error for a problem at an offset."""
        return TemplateError(problem, *self.place(offset))


@dataclass(frozen=True, slots=True)
class Text:
    """A text value: its decoded characters, and their positions in the source.

    Attributes:
        text: the decoded text.
        offsets: the offset of each decoded character in the source, then that of the closing quote.
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


_BLANKS = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"-?[A-Za-z_]+")
_RUN = re.compile(r'[^"\\\x00-\x1f]+')
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_CONSTANTS = {"true": True, "false": False, "null": None}


def read(body: str) -> tuple[Source, Node]:
    """Read a template's body.

    Returns:
        The source, for errors found later, and the JSON with all positions.

    Raises:
        TemplateError: if it is too large, or not strict JSON.
    """
    if not isinstance(body, str):
        raise TemplateError(TemplateProblem.TEMPLATE_NO_TEXT(), 1, 1)
    source = Source(body)
    if len(body) > BODY_BYTES or len(body.encode("utf-8", "surrogatepass")) > BODY_BYTES:
        raise source.error(TemplateProblem.TEMPLATE_TOO_LARGE(most=BODY_BYTES // 1024), 0)
    return source, _Reader(source).whole()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source, self._text, self._at = source, source.text, 0
        self._last: Text | None = None

    def whole(self) -> Node:
        self._skip()
        node = self._value(0)
        self._skip()
        if self._at < len(self._text):
            raise self._unexpected(Expected.END_OF_TEMPLATE())
        return node

    def _skip(self) -> None:
        found = _BLANKS.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _value(self, depth: int) -> Node:
        if self._text.startswith("{{", self._at):
            raise self._source.error(TemplateProblem.TAG_NOT_QUOTED(example='"{{…}}"'), self._at)
        if depth > JSON_DEPTH:
            raise self._source.error(TemplateProblem.NESTED_DEEPER(most=JSON_DEPTH), self._at)
        character = self._peek()
        if character == "{":
            return self._object(depth)
        if character == "[":
            return self._array(depth)
        if character == '"':
            return self._string()
        return self._scalar()

    def _object(self, depth: int) -> Object:
        start, members = self._at, dict[str, Node]()
        self._at += 1
        self._skip()
        while self._peek() != "}" or members:
            if self._peek() != '"':
                raise self._unexpected(Expected.NAME_IN_QUOTES(mark='"}"'))
            key = self._string()
            if "{{" in key.text:
                raise self._source.error(TemplateProblem.TAG_IN_NAME(), key.at)
            if NOT_TEMPLATE_TEXT.search(key.text):
                raise self._source.error(TemplateProblem.CONTROL_IN_NAME(), key.at)
            if key.text in members:
                raise self._source.error(TemplateProblem.NAME_STANDS_TWICE(), key.at)
            self._skip()
            self._expect(":", Expected.MARK_AFTER_NAME(mark='":"'))
            members[key.text] = self._value(depth + 1)
            self._skip()
            if self._peek() == "}":
                break
            self._expect(",", Expected.EITHER_MARK(one='","', other='"}"'))
        self._at += 1
        return Object(members, start)

    def _array(self, depth: int) -> Array:
        start, items = self._at, list[Node]()
        self._at += 1
        self._skip()
        while self._peek() != "]" or items:
            items.append(self._value(depth + 1))
            self._skip()
            if self._peek() == "]":
                break
            self._expect(",", Expected.EITHER_MARK(one='","', other='"]"'))
        self._at += 1
        return Array(tuple(items), start)

    def _expect(self, character: str, wanted: Notice) -> None:
        if self._peek() != character:
            raise self._unexpected(wanted)
        self._at += 1
        self._skip()

    def _unexpected(self, wanted: Notice) -> TemplateError:
        if self._last and self._last.text.rfind("{{") > self._last.text.rfind("}}"):
            return self._source.error(TemplateProblem.TEXT_ENDS_IN_TAG(), self._at)
        if self._text.startswith("{{", self._at):
            return self._source.error(TemplateProblem.TAG_OUTSIDE_TEXT(), self._at)
        return self._source.error(TemplateProblem.JSON_SYNTAX_WRONG(wanted=wanted), self._at)

    def _scalar(self) -> Scalar:
        start = self._at
        digits = _NUMBER.match(self._text, start)
        if digits and not _WORD.match(self._text, digits.end()):
            self._at = digits.end()
            try:
                return Scalar(number(float(digits[0]) if digits[1] or digits[2] else int(digits[0])), start)
            except (UnlocatedError, ValueError):
                raise self._source.error(TemplateProblem.NUMBER_BEYOND_RANGE(), start) from None
        word = _WORD.match(self._text, start)
        if word and word[0] in _CONSTANTS:
            self._at = word.end()
            return Scalar(_CONSTANTS[word[0]], start)
        if word and word[0].lstrip("-") in ("NaN", "Infinity"):
            raise self._source.error(TemplateProblem.WORD_NOT_JSON(word=word[0]), start)
        raise self._unexpected(Expected.VALUE_OF_JSON())

    def _string(self) -> Text:
        start, pieces, offsets = self._at, list[str](), array("l")
        self._at += 1
        while (character := self._peek()) != '"':
            run = _RUN.match(self._text, self._at)
            if run:
                pieces.append(run[0])
                offsets.extend(range(self._at, run.end()))
                self._at = run.end()
            elif character == "\\":
                offsets.append(self._at)
                pieces.append(self._escape())
            elif not character:
                raise self._source.error(TemplateProblem.TEXT_NOT_CLOSED(), start)
            else:
                raise self._source.error(TemplateProblem.CONTROL_IN_TEXT(), self._at)
        offsets.append(self._at)
        self._at += 1
        self._last = Text("".join(pieces), offsets, start)
        if re.search("[\ud800-\udfff]", self._last.text):
            raise self._source.error(TemplateProblem.HALF_A_CHARACTER(), start)
        return self._last

    def _escape(self) -> str:
        start, kind = self._at, self._text[self._at + 1 : self._at + 2]
        if kind in _ESCAPES:
            self._at += 2
            return _ESCAPES[kind]
        if kind == "u":
            code = self._unit(start)
            if 0xD800 <= code < 0xDC00 and self._text.startswith("\\u", self._at):
                low = self._unit(self._at)
                if not 0xDC00 <= low < 0xE000:
                    raise self._source.error(TemplateProblem.HALF_A_CHARACTER(), start)
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
            return chr(code)
        if kind == "{":
            raise self._source.error(TemplateProblem.BRACES_NOT_ESCAPED(braces="{{", example=r"\\{{"), start)
        raise self._source.error(TemplateProblem.ESCAPE_NOT_KNOWN(), start)

    def _unit(self, at: int) -> int:
        digits = _HEX.match(self._text, at + 2)
        if not digits:
            raise self._source.error(TemplateProblem.HEX_DIGITS_NEEDED(), at)
        self._at = digits.end()
        return int(digits[0], 16)
