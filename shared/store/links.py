"""Which tracker project a helpdesk project or entity is linked to (SPEC section 1, project resolution rule)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from shared.store.models import EntityLink, ProjectLink
from shared.store.types import insert_for


class LinkKind(StrEnum):
    """What a link starts from."""

    PROJECT = "project"
    ENTITY = "entity"


@dataclass(frozen=True, slots=True)
class Link:
    """A helpdesk project or entity and its tracker project."""

    kind: LinkKind
    helpdesk_id: int
    tracker_project_id: int
    default_category_id: int | None

    def __str__(self) -> str:
        return f"{self.kind} {self.helpdesk_id}"


class Links:
    """Reads and writes links within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def resolve(self, helpdesk_project_id: int | None, entity_id: int) -> Link | None:
        """Apply the project resolution rule: project link first, then the EXACT entity, else nothing."""
        if helpdesk_project_id is not None:
            link = self.get(LinkKind.PROJECT, helpdesk_project_id)
            if link:
                return link
        return self.get(LinkKind.ENTITY, entity_id)

    def get(self, kind: LinkKind, helpdesk_id: int) -> Link | None:
        """Return one link."""
        model, key = _model(kind)
        row = self._session.scalar(select(model).where(key == helpdesk_id))
        return _link(kind, row) if row else None

    def put(self, link: Link) -> None:
        """Create or replace a link."""
        model, key = _model(link.kind)
        values = {
            "tracker_project_id": link.tracker_project_id,
            "default_category_id": link.default_category_id,
        }
        self._session.execute(
            insert_for(self._session)(model)
            .values(**{key.key: link.helpdesk_id}, **values)
            .on_conflict_do_update(index_elements=[key], set_=values)
        )

    def remove(self, kind: LinkKind, helpdesk_id: int) -> bool:
        """Delete a link; False where there was none."""
        model, key = _model(kind)
        return self._session.scalar(delete(model).where(key == helpdesk_id).returning(key)) is not None

    def all(self) -> Sequence[Link]:
        """Return every link, projects first."""
        found: list[Link] = []
        for kind in LinkKind:
            model, key = _model(kind)
            found += [_link(kind, row) for row in self._session.scalars(select(model).order_by(key))]
        return found


def _model(kind: LinkKind) -> tuple[Any, InstrumentedAttribute[int]]:
    if kind is LinkKind.PROJECT:
        return ProjectLink, ProjectLink.helpdesk_project_id
    return EntityLink, EntityLink.entity_id


def _link(kind: LinkKind, row: ProjectLink | EntityLink) -> Link:
    helpdesk_id = row.helpdesk_project_id if isinstance(row, ProjectLink) else row.entity_id
    return Link(kind, helpdesk_id, row.tracker_project_id, row.default_category_id)
