"""The results of the samples: the data of journal and tracker, compared with the expected results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deploy.embedded.administration import Administration, JournalEntry, ProjectMappings, TraceEntry
from deploy.embedded.forward import Delivered
from deploy.sandbox.samples import Sample, Samples, TicketOnTracker

Row = dict[str, Any]
MISSING = JournalEntry(0, 0, "not delivered", "")


@dataclass(frozen=True)
class Outcome:
    """The result of one delivery.

    Attributes:
        sample: the delivery.
        event_id: its event in the journal, 0 if it was not delivered.
        state: the event's state.
        duplicate: whether it repeats an earlier line of the samples.
        issue: the ticket's issue in the tracker.
        time_entry: the ticket task's time entry in the tracker.
        why: reasons, as texts.
        faults: differences from the expected result; empty if there are none.
    """

    sample: Sample
    event_id: int
    state: str
    duplicate: bool
    issue: Row | None
    time_entry: Row | None
    why: list[str]
    faults: list[str] = field(default_factory=list)

    @property
    def as_expected(self) -> bool:
        """Whether it ended as expected."""
        return not self.faults


@dataclass(frozen=True)
class Ticket:
    """The data of one ticket after the samples."""

    expected: TicketOnTracker
    links: ProjectMappings
    trace: list[TraceEntry]
    issue: Row | None
    time_entries: dict[int, Row]
    faults_of_issue: list[str]


class Judge:
    """Compares actual with expected results.

    Args:
        samples: the deliveries and their expected results.
        administration: reads journal, links and ticket histories.
        held: all data of the mock Redmine.
    """

    def __init__(
        self, samples: Samples, administration: Administration, held: Mapping[str, list[Row]]
    ) -> None:
        self._samples = samples
        self._administration = administration
        self._issues, self._entries = held["issues"], held["time_entries"]

    def outcomes(self, deliveries: Sequence[Delivered | None]) -> list[Outcome]:
        """Return the result of each delivery, in the samples' order."""
        journal = self._administration.journal(self._samples.by_ticket)
        tickets = {ticket_id: self._ticket(ticket_id) for ticket_id in self._samples.by_ticket}
        return [
            self._outcome(sample, delivered, journal, tickets[sample.ticket_id])
            for sample, delivered in zip(self._samples.deliveries, deliveries, strict=True)
        ]

    def _ticket(self, ticket_id: int) -> Ticket:
        expected = self._samples.tickets[ticket_id]
        links = self._administration.links(ticket_id, set(expected.time_entries))
        issue = _by_id(self._issues, links.issue)
        found = {task: _by_id(self._entries, entry_id) for task, entry_id in links.time_entries.items()}
        return Ticket(
            expected,
            links,
            self._administration.trace(ticket_id),
            issue,
            {task: entry for task, entry in found.items() if entry},
            [
                *_differences("issue", expected.issue, issue),
                *self._created_too_often(ticket_id, issue, links),
            ],
        )

    def _created_too_often(self, ticket_id: int, issue: Row | None, links: ProjectMappings) -> list[str]:
        """Return a fault for each issue or time entry that was created twice, so that no link points at it."""
        expected = self._samples.tickets[ticket_id].issue
        title = self._samples.by_ticket[ticket_id][0].event["ticket"]["title"]
        subject = expected["subject"] if expected else title
        found = [row["id"] for row in self._issues if row["subject"] == subject and row["id"] != links.issue]
        faults = [f"the tracker holds issue #{number} for it, too" for number in found]
        if issue:
            linked = set(links.time_entries.values())
            more = [
                row for row in self._entries if row["issue_id"] == issue["id"] and row["id"] not in linked
            ]
            faults += [f"the tracker holds time entry #{row['id']} on its issue, too" for row in more]
        return faults

    def _outcome(
        self,
        sample: Sample,
        delivered: Delivered | None,
        journal: Mapping[int, JournalEntry],
        ticket: Ticket,
    ) -> Outcome:
        entry = journal.get(delivered.event_id, MISSING) if delivered else MISSING
        task = sample.task_id
        time_entry = ticket.time_entries.get(task) if task else None
        faults = [*_journal_faults(sample, entry), *ticket.faults_of_issue]
        if task is not None:
            faults += _differences("time entry", ticket.expected.time_entries[task], time_entry)
        if sample.duplicate and not (delivered and delivered.duplicate):
            faults.append("the producer took it for a new event")
        steps, missing = _steps(sample, ticket.trace)
        faults += [f"no step “{words}” in the trace" for words in missing]
        why = ["the producer knows this delivery: nothing was done again"] if sample.duplicate else steps
        return Outcome(
            sample,
            entry.event_id,
            entry.state,
            sample.duplicate,
            ticket.issue,
            time_entry,
            why or [entry.reason],
            faults,
        )


def _journal_faults(sample: Sample, entry: JournalEntry) -> list[str]:
    faults = []
    if entry.state != sample.state:
        faults.append(f"it should be {sample.state}, not {entry.state} ({entry.reason or 'no reason'})")
    elif sample.reason not in entry.reason:
        faults.append(f"the reason should name “{sample.reason}”: {entry.reason or 'none'}")
    return faults


def _steps(sample: Sample, trace: Sequence[TraceEntry]) -> tuple[list[str], list[str]]:
    """Return the texts of the steps that the sample expects, and the words that were not found."""
    mine = [step for step in trace if step.task_id in (None, sample.task_id)]
    found, missing = [], []
    for words in sample.trace:
        step = next((step for step in mine if words in step.what), None)
        if step is None:
            missing.append(words)
        else:
            found.append(_words(sample, step))
    return found, missing


def _words(sample: Sample, step: TraceEntry) -> str:
    """Return a step's reason, preceded by the action if no other column shows it."""
    if step.why and (sample.task_id is None or sample.fault):
        return f"{step.what}: {step.why}"
    return step.why or step.what


def _differences(noun: str, expected: Row | None, found: Row | None) -> list[str]:
    if expected is None:
        return [f"there should be no {noun}, but there is #{found['id']}"] if found else []
    if found is None:
        return [f"the tracker has no {noun} for it"]
    return [
        f"{noun} #{found['id']}: {name} is {found.get(name)!r}, not {value!r}"
        for name, value in expected.items()
        if found.get(name) != value
    ]


def _by_id(rows: Sequence[Row], number: int | None) -> Row | None:
    return next((row for row in rows if row["id"] == number), None)
