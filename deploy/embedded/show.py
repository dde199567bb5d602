"""What `make run` shows: progress, the table of what became of each event, addresses, and a live line."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.status import Status
from rich.table import Table
from rich.text import Text

from deploy.embedded.administration import JournalEntry
from deploy.embedded.outcome import Outcome

WIDTH = 110
STATE_STYLES = {"done": "green", "skipped": "yellow", "superseded": "yellow", "failed": "red", "held": "red"}


def make_console() -> Console:
    """Return a console for standard output: as wide as the terminal, at most 110 columns; elsewhere plain text."""
    console = Console(highlight=False)
    console.width = min(WIDTH, console.width) if console.is_terminal else WIDTH
    return console


class Screen:
    """Tells the person who started `make run` what happens.

    Args:
        console: where to write.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._started = time.monotonic()
        self._status: Status | None = None
        self._parts: list[str] = []

    def say(self, text: str | Text) -> None:
        """Print a line."""
        self.console.print(text)

    def starting(self, part: str) -> None:
        """Tell that a part is being started."""
        self._parts.append(part)
        self.status(f"starting: {part} …")

    def started(self) -> None:
        """Tell that everything runs."""
        self.say(f"Running: {', '.join(self._parts)} ({self._elapsed})")

    def forwarding(self, ended: int, total: int) -> None:
        """Tell how many of the sample events have ended."""
        self.status(f"sample events: {ended} of {total} have ended …")

    def busy(self) -> AbstractContextManager[object]:
        """Show, on a terminal, what is going on while the block runs."""
        if not self.console.is_terminal:
            return nullcontext()
        self._status = Status("", console=self.console)
        return self._status

    def status(self, text: str) -> None:
        """Change what `busy` shows."""
        if self._status is not None:
            self._status.update(text)

    @property
    def _elapsed(self) -> str:
        return f"{time.monotonic() - self._started:.1f} s"

    def table(self, outcomes: Sequence[Outcome], *, again: bool) -> None:
        """Print the table of what became of each event, and its sum.

        Args:
            outcomes: in the order of the samples.
            again: every event had come in at an earlier start.
        """
        self.console.print(outcome_table(outcomes))
        right = sum(outcome.as_expected for outcome in outcomes)
        if right == len(outcomes):
            line = f"✓ All {right} events ended as expected ({self._elapsed})."
            self.say(Text(line, style="bold green"))
        else:
            line = f"✗ {len(outcomes) - right} of {len(outcomes)} events did not end as expected."
            self.say(Text(line, style="bold red"))
        if again:
            self.say("They had come in at an earlier start: sending them again changed nothing.")

    def where(self, addresses: Mapping[str, str], commands: Iterable[str]) -> None:
        """Print addresses, and commands to look further."""
        grid = Table.grid(padding=(0, 2))
        for name, address in addresses.items():
            grid.add_row(Text(name, style="bold"), address)
        self.console.print()
        self.console.print(grid)
        self.console.print("\nTo look further, in another terminal:")
        for command in commands:
            self.console.print(Padding(Text(command, style="cyan"), (0, 0, 0, 2)), soft_wrap=True)
        self.console.print()

    @contextmanager
    def live(self) -> Iterator[LiveLine]:
        """Follow the journal until the block ends."""
        with self.busy():
            yield LiveLine(self)


class LiveLine:
    """One line with the journal's counts: redrawn on a terminal, elsewhere printed when it changes."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._last = ""

    def update(self, journal: Mapping[int, JournalEntry]) -> None:
        """Show the counts."""
        states = Counter(entry.state for entry in journal.values())
        counts = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
        line = f"{len(journal)} events: {counts}"
        if line == self._last:
            return
        self._last = line
        if self._screen.console.is_terminal:
            self._screen.status(f"up, Ctrl-C ends it · {line}")
        else:
            self._screen.say(f"up, Ctrl-C ends it: {line}")


def outcome_table(outcomes: Sequence[Outcome]) -> Table:
    """Return the table: one row per event, a rule between tickets."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), expand=True)
    table.add_column("", width=1)
    table.add_column("Event", ratio=30)
    table.add_column("What happened", ratio=41)
    table.add_column("Why", ratio=35)
    for outcome, following in zip(outcomes, [*outcomes[1:], None], strict=True):
        last = following is None or following.sample.ticket_id != outcome.sample.ticket_id
        table.add_row(_mark(outcome), _event(outcome), _happened(outcome), _why(outcome), end_section=last)
    return table


def _mark(outcome: Outcome) -> Text:
    return Text("✓", style="bold green") if outcome.as_expected else Text("✗", style="bold red")


def _event(outcome: Outcome) -> Text:
    cell = Text(outcome.sample.what, style="bold")
    state = "duplicate" if outcome.duplicate else outcome.state
    cell.append(f"\nevent {outcome.event_id}: ", style="not bold dim")
    cell.append(state, style=f"not bold {STATE_STYLES.get(state, 'dim')}")
    return cell


def _happened(outcome: Outcome) -> Text:
    issue, entry, task = outcome.issue, outcome.time_entry, outcome.sample.task_id
    lines = [f"ticket {outcome.sample.ticket_id} → "]
    lines[0] += f"issue #{issue['id']} {issue['status']}, by {issue['author']}" if issue else "no issue"
    if task is not None:
        logged = f"time #{entry['id']} {entry['hours']:g} h, by {entry['user']}" if entry else "no time"
        lines.append(f"task {task} → {logged}")
    return Text("\n".join(lines))


def _why(outcome: Outcome) -> Text:
    cell = Text("\n".join(outcome.why))
    for fault in outcome.faults:
        cell.append(f"\n✗ {fault}", style="red")
    return cell
