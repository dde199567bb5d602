"""Project mappings of help desk projects and entities to tracker projects (SPEC section 1, project resolution rule)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from sqlalchemy import (
    BindParameter,
    Column,
    Select,
    Table,
    bindparam,
    delete,
    exists,
    literal,
    or_,
    select,
    union_all,
)
from sqlalchemy.orm import InstrumentedAttribute, Session

from shared.events.place import Place
from shared.notices.notice import Notice
from shared.notices.steps import Which
from shared.store.configuration.basis import note_change
from shared.store.tables.configuration import EntityMappingRow, ProjectMappingRow
from shared.store.tables.types import Key, put_row


class MappingKind(StrEnum):
    """The kind of help desk object that is mapped."""

    PROJECT = "project"
    ENTITY = "entity"


@dataclass(frozen=True, slots=True)
class ProjectMapping:
    """A project mapping: a help desk project or entity and its tracker project."""

    kind: MappingKind
    helpdesk_id: int
    tracker_project_id: int
    default_category_id: int | None

    def __str__(self) -> str:
        return f"{self.kind} {self.helpdesk_id}"

    @property
    def notice(self) -> Notice:
        """The mapping as a parameter of a code."""
        return Which.LINK_OF(kind=str(self.kind), id=self.helpdesk_id)


def _asked(kind: MappingKind, key: Column[Any], asked: BindParameter[Any]) -> Select[Any]:
    columns = key.table.c
    return select(
        literal(str(kind)).label("kind"),
        key.label("helpdesk_id"),
        columns.tracker_project_id,
        columns.default_category_id.label("category_id"),
    ).where(key.in_(asked))


BY_PROJECT, BY_ENTITY = cast(Table, ProjectMappingRow.__table__).c, cast(Table, EntityMappingRow.__table__).c
RESOLVING = union_all(
    _asked(
        MappingKind.PROJECT,
        BY_PROJECT.helpdesk_project_id,
        bindparam("project_ids", type_=Key, expanding=True),
    ),
    _asked(MappingKind.ENTITY, BY_ENTITY.entity_id, bindparam("entity_ids", type_=Key, expanding=True)),
)


class ProjectMappings:
    """Reads and writes project mappings within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def resolve(self, helpdesk_project_id: int | None, entity_id: int) -> ProjectMapping | None:
        """Return the mapping, as `of` does, for a ticket in at most one project."""
        return self.of(Place((helpdesk_project_id,) if helpdesk_project_id else (), entity_id))

    def of(self, place: Place) -> ProjectMapping | None:
        """Apply the project resolution rule: the first mapped project, then the EXACT entity, else None."""
        return self.resolve_all([place])[place]

    def resolve_all(self, places: Collection[Place]) -> dict[Place, ProjectMapping | None]:
        """Return the mapping of each place, as `of` does."""
        asked = {
            "project_ids": sorted({one for place in places for one in place.project_ids}),
            "entity_ids": [place.entity_id for place in places],
        }
        found = {
            (row.kind, row.helpdesk_id): ProjectMapping(
                MappingKind(row.kind), row.helpdesk_id, row.tracker_project_id, row.category_id
            )
            for row in self._session.execute(RESOLVING, asked)
        }
        return {
            place: next(
                (mapping for one in place.project_ids if (mapping := found.get((MappingKind.PROJECT, one)))),
                found.get((MappingKind.ENTITY, place.entity_id)),
            )
            for place in places
        }

    def get(self, kind: MappingKind, helpdesk_id: int) -> ProjectMapping | None:
        model, key = _model(kind)
        row = self._session.scalar(select(model).where(key == helpdesk_id))
        return _mapping(kind, row) if row else None

    def put(self, mapping: ProjectMapping) -> None:
        """Create or replace a mapping; if it exists already, this is not a change."""
        model, key = _model(mapping.kind)
        values = {
            "tracker_project_id": mapping.tracker_project_id,
            "default_category_id": mapping.default_category_id,
        }
        differs = or_(*(getattr(model, name).is_distinct_from(value) for name, value in values.items()))
        if put_row(self._session, model, {key.key: mapping.helpdesk_id}, values, differs):
            note_change(self._session)

    def remove(self, kind: MappingKind, helpdesk_id: int) -> bool:
        """Delete a mapping; return False if there was none."""
        note_change(self._session)
        model, key = _model(kind)
        return self._session.scalar(delete(model).where(key == helpdesk_id).returning(key)) is not None

    def all(self) -> Sequence[ProjectMapping]:
        """Return every mapping, projects first."""
        found: list[ProjectMapping] = []
        for kind in MappingKind:
            model, key = _model(kind)
            found += [_mapping(kind, row) for row in self._session.scalars(select(model).order_by(key))]
        return found

    def any(self) -> bool:
        """Return whether there is any mapping."""
        some = (exists().where(_model(kind)[1].is_not(None)) for kind in MappingKind)
        return bool(self._session.scalar(select(or_(*some))))


def _model(kind: MappingKind) -> tuple[Any, InstrumentedAttribute[int]]:
    if kind is MappingKind.PROJECT:
        return ProjectMappingRow, ProjectMappingRow.helpdesk_project_id
    return EntityMappingRow, EntityMappingRow.entity_id


def _mapping(kind: MappingKind, row: ProjectMappingRow | EntityMappingRow) -> ProjectMapping:
    helpdesk_id = row.helpdesk_project_id if isinstance(row, ProjectMappingRow) else row.entity_id
    return ProjectMapping(kind, helpdesk_id, row.tracker_project_id, row.default_category_id)
