"""One rendering: the helpers that the compiled program calls, and what they gather. Nothing in it is shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shared.codes.coded import Coded
from shared.codes.templates import Flaw, Oddity
from shared.templating.conditions import is_true
from shared.templating.limits import ITEMS_PER_EACH, OUTPUT_BYTES, SECONDS
from shared.templating.source import Source
from shared.templating.values import Json, kind_of, size, to_text

Evaluate = Callable[["State"], Json]
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Put:
    """An entry of the side table: a text, or an expression.

    Attributes:
        evaluate: gives the value.
        slot: where the value goes.
        native: whether it is the whole value of its slot and keeps its type.
        at: where it stands, as an offset in the source.
    """

    evaluate: Evaluate
    slot: int
    native: bool
    at: int


@dataclass(frozen=True, slots=True)
class Choice:
    """An entry of the side table: a condition, or the list of an each."""

    evaluate: Evaluate
    at: int


Entry = Put | Choice


class State:
    """The state of one rendering.

    Args:
        source: the template, for the places of errors.
        table: the program's side table.
        slots: how many values hold tags.
        context: the data; only read.
        clock: seconds of computing by this thread.
    """

    def __init__(
        self, source: Source, table: tuple[Entry, ...], slots: int, context: Mapping[str, Any], clock: Clock
    ) -> None:
        self._source, self._table, self._clock = source, table, clock
        self.context, self.items = context, list[Json]()
        self.absent: str | None = None
        self.warnings: dict[str, Coded] = {}
        self._pieces: list[list[str]] = [[] for _ in range(slots)]
        self._native: dict[int, Json] = {}
        self._size = 0
        self._deadline = clock() + SECONDS

    def helpers(self) -> dict[str, Callable[..., Any]]:
        """Return the only names that a program knows."""
        return {"put": self._put, "when": self._when, "loop": self._loop}

    def result(self, slot: int, whole: bool) -> Json:
        """Return the value of a slot.

        Args:
            slot: its number.
            whole: whether a single tag or condition is all of it; if that gave nothing, it is null.
        """
        if slot in self._native:
            return self._native[slot]
        pieces = self._pieces[slot]
        return "".join(pieces) if pieces or not whole else None

    def tick(self, at: int) -> None:
        """Look at the clock.

        Raises:
            TemplateError: the time is up.
        """
        if self._clock() > self._deadline:
            raise self._source.error(Flaw.RENDERING_TOO_SLOW(seconds=SECONDS), at)

    def _put(self, _this: object, number: int) -> None:
        entry = self._table[number]
        assert isinstance(entry, Put)  # noqa: S101 (for the type checker; the program is ours)
        self.absent = None
        value = entry.evaluate(self)
        if value is None and self.absent:
            self.warnings[self.absent] = Oddity.VALUE_IS_ABSENT(name=self.absent)
        if entry.native:
            self._grow(size(value), entry.at)
            self._native[entry.slot] = value
        elif text := to_text(value):
            self._grow(size(text), entry.at)
            self._pieces[entry.slot].append(text)

    def _grow(self, added: int, at: int) -> None:
        self._size += added
        if self._size > OUTPUT_BYTES:
            raise self._source.error(Flaw.RESULT_TOO_LARGE(), at)

    def _when(self, this: object, options: Mapping[str, Any], number: int) -> Any:
        entry = self._choice(number)
        return options["fn" if is_true(entry.evaluate(self)) else "inverse"](this)

    def _loop(self, this: object, options: Mapping[str, Any], number: int) -> Any:
        entry = self._choice(number)
        items = entry.evaluate(self)
        if items is not None and not isinstance(items, list):
            raise self._source.error(Flaw.EACH_NEEDS_LIST(got=kind_of(items)), entry.at)
        if not items:
            return options["inverse"](this)
        if len(items) > ITEMS_PER_EACH:
            raise self._source.error(Flaw.EACH_TOO_LONG(most=ITEMS_PER_EACH), entry.at)
        for item in items:
            self.items.append(item)
            options["fn"](this)
            self.items.pop()
        return None

    def _choice(self, number: int) -> Choice:
        entry = self._table[number]
        assert isinstance(entry, Choice)  # noqa: S101 (for the type checker; the program is ours)
        self.tick(entry.at)
        return entry
