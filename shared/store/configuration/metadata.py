"""The cache of the tracker's metadata, and the record of its synchronisations (SPEC 2.2 "Metadata cache")."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, cast

from sqlalchemy import String, Table, and_, delete, false, func, or_, select, true, type_coerce, union_all
from sqlalchemy.orm import Session

from shared.notices.notice import Notice
from shared.store.configuration.basis import note_change
from shared.store.tables.configuration import MetadataRow, MetadataRun, TrackerUser
from shared.store.tables.explained import reason_columns
from shared.store.tables.types import clock, insert_for
from shared.values.ids import read_id

CHUNK = 500
RUNS_KEPT = 200


class MetadataKind(StrEnum):
    """The kind of a cache entry."""

    PROJECT = "project"
    ISSUE_TYPE = "issue_type"
    STATUS = "status"
    PRIORITY = "priority"
    ACTIVITY = "activity"
    ROLE = "role"
    CATEGORY = "category"
    CUSTOM_FIELD = "custom_field"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the cache.

    Attributes:
        tracker_project_id: the project that the entry belongs to (categories).
        details: further data, depending on the kind: identifier, parent_id, is_public (projects); active, is_default
            (priorities, activities); is_closed (statuses); customized_type, field_format, is_required, multiple,
            default_value, possible_values, tracker_ids (custom fields).
    """

    kind: MetadataKind
    tracker_id: int
    name: str
    details: Mapping[str, Any] = field(default_factory=dict)
    tracker_project_id: int | None = None

    @property
    def key(self) -> tuple[str, int]:
        """Kind and tracker id, which identify the entry."""
        return self.kind, self.tracker_id

    def __str__(self) -> str:
        return f"{self.tracker_id} ({self.name})"


CACHED, PEOPLE = cast(Table, MetadataRow.__table__), cast(Table, TrackerUser.__table__)
NEEDED = union_all(
    select(true(), PEOPLE.c.tracker_user_id).where(PEOPLE.c.admin),
    select(false(), CACHED.c.tracker_id).where(CACHED.c.kind == MetadataKind.STATUS),
)


