"""Expressions become functions of one rendering; names and arguments are checked on the way, once."""

from __future__ import annotations

from shared.codes.templates import Flaw
from shared.errors import TemplateError
from shared.templating.catalogue import ANY, Catalogue, Shape, step
from shared.templating.conditions import CONDITIONS
from shared.templating.filters import FILTERS
from shared.templating.functions import Function
from shared.templating.limits import OUTPUT_BYTES
from shared.templating.nodes import Call, Expression, Literal, Path
from shared.templating.source import Source
from shared.templating.state import Evaluate, State
from shared.templating.values import Fault, Json, follow

FUNCTIONS: dict[str, Function] = {function.name: function for function in (*FILTERS, *CONDITIONS)}
THIS = "this"


class Expressions:
    """Makes functions of expressions.

    Args:
        source: the template, for the places of errors.
        catalogue: the variables that there are.
    """

    def __init__(self, source: Source, catalogue: Catalogue) -> None:
        self._source, self._catalogue = source, catalogue

    def evaluator(self, expression: Expression, items: tuple[Shape, ...]) -> Evaluate:
        """Return the function that gives an expression's value.

        Args:
            expression: as parsed.
            items: what `this` is, in each #each around it.

        Raises:
            TemplateError: an unknown variable or filter, or arguments that cannot fit.
        """
        if isinstance(expression, Literal):
            value = expression.value
            return lambda _run: value
        if isinstance(expression, Path):
            self.shape_of(expression, items)
            return self._reader(expression)
        return self._caller(expression, items)

    def shape_of(self, expression: Expression, items: tuple[Shape, ...]) -> Shape:
        """Return what an expression leads to, as far as is known before rendering.

        Raises:
            TemplateError: it is a path that the catalogue does not know.
        """
        if not isinstance(expression, Path):
            return ANY
        name = expression.segments[0]
        try:
            if name != THIS:
                return self._catalogue.shape_of(expression.segments)
            if not items:
                raise Fault(Flaw.THIS_OUTSIDE_EACH())
            shape = items[-1]
            for segment in expression.segments[1:]:
                shape = step(shape, segment, THIS)
            return shape
        except Fault as fault:
            problem = fault.coded
            if len(expression.segments) == 1 and name in FUNCTIONS:
                problem = Flaw.FILTER_NEEDS_VALUE(name=name, example=FUNCTIONS[name].example)
            raise self._source.error(problem, expression.at) from None

    def _reader(self, path: Path) -> Evaluate:
        segments, name, source, at = path.segments, str(path), self._source, path.at
        inner = segments[0] == THIS
        below = segments[1:] if inner else segments

        def read(state: State) -> Json:
            try:
                found, value = follow(state.items[-1] if inner else state.context, below)
            except Fault as fault:
                raise source.error(Flaw.VARIABLE_HOLDS(name=name, what=fault.coded), at) from None
            if not found:
                state.absent = name
            return value

        return read

    def _caller(self, call: Call, items: tuple[Shape, ...]) -> Evaluate:
        function = self._function(call)
        first = self.evaluator(call.arguments[0], items)
        rest = [self._argument(function, i, one, items) for i, one in enumerate(call.arguments[1:])]
        source, at = self._source, call.at

        def apply(state: State) -> Json:
            value = first(state)
            if value is None and not function.takes_null:
                return None
            state.tick(at)
            try:
                result = function.apply(value, *[argument(state) for argument in rest])
                if isinstance(result, str) and len(result) > OUTPUT_BYTES:
                    raise Fault(Flaw.TEXT_WOULD_GROW())
            except Fault as fault:
                raise source.error(Flaw.FILTER_FAILS(name=function.name, problem=fault.coded), at) from None
            return result

        return apply

    def _argument(
        self, function: Function, index: int, argument: Expression, items: tuple[Shape, ...]
    ) -> Evaluate:
        """Return what gives an argument as the function takes it; a literal is converted only once."""
        convert = function.parameter(index).convert
        if isinstance(argument, Literal):
            try:
                value = convert(argument.value)
            except Fault as fault:
                raise self._source.error(
                    Flaw.FILTER_FAILS(name=function.name, problem=fault.coded), argument.at
                ) from None
            return lambda _run: value
        evaluate = self.evaluator(argument, items)
        return lambda state: convert(evaluate(state))

    def _function(self, call: Call) -> Function:
        function = FUNCTIONS.get(call.name)
        if function is None:
            raise self._unknown(call)
        try:
            function.check_count(len(call.arguments) - 1)
        except Fault as fault:
            raise self._source.error(fault.coded, call.at) from None
        return function

    def _unknown(self, call: Call) -> TemplateError:
        if call.name == "lookup":
            return self._source.error(Flaw.NO_LOOKUP_HERE(), call.at)
        return self._source.error(Flaw.FILTER_NOT_KNOWN(filters=list(FUNCTIONS)), call.at)
