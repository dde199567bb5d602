"""Exports and imports links and mappings as CSV, and refuses what would break "one per ticket" (SPEC 1.5)."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TextIO

from sqlalchemy.exc import IntegrityError

from producer.admin.records.transaction import Store, Transaction
from producer.admin.review.adoption import projects_of
from producer.admin.services import Services
from shared.errors import BridgeError, NotFound, SettingsError, TrackerError
from shared.metadata.confirming import confirm_mapping
from shared.notices.changes import Did
from shared.notices.invalid import Invalid, Unimported
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.refusals import Refusal
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerRow, LedgerState
from shared.values.ids import read_id

COLUMNS = (
    "kind",
    "id",
    "ticket_id",
    "tracker_id",
    "tracker_project_id",
    "issue_id",
    "default_category_id",
    "author_id",
    "tracker",
)
USER: Literal["user"] = "user"
"""A user mapping: help desk user to tracker user."""
KINDS = (*MappingKind, *Kind, USER)
NEEDED = {
    USER: ("tracker_id",),
    MappingKind.PROJECT: ("tracker_project_id",),
    MappingKind.ENTITY: ("tracker_project_id",),
    Kind.TICKET: ("tracker_id",),
    Kind.TICKET_TASK: ("tracker_id", "ticket_id"),
    Kind.FOLLOWUP: ("tracker_id", "ticket_id"),
    Kind.SOLUTION: ("tracker_id", "ticket_id"),
    Kind.DOCUMENT: ("tracker_id", "ticket_id"),
}
MOST_FAULTS = 50
Faults = list[tuple[int, Notice]]


class NotImported(BridgeError):
    """A refused import; nothing was changed.

    Args:
        faults: line number and fault of each faulty line.
    """

    def __init__(self, faults: Faults) -> None:
        shown = [Invalid.FAULT_ON_LINE(line=line, problem=problem) for line, problem in faults[:MOST_FAULTS]]
        more = max(0, len(faults) - MOST_FAULTS) or None
        super().__init__(Refusal.LINKS_NOT_IMPORTED(faults=shown, more=more))


@dataclass(frozen=True, slots=True)
class Exported:
    """The result of an export.

    Attributes:
        rows: number of mappings and links written.
        undecided: creations that are claimed, in doubt or on hold, which are left out.
        pending, failed: events that only this installation has, and whose work is not done.
    """

    rows: int
    undecided: int
    pending: int
    failed: int


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import.

    Attributes:
        added: number of new links.
        unchanged: number of links that existed already.
        tickets: tickets whose waiting events can proceed.
        unasked: number of issues whose tracker project the file lacks, and for which the tracker could not be queried.
        failure: why the tracker could not be queried.
    """

    added: int
    unchanged: int
    tickets: list[int]
    unasked: int = 0
    failure: BridgeError | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One link or mapping of a file."""

    number: int
    kind: MappingKind | Kind | Literal["user"]
    values: Mapping[str, int | None]

    @property
    def id(self) -> int:
        """The id of the help desk's item: project, entity, ticket, ticket task and so on."""
        return self.values["id"] or 0

    @property
    def ticket_id(self) -> int:
        """The ticket that it belongs to."""
        return self.values["ticket_id"] or self.id


def export_links(store: Store, out: TextIO) -> Exported:
    """Write every project mapping and every link.

    Args:
        store: the database.
        out: the file to write.
    """
    written = csv.DictWriter(out, COLUMNS, restval="", extrasaction="raise")
    written.writeheader()
    count = undecided = 0
    with store.transaction() as tx:
        config, _ = tx.configs.get()
        for link in tx.mappings.all():
            count += 1
            written.writerow(
                {
                    "kind": link.kind,
                    "id": link.helpdesk_id,
                    "tracker_project_id": link.tracker_project_id,
                    "default_category_id": link.default_category_id,
                    "tracker": config.base_url,
                }
            )
        for kind in Kind:
            undecided += tx.ledger(kind).count_live()
            for row in tx.ledger(kind).linked():
                count, undecided = count + 1, undecided - 1
                written.writerow({**_cells(kind, row), "tracker": config.base_url})
        states = {state: tx.journal.count(state) for state in (EventState.PENDING, EventState.FAILED)}
    return Exported(count, undecided, states[EventState.PENDING], states[EventState.FAILED])