class Metadata:
    """Reads and writes the cache within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def all(self) -> dict[tuple[str, int], Entry]:
        """Return the whole cache by (kind, tracker id)."""
        return {entry.key: entry for entry in map(_entry, self._session.execute(select(*COLUMNS)))}

    def of_kind(
        self, kind: MetadataKind, *, tracker_project_id: int | None = None, limit: int | None = None
    ) -> Sequence[Entry]:
        """Return the entries of a kind, or of a kind and project, ordered by name."""
        statement = select(*COLUMNS).where(MetadataRow.kind == kind)
        if tracker_project_id is not None:
            statement = statement.where(MetadataRow.tracker_project_id == tracker_project_id)
        ordered = statement.order_by(MetadataRow.name, MetadataRow.tracker_id)
        return [_entry(row) for row in self._session.execute(ordered.limit(limit) if limit else ordered)]

    def of_kinds(self, *kinds: MetadataKind) -> dict[MetadataKind, list[Entry]]:
        """Return the entries of several kinds, each ordered by name, from a single statement."""
        statement = select(*COLUMNS).where(MetadataRow.kind.in_(kinds))
        found: dict[MetadataKind, list[Entry]] = {kind: [] for kind in kinds}
        for row in self._session.execute(statement.order_by(MetadataRow.name, MetadataRow.tracker_id)):
            entry = _entry(row)
            found[entry.kind].append(entry)
        return found

    def get(self, kind: MetadataKind, tracker_id: int) -> Entry | None:
        where = (MetadataRow.kind == kind, MetadataRow.tracker_id == tracker_id)
        row = self._session.execute(select(*COLUMNS).where(*where)).first()
        return _entry(row) if row else None

    def needed(self) -> tuple[tuple[int, ...], frozenset[int]]:
        """Return the ids of the tracker's administrators and statuses, which each ticket sync needs."""
        rows = self._session.execute(NEEDED).all()
        return tuple(one for admin, one in rows if admin), frozenset(
            one for is_admin, one in rows if not is_admin
        )

    def search(
        self, kind: MetadataKind, text: str, limit: int, *, tracker_project_id: int | None = None
    ) -> Sequence[Entry]:
        """Return at most `limit` entries that match a text as part of the name, start of the identifier, or id."""
        statement = select(*COLUMNS).where(MetadataRow.kind == kind)
        if tracker_project_id is not None:
            statement = statement.where(MetadataRow.tracker_project_id == tracker_project_id)
        if text:
            named = func.lower(MetadataRow.name).contains(text.lower(), autoescape=True)
            found = named | type_coerce(MetadataRow.details, String).contains(
                f'"identifier": "{text.lower()}', autoescape=True
            )
            number = read_id(text)
            statement = statement.where(
                found if number is None else found | (MetadataRow.tracker_id == number)
            )
        ordered = statement.order_by(MetadataRow.name, MetadataRow.tracker_id).limit(limit)
        return [_entry(row) for row in self._session.execute(ordered)]

    def names(self, kind: MetadataKind, tracker_ids: Collection[Any]) -> dict[int, str]:
        """Return the names of some entries of a kind, by tracker id."""
        return self.names_of({kind: tracker_ids})[kind]

    def names_of(
        self, wanted: Mapping[MetadataKind, Collection[int | None]]
    ) -> dict[MetadataKind, dict[int, str]]:
        """Return the names of some entries of several kinds, by kind and tracker id."""
        names: dict[MetadataKind, dict[int, str]] = {kind: {} for kind in wanted}
        some = [
            and_(MetadataRow.kind == kind, MetadataRow.tracker_id.in_(ids))
            for kind, ids in wanted.items()
            if ids
        ]
        if some:
            columns = MetadataRow.kind, MetadataRow.tracker_id, MetadataRow.name
            for kind, tracker_id, name in self._session.execute(select(*columns).where(or_(*some))):
                names[MetadataKind(kind)][tracker_id] = name
        return names

    def counts(self) -> dict[str, int]:
        """Return the number of entries of each kind."""
        rows = self._session.execute(select(MetadataRow.kind, func.count()).group_by(MetadataRow.kind))
        found: dict[str, int] = dict(rows.all())
        return {str(kind): found.get(kind, 0) for kind in MetadataKind}

    def put(self, entries: Iterable[Entry]) -> None:
        """Create or replace entries."""
        values = [{**asdict(entry), "kind": str(entry.kind)} for entry in entries]
        if not values:
            return
        note_change(self._session)
        statement = insert_for(self._session)(MetadataRow)
        changed = {name: statement.excluded[name] for name in ("name", "tracker_project_id", "details")}
        self._session.execute(
            statement.on_conflict_do_update(index_elements=["kind", "tracker_id"], set_=changed), values
        )

    def remove(self, keys: Collection[tuple[str, int]]) -> None:
        """Delete entries."""
        if keys:
            note_change(self._session)
        for kind in MetadataKind:
            ids = sorted(tracker_id for one, tracker_id in keys if one == kind)
            for start in range(0, len(ids), CHUNK):
                chosen = MetadataRow.tracker_id.in_(ids[start : start + CHUNK])
                self._session.execute(delete(MetadataRow).where(MetadataRow.kind == kind, chosen))

    def forget_tracker(self) -> None:
        """Empty the cache, because deskbridge now uses another tracker."""
        self._session.execute(delete(MetadataRow))

    def record_run(
        self,
        started_at: datetime,
        *,
        counts: Mapping[str, int],
        differences: Mapping[str, Any],
        why: Notice | None = None,
    ) -> None:
        """Record a run that ends now; delete old runs, but never the last successful one."""
        run = {"started_at": started_at, "ended_at": clock(), "ok": why is None, **reason_columns(why)}
        statement = insert_for(self._session)(MetadataRun)
        run_id = self._session.scalar(
            statement.values(**run, counts=dict(counts), differences=dict(differences)).returning(
                MetadataRun.id
            )
        )
        good = select(func.max(MetadataRun.id)).where(MetadataRun.ok).scalar_subquery()
        past = MetadataRun.id <= (run_id or 0) - RUNS_KEPT
        self._session.execute(delete(MetadataRun).where(past, MetadataRun.id != func.coalesce(good, 0)))

    def runs(self, limit: int = 10) -> Sequence[MetadataRun]:
        """Return the newest runs, newest first."""
        return self._session.scalars(select(MetadataRun).order_by(MetadataRun.id.desc()).limit(limit)).all()

    def last_good_run(self) -> MetadataRun | None:
        """Return the last successful run, or None."""
        good = select(MetadataRun).where(MetadataRun.ok).order_by(MetadataRun.id.desc()).limit(1)
        return self._session.scalar(good)


COLUMNS = (
    MetadataRow.kind,
    MetadataRow.tracker_id,
    MetadataRow.name,
    MetadataRow.tracker_project_id,
    MetadataRow.details,
)


def _entry(row: Any) -> Entry:
    return Entry(MetadataKind(row.kind), row.tracker_id, row.name, row.details, row.tracker_project_id)
