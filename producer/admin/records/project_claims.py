"""Claims of tracker projects that forms create: made before the call, so that a repeated form creates no second one."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, cast

from sqlalchemy import ColumnElement, Table, and_, delete, or_, select, update
from sqlalchemy.orm import Session

from producer.admin.records.models import ProjectClaim
from shared.notices.notice import Notice
from shared.store.configuration.mappings import MappingKind
from shared.store.tables.explained import reason_columns
from shared.store.tables.types import clock, insert_for

CLAIMS = cast(Table, ProjectClaim.__table__)


class ClaimState(StrEnum):
    """The state of the creation of a tracker project."""

    FREE = "free"
    CLAIMED = "claimed"
    CREATED = "created"


class ProjectClaims:
    """Reads and writes claims within one transaction; each change is one compare-and-set by attempt number."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, identifier: str) -> ProjectClaim | None:
        """Return the claim of an identifier."""
        return self._session.scalar(select(ProjectClaim).where(ProjectClaim.identifier == identifier))

    def claim(
        self, identifier: str, kind: MappingKind, helpdesk_id: int, *, attempt: int, settling: float
    ) -> int | None:
        """Claim an identifier for a form of a helpdesk project or entity.

        Args:
            identifier: identifier of the tracker project.
            kind: project or entity.
            helpdesk_id: its id.
            attempt: the attempt number that was read, 0 if there was no claim.
            settling: seconds after which a new attempt is allowed even if the result of this one is unknown.

        Returns:
            The new attempt number, or None if another process was faster.
        """
        values: dict[str, Any] = {
            "link_kind": str(kind),
            "helpdesk_id": helpdesk_id,
            "state": ClaimState.CLAIMED,
            "settle_after": clock(settling),
            "tracker_project_id": None,
            **reason_columns(None),
            "changed_at": clock(),
        }
        statement = (
            insert_for(self._session)(CLAIMS)
            .values(identifier=identifier, attempt=attempt + 1, **values)
            .on_conflict_do_update(
                index_elements=["identifier"],
                set_={**values, "attempt": ProjectClaim.attempt + 1},
                where=and_(
                    ProjectClaim.attempt == attempt,
                    or_(ProjectClaim.state != ClaimState.CLAIMED, ProjectClaim.settle_after <= clock()),
                ),
            )
            .returning(ProjectClaim.attempt)
        )
        claimed: int | None = self._session.scalar(statement)
        return claimed

    def created(self, identifier: str, tracker_project_id: int) -> None:
        """Record the project that a claim created; the new attempt number outdates searches that did not find it."""
        self._set(
            ProjectClaim.identifier == identifier,
            state=ClaimState.CREATED,
            attempt=ProjectClaim.attempt + 1,
            tracker_project_id=tracker_project_id,
            settle_after=None,
        )

    def free(self, identifier: str, attempt: int, reason: Notice) -> None:
        """Release a claim whose call was refused or never sent."""
        mine = and_(ProjectClaim.identifier == identifier, ProjectClaim.attempt == attempt)
        self._set(mine, state=ClaimState.FREE, settle_after=None, **reason_columns(reason))

    def forget_tracker(self) -> None:
        """Delete every claim, because the tracker is another one now."""
        self._session.execute(delete(ProjectClaim))

    def _set(self, where: ColumnElement[bool], **values: Any) -> None:
        self._session.execute(update(CLAIMS).where(where).values(**values, changed_at=clock()))
