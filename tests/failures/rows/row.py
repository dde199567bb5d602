"""What a row of the table says: what fails, what each surface says of it, and the one step that heals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shared.store.tables.journal import EventState
from tests.failures.stage import Act, Stage, nothing_to_do

Step = Act | str


@dataclass(frozen=True)
class Nothing:
    """A surface has nothing to say, and why that is true."""

    because: str


Said = str | Nothing


@dataclass(frozen=True)
class Row:
    """A failure of the table.

    Texts may name the tracker's address as `{tracker}`.

    Attributes:
        number: the row of the table; two causes with steps of their own are two rows of one number.
        sentence: what fails.
        stage: makes it fail.
        becomes: the state of an event that comes in meanwhile; None: it is not taken in, and is sent again.
        doctor: words of `deskbridge doctor` that name the cause.
        step: words of `deskbridge doctor` that name the step.
        heal: does the step; a text: the command, as it is typed.
        everywhere: words of each of the other surfaces that has none of its own here.
        events: words of `deskbridge event list` on that event.
        history: words of `deskbridge ticket history`.
        ticket: words of the ticket's page.
        overview: words of the console's first page.
        arrives: lets the event come in.
        never: words that no surface may say.
        left: words that the first page says truthfully after the step; empty: it says that all is well.
        told_before: whether the first page says it before any event has come in.
        unreachable: services that the metrics call unreachable.
        readyz: what producer and console answer a load balancer; None: neither starts.
        on_postgresql: whether it takes a PostgreSQL to fail so.
        real: whether a real Redmine can be made to fail so.
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
        """Return what is declared of a surface: the check of the table sees to it that each is."""
        declared: Said | None = getattr(self, surface)
        return declared if declared is not None else (self.everywhere or "")


@dataclass(frozen=True)
class Prevented:
    """A row of the table that is no failure any more: what happens in its place is right, and every surface says so.

    Attributes:
        number: the row of the table.
        sentence: what failed.
        stage: what made it fail.
        right: asserts that what came of it is right.
        history: words of `deskbridge ticket history`, where it has something to say.
        left: words that the first page says truthfully; empty: it says that all is well.
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
