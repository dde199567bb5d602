"""Converts the link tables of plugin 1.x, as its database exports them, to the format of `mapping import`.

SPEC 2.2 names the tables but not their columns, so the user who imports them assigns the columns.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from producer.admin.backfill.backfill import COLUMNS, NEEDED, USER, NotImported
from shared.notices.invalid import Unimported
from shared.notices.kinds import Kind
from shared.store.configuration.mappings import MappingKind

EMPTY = ("", "NULL", "null", "\\N")
"""How databases export a column without a value."""


class Table(StrEnum):
    """A table of plugin 1.x."""

    TICKET_ISSUE = "ticket-issue"
    TASK_TIME = "task-time"
    PROJECT = "project"
    ENTITY = "entity"
    USER_MAP = "user-map"


KINDS = {
    Table.TICKET_ISSUE: Kind.TICKET,
    Table.TASK_TIME: Kind.TICKET_TASK,
    Table.PROJECT: MappingKind.PROJECT,
    Table.ENTITY: MappingKind.ENTITY,
    Table.USER_MAP: USER,
}


def as_links(
    text: Iterable[str], table: Table, columns: Mapping[str, str], *, delimiter: str = ","
) -> Iterator[str]:
    """Yield a table of plugin 1.x as CSV lines that `import_links` reads.

    Args:
        text: the lines of the export; the first one names the columns.
        table: which table it is.
        columns: our name of a column (`id`, `tracker_id`, …) to its name in the export.
        delimiter: the character between two cells.

    Raises:
        NotImported: if a needed column is not assigned, or a column is unknown or not in the export.
    """
    kind = KINDS[table]
    rows = csv.DictReader(text, delimiter=delimiter, strict=True)
    there = list(rows.fieldnames or ())
    allowed = [name for name in COLUMNS if name not in ("kind", "tracker")]
    faults = [
        Unimported.COLUMN_NOT_OURS(name=name, columns=allowed) for name in columns if name not in allowed
    ]
    faults += [
        Unimported.COLUMN_NOT_NAMED(name=name) for name in ("id", *NEEDED[kind]) if name not in columns
    ]
    faults += [
        Unimported.COLUMN_NOT_THERE(theirs=theirs, ours=ours, columns=there)
        for ours, theirs in columns.items()
        if theirs not in there
    ]
    if faults:
        raise NotImported([(1, fault) for fault in faults])
    line = io.StringIO()
    out = csv.DictWriter(line, COLUMNS, restval="", lineterminator="\n")
    out.writeheader()
    yield line.getvalue()
    for row in rows:
        line.seek(0)
        line.truncate()
        cells = {ours: (row[theirs] or "").strip() for ours, theirs in columns.items()}
        out.writerow({"kind": kind, **{name: "" if cell in EMPTY else cell for name, cell in cells.items()}})
        yield line.getvalue()
