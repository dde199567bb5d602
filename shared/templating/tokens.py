"""The tokens inside a tag."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shared.codes.coded import Coded
from shared.codes.templates import Flaw
from shared.errors import TemplateError
from shared.templating.source import Source, Text
from shared.templating.values import Fault, Json, number

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\n]+)
    |(?P<number>-?[0-9]{1,40}(?:\.[0-9]{1,40})?(?![\w.]))
    |(?P<word>[A-Za-z_][\w-]*(?:\.[\w-]+)*)
    |(?P<string>'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")
    |(?P<mark>[|:,()])
    |(?P<close>\}\}\}?)""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_CONSTANTS = {"true": True, "false": False, "null": None}
_ESCAPES = {"n": "\n", "t": "\t"}
_REFUSED = {
    "[": Flaw.NO_BRACKETS_HERE(),
    "]": Flaw.NO_BRACKETS_HERE(),
    ".": Flaw.NO_PARENT_PATHS(),
    "@": Flaw.NO_AT_VARIABLES(),
    "=": Flaw.NO_NAMED_ARGUMENTS(),
    "'": Flaw.TEXT_NOT_CLOSED(),
    '"': Flaw.TEXT_NOT_CLOSED(),
    "~": Flaw.NO_TILDE_HERE(),
    "}": Flaw.TAG_SYNTAX_WRONG(wanted="}}"),
    "{": Flaw.TAG_WITHIN_TAG(end="}}"),
}


@dataclass(frozen=True, slots=True)
class Token:
    """One token; `value` is the decoded literal, or the text itself."""

    kind: str
    text: str
    value: Json
    at: int


class Tokens:
    """Reads the tokens of one text value, one after the other; `tag_at` is where the present tag opened.

    Args:
        source: the whole template.
        leaf: the text value.
    """

    def __init__(self, source: Source, leaf: Text) -> None:
        self._source, self.leaf, self.position, self.tag_at = source, leaf, 0, leaf.at

    def place(self) -> int:
        """Return where the next character was typed, as an offset in the source."""
        return self.leaf.offsets[self.position]

    def error(self, problem: Coded, at: int | None = None) -> TemplateError:
        """Return an error at an offset of the source, or where the reading stands."""
        return self._source.error(problem, self.place() if at is None else at)

    def next(self, triple: bool) -> Token:
        """Read one token.

        Args:
            triple: whether the tag was opened with three braces.

        Raises:
            TemplateError: there is none, or it is not part of the language.
        """
        text = self.leaf.text
        found = _TOKEN.match(text, self.position)
        while found and found.lastgroup == "blank":
            self.position = found.end()
            found = _TOKEN.match(text, self.position)
        if self.position >= len(text):
            raise self.error(Flaw.TAG_NOT_CLOSED(end="}}"), self.tag_at)
        if not found:
            character = text[self.position]
            raise self.error(_REFUSED.get(character, Flaw.CHARACTER_MEANS_NOTHING()))
        at, kind, written = self.place(), str(found.lastgroup), found[0]
        if kind == "close":
            written = self._close(written, triple)
        self.position += len(written)
        return Token(*self._literal(kind, written, at), at)

    def _close(self, written: str, triple: bool) -> str:
        if triple and written != "}}}":
            raise self.error(Flaw.TRIPLE_NOT_CLOSED(start="{{{", end="}}}"))
        return written if triple else "}}"

    def _literal(self, kind: str, written: str, at: int) -> tuple[str, str, Json]:
        if kind == "string":
            return "literal", written, re.sub(r"\\(.)", _unescaped, written[1:-1], flags=re.DOTALL)
        if kind == "number":
            try:
                return "literal", written, number(float(written) if "." in written else int(written))
            except Fault as fault:
                raise self.error(fault.coded, at) from None
        if kind == "word" and written in _CONSTANTS:
            return "literal", written, _CONSTANTS[written]
        return kind, written, written


def _unescaped(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[1], match[1])
