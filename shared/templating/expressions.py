"""Expressions: names and arguments are checked once, values are computed at each rendering."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shared.notices.templates import TemplateProblem
from shared.templating.catalogue import ANY, Catalogue, Shape, step
from shared.templating.filters import FUNCTIONS, Function
from shared.templating.grammar import Call, Expression, Literal, Path
from shared.templating.reader import Source
from shared.templating.values import OUTPUT_BYTES, SECONDS, Json, UnlocatedError, follow

THIS = "this"
Clock = Callable[[], float]


class ExpressionCheck:
    """Checks expressions against the catalogue and the filters, before any rendering.

    Args:
        source: the template, for the positions of errors.
        catalogue: the available variables.
    """

    def __init__(self, source: Source, catalogue: Catalogue) -> None:
        self._source, self._catalogue = source, catalogue

    def check(self, expression: Expression, items: tuple[Shape, ...]) -> Shape:
        """Check an expression, and return the shape of its value, or `ANY` if it is unknown before rendering.

        Args:
            expression: as parsed.
            items: the shape of `this` in each enclosing #each.

        Raises:
            TemplateError: if a variable or filter is unknown, or if arguments cannot fit.
        """
        if isinstance(expression, Path):
            return self._path(expression, items)
        if isinstance(expression, Call):
            self._call(expression, items)
        return ANY

    def _path(self, path: Path, items: tuple[Shape, ...]) -> Shape:
        name = path.segments[0]
        try:
            if name != THIS:
                return self._catalogue.shape_of(path.segments)
            if not items:
                raise UnlocatedError(TemplateProblem.THIS_OUTSIDE_EACH())
            shape = items[-1]
            for segment in path.segments[1:]:
                shape = step(shape, segment, THIS)
            return shape
        except UnlocatedError as fault:
            problem = fault.notice
            if len(path.segments) == 1 and name in FUNCTIONS:
                problem = TemplateProblem.FILTER_NEEDS_VALUE(name=name, example=FUNCTIONS[name].example)
            raise self._source.error(problem, path.at) from None

    def _call(self, call: Call, items: tuple[Shape, ...]) -> None:
        function = self._function(call)
        value, *arguments = call.arguments
        self.check(value, items)
        for index, argument in enumerate(arguments):
            if isinstance(argument, Literal):
                self._literal(function, index, argument)
            else:
                self.check(argument, items)

    def _function(self, call: Call) -> Function:
        function = FUNCTIONS.get(call.name)
        if function is None and call.name == "lookup":
            raise self._source.error(TemplateProblem.NO_LOOKUP_HERE(), call.at)
        if function is None:
            raise self._source.error(TemplateProblem.FILTER_NOT_KNOWN(filters=list(FUNCTIONS)), call.at)
        try:
            function.check_count(len(call.arguments) - 1)
        except UnlocatedError as fault:
            raise self._source.error(fault.notice, call.at) from None
        return function

    def _literal(self, function: Function, index: int, argument: Literal) -> None:
        try:
            function.parameter(index).convert(argument.value)
        except UnlocatedError as fault:
            problem = TemplateProblem.FILTER_FAILS(name=function.name, problem=fault.notice)
            raise self._source.error(problem, argument.at) from None


class Evaluation:
    """Computes the values of checked expressions in one rendering; nothing in it is shared between threads.

    Args:
        source: the template, for the positions of errors.
        context: the data, which is only read.
        clock: returns the CPU seconds of this thread.

    Attributes:
        items: the value of `this` in each enclosing #each.
        absent: the last variable that is not in the data, or None.
    """

    def __init__(self, source: Source, context: Mapping[str, Any], clock: Clock) -> None:
        self._source, self._context, self._clock = source, context, clock
        self._deadline = clock() + SECONDS
        self.items: list[Json] = []
        self.absent: str | None = None

    def value(self, expression: Expression) -> Json:
        """Return the value of an expression.

        Raises:
            TemplateError: if a value does not fit, or if the time is up.
        """
        if isinstance(expression, Literal):
            return expression.value
        return self._variable(expression) if isinstance(expression, Path) else self._call(expression)

    def check_time(self, at: int) -> None:
        """Check that there is time left.

        Raises:
            TemplateError: if the time is up.
        """
        if self._clock() > self._deadline:
            raise self._source.error(TemplateProblem.RENDERING_TOO_SLOW(seconds=SECONDS), at)

    def _variable(self, path: Path) -> Json:
        inside_each = path.segments[0] == THIS
        try:
            if inside_each:
                found, value = follow(self.items[-1], path.segments[1:])
            else:
                found, value = follow(self._context, path.segments)
        except UnlocatedError as fault:
            raise self._source.error(
                TemplateProblem.VARIABLE_HOLDS(name=str(path), what=fault.notice), path.at
            ) from None
        if not found:
            self.absent = str(path)
        return value

    def _call(self, call: Call) -> Json:
        function = FUNCTIONS[call.name]
        value = self.value(call.arguments[0])
        if value is None and not function.takes_null:
            return None
        self.check_time(call.at)
        try:
            arguments = [
                function.parameter(index).convert(self.value(argument))
                for index, argument in enumerate(call.arguments[1:])
            ]
            result = function.apply(value, *arguments)
            if isinstance(result, str) and len(result) > OUTPUT_BYTES:
                raise UnlocatedError(TemplateProblem.TEXT_WOULD_GROW())
        except UnlocatedError as fault:
            problem = TemplateProblem.FILTER_FAILS(name=function.name, problem=fault.notice)
            raise self._source.error(problem, call.at) from None
        return result
