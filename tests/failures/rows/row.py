"""The rows of the table: what fails, what each surface says about it, and the one step that fixes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shared.store.tables.journal import EventState
from tests.failures.stage import Act, Stage, nothing_to_do

Step = Act | str


@dataclass(frozen=True)
class Nothing:
    """Declares that a surface has nothing to report, and why."""

    because: str


Said = str | Nothing


@dataclass(frozen=True)
class Row:
    """A failure of the table.

    Texts may name the tracker's address as `{tracker}`.

    Attributes:
        number: the row's number; causes with different steps are several rows with one number.
        sentence: describes what fails.
        stage: makes it fail.
        becomes: the state of an event that arrives during the failure; None if it is refused and sent again.
        doctor: words of `deskbridge doctor` that name the cause.
        step: words of `deskbridge doctor` that name the step.
        heal: carries out the step; a text is a command to type.
        everywhere: words of each other surface for which none are declared here.
        events: words of `deskbridge event list` about that event.
        history: words of `deskbridge ticket history`.
        ticket: words of the ticket's page.
        overview: words of the console's first page.
        arrives: lets the event arrive.
        never: words that no surface may say.
        left: words that the first page rightly says after the step; if empty, it says that all is well.
        told_before: whether the first page reports the failure before any event has arrived.
        unreachable: services that the metrics report as unreachable.
        readyz: status with which producer and console answer a load balancer; None if neither starts.
        on_postgresql: whether the failure requires PostgreSQL.
        real: whether a real Redmine can be made to fail like this.
    """

    number: int
    sentence: str
    stage: Act
    becomes: EventState | None
    doctor: str
    step: str
    heal: Step
    everywhere: Said | None = None
    events: Said | None = None
    history: Said | None = None
    ticket: Said | None = None
    overview: Said | None = None
    arrives: Callable[[Stage], object] = lambda stage: stage.work()
    never: tuple[str, ...] = ()
    left: str = ""
    told_before: bool = False
    unreachable: tuple[str, ...] = ()
    readyz: int | None = 200
    on_postgresql: bool = False
    real: bool = True

    def __str__(self) -> str:
        return f"{self.number} {self.sentence}"

    def of(self, surface: str) -> Said:
        """Return the declaration for a surface; a test checks that every surface has one."""
        declared: Said | None = getattr(self, surface)
        return declared if declared is not None else (self.everywhere or "")


@dataclass(frozen=True)
class Prevented:
    """A row of the table that is no longer a failure: the right thing happens, and the surfaces report it.

    Attributes:
        number: the row's number.
        sentence: describes what failed.
        stage: what made it fail.
        right: asserts that the result is right.
        history: words of `deskbridge ticket history`, or why it has nothing to report.
        left: words that the first page rightly says; if empty, it says that all is well.
    """

    number: int
    sentence: str
    stage: Act
    right: Act
    history: Said
    left: str = ""
    arrives: Act = nothing_to_do
    real: bool = True

    def __str__(self) -> str:
        return f"{self.number} {self.sentence}"