def import_links(services: Services, text: Iterable[str], *, same_tracker: bool = False) -> Imported:
    """Add every link of a file as `add_links` does, and notify the tickets whose waiting events can proceed.

    The tracker is queried for missing projects of issues. If that fails, it is queried when they are next needed.

    Raises:
        NotImported: as `add_links`.
    """
    unasked, why = 0, None

    def ask(issue_ids: Sequence[int]) -> Mapping[int, int]:
        nonlocal unasked, why
        try:
            _, client = services.connector.connect()
            return projects_of(client, issue_ids)
        except (SettingsError, TrackerError) as failure:
            unasked, why = len(issue_ids), failure
            return {}

    done = add_links(services.store, text, same_tracker=same_tracker, projects_of=ask)
    services.notify(done.tickets)
    return replace(done, unasked=unasked, failure=why)


def add_links(
    store: Store,
    text: Iterable[str],
    *,
    same_tracker: bool = False,
    projects_of: Callable[[Sequence[int]], Mapping[int, int]] = lambda _: {},
) -> Imported:
    """Add all links of a file, or none if one is faulty; links that exist already change nothing.

    Args:
        store: the database.
        text: the lines of the file.
        same_tracker: whether the file's tracker is ours under another address.
        projects_of: returns the tracker projects of issues for which the file names none.

    Raises:
        NotImported: if a line cannot be read, or would link something twice; it names each of these lines.
    """
    with store.transaction() as tx:
        config, _ = tx.configs.get()
    lines, faults = _read(text, None if same_tracker else config.base_url)
    faults += _twice(lines)
    if faults:
        raise NotImported(sorted(faults, key=lambda fault: fault[0]))
    lines = _with_projects(lines, projects_of)
    try:
        with store.transaction() as tx:
            return _add_all(tx, lines)
    except IntegrityError:
        raise NotImported([(0, Unimported.SOMETHING_LINKED_MEANWHILE())]) from None


def _cells(kind: Kind, row: LedgerRow) -> dict[str, Any]:
    return {
        "kind": kind,
        "id": row.key,
        "ticket_id": row.ticket_id,
        "tracker_id": row.tracker_id,
        "tracker_project_id": row.tracker_project_id,
        "issue_id": row.issue_id,
        "author_id": row.author_id,
    }


def _read(text: Iterable[str], tracker: str | None) -> tuple[list[Line], Faults]:
    """Return the readable lines of a file, and the faults of the others."""
    rows = csv.DictReader(text, strict=True)
    lines: list[Line] = []
    faults: Faults = []
    try:
        missing = [
            name for name in ("kind", "id", "tracker_project_id") if name not in (rows.fieldnames or ())
        ]
        if missing:
            return [], [(1, Unimported.COLUMNS_MISSING(columns=missing))]
        for row in rows:
            line = _line(rows.line_num, row)
            if isinstance(line, Notice):
                faults.append((rows.line_num, line))
            elif tracker and row.get("tracker") and row["tracker"] != tracker:
                theirs = Unimported.OTHER_TRACKERS_LINE(theirs=row["tracker"][:100], ours=tracker)
                faults.append((rows.line_num, theirs))
            else:
                lines.append(line)
    except (csv.Error, UnicodeDecodeError) as error:
        faults.append((rows.line_num + 1, Unimported.NOT_CSV(error=str(error))))
    return lines, faults


def _line(number: int, row: Mapping[str | None, Any]) -> Line | Notice:
    """Return a line, or what is wrong with it."""
    kind = next((one for one in KINDS if one == row["kind"]), None)
    if kind is None:
        return Unimported.KIND_EXPECTED(kinds=[str(one) for one in KINDS])
    values: dict[str, int | None] = {}
    for name in COLUMNS[1:-1]:
        cell = (row.get(name) or "").strip()
        least = 0 if name == "id" and kind is MappingKind.ENTITY else 1
        values[name] = found = read_id(cell)
        if cell and (found is None or found < least):
            return Unimported.ID_EXPECTED(name=name, got=repr(cell[:20]))
    missing = [name for name in ("id", *NEEDED[kind]) if values[name] is None]
    return Unimported.CELLS_MISSING(columns=missing) if missing else Line(number, kind, values)


