r"""The language inside text values: parses tags into nodes, and says where what is wrong.

text   = { characters | "\\{{" | tag }
tag    = "{{" expression "}}" | "{{{" expression "}}}" | "{{!" comment "}}"
       | "{{#if" expression "}}" text [ "{{else}}" text ] "{{/if}}"        (unless and each likewise)
expression = head { "|" filter [ ":" value { [","] value } ] }
head   = value | filter value { [","] value }
value  = path | literal | "(" expression ")"
"""

from __future__ import annotations

from shared.codes.coded import Coded
from shared.codes.templates import Flaw, Wanted
from shared.errors import TemplateError
from shared.templating.limits import DEPTH, FILTERS_PER_TAG, TAGS
from shared.templating.nodes import Call, Each, Expression, If, Literal, Output, Part, Path
from shared.templating.source import Source, Text
from shared.templating.tokens import Token, Tokens

BLOCKS = ("if", "unless", "each")
_NO_SIGN = {
    ">": Flaw.NO_PARTIALS_HERE(),
    "&": Flaw.NOTHING_IS_ESCAPED(example="{{…}}"),
    "^": Flaw.NO_INVERSE_HERE(one="{{else}}", other="{{#unless …}}"),
    "~": Flaw.NO_BLANK_CONTROL(),
    "=": Flaw.NO_OTHER_DELIMITERS(),
}


class TagCount:
    """Counts the tags of a whole template."""

    def __init__(self) -> None:
        self.tags = 0


def parse(source: Source, leaf: Text, count: TagCount) -> tuple[Part, ...]:
    """Parse one text value.

    Args:
        source: the whole template, for the places of errors.
        leaf: the text value.
        count: the tags so far, over the whole template.

    Returns:
        Literal texts, outputs and blocks, in order; comments are gone.

    Raises:
        TemplateError: with line and column of what is wrong.
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
        """Read until the end of the text, or until {{else}} or {{/…}} of the block; tell which of these it was."""
        parts: list[Part] = []
        while True:
            literal = self._literal_text()
            if literal:
                parts.append(literal)
            if self._tokens.position >= len(self._text):
                if block:
                    raise self._tokens.error(
                        Flaw.BLOCK_NOT_CLOSED(start=f"{{{{#{block[0]}}}}}", end=f"{{{{/{block[0]}}}}}"),
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
        r"""Take the characters before the next tag; `\{{` is a literal `{{`, `\\{{` a backslash before a tag."""
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
            raise self._tokens.error(Flaw.TAGS_TOO_MANY(most=TAGS))
        if self._text.startswith("{{{{", self._tokens.position):
            raise self._tokens.error(Flaw.FOUR_BRACES(braces="{{", example=r"\{{", in_json=r"\\{{"))
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
            raise self._tokens.error(Flaw.COMMENT_NOT_CLOSED(start="{{!", end=mark), at)
        self._tokens.position = end + len(mark)

    def _block(self, at: int, depth: int) -> Part:
        name = self._name("#")
        if name == "with":
            raise self._tokens.error(Flaw.NO_WITH_HERE(), at)
        if name not in BLOCKS:
            raise self._tokens.error(Flaw.BLOCK_NOT_KNOWN(), at)
        if depth >= DEPTH:
            raise self._tokens.error(Flaw.BLOCKS_TOO_DEEP(most=DEPTH), at)
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
                Flaw.TRIPLE_BEFORE_SIGN(braces="{{{", sign=sign, example=f"{{{{{sign}…}}}}")
            )
        self._tokens.position += len(sign)
        self._advance()
        return self._token.text

    def _end_of(self, block: tuple[str, int] | None, at: int) -> None:
        name = self._name("/")
        if block is None:
            raise self._tokens.error(Flaw.BLOCK_NOT_OPENED(), at)
        if name != block[0]:
            raise self._tokens.error(Flaw.TAG_SYNTAX_WRONG(wanted=f"{{{{/{block[0]}}}}}"), at)
        self._advance()
        self._close()

    def _else(self, block: tuple[str, int] | None, after_else: bool) -> None:
        at = self._tokens.tag_at
        if block is None:
            raise self._tokens.error(Flaw.ELSE_OUTSIDE_BLOCK(tag="{{else}}"), at)
        if after_else:
            raise self._tokens.error(Flaw.ELSE_STANDS_TWICE(tag="{{else}}"), at)
        self._advance()
        if self._token.text in BLOCKS:
            raise self._tokens.error(
                Flaw.ELSE_IF_WRITTEN(written="{{else if}}", inner="{{#if}}", start="{{else}}", end="{{/if}}"),
                at,
            )
        self._close()

    def _output(self, at: int) -> Output:
        if self._token.kind == "close":
            raise self._tokens.error(Flaw.TAG_IS_EMPTY(), at)
        expression = self._expression(0)
        self._close()
        return Output(expression, at)

    def _advance(self) -> None:
        self._token = self._tokens.next(self._triple)

    def _close(self) -> None:
        if self._token.kind != "close":
            raise self._unexpected(Wanted.FILTER_OR_END(end="}}"))

    def _unexpected(self, wanted: Coded | str) -> TemplateError:
        return self._tokens.error(Flaw.TAG_SYNTAX_WRONG(wanted=wanted), self._token.at)

    def _expression(self, depth: int) -> Expression:
        if depth > DEPTH:
            raise self._tokens.error(Flaw.PARENTHESES_TOO_DEEP(most=DEPTH), self._token.at)
        expression = self._head(depth)
        while self._token.text == "|" and self._token.kind == "mark":
            self._advance()
            name = self._token
            if name.kind != "word":
                raise self._unexpected(Wanted.NAME_OF_FILTER())
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
            raise self._tokens.error(Flaw.FILTERS_TOO_MANY(most=FILTERS_PER_TAG), name.at)
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
            raise self._unexpected(Wanted.OPERAND_OF_TAG())
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
