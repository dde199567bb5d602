"""Notices, which are codes with parameters: what happened, or why. Programs store them; people read sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Self


@dataclass(frozen=True, slots=True)
class Notice:
    """A code with its parameters.

    Attributes:
        code: a member of one of the enumerations in this package, or any other text of a newer version.
        params: plain JSON by name; a value may be another notice, such as the refusal that is the reason.
    """

    code: str
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plural:
    """A sentence that depends on the parameter `count`."""

    one: str
    many: str


Sentence = str | Plural
NOTHING_WRONG, WRONG_ASKED = "KB-WORK-006", "KB-COMMAND-001"
"""Articles about normal operation, and about refused input."""


@dataclass(frozen=True, slots=True)
class Message:
    """The definition of a code.

    Attributes:
        code: the value that is stored, sent and counted; it never changes.
        text: what happened, in English, with placeholders (`shared.notices.template`).
        why: why it was done, or what to do about it.
        article: id of the article that explains it; "": there is none; None: the article of its enumeration.
    """

    code: str
    text: Sentence
    why: Sentence = field(default="", kw_only=True)
    article: str | None = field(default=None, kw_only=True)


class Code(StrEnum):
    """Base of the enumerations of codes: a call of a member with its parameters returns a notice.

    Attributes:
        text: its sentence.
        why: why it was done, or what to do about it; may be empty.
    """

    _value_: str
    text: Sentence
    why: Sentence
    _own_article: str | None
    _article: ClassVar[str]

    def __new__(cls, said: Message) -> Self:
        """Make a member."""
        member = str.__new__(cls, said.code)
        member._value_ = said.code
        member.text, member.why, member._own_article = said.text, said.why, said.article
        return member

    def __init_subclass__(cls, article: str = "") -> None:
        """Set the article of members that have none of their own, and register the members by stored code."""
        cls._article = article
        CODES.update((code.value, code) for code in cls)

    def __call__(self, **params: Any) -> Notice:
        """Return this code with its parameters."""
        return Notice(self, params)

    @property
    def article(self) -> str:
        """The id of the article that explains it; empty if its sentence needs no explanation."""
        return self._article if self._own_article is None else self._own_article


CODES: dict[str, Code] = {}
"""Every code by its stored value; an import of `shared.notices.render` loads all of them."""


class Written(Code):
    """A reason without a code: the message of another program."""

    AS_WRITTEN = Message("as_written", "{text}")


def written(text: str) -> Notice:
    """Return a notice for a text that has no code of its own."""
    return Written.AS_WRITTEN(text=text)


def within(value: Any) -> Iterator[Notice]:
    """Yield a notice, then the notices in its parameters."""
    if isinstance(value, Notice):
        yield value
        value = list(value.params.values())
    for one in value if isinstance(value, (list, tuple)) else ():
        yield from within(one)


def codes_in(value: Any) -> Iterator[str]:
    """Yield the code of a notice, then the codes of the notices in its parameters."""
    return (str(one.code) for one in within(value))


def notice_json(notice: Notice) -> dict[str, Any]:
    """Return a notice as plain JSON data."""
    return {"code": str(notice.code), "params": to_json(notice.params)}


def to_json(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as plain JSON data, a nested notice as `{"code": …, "params": …}`."""
    return {name: _out(value) for name, value in params.items() if value is not None}


def from_json(params: Any) -> dict[str, Any]:
    """Return the parameters that `to_json` stored; it never fails, whatever the data."""
    return {name: _in(value) for name, value in params.items()} if isinstance(params, dict) else {}


def _out(value: Any) -> Any:
    if isinstance(value, Notice):
        return notice_json(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_out(one) for one in value]
    return value


def _in(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"code", "params"}:
        return Notice(str(value["code"]), from_json(value["params"]))
    return [_in(one) for one in value] if isinstance(value, list) else value
