"""Renders payload templates (SPEC 9.1 "Renderer"). Every failure is a TemplateError, so that the 1.x body can be sent.

A template is read, parsed and checked once (`compile_template`) and cached. A rendering walks its syntax tree.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from shared.errors import TemplateError
from shared.notices.notice import Notice
from shared.notices.templates import TemplateProblem, TemplateWarning
from shared.templating.catalogue import ANY, SORTS, Catalogue, Shape
from shared.templating.checks import Checks, check_constants, check_shape
from shared.templating.expressions import Clock, Evaluation, ExpressionCheck
from shared.templating.filters import is_true
from shared.templating.grammar import Each, Expression, If, Output, Part, TagCount, parse
from shared.templating.reader import Array, Node, Object, Source, Text, read
from shared.templating.values import ITEMS_PER_EACH, OUTPUT_BYTES, Json, kind_of, pruned, size, to_text

MOST_KEPT = 200

_templates: dict[tuple[str, str], Template | TemplateError] = {}
_compiling = threading.Lock()


@dataclass(frozen=True, slots=True)
class Rendering:
    """The result of rendering a template.

    Attributes:
        payload: the request body, ready to be sent.
        warnings: warnings for people.
        filled_in: fields that the template left out and that were filled in, such as `time_entry.hours`.
        pruned: fields that were left out because they are null, such as `issue.category_id`.
    """

    payload: dict[str, Any]
    warnings: tuple[Notice, ...]
    filled_in: tuple[str, ...]
    pruned: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """A template that was read, parsed and checked.

    Attributes:
        source: the text, for the positions of errors.
        document: its JSON, for the positions of fields.
        tree: the JSON as plain data, with a TaggedText for each text with tags.
    """

    source: Source
    document: Node
    tree: Json


@dataclass(frozen=True, slots=True)
class TaggedText:
    """A text value that contains tags."""

    parts: tuple[Part, ...]


class Engine:
    """Renders the templates of one operation; cheap to create, and thread-safe.

    Args:
        catalogue: the operation, and the variables that its templates may name.
        clock: returns the CPU seconds of the calling thread; with a wall clock, a busy machine would sometimes
            abort a good template.
    """

    def __init__(self, catalogue: Catalogue, clock: Clock = time.thread_time) -> None:
        self._catalogue, self._clock = catalogue, clock

    def render(self, body: str, context: Mapping[str, Any]) -> Rendering:
        """Render a template.

        Args:
            body: the template as the person typed it.
            context: plain data, as `shared.templating.catalogue` builds it; it is only read.

        Raises:
            TemplateError: if the template is faulty, does not fit the data, or exceeds a limit. Nothing else is
                raised, and no text of the context is quoted.
        """
        with _only_template_errors(TemplateProblem.NOT_RENDERED_AT_ALL):
            template = self._compiled(body)
            walk = _Walk(template.source, Evaluation(template.source, context, self._clock))
            payload = walk.value(template.tree)
            left_out: list[str] = []
            payload = pruned(payload, "", left_out.append)
            checks = Checks(self._catalogue.operation, template.source, template.document, context)
            payload = checks.complete(payload)
            warnings = (*walk.warnings.values(), *checks.warnings)
            return Rendering(payload, warnings, tuple(checks.filled_in), tuple(left_out))

    def check(self, body: str) -> None:
        """Compile a template, without data.

        Raises:
            TemplateError: if it is faulty; with line and column of the first fault.
        """
        with _only_template_errors(TemplateProblem.NOT_COMPILED_AT_ALL):
            self._compiled(body)

    def _compiled(self, body: str) -> Template:
        if not isinstance(body, str):
            raise TemplateError(TemplateProblem.TEMPLATE_NO_TEXT(), 1, 1)
        key = (body, self._catalogue.version)
        template = _templates.get(key)
        if template is None:
            with _compiling:
                template = _templates.get(key) or self._compile(body)
                while len(_templates) >= MOST_KEPT:
                    _templates.pop(next(iter(_templates)))
                _templates[key] = template
        if isinstance(template, TemplateError):
            raise TemplateError(template.problem, template.line, template.column)
        return template

    def _compile(self, body: str) -> Template | TemplateError:
        """Return the template or its error; both are cached, so a faulty template is not read again for every event."""
        try:
            source, document = read(body)
            check_shape(self._catalogue.operation, source, document)
            template = compile_template(source, document, self._catalogue)
            check_constants(self._catalogue.operation, source, document)
            return template
        except TemplateError as error:
            return TemplateError(error.problem, error.line, error.column)  # without the traceback's frames


def compile_template(source: Source, document: Node, catalogue: Catalogue) -> Template:
    """Parse and check the tags of a template.

    Raises:
        TemplateError: if a tag is faulty; with line and column.
    """
    return Template(source, document, _Compiler(source, catalogue).tree(document))


class _Compiler:
    def __init__(self, source: Source, catalogue: Catalogue) -> None:
        self._source, self._count = source, TagCount()
        self._expressions = ExpressionCheck(source, catalogue)

    def tree(self, node: Node) -> Json:
        if isinstance(node, Object):
            return {key: self.tree(member) for key, member in node.members.items()}
        if isinstance(node, Array):
            return [self.tree(item) for item in node.items]
        return self._text(node) if isinstance(node, Text) else node.value

    def _text(self, leaf: Text) -> Json:
        if "{{" not in leaf.text:
            return leaf.text
        parts = parse(self._source, leaf, self._count)
        if all(isinstance(part, str) for part in parts):
            return "".join(part for part in parts if isinstance(part, str))
        self._check(parts, ())
        return TaggedText(parts)

    def _check(self, parts: tuple[Part, ...], items: tuple[Shape, ...]) -> None:
        for part in parts:
            if isinstance(part, Output):
                self._expressions.check(part.expression, items)
            elif isinstance(part, If):
                self._expressions.check(part.condition, items)
                self._check(part.then, items)
                self._check(part.otherwise, items)
            elif isinstance(part, Each):
                shape = self._expressions.check(part.items, items)
                if shape.kind not in ("list", "any"):
                    raise self._source.error(
                        TemplateProblem.EACH_NEEDS_LIST(got=SORTS[shape.kind]()), part.at
                    )
                self._check(part.body, (*items, shape.item or ANY))
                self._check(part.otherwise, items)


class _Walk:
    """Walks the tree of one template, and collects warnings and the size of the result."""

    def __init__(self, source: Source, evaluation: Evaluation) -> None:
        self._source, self._evaluation = source, evaluation
        self._size = 0
        self.warnings: dict[str, Notice] = {}

    def value(self, tree: Json) -> Json:
        if isinstance(tree, dict):
            return {key: self.value(member) for key, member in tree.items()}
        if isinstance(tree, list):
            return [self.value(item) for item in tree]
        return self._tagged(tree.parts) if isinstance(tree, TaggedText) else tree

    def _tagged(self, parts: tuple[Part, ...]) -> Json:
        """Return the value of a text; if one tag is the whole text (also in an #if branch), it keeps its type."""
        whole = len(parts) == 1 and isinstance(parts[0], (Output, If))
        while len(parts) == 1 and isinstance(parts[0], If):
            parts = self._branch(parts[0])
        if len(parts) == 1 and isinstance(parts[0], Output):
            value = self._output(parts[0].expression)
            self._grow(size(value), parts[0].at)
            return value
        pieces: list[str] = []
        self._write(parts, pieces)
        return "".join(pieces) if pieces or not whole else None

    def _write(self, parts: tuple[Part, ...], pieces: list[str]) -> None:
        for part in parts:
            if isinstance(part, str):
                self._append(part, 0, pieces)
            elif isinstance(part, Output):
                self._append(to_text(self._output(part.expression)), part.at, pieces)
            elif isinstance(part, If):
                self._write(self._branch(part), pieces)
            else:
                self._loop(part, pieces)

    def _append(self, text: str, at: int, pieces: list[str]) -> None:
        if text:
            self._grow(size(text), at)
            pieces.append(text)

    def _grow(self, added: int, at: int) -> None:
        self._size += added
        if self._size > OUTPUT_BYTES:
            raise self._source.error(TemplateProblem.RESULT_TOO_LARGE(), at)

    def _output(self, expression: Expression) -> Json:
        self._evaluation.absent = None
        value = self._evaluation.value(expression)
        absent = self._evaluation.absent
        if value is None and absent:
            self.warnings[absent] = TemplateWarning.VALUE_IS_ABSENT(name=absent)
        return value

    def _branch(self, block: If) -> tuple[Part, ...]:
        self._evaluation.check_time(block.at)
        return block.then if is_true(self._evaluation.value(block.condition)) else block.otherwise

    def _loop(self, block: Each, pieces: list[str]) -> None:
        self._evaluation.check_time(block.at)
        items = self._evaluation.value(block.items)
        if items is not None and not isinstance(items, list):
            raise self._source.error(TemplateProblem.EACH_NEEDS_LIST(got=kind_of(items)), block.at)
        if not items:
            self._write(block.otherwise, pieces)
            return
        if len(items) > ITEMS_PER_EACH:
            raise self._source.error(TemplateProblem.EACH_TOO_LONG(most=ITEMS_PER_EACH), block.at)
        for item in items:
            self._evaluation.items.append(item)
            self._write(block.body, pieces)
            self._evaluation.items.pop()


@contextmanager
def _only_template_errors(otherwise: TemplateProblem) -> Iterator[None]:
    try:
        yield
    except TemplateError:
        raise
    except Exception as error:  # noqa: BLE001 (the fall-back to 1.x must be total)
        raise TemplateError(otherwise(error=type(error).__name__), 1, 1) from None
