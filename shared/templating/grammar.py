r"""The language inside text values: parses tags into nodes, and reports the position of every fault.

text   = { characters | "\\{{" | tag }
tag    = "{{" expression "}}" | "{{{" expression "}}}" | "{{!" comment "}}"
       | "{{#if" expression "}}" text [ "{{else}}" text ] "{{/if}}"        (unless and each likewise)
expression = head { "|" filter [ ":" value { [","] value } ] }
head   = value | filter value { [","] value }
value  = path | literal | "(" expression ")"
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shared.errors import TemplateError
from shared.notices.notice import Notice
from shared.notices.templates import Expected, TemplateProblem
from shared.templating.reader import Source, Text
from shared.templating.values import DEPTH, FILTERS_PER_TAG, TAGS, Json, UnlocatedError, number


@dataclass(frozen=True, slots=True)
class Literal:
    """A text, number, boolean or null written inside a tag."""

    value: Json
    at: int


@dataclass(frozen=True, slots=True)
class Path:
    """A variable: `ticket.title`, or `this` inside an each."""

    segments: tuple[str, ...]
    at: int

    def __str__(self) -> str:
        return ".".join(self.segments)


@dataclass(frozen=True, slots=True)
class Call:
    """A filter or condition, in any of its forms; the first argument is the value it works on."""

    name: str
    arguments: tuple[Expression, ...]
    at: int


Expression = Literal | Path | Call


@dataclass(frozen=True, slots=True)
class Output:
    """`{{…}}`."""

    expression: Expression
    at: int


@dataclass(frozen=True, slots=True)
class If:
    """`{{#if …}}`, and `{{#unless …}}` with its branches swapped."""

    condition: Expression
    then: tuple[Part, ...]
    otherwise: tuple[Part, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Each:
    """`{{#each …}}`; `otherwise` is for an empty list."""

    items: Expression
    body: tuple[Part, ...]
    otherwise: tuple[Part, ...]
    at: int


Part = str | Output | If | Each


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
    "[": TemplateProblem.NO_BRACKETS_HERE(),
    "]": TemplateProblem.NO_BRACKETS_HERE(),
    ".": TemplateProblem.NO_PARENT_PATHS(),
    "@": TemplateProblem.NO_AT_VARIABLES(),
    "=": TemplateProblem.NO_NAMED_ARGUMENTS(),
    "'": TemplateProblem.TEXT_NOT_CLOSED(),
    '"': TemplateProblem.TEXT_NOT_CLOSED(),
    "~": TemplateProblem.NO_TILDE_HERE(),
    "}": TemplateProblem.TAG_SYNTAX_WRONG(wanted="}}"),
    "{": TemplateProblem.TAG_WITHIN_TAG(end="}}"),
}


@dataclass(frozen=True, slots=True)
class Token:
    """One token; `value` is the decoded literal, or the text itself."""

    kind: str
    text: str
    value: Json
    at: int


class Tokens:
    """Reads the tokens of one text value, one after the other; `tag_at` is the offset of the current tag.

    Args:
        source: the whole template.
        leaf: the text value.
    """

    def __init__(self, source: Source, leaf: Text) -> None:
        self._source, self.leaf, self.position, self.tag_at = source, leaf, 0, leaf.at

    def place(self) -> int:
        """Return the offset of the next character in the source."""
        return self.leaf.offsets[self.position]

    def error(self, problem: Notice, at: int | None = None) -> TemplateError:
        """Return an error at an offset of the source, or at the current position."""
        return self._source.error(problem, self.place() if at is None else at)

    def next(self, triple: bool) -> Token:
        """Read one token.

        Args:
            triple: whether the tag was opened with three braces.

        Raises:
            TemplateError: if there is none, or if it is not part of the language.
        """
        text = self.leaf.text
        found = _TOKEN.match(text, self.position)
        while found and found.lastgroup == "blank":
            self.position = found.end()
            found = _TOKEN.match(text, self.position)
        if self.position >= len(text):
            raise self.error(TemplateProblem.TAG_NOT_CLOSED(end="}}"), self.tag_at)
        if not found:
            character = text[self.position]
            raise self.error(_REFUSED.get(character, TemplateProblem.CHARACTER_MEANS_NOTHING()))
        at, kind, written = self.place(), str(found.lastgroup), found[0]
        if kind == "close":
            written = self._close(written, triple)
        self.position += len(written)
        return Token(*self._literal(kind, written, at), at)

    def _close(self, written: str, triple: bool) -> str:
        if triple and written != "}}}":
            raise self.error(TemplateProblem.TRIPLE_NOT_CLOSED(start="{{{", end="}}}"))
        return written if triple else "}}"

    def _literal(self, kind: str, written: str, at: int) -> tuple[str, str, Json]:
        if kind == "string":
            return "literal", written, re.sub(r"\\(.)", _unescaped, written[1:-1], flags=re.DOTALL)
        if kind == "number":
            try:
                return "literal", written, number(float(written) if "." in written else int(written))
            except UnlocatedError as fault:
                raise self.error(fault.notice, at) from None
        if kind == "word" and written in _CONSTANTS:
            return "literal", written, _CONSTANTS[written]
        return kind, written, written


def _unescaped(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[1], match[1])


BLOCKS = ("if", "unless", "each")
_NO_SIGN = {
    ">": TemplateProblem.NO_PARTIALS_HERE(),
    "&": TemplateProblem.NOTHING_IS_ESCAPED(example="{{…}}"),
    "^": TemplateProblem.NO_INVERSE_HERE(one="{{else}}", other="{{#unless …}}"),
    "~": TemplateProblem.NO_BLANK_CONTROL(),
    "=": TemplateProblem.NO_OTHER_DELIMITERS(),
}


class TagCount:
    """Counts the tags of a whole template."""

    def __init__(self) -> None:
        self.tags = 0


def parse(source: Source, leaf: Text, count: TagCount) -> tuple[Part, ...]:
    """Parse one text value.

    Args:
        source: the whole template, for the positions of errors.
        leaf: the text value.
        count: the tags so far, over the whole template.

    Returns:
        Literal texts, outputs and blocks, in order, without comments.

    Raises:
        TemplateError: if the text is faulty; with line and column.
    """
    return _Parser(source, leaf, count).whole()


class _Parser:
    def __init__(self, source: Source, leaf: Text, count: TagCount) -> None:
        self._tokens, self._text, self._count = Tokens(source, leaf), leaf.text, count
        self._triple, self._calls = False, 0
        self._token: Token

    def whole(self) -> tuple[Part, ...]:
        parts, _ = self._parts(0, None, False)
        return parts

    def _parts(
        self, depth: int, block: tuple[str, int] | None, after_else: bool
    ) -> tuple[tuple[Part, ...], str]:
        """Read to the end of the text or to the block's {{else}} or {{/…}}; return the parts and which end it was."""
        parts: list[Part] = []
        while True:
            literal = self._literal_text()
            if literal:
                parts.append(literal)
            if self._tokens.position >= len(self._text):
                if block:
                    raise self._tokens.error(
                        TemplateProblem.BLOCK_NOT_CLOSED(
                            start=f"{{{{#{block[0]}}}}}", end=f"{{{{/{block[0]}}}}}"
                        ),
                        block[1],
                    )
                return tuple(parts), ""
            at = self._open()
            sign = self._text[self._tokens.position : self._tokens.position + 1]
            if sign == "!":
                self._comment(at)
            elif sign == "#":
                parts.append(self._block(at, depth))
            elif sign == "/":
                self._end_of(block, at)
                return tuple(parts), "end"
            elif sign in _NO_SIGN:
                raise self._tokens.error(_NO_SIGN[sign])
            else:
                self._advance()
                if self._token.text == "else":
                    self._else(block, after_else)
                    return tuple(parts), "else"
                parts.append(self._output(at))

    def _literal_text(self) -> str:
        r"""Read the characters before the next tag; `\{{` is a literal `{{`, `\\{{` a backslash before a tag."""
        taken: list[str] = []
        while True:
            start = self._tokens.position
            found = self._text.find("{{", start)
            if found < 0:
                self._tokens.position = len(self._text)
                return "".join(taken) + self._text[start:]
            before = self._text[start:found].rstrip("\\")
            backslashes = found - start - len(before)
            taken.append(before + "\\" * (backslashes // 2))
            self._tokens.position = found
            if backslashes % 2 == 0:
                return "".join(taken)
            taken.append("{{")
            self._tokens.position = found + 2

    def _open(self) -> int:
        at = self._tokens.tag_at = self._tokens.place()
        self._count.tags += 1
        if self._count.tags > TAGS:
            raise self._tokens.error(TemplateProblem.TAGS_TOO_MANY(most=TAGS))
        if self._text.startswith("{{{{", self._tokens.position):
            raise self._tokens.error(
                TemplateProblem.FOUR_BRACES(braces="{{", example=r"\{{", in_json=r"\\{{")
            )
        self._triple = self._text.startswith("{{{", self._tokens.position)
        self._tokens.position += 3 if self._triple else 2
        self._calls = 0
        rest = self._text[self._tokens.position :]
        self._tokens.position += len(rest) - len(rest.lstrip(" \t\r\n"))
        return at

    def _comment(self, at: int) -> None:
        long = self._text.startswith("!--", self._tokens.position)
        mark = "--}}" if long else "}}"
        end = self._text.find(mark, self._tokens.position + (3 if long else 1))
        if end < 0 or self._triple:
            raise self._tokens.error(TemplateProblem.COMMENT_NOT_CLOSED(start="{{!", end=mark), at)
        self._tokens.position = end + len(mark)

    def _block(self, at: int, depth: int) -> Part:
        name = self._name("#")
        if name == "with":
            raise self._tokens.error(TemplateProblem.NO_WITH_HERE(), at)
        if name not in BLOCKS:
            raise self._tokens.error(TemplateProblem.BLOCK_NOT_KNOWN(), at)
        if depth >= DEPTH:
            raise self._tokens.error(TemplateProblem.BLOCKS_TOO_DEEP(most=DEPTH), at)
        self._advance()
        subject = self._expression(0)
        self._close()
        body, ending = self._parts(depth + 1, (name, at), False)
        otherwise: tuple[Part, ...] = ()
        if ending == "else":
            otherwise, _ = self._parts(depth + 1, (name, at), True)
        if name == "each":
            return Each(subject, body, otherwise, at)
        return If(subject, body, otherwise, at) if name == "if" else If(subject, otherwise, body, at)

    def _name(self, sign: str) -> str:
        if self._triple:
            raise self._tokens.error(
                TemplateProblem.TRIPLE_BEFORE_SIGN(braces="{{{", sign=sign, example=f"{{{{{sign}…}}}}")
            )
        self._tokens.position += len(sign)
        self._advance()
        return self._token.text

    def _end_of(self, block: tuple[str, int] | None, at: int) -> None:
        name = self._name("/")
        if block is None:
            raise self._tokens.error(TemplateProblem.BLOCK_NOT_OPENED(), at)
        if name != block[0]:
            raise self._tokens.error(TemplateProblem.TAG_SYNTAX_WRONG(wanted=f"{{{{/{block[0]}}}}}"), at)
        self._advance()
        self._close()

    def _else(self, block: tuple[str, int] | None, after_else: bool) -> None:
        at = self._tokens.tag_at
        if block is None:
            raise self._tokens.error(TemplateProblem.ELSE_OUTSIDE_BLOCK(tag="{{else}}"), at)
        if after_else:
            raise self._tokens.error(TemplateProblem.ELSE_STANDS_TWICE(tag="{{else}}"), at)
        self._advance()
        if self._token.text in BLOCKS:
            raise self._tokens.error(
                TemplateProblem.ELSE_IF_WRITTEN(
                    written="{{else if}}", inner="{{#if}}", start="{{else}}", end="{{/if}}"
                ),
                at,
            )
        self._close()

    def _output(self, at: int) -> Output:
        if self._token.kind == "close":
            raise self._tokens.error(TemplateProblem.TAG_IS_EMPTY(), at)
        expression = self._expression(0)
        self._close()
        return Output(expression, at)

    def _advance(self) -> None:
        self._token = self._tokens.next(self._triple)

    def _close(self) -> None:
        if self._token.kind != "close":
            raise self._unexpected(Expected.FILTER_OR_END(end="}}"))

    def _unexpected(self, wanted: Notice | str) -> TemplateError:
        return self._tokens.error(TemplateProblem.TAG_SYNTAX_WRONG(wanted=wanted), self._token.at)

    def _expression(self, depth: int) -> Expression:
        if depth > DEPTH:
            raise self._tokens.error(TemplateProblem.PARENTHESES_TOO_DEEP(most=DEPTH), self._token.at)
        expression = self._head(depth)
        while self._token.text == "|" and self._token.kind == "mark":
            self._advance()
            name = self._token
            if name.kind != "word":
                raise self._unexpected(Expected.NAME_OF_FILTER())
            self._advance()
            arguments: tuple[Expression, ...] = ()
            if self._is_mark(":"):
                self._advance()
                arguments = self._values(depth)
            expression = self._call(name, (expression, *arguments))
        return expression

    def _head(self, depth: int) -> Expression:
        first = self._token
        value = self._value(depth)
        if isinstance(value, Path) and len(value.segments) == 1 and self._starts_value():
            return self._call(first, self._values(depth))
        return value

    def _call(self, name: Token, arguments: tuple[Expression, ...]) -> Call:
        self._calls += 1
        if self._calls > FILTERS_PER_TAG:
            raise self._tokens.error(TemplateProblem.FILTERS_TOO_MANY(most=FILTERS_PER_TAG), name.at)
        return Call(name.text, arguments, name.at)

    def _values(self, depth: int) -> tuple[Expression, ...]:
        values = [self._value(depth)]
        while self._is_mark(",") or self._starts_value():
            if self._is_mark(","):
                self._advance()
            values.append(self._value(depth))
        return tuple(values)

    def _value(self, depth: int) -> Expression:
        token = self._token
        if token.kind == "literal":
            self._advance()
            return Literal(token.value, token.at)
        if token.kind == "word":
            self._advance()
            return Path(tuple(token.text.split(".")), token.at)
        if not self._is_mark("("):
            raise self._unexpected(Expected.OPERAND_OF_TAG())
        self._advance()
        inner = self._expression(depth + 1)
        if not self._is_mark(")"):
            raise self._unexpected(")")
        self._advance()
        return inner

    def _is_mark(self, mark: str) -> bool:
        return self._token.kind == "mark" and self._token.text == mark

    def _starts_value(self) -> bool:
        return self._token.kind in ("literal", "word") or self._is_mark("(")
