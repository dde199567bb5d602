"""Stores payload templates, their versions and their history (SPEC 2.2, 9.1 "Template store")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from sqlalchemy import Table, delete, func, select, update
from sqlalchemy.orm import Session

from shared.store.configuration.basis import note_change
from shared.store.tables.configuration import PayloadTemplate, TemplateChange, TemplateVersion
from shared.store.tables.types import clock


class Change(StrEnum):
    """A change of a template."""

    SAVED = "saved"
    ACTIVATED = "activated"
    DEACTIVATED = "deactivated"
    ROLLED_BACK = "rolled back"


@dataclass(frozen=True, slots=True)
class ActiveTemplate:
    """The template that is active for an operation.

    Attributes:
        version: the active version.
        body: its text.
    """

    id: int
    operation: str
    name: str
    version: int
    body: str

    def __str__(self) -> str:
        return f"template {self.id} ({self.name}), version {self.version}"

    @property
    def named(self) -> dict[str, Any]:
        """The template's identifying data, as parameters of a code."""
        return {
            "id": self.id,
            "name": self.name,
            "version": self.version,
            "operation": str(self.operation),
        }


@dataclass(frozen=True, slots=True)
class TemplateWithText:
    """A template with the text of one of its versions.

    Attributes:
        version: the version of the text.
        body: the text.
        changed: the last change of the template.
    """

    template: PayloadTemplate
    version: int
    body: str
    changed: TemplateChange


TEMPLATE, VERSION = cast(Table, PayloadTemplate.__table__), cast(Table, TemplateVersion.__table__)
ACTIVE = select(TEMPLATE.c.id, TEMPLATE.c.operation, TEMPLATE.c.name, VERSION.c.version, VERSION.c.body).join(
    VERSION, (VERSION.c.template_id == TEMPLATE.c.id) & (VERSION.c.version == TEMPLATE.c.active_version)
)


class Templates:
    """Reads and writes templates within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def active(self) -> dict[str, ActiveTemplate]:
        """Return the active templates, by operation."""
        return {row.operation: ActiveTemplate(*row) for row in self._session.execute(ACTIVE)}

    def kept(
        self, *, operation: str | None = None, template_id: int | None = None, version: int | None = None
    ) -> list[TemplateWithText]:
        """Return templates with one version's text, read in one statement, ordered by operation and name.

        Args:
            operation: return only templates of this operation.
            template_id: return only this template.
            version: the version whose text is returned; None returns the newest.
        """
        last = select(func.max(TemplateChange.id)).where(TemplateChange.template_id == PayloadTemplate.id)
        statement = (
            select(PayloadTemplate, TemplateVersion.version, TemplateVersion.body, TemplateChange)
            .join(TemplateVersion, TemplateVersion.template_id == PayloadTemplate.id)
            .join(TemplateChange, TemplateChange.id == last.correlate(PayloadTemplate).scalar_subquery())
            .where(TemplateVersion.version == (PayloadTemplate.version if version is None else version))
            .order_by(PayloadTemplate.operation, PayloadTemplate.name)
        )
        if operation is not None:
            statement = statement.where(PayloadTemplate.operation == operation)
        if template_id is not None:
            statement = statement.where(PayloadTemplate.id == template_id)
        return [TemplateWithText(*row) for row in self._session.execute(statement)]

    def get(self, template_id: int, *, lock: bool = False) -> PayloadTemplate | None:
        """Return a template.

        Args:
            template_id: its id.
            lock: whether to lock the template against changes until the transaction ends.
        """
        statement = select(PayloadTemplate).where(PayloadTemplate.id == template_id)
        return self._session.scalar(statement.with_for_update() if lock else statement)

    def named(self, operation: str, name: str) -> PayloadTemplate | None:
        """Return the template of an operation that has this name."""
        return self._session.scalar(
            select(PayloadTemplate).where(
                PayloadTemplate.operation == operation, PayloadTemplate.name == name
            )
        )

    def body(self, template_id: int, version: int) -> str | None:
        """Return the text of a version."""
        return self._session.scalar(
            select(TemplateVersion.body).where(
                TemplateVersion.template_id == template_id, TemplateVersion.version == version
            )
        )

    def create(self, operation: str, name: str, body: str, who: str) -> PayloadTemplate:
        """Store a new template; its first version is 1.

        Raises:
            IntegrityError: if the operation already has a template of this name.
        """
        made = PayloadTemplate(operation=operation, name=name, version=1, active_version=None)
        self._session.add(made)
        self._session.flush()
        self._keep(made.id, 1, body, who)
        return made

    def add_version(self, template_id: int, based_on: int, body: str, who: str) -> int | None:
        """Store a new version.

        Args:
            template_id: the template.
            based_on: the version that was edited.
            body: the new text.
            who: the person who saves it.

        Returns:
            The new version, or None if another user saved a version in the meantime.
        """
        version: int | None = self._session.scalar(
            update(PayloadTemplate)
            .where(PayloadTemplate.id == template_id, PayloadTemplate.version == based_on)
            .values(version=PayloadTemplate.version + 1)
            .returning(PayloadTemplate.version)
        )
        if version is not None:
            self._keep(template_id, version, body, who)
        return version

    def activate(
        self, template: PayloadTemplate, version: int, who: str, what: Change = Change.ACTIVATED
    ) -> None:
        """Activate a version in place of the operation's active template.

        Raises:
            IntegrityError: if another template of the operation was activated at the same moment.
        """
        others = select(PayloadTemplate).where(
            PayloadTemplate.operation == template.operation,
            PayloadTemplate.active_version.is_not(None),
            PayloadTemplate.id != template.id,
        )
        for other in self._session.scalars(others.with_for_update()).all():
            self.deactivate(other, who)
        template.active_version = version
        self._session.flush()
        note_change(self._session)
        self._note(template.id, version, what, who)

    def deactivate(self, template: PayloadTemplate, who: str) -> None:
        """Deactivate a template."""
        version, template.active_version = template.active_version, None
        self._session.flush()
        note_change(self._session)
        self._note(template.id, version or template.version, Change.DEACTIVATED, who)

    def delete(self, template_id: int) -> None:
        """Delete a template with its versions and history."""
        note_change(self._session)
        for table, column in (
            (TemplateVersion, TemplateVersion.template_id),
            (TemplateChange, TemplateChange.template_id),
            (PayloadTemplate, PayloadTemplate.id),
        ):
            self._session.execute(delete(table).where(column == template_id))

    def history(self, template_id: int) -> Sequence[TemplateChange]:
        """Return the changes of a template, newest first."""
        mine = select(TemplateChange).where(TemplateChange.template_id == template_id)
        return self._session.scalars(mine.order_by(TemplateChange.id.desc())).all()

    def _keep(self, template_id: int, version: int, body: str, who: str) -> None:
        self._session.add(TemplateVersion(template_id=template_id, version=version, body=body))
        self._note(template_id, version, Change.SAVED, who)

    def _note(self, template_id: int, version: int, what: Change, who: str) -> None:
        self._session.add(
            TemplateChange(template_id=template_id, version=version, what=what, at=clock(), who=who)
        )
