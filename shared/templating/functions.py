"""What a filter or condition is: its parameters, what it does, and how it is shown to people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shared.codes.templates import Flaw
from shared.templating.values import Fault, Json, as_any

Convert = Callable[[Json], Json]


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument after the value itself.

    Attributes:
        name: as the documentation calls it.
        convert: turns a value into what the function takes, or raises Fault.
        required: whether it must be given.
        repeated: whether any number of them may follow.
    """

    name: str
    convert: Convert = as_any
    required: bool = True
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A filter or a condition.

    Attributes:
        name: as it is written in a tag.
        apply: the work: takes the value, then the arguments, converted.
        parameters: the arguments, in order.
        takes_null: whether it is asked about null too; the others let null pass.
        summary: what it does, for the documentation and the console.
        example: how it is written.
    """

    name: str
    apply: Callable[..., Json]
    parameters: tuple[Parameter, ...]
    summary: str
    example: str
    takes_null: bool = False

    def parameter(self, index: int) -> Parameter:
        """Return the parameter of an argument's place; the last one may be repeated."""
        return self.parameters[min(index, len(self.parameters) - 1)]

    def check_count(self, given: int) -> None:
        """Check how many arguments there are.

        Raises:
            Fault: too few or too many.
        """
        least = sum(parameter.required for parameter in self.parameters)
        endless = any(parameter.repeated for parameter in self.parameters)
        if given < least or (given > len(self.parameters) and not endless):
            takes = [parameter.name for parameter in self.parameters]
            about = {"name": self.name, "count": given}
            if not takes:
                raise Fault(Flaw.NO_ARGUMENTS_TAKEN(**about))
            raise Fault(Flaw.ARGUMENTS_MISCOUNTED(**about, takes=takes))
