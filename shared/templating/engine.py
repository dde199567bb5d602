"""Renders payload templates (SPEC 9.1 "Renderer"). Whatever goes wrong is a TemplateError: 1.x can take over."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from shared.codes.coded import Coded
from shared.codes.templates import Flaw
from shared.errors import TemplateError
from shared.templating.catalogue import Catalogue
from shared.templating.checks import Checks, check_constants, check_shape
from shared.templating.document import read
from shared.templating.program import Program, compile_program
from shared.templating.state import Clock
from shared.templating.values import pruned

MOST_KEPT = 200

_programs: dict[tuple[str, str], Program | TemplateError] = {}
_compiling = threading.Lock()


@dataclass(frozen=True, slots=True)
class Rendering:
    """What a template gave.

    Attributes:
        payload: the request body, ready to be sent.
        warnings: what a person should know.
        filled_in: fields that the template left out and that were known, such as `time_entry.hours`.
        pruned: what was left out because it is null, such as `issue.category_id`.
    """

    payload: dict[str, Any]
    warnings: tuple[Coded, ...]
    filled_in: tuple[str, ...]
    pruned: tuple[str, ...]


class Engine:
    """Renders the templates of one operation; cheap to make, and safe in any number of threads.

    Args:
        catalogue: the operation, and the variables that its templates may name.
        clock: seconds of computing by the thread that asks; on any other clock, a busy machine would now and
            then end a good template.
    """

    def __init__(self, catalogue: Catalogue, clock: Clock = time.thread_time) -> None:
        self._catalogue, self._clock = catalogue, clock

    def render(self, body: str, context: Mapping[str, Any]) -> Rendering:
        """Render a template.

        Args:
            body: the template as the person typed it.
            context: plain data, as `shared.templating.contexts` makes it; it is only read.

        Raises:
            TemplateError: the template is faulty, does not fit the data, or asks for too much. Nothing else is
                raised, and no text of the context is quoted.
        """
        with _only_template_errors(Flaw.NOT_RENDERED_AT_ALL):
            program = self._compiled(body)
            payload, warnings = program.render(context, self._clock)
            left_out: list[str] = []
            payload = pruned(payload, "", left_out.append)
            checks = Checks(self._catalogue.operation, program.source, program.document, context)
            payload = checks.complete(payload)
            return Rendering(payload, (*warnings, *checks.warnings), tuple(checks.filled_in), tuple(left_out))

    def check(self, body: str) -> None:
        """Compile a template, without data.

        Raises:
            TemplateError: it is faulty; with line and column of the first fault.
        """
        with _only_template_errors(Flaw.NOT_COMPILED_AT_ALL):
            self._compiled(body)

    def _compiled(self, body: str) -> Program:
        if not isinstance(body, str):
            raise TemplateError(Flaw.TEMPLATE_NO_TEXT(), 1, 1)
        key = (body, self._catalogue.version)
        program = _programs.get(key)
        if program is None:
            with _compiling:
                program = _programs.get(key) or self._compile(body)
                while len(_programs) >= MOST_KEPT:
                    _programs.pop(next(iter(_programs)))
                _programs[key] = program
        if isinstance(program, TemplateError):
            raise TemplateError(program.problem, program.line, program.column)
        return program

    def _compile(self, body: str) -> Program | TemplateError:
        """Return the program, or what is wrong: a faulty template is not read again for every event."""
        try:
            source, document = read(body)
            check_shape(self._catalogue.operation, source, document)
            program = compile_program(source, document, self._catalogue)
            check_constants(self._catalogue.operation, source, document)
            return program
        except TemplateError as error:
            return TemplateError(error.problem, error.line, error.column)  # without frames that it would keep


@contextmanager
def _only_template_errors(otherwise: Flaw) -> Iterator[None]:
    try:
        yield
    except TemplateError:
        raise
    except Exception as error:  # noqa: BLE001 (the fall-back to 1.x must be total)
        raise TemplateError(otherwise(error=type(error).__name__), 1, 1) from None
