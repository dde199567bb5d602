"""The output of `make run`: progress, the table of results, addresses, and a live line."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import groupby
from pathlib import Path

from rich.console import Console, RenderableType
from rich.status import Status
from rich.table import Table
from rich.text import Text

from deploy.embedded.outcome import Outcome

WIDTH = 110
STATE_STYLES = {
    "done": "green",
    "skipped": "yellow",
    "superseded": "yellow",
    "failed": "red",
    "on_hold": "red",
}


def make_console() -> Console:
    """Return a console for standard output: on a terminal as wide as it, at most 110 columns; else plain text."""
    console = Console(highlight=False)
    console.width = min(WIDTH, console.width) if console.is_terminal else WIDTH
    return console


class Screen:
    """Output for the user who started `make run`.

    Args:
        console: console to write to.
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
        """Show that a part is being started."""
        self._parts.append(part)
        self.status(f"starting: {part} …")

    def started(self) -> None:
        """Print that everything is running."""
        self.say(f"Running: {', '.join(self._parts)} ({self._elapsed})")

    def forwarding(self, ended: int, total: int) -> None:
        """Show how many of the sample events have ended."""
        self.status(f"sample events: {ended} of {total} have ended …")

    def busy(self) -> AbstractContextManager[object]:
        """Show the current activity while the block runs, on a terminal only."""
        if not self.console.is_terminal:
            return nullcontext()
        self._status = Status("", console=self.console)
        return self._status

    def status(self, text: str) -> None:
        """Change the text that `busy` shows."""
        if self._status is not None:
            self._status.update(text)

    @property
    def _elapsed(self) -> str:
        return f"{time.monotonic() - self._started:.1f} s"

    def table(self, outcomes: Sequence[Outcome], directory: Path, *, again: bool) -> None:
        """Print the table of results, and its summary.

        Args:
            outcomes: results, in the order of the samples.
            directory: directory of all data.
            again: whether every event had arrived in an earlier run.
        """
        self.say("")
        for part in outcome_tables(outcomes):
            self.console.print(part)
        self.say("")
        right = sum(outcome.as_expected for outcome in outcomes)
        if right == len(outcomes):
            line = f"✓ All {right} events ended as expected ({self._elapsed})."
            self.say(Text(line, style="bold green"))
        else:
            line = f"✗ {len(outcomes) - right} of {len(outcomes)} events did not end as expected."
            self.say(Text(line, style="bold red"))
            self.say(f"What the processes said: {directory / 'log'}. To start afresh: remove {directory}")
        if again:
            self.say("They had come in at an earlier start: sending them again changed nothing.")

    def where(self, addresses: Mapping[str, str], commands: Iterable[str]) -> None:
        """Print addresses, and commands for a closer look."""
        width = max(map(len, addresses))
        lines = [
            Text.assemble((f"{name:{width}}", "bold"), f"  {where}") for name, where in addresses.items()
        ]
        lines += [Text(), Text("To look further, in another terminal:")]
        lines += [Text(f"  {command}", style="cyan") for command in commands]
        for line in [Text(), *lines, Text()]:
            self.console.print(line, soft_wrap=True)  # whole lines, to be copied

    @contextmanager
    def live(self) -> Iterator[LiveLine]:
        """Provide the live line until the block ends."""
        with self.busy():
            yield LiveLine(self)


class LiveLine:
    """One line with the journal's counts: redrawn on a terminal, otherwise printed when it changes."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._last = ""

    def update(self, counts: Mapping[str, int]) -> None:
        """Show how many events are in each state."""
        states = ", ".join(f"{number} {state}" for state, number in counts.items() if number)
        line = f"Up; Ctrl-C ends it. {sum(counts.values())} events: {states}"
        if line == self._last:
            return
        self._last = line
        if self._screen.console.is_terminal:
            self._screen.status(line)
        else:
            self._screen.say(line)


def outcome_tables(outcomes: Sequence[Outcome]) -> Iterator[RenderableType]:
    """Yield the parts to print: the column headings, then each ticket with its issue and a row per event."""
    heading = _columns()
    heading.add_row("", "", "Event", "Ended as", "Task → time", "Hours", "Author", "Why", style="bold dim")
    yield heading
    for _, group in groupby(outcomes, key=lambda outcome: outcome.sample.ticket_id):
        rows = list(group)
        yield Text()
        yield _ticket(rows[-1])
        table = _columns()
        for outcome in rows:
            table.add_row(*_cells(outcome))
        yield table


def _columns() -> Table:
    """Return an empty table; all tables have the same columns, so that they are aligned."""
    table = Table.grid(padding=(0, 1, 0, 0), expand=True)
    table.add_column(width=1)
    table.add_column(width=3, justify="right")
    table.add_column(ratio=31)
    table.add_column(width=10)
    table.add_column(width=11)
    table.add_column(width=6)
    table.add_column(width=7)
    table.add_column(ratio=35)
    return table


def _ticket(outcome: Outcome) -> Text:
    ticket, issue = outcome.sample.event["ticket"], outcome.issue
    line = Text(f"Ticket {ticket['id']} → ", style="bold")
    if issue is None:
        return line.append("no issue")
    line.append(f"issue #{issue['id']}", style="cyan")
    line.append(f" {issue['status']}, by {issue['author']} in {issue['project']}: ", style="not bold")
    return line.append(f"“{issue['subject']}”", style="not bold italic")


def _cells(outcome: Outcome) -> tuple[Text, ...]:
    mark = Text("✓", style="green") if outcome.as_expected else Text("✗", style="bold red")
    state = "duplicate" if outcome.duplicate else outcome.state
    entry, task = outcome.time_entry, outcome.sample.task_id
    logged = f"{task} → #{entry['id']}" if entry else f"{task} → none" if task else ""
    why = Text(" ".join(map(_sentence, outcome.why)))
    for fault in outcome.faults:
        why.append(f"\n✗ {fault}", style="red")
    return (
        mark,
        Text(str(outcome.event_id or "-"), style="dim"),
        Text(outcome.sample.what),
        Text(state, style=STATE_STYLES.get(state, "dim")),
        Text(logged),
        Text(f"{entry['hours']:g} h" if entry else ""),
        Text(entry["user"] if entry else ""),
        why,
    )


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:].rstrip('.')}." if reason else ""
