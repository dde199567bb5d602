"""Compiles a template to a canonical program that pybars3 evaluates.

pybars3 turns its input into Python source and executes it, so nothing that a person typed may reach it: texts,
literals, paths and filters go into a side table, and the program only says, by number, which entry comes when.
That the program is made of these few words is checked before it is handed over.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from shared.codes.coded import Coded
from shared.codes.templates import Flaw
from shared.errors import TemplateError
from shared.templating.catalogue import ANY, SORTS, Catalogue, Shape
from shared.templating.expressions import Expressions
from shared.templating.grammar import TagCount, parse
from shared.templating.nodes import If, Literal, Output, Part
from shared.templating.source import Array, Node, Object, Source, Text
from shared.templating.state import Choice, Clock, Entry, Put, State
from shared.templating.values import Json

CANONICAL = re.compile(
    r"(?:\{\{\{put [0-9]{1,5}\}\}\}|\{\{#(?:when|loop) [0-9]{1,5}\}\}|\{\{else\}\}|\{\{/(?:when|loop)\}\})*+"
)
MOST_KEPT = 200
_PYBARS = threading.Lock()


@dataclass(frozen=True, slots=True)
class Slot:
    """A value with tags in it; its place in the result is filled when the program has run."""

    number: int
    whole: bool


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled template.

    Attributes:
        source: the text, for the places of errors.
        document: its JSON.
        skeleton: the JSON with slots where there are tags.
        table: texts, expressions and conditions, by number.
        slots: how many slots there are.
        run: what pybars3 made of the canonical program.
    """

    source: Source
    document: Node
    skeleton: Json
    table: tuple[Entry, ...]
    slots: int
    run: Callable[..., object]

    def render(self, context: Mapping[str, Any], clock: Clock) -> tuple[Json, tuple[Coded, ...]]:
        """Return the payload, nulls included, and the warnings.

        Raises:
            TemplateError: a value does not fit, or a limit is reached.
        """
        state = State(self.source, self.table, self.slots, context, clock)
        self.run({}, helpers=state.helpers())
        return _filled(self.skeleton, state), tuple(state.warnings.values())


def compile_program(source: Source, document: Node, catalogue: Catalogue) -> Program:
    """Compile a template.

    Raises:
        TemplateError: with line and column of what is wrong.
    """
    builder = _Builder(source, catalogue)
    skeleton = builder.skeleton(document)
    run = evaluable("".join(builder.words))
    return Program(source, document, skeleton, tuple(builder.table), builder.slots, run)


@lru_cache(maxsize=MOST_KEPT)
def evaluable(canonical: str) -> Callable[..., object]:
    """Have pybars3 compile a canonical program. One at a time: its compiler keeps state in its class.

    Templates that differ in nothing but their texts and expressions have the same one: it is kept.

    Raises:
        TemplateError: the text is not canonical, which would be our own fault.
    """
    if not CANONICAL.fullmatch(canonical):
        raise TemplateError(Flaw.NOT_COMPILED_SAFELY(), 1, 1)
    with _PYBARS:
        from pybars import Compiler  # its import takes half a second, and most processes never need it

        function: Callable[..., object] = Compiler().compile(canonical)
        sys.modules.pop(function.__module__, None)  # it enters each template there and never takes it out
    return function


class _Builder:
    def __init__(self, source: Source, catalogue: Catalogue) -> None:
        self._source, self._count = source, TagCount()
        self._expressions = Expressions(source, catalogue)
        self.words: list[str] = []
        self.table: list[Entry] = []
        self.slots = 0

    def skeleton(self, node: Node) -> Json:
        if isinstance(node, Object):
            return {key: self.skeleton(member) for key, member in node.members.items()}
        if isinstance(node, Array):
            return [self.skeleton(item) for item in node.items]
        return self._text(node) if isinstance(node, Text) else node.value

    def _text(self, leaf: Text) -> Json:
        if "{{" not in leaf.text:
            return leaf.text
        parts = parse(self._source, leaf, self._count)
        if all(isinstance(part, str) for part in parts):
            return "".join(part for part in parts if isinstance(part, str))
        self.slots += 1
        whole = len(parts) == 1 and isinstance(parts[0], (Output, If))
        self._parts(parts, (), whole)
        return Slot(self.slots - 1, whole)

    def _parts(self, parts: tuple[Part, ...], items: tuple[Shape, ...], whole: bool) -> None:
        """Write the program of some parts; alone in its value, a tag keeps its type, in a branch of an #if too."""
        native = whole and len(parts) == 1
        for part in parts:
            if isinstance(part, str):
                self._put(Output(Literal(part, 0), 0), items, False)
            elif isinstance(part, Output):
                self._put(part, items, native)
            elif isinstance(part, If):
                condition = Choice(self._expressions.evaluator(part.condition, items), part.at)
                self._block("when", condition, (part.then, items), (part.otherwise, items), native)
            else:
                shape = self._expressions.shape_of(part.items, items)
                if shape.kind not in ("list", "any"):
                    raise self._source.error(Flaw.EACH_NEEDS_LIST(got=SORTS[shape.kind]()), part.at)
                choice = Choice(self._expressions.evaluator(part.items, items), part.at)
                inner = (*items, shape.item or ANY)
                self._block("loop", choice, (part.body, inner), (part.otherwise, items), False)

    def _put(self, part: Output, items: tuple[Shape, ...], native: bool) -> None:
        evaluate = self._expressions.evaluator(part.expression, items)
        number = self._add(Put(evaluate, self.slots - 1, native, part.at))
        self.words.append(f"{{{{{{put {number}}}}}}}")

    def _add(self, entry: Entry) -> int:
        self.table.append(entry)
        return len(self.table) - 1

    def _block(
        self,
        word: str,
        choice: Choice,
        body: tuple[tuple[Part, ...], tuple[Shape, ...]],
        otherwise: tuple[tuple[Part, ...], tuple[Shape, ...]],
        whole: bool,
    ) -> None:
        self.words.append(f"{{{{#{word} {self._add(choice)}}}}}")
        self._parts(*body, whole)
        self.words.append("{{else}}")
        self._parts(*otherwise, whole)
        self.words.append(f"{{{{/{word}}}}}")


def _filled(skeleton: Json, state: State) -> Json:
    if isinstance(skeleton, dict):
        return {key: _filled(member, state) for key, member in skeleton.items()}
    if isinstance(skeleton, list):
        return [_filled(item, state) for item in skeleton]
    return state.result(skeleton.number, skeleton.whole) if isinstance(skeleton, Slot) else skeleton
