"""What the parser makes of a text with tags; `at` is an offset in the source."""

from __future__ import annotations

from dataclasses import dataclass

from shared.templating.values import Json


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
    """`{{#if …}}`, and `{{#unless …}}` with its branches exchanged."""

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
