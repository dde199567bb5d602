"""Compares the tracker's data with the expected data: nothing may be lost, duplicated, extra, wrong or out of order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shared.notices.kinds import Kind
from tests.drill.expect import Entry, File, Note, TicketExpected
from tests.drill.pairing import pair
from tests.drill.people import ADMIN, is_member_from_start
from tests.drill.texts import as_sent

SEEDED_ISSUES = 5
LAST = 2**62
TICKET = re.compile(r"Ticket (\d+)")

Row = Mapping[str, Any]


def ticket_named(subject: str) -> int | None:
    """Return the ticket that an issue's subject names, or None if several tickets share the subject."""
    match = TICKET.fullmatch(subject)
    return int(match[1]) if match else None


class Oracle:
    """Compares the expected results of accepted events with the tracker's data.

    Args:
        expected: the expected result for each ticket.
        state: everything that the mock Redmine holds.
        deleted: tickets whose issue was deleted on the tracker, with that issue.
        moved: tickets whose issue was moved to another tracker project.
        put_off: tickets with an event that ended and may be replayed; its addition may come after later ones.
        supplanted: issues of somebody else, each with the id of a ticket's issue; nothing may be written to them.
    """

    def __init__(
        self,
        expected: Mapping[int, TicketExpected],
        state: Mapping[str, Sequence[Row]],
        deleted: Mapping[int, int],
        moved: Collection[int] = (),
        put_off: Collection[int] = (),
        supplanted: Collection[int] = (),
    ) -> None:
        self._expected = expected
        self._deleted, self._moved, self._put_off = deleted, moved, put_off
        self._others = [row for row in state["issues"] if row["id"] in supplanted]
        ids = {row["id"] for row in self._others}
        self.issues = [row for row in state["issues"] if row["id"] > SEEDED_ISSUES and row["id"] not in ids]
        self.entries = list(state["time_entries"])
        self.attachments = [row for row in state.get("attachments", ()) if row["issue_id"] is not None]
        self._memberships = state.get("memberships", ())
        self._of_issue: dict[int | None, list[Row]] = {}
        self._files_of: dict[int, list[Row]] = {}
        for row in self.entries:
            self._of_issue.setdefault(row["issue_id"], []).append(row)
        for row in self.attachments:
            self._files_of.setdefault(row["issue_id"], []).append(row)

    def differences(self) -> list[str]:
        """Return every difference in words; an empty list means that each effect happened exactly once."""
        found = self._of_subjects()
        known = {row["id"] for row in self.issues}
        found += [
            f"extra: {_entry_words(row)} on no issue of a ticket"
            for issue_id, rows in self._of_issue.items()
            if issue_id not in known
            for row in rows
        ]
        found += [
            f"extra: {_file_words(row)} on no issue of a ticket"
            for row in self.attachments
            if row["issue_id"] not in known
        ]
        found += [
            f"wrong: issue #{row['id']} is somebody else's, and was changed"
            for row in self._others
            if row["journals"] or row["created_on"] != row["updated_on"]
        ]
        members = Counter((row["project_id"], row["user_id"]) for row in self._memberships)
        found += [f"twice: membership {who} is there {n} times" for who, n in members.items() if n > 1]
        return found

    def _of_subjects(self) -> list[str]:
        wanted: dict[str, list[TicketExpected]] = {}
        for one in self._expected.values():
            if one.texts and one.ticket_id not in self._deleted:
                wanted.setdefault(one.subject, []).append(one)
        present: dict[str, list[Row]] = {}
        for row in self.issues:
            present.setdefault(row["subject"], []).append(row)
        found: list[str] = []
        for ticket_id in self._deleted:
            found += self._of_deleted(ticket_id, present.pop(f"Ticket {ticket_id}", []))
        for subject, tickets in wanted.items():
            due = [one for one in tickets if one.tasks]
            found += self._of_alike(subject, due, present.pop(subject, []))
        return found + [f"extra: an issue of no ticket, {subject!r}" for subject in present]

    def _of_alike(self, subject: str, tickets: list[TicketExpected], rows: list[Row]) -> list[str]:
        """Compare the tickets that share a subject with the issues that have it."""
        names = ", ".join(str(one.ticket_id) for one in tickets) or "none"
        surely = {one.ticket_id for one in tickets if one.tasks.keys() - one.undone}
        if len(rows) < len(surely):
            return [f"lost: {subject!r} (tickets {names}) has {len(rows)} issues"]
        if len(rows) > len(tickets):
            ids = ", ".join(f"#{row['id']}" for row in rows)
            return [f"twice: {subject!r} (tickets {names}) has {len(rows)} issues: {ids}"]
        by_id = {one.ticket_id: one for one in tickets}
        surely_first = sorted(by_id, key=lambda ticket_id: ticket_id not in surely)
        _, missing, left = pair(
            surely_first, rows, lambda ticket_id, row: not self._faults(by_id[ticket_id], row)
        )
        return [
            difference
            for ticket_id, row in zip([one for one in missing if one in surely], left, strict=False)
            for difference in self._faults(by_id[ticket_id], row)
        ]

    def _of_deleted(self, ticket_id: int, rows: list[Row]) -> list[str]:
        """Check that a deleted issue is absent, or was created again at most once."""
        if len(rows) > 1:
            return [f"twice: ticket {ticket_id} has {len(rows)} issues after one was deleted"]
        expected = self._expected.get(ticket_id)
        if not rows or expected is None:
            return []
        return [
            fault
            for fault in (
                *self._entry_faults(expected, self._of_issue.get(rows[0]["id"], [])),
                *_note_faults(expected, rows[0]),
                *_file_faults(expected, rows[0], self._files_of.get(rows[0]["id"], [])),
            )
            if not fault.startswith("lost")
        ]

    def _faults(self, expected: TicketExpected, issue: Row) -> list[str]:
        """Return what is wrong with an issue if it belongs to a ticket."""
        name = f"ticket {expected.ticket_id}, issue #{issue['id']}"
        found = []
        project = None if expected.ticket_id in self._moved else issue["project"]
        text = (project, issue["subject"], as_sent(issue["description"]), issue["author"])
        texts = {
            (project and one.project, one.subject, one.description, one.author) for one in expected.texts
        }
        if text not in texts:
            found.append(f"wrong: {name} is {text}, expected one of {sorted(texts)}")
        if issue["status_id"] not in expected.statuses:
            statuses = sorted(expected.statuses)
            found.append(f"wrong: {name} has status {issue['status_id']}, expected one of {statuses}")
        files = self._files_of.get(issue["id"], [])
        found += _note_faults(expected, issue) + _file_faults(expected, issue, files)
        if expected.ticket_id not in self._put_off:
            found += _order_faults(expected, issue, files)
        return found + self._entry_faults(expected, self._of_issue.get(issue["id"], []))

    def _entry_faults(self, expected: TicketExpected, rows: list[Row]) -> list[str]:
        surely_first = sorted(expected.tasks, key=lambda task_id: task_id in expected.undone)
        _, missing, left = pair(
            surely_first, rows, lambda task_id, row: _is_one_of(row, expected.tasks[task_id])
        )
        found = []
        for task_id in (one for one in missing if one not in expected.undone):
            found.append(f"lost: ticket task {task_id} has no time entry as {_options(expected, task_id)}")
        for row in left:
            alike = [task_id for task_id, options in expected.tasks.items() if _is_one_of(row, options)]
            what = f"twice: ticket tasks {alike}" if alike else f"wrong: ticket {expected.ticket_id}"
            found.append(f"{what}: {_entry_words(row)} is one too many")
        return found


