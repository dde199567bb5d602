"""A code with its parameters: what happened, or why, as programs keep it; `shared.sentences` says it to people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


@dataclass(frozen=True, slots=True)
class Notice:
    """A code with its parameters.

    Attributes:
        code: a member of one of the enumerations in this package; of a newer version any other text.
        params: plain JSON by name; a value may be another Coded, such as the refusal that is the reason.
    """

    code: str
    params: Mapping[str, Any] = field(default_factory=dict)


class Code(StrEnum):
    """Base of the enumerations of codes: a member that is called with its parameters is a Coded."""

    def __call__(self, **params: Any) -> Notice:
        """Return this code with its parameters."""
        return Notice(self, params)


class Written(Code):
    """What has no code: a sentence as versions before codes stored it, or as somebody else's message says it."""

    AS_WRITTEN = "as_written"


def written(text: str) -> Notice:
    """Return a text that has no code of its own."""
    return Written.AS_WRITTEN(text=text)


def codes_in(value: Any) -> Iterator[str]:
    """Yield every code of a Coded, its own first, then those within its parameters."""
    if isinstance(value, Notice):
        yield str(value.code)
        value = list(value.params.values())
    for one in value if isinstance(value, list) else ():
        yield from codes_in(one)


def notice_json(notice: Notice) -> dict[str, Any]:
    """Return a Coded as plain JSON data."""
    return {"code": str(notice.code), "params": to_json(notice.params)}


def to_json(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as plain JSON data, a nested Coded as `{"code": …, "params": …}`."""
    return {name: _out(value) for name, value in params.items() if value is not None}


def from_json(params: Any) -> dict[str, Any]:
    """Return stored parameters as `to_json` was given them; whatever is in them, it never fails."""
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