def _twice(lines: Sequence[Line]) -> Faults:
    """Return a fault for each line whose id or tracker id an earlier line links already."""
    seen: dict[tuple[str, str, int | None], int] = {}
    faults: Faults = []
    for line in lines:
        keys = [(line.kind, "id", line.values["id"])]
        if isinstance(line.kind, Kind):
            keys.append((line.kind, "tracker_id", line.values["tracker_id"]))
        for kind, name, value in keys:
            first = seen.setdefault((kind, name, value), line.number)
            if first != line.number:
                again = Unimported.TWICE_IN_FILE(kind=str(kind), name=name, value=value, line=first)
                faults.append((line.number, again))
    return faults


def _with_projects(
    lines: Sequence[Line], projects_of: Callable[[Sequence[int]], Mapping[int, int]]
) -> list[Line]:
    """Return the lines; those of issues get their missing tracker project if it is found."""
    lacking = [
        one.values["tracker_id"] or 0
        for one in lines
        if one.kind is Kind.TICKET and one.values["tracker_project_id"] is None
    ]
    found = projects_of(lacking) if lacking else {}
    return [
        replace(one, values={**one.values, "tracker_project_id": found[one.values["tracker_id"] or 0]})
        if one.kind is Kind.TICKET and one.values["tracker_id"] in found
        else one
        for one in lines
    ]


def _add_all(tx: Transaction, lines: Sequence[Line]) -> Imported:
    faults: Faults = []
    added = 0
    tickets: dict[int, None] = {}
    for line in lines:
        if isinstance(line.kind, Kind):
            done = _add_created(tx, line.kind, line)
        elif isinstance(line.kind, MappingKind):
            done = _add_link(tx, line.kind, line)
        else:
            done = _add_override(tx, line)
        if isinstance(done, Notice):
            faults.append((line.number, done))
        elif done:
            added += 1
            tickets |= {line.ticket_id: None} if isinstance(line.kind, Kind) else {}
    if faults:
        raise NotImported(faults)
    if added:
        tx.changes.note(Did.LINKS_IMPORTED(count=added))
    return Imported(added, len(lines) - added, list(tickets))


def _add_link(tx: Transaction, kind: MappingKind, line: Line) -> bool | Notice:
    """Add a project mapping; return False if it exists, or a notice why it cannot be added."""
    link = ProjectMapping(
        kind, line.id, line.values["tracker_project_id"] or 0, line.values["default_category_id"]
    )
    before = tx.mappings.get(kind, link.helpdesk_id)
    if before == link:
        return False
    if before is not None:
        return Unimported.LINKED_TO_ANOTHER(
            kind=str(kind), id=line.id, tracker_project_id=before.tracker_project_id
        )
    try:
        confirm_mapping(tx, link)
    except NotFound as unknown:
        return unknown.notice
    tx.mappings.put(link)
    return True


def _add_override(tx: Transaction, line: Line) -> bool | Notice:
    """Add a user mapping; return False if it exists, or a notice why it cannot be added."""
    tracker_user_id = line.values["tracker_id"] or 0
    before = tx.people.overrides().get(line.id)
    if before is not None and before != tracker_user_id:
        return Unimported.MAPPED_TO_ANOTHER(helpdesk_user_id=line.id, tracker_user_id=before)
    tx.people.put_override(line.id, tracker_user_id)
    return before is None


def _add_created(tx: Transaction, kind: Kind, line: Line) -> bool | Notice:
    """Add a link of a ledger; return False if it exists, or a notice why it would break "one per ticket"."""
    ledger, tracker_id = tx.ledger(kind), line.values["tracker_id"] or 0
    row = ledger.lock(line.id)
    if row is not None and row.state == LedgerState.LINKED and row.tracker_id == tracker_id:
        return False
    if row is not None and row.state != LedgerState.FREE:
        named = {"kind": str(kind), "id": line.id, "wanted": tracker_id}
        if row.state == LedgerState.LINKED:
            return Unimported.CREATED_AS_ANOTHER(**named, present=row.tracker_id)
        return Unimported.UNDECIDED_HERE(**named, state=row.state)
    holder = ledger.holder(tracker_id)
    if holder is not None:
        return Unimported.OBJECT_OF_ANOTHER(kind=str(kind), tracker_id=tracker_id, id=holder.key)
    wanted = {name: line.values[name] for name in ("tracker_project_id", "issue_id", "author_id")}
    if not ledger.take_over(line.id, line.ticket_id, tracker_id, **wanted):
        return Unimported.BEGUN_MEANWHILE(kind=str(kind), id=line.id)
    return True