def _note_faults(expected: TicketExpected, issue: Row) -> list[str]:
    """Return what is wrong with the notes of an issue: each must be there once, in any order."""
    rows = _notes(issue)

    def fits(key: str, row: tuple[int, Note]) -> bool:
        note = row[1] if key not in expected.now_private else replace(row[1], is_private=True)
        return _meets(expected.notes[key], note, issue)

    _, missing, left = pair(_surely_first(expected, expected.notes), rows, fits)
    name = f"ticket {expected.ticket_id}, issue #{issue['id']}"
    lost = [key for key in missing if key not in expected.perhaps]
    found = [f"lost: {name} has no note of {key} as {expected.notes[key]}" for key in lost]
    return found + [
        f"twice: {name} has note #{number} ({note}) that is one too many" for number, note in left
    ]


def _file_faults(expected: TicketExpected, issue: Row, files: Sequence[Row]) -> list[str]:
    """Return what is wrong with the attachments of an issue: each must be there once, in any order."""
    rows = [(row["id"], _file(row)) for row in files]
    wanted = _surely_first(expected, expected.files)
    _, missing, left = pair(wanted, rows, lambda key, row: _meets(expected.files[key], row[1], issue))
    name = f"ticket {expected.ticket_id}, issue #{issue['id']}"
    lost = [key for key in missing if key not in expected.perhaps]
    found = [f"lost: {name} has no attachment of {key} as {expected.files[key]}" for key in lost]
    return found + [
        f"twice: {name} has attachment #{number} ({file}) that is one too many" for number, file in left
    ]


def _meets(wanted: Note | File, found: Note | File, issue: Row) -> bool:
    """Tell whether an addition is as expected; it makes nobody a member, so the API user may have sent it instead."""
    is_member = is_member_from_start(wanted.author, issue["project"])
    return found == wanted or (not is_member and found == replace(wanted, author=ADMIN))


def _surely_first(expected: TicketExpected, keys: Collection[str]) -> list[str]:
    """Return keys in order, those of what may be missing last."""
    return sorted(keys, key=lambda key: (key in expected.perhaps, key in expected.now_private, key))


def _order_faults(expected: TicketExpected, issue: Row, files: Sequence[Row]) -> list[str]:
    """Return additions that precede an earlier one; additions that look equal are not compared."""
    of_file = {
        int(change["name"]): one["id"]
        for one in issue.get("journals", ())
        for change in one.get("details", ())
        if change.get("property") == "attachment"
    }
    rows: list[tuple[int, Note | File]] = [*_notes(issue)]
    rows += [(of_file[row["id"]], _file(row)) for row in files if row["id"] in of_file]
    wanted: dict[str, Note | File] = {**expected.notes, **expected.files}
    alike = Counter(replace(addition, author=ADMIN) for addition in wanted.values())
    numbers = {
        key: number
        for key, addition in wanted.items()
        for number, found in rows
        if _meets(addition, found, issue) and alike[replace(addition, author=ADMIN)] == 1
    }
    return [
        f"order: ticket {expected.ticket_id}, issue #{issue['id']} has the {_noun(later)} of {later} "
        f"before the {_noun(earlier)} of {earlier}"
        for earlier, later in expected.in_order
        if numbers.get(earlier, 0) > numbers.get(later, LAST)
    ]


def _notes(issue: Row) -> list[tuple[int, Note]]:
    """Return the notes of an issue with their ids."""
    return [
        (one["id"], Note(as_sent(one["notes"]), one["user"], bool(one.get("private_notes"))))
        for one in issue.get("journals", ())
        if one.get("notes")
    ]


def _noun(key: str) -> str:
    return Kind(key.partition(":")[0]).noun


def _file(row: Row) -> File:
    return File(row["filename"], row["filesize"], row["digest"], row["author"])


def _is_one_of(row: Row, options: Collection[Entry]) -> bool:
    """Tell whether a time entry is as expected; if the event named no day, any day is right."""
    entry = Entry(row["hours"], as_sent(row["comments"]), row["author"])
    return entry in options or replace(entry, day=row.get("spent_on")) in options


def _options(expected: TicketExpected, task_id: int) -> str:
    return " or ".join(
        f"{one.hours} h {one.comment!r} by {one.author} on {one.day or 'any day'}"
        for one in sorted(
            expected.tasks[task_id], key=lambda one: (one.hours, one.comment, one.author, one.day or "")
        )
    )


def _entry_words(row: Row) -> str:
    return f"time entry #{row['id']} ({row['hours']} h {row['comments']!r} by {row['author']})"


def _file_words(row: Row) -> str:
    return f"attachment #{row['id']} ({row['filename']!r} by {row['author']})"
