"""Actions on the template store: save, activate, roll back (SPEC 9.1 "Template store").

Saving never changes what is sent: a new version waits until it is activated. So a faulty text can be saved as a draft,
but it can never be active.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import AwareDatetime
from sqlalchemy.exc import IntegrityError

from producer.admin.presenters.shapes import Answer, WithNotice
from producer.admin.records.transaction import Store, Transaction
from producer.admin.templates.template_values import unfit_constant
from shared.bodies.contexts import custom_fields_of, engine_for, operation_of
from shared.errors import BridgeError, NotFound, TemplateError
from shared.notices.changes import Did
from shared.notices.invalid import Invalid, faulty
from shared.notices.notice import Notice, notice_json
from shared.notices.refusals import Refusal
from shared.notices.render import sentence
from shared.notices.templates import TemplateRefusal
from shared.store.configuration.templates import Change, TemplateWithText
from shared.store.tables import configuration
from shared.store.tables.configuration import PayloadTemplate
from shared.templating.operations import CustomField, Operation
from shared.templating.values import BODY_BYTES
from shared.values.characters import NOT_STORABLE

LONGEST_NAME = 100


class TemplateRefused(BridgeError):
    """An action on a template that is refused, or an invalid field of it."""


class EditedMeanwhile(BridgeError):
    """Another user saved a version after the edited one; nothing was saved."""


class TemplateFault(WithNotice):
    """A fault in a template, and its place."""

    message: str
    line: int
    column: int

    sentence_name = "message"

    @classmethod
    def of(cls, fault: TemplateError) -> Self:
        """Return what is wrong with a template."""
        told = notice_json(fault.notice)
        return cls(message=fault.message, line=fault.line, column=fault.column, **told)

    @property
    def problem(self) -> Notice:
        """What is wrong, without its place."""
        problem: Notice = self.notice.params["message"]
        return problem

    def __str__(self) -> str:
        return sentence(self.notice)


class Template(Answer):
    """A template; if it has a `fault`, its newest version is a draft."""

    id: int
    operation: Operation
    name: str
    version: int
    active_version: int | None
    body: str
    fault: TemplateFault | None
    changed_at: AwareDatetime
    changed_by: str


class TemplateChange(Answer):
    """An entry of a template's history."""

    version: int
    what: str
    at: AwareDatetime
    who: str


class TemplateStore:
    """The actions of administrators on templates.

    Args:
        store: the database.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def custom_fields(self) -> tuple[CustomField, ...]:
        """Return the tracker's custom fields, which templates can give a value."""
        with self._store.transaction() as tx:
            return custom_fields_of(tx)

    def list(self, operation: str | None = None) -> list[Template]:
        """Return the templates, of one operation if one is named.

        Raises:
            NotFound: if there is no such operation.
        """
        wanted = str(operation_of(operation)) if operation is not None else None
        with self._store.transaction() as tx:
            return [_described(tx, kept) for kept in tx.templates.kept(operation=wanted)]

    def show(self, template_id: int, version: int | None = None) -> Template:
        """Return one template, with the text of its newest version or of the one that is named.

        Raises:
            NotFound: if there is no such template, or version of it.
        """
        with self._store.transaction() as tx:
            return _as_it_is(tx, _found(tx, template_id), version)

    def create(self, operation: str, name: str, body: str, who: str) -> Template:
        """Save a new template.

        Args:
            operation: what it is for.
            name: for people; unique among the operation's.
            body: its text; a faulty one is saved as a draft.
            who: the user who saves it.

        Raises:
            NotFound: if there is no such operation.
            TemplateRefused: if the name is taken or invalid, or the text cannot be stored.
        """
        wanted = operation_of(operation)
        name = name.strip()
        _check(body, name)
        taken = _wrong("name", Invalid.TEMPLATE_NAME_TAKEN(operation=str(wanted), name=name))
        try:
            with self._store.transaction() as tx:
                if tx.templates.named(wanted, name) is not None:
                    raise taken
                kept = tx.templates.create(wanted, name, body, who)
                _note(tx, Did.TEMPLATE_SAVED(version=1, name=name), kept)
                return _as_it_is(tx, kept)
        except IntegrityError:
            raise taken from None

    def edit(
        self, template_id: int, body: str, who: str, *, based_on: int, activate: bool = False
    ) -> Template:
        """Save a new version of a template; the active version stays active.

        Args:
            template_id: the template.
            body: the new text; a faulty one is saved as a draft.
            who: the user who saves it.
            based_on: the version that was edited.
            activate: activate it in the same transaction; a faulty text is then refused, and nothing is saved.

        Raises:
            NotFound: if there is no such template.
            TemplateError: if the text to be activated is faulty.
            TemplateRefused: if the text cannot be stored.
            EditedMeanwhile: if another user saved a version after `based_on`.
        """
        _check(body)
        with self._store.transaction() as tx:
            template = _found(tx, template_id, lock=True)
            if tx.templates.add_version(template_id, based_on, body, who) is None:
                raise EditedMeanwhile(
                    TemplateRefusal.TEMPLATE_CONFLICT(
                        template_id=template_id, version=template.version, based_on=based_on
                    )
                )
            _note(tx, Did.TEMPLATE_SAVED(version=template.version, name=template.name), template)
            if activate:
                return self._activate(tx, template, template.version, who, Change.ACTIVATED)
            return _as_it_is(tx, template)

    def activate(self, template_id: int, who: str, version: int | None = None) -> Template:
        """Activate a version, by default the newest; it replaces the operation's active template.

        Raises:
            NotFound: if there is no such template, or version of it.
            TemplateError: if the version is faulty.
            TemplateRefused: if another template of the operation was activated at the same moment.
        """
        with self._store.transaction() as tx:
            template = _found(tx, template_id, lock=True)
            return self._activate(tx, template, version or template.version, who, Change.ACTIVATED)

    def deactivate(self, template_id: int, who: str) -> Template:
        """Deactivate a template; the operation uses the 1.x body again.

        Raises:
            NotFound: if there is no such template.
            TemplateRefused: if it is not active.
        """
        with self._store.transaction() as tx:
            template = _found(tx, template_id, lock=True)
            if template.active_version is None:
                raise TemplateRefused(TemplateRefusal.TEMPLATE_NOT_ACTIVE(template_id=template_id))
            _note(tx, Did.TEMPLATE_DEACTIVATED(name=template.name), template)
            tx.templates.deactivate(template, who)
            return _as_it_is(tx, template)

    def roll_back(self, template_id: int, who: str, version: int | None = None) -> Template:
        """Activate an earlier version again, by default the one that was active before.

        Raises:
            NotFound: if there is no such template or version, or none was active before.
            TemplateError: if the version is faulty by now.
            TemplateRefused: if another template of the operation was activated at the same moment.
        """
        with self._store.transaction() as tx:
            template = _found(tx, template_id, lock=True)
            wanted = version or _active_before(tx.templates.history(template_id), template.active_version)
            if wanted is None:
                raise NotFound(Refusal.NO_VERSION_BEFORE(template_id=template_id))
            return self._activate(tx, template, wanted, who, Change.ROLLED_BACK)

    def delete(self, template_id: int) -> None:
        """Delete a template with its versions and history.

        Raises:
            NotFound: if there is no such template.
            TemplateRefused: if it is active.
        """
        with self._store.transaction() as tx:
            template = _found(tx, template_id, lock=True)
            if template.active_version is not None:
                raise TemplateRefused(TemplateRefusal.TEMPLATE_IS_ACTIVE(template_id=template_id))
            _note(tx, Did.TEMPLATE_DELETED(name=template.name), template)
            tx.templates.delete(template_id)

    def history(self, template_id: int) -> Sequence[TemplateChange]:
        """Return the history of a template, newest first.

        Raises:
            NotFound: if there is no such template.
        """
        with self._store.transaction() as tx:
            _found(tx, template_id)
            found = tx.templates.history(template_id)
        return [TemplateChange(version=one.version, what=one.what, at=one.at, who=one.who) for one in found]

    @staticmethod
    def _activate(
        tx: Transaction, template: PayloadTemplate, version: int, who: str, what: Change
    ) -> Template:
        engine_for(Operation(template.operation), tx).check(_text(tx, template, version))
        did = Did.TEMPLATE_ROLLED_BACK if what is Change.ROLLED_BACK else Did.TEMPLATE_ACTIVATED
        before = {"active_version": template.active_version}
        try:
            tx.templates.activate(template, version, who, what)
        except IntegrityError:
            raise TemplateRefused(TemplateRefusal.TEMPLATE_ACTIVATED_MEANWHILE()) from None
        _note(tx, did(version=version, name=template.name), template, before, {"active_version": version})
        return _as_it_is(tx, template)


def _note(
    tx: Transaction,
    did: Notice,
    template: PayloadTemplate,
    before: dict[str, int | None] | None = None,
    after: dict[str, int | None] | None = None,
) -> None:
    tx.changes.note(Notice(did.code, {**did.params, "template_id": template.id}), before=before, after=after)


def _found(tx: Transaction, template_id: int, *, lock: bool = False) -> PayloadTemplate:
    template = tx.templates.get(template_id, lock=lock)
    if template is None:
        raise NotFound(Refusal.TEMPLATE_UNKNOWN(template_id=template_id))
    return template


def _text(tx: Transaction, template: PayloadTemplate, version: int) -> str:
    body = tx.templates.body(template.id, version)
    if body is None:
        raise _no_version(template, version)
    return body


def _no_version(template: PayloadTemplate, version: int) -> NotFound:
    return NotFound(
        Refusal.TEMPLATE_VERSION_UNKNOWN(template_id=template.id, version=version, newest=template.version)
    )


def _as_it_is(tx: Transaction, template: PayloadTemplate, version: int | None = None) -> Template:
    found = tx.templates.kept(template_id=template.id, version=version)
    if not found:
        raise _no_version(template, version or template.version)
    return _described(tx, found[0])


def _described(tx: Transaction, kept: TemplateWithText) -> Template:
    template, operation = kept.template, Operation(kept.template.operation)
    fault = fault_of(tx, operation, kept.body)
    return Template(
        id=template.id,
        operation=operation,
        name=template.name,
        version=kept.version,
        active_version=template.active_version,
        body=kept.body,
        fault=TemplateFault.of(fault) if fault else None,
        changed_at=kept.changed.at,
        changed_by=kept.changed.who,
    )


def fault_of(tx: Transaction, operation: Operation, body: str) -> TemplateError | None:
    """Return why a text cannot be a template of an operation, or None if it can."""
    try:
        engine_for(operation, tx).check(body)
    except TemplateError as fault:
        return fault
    return unfit_constant(tx, operation, body)


def _active_before(history: Sequence[configuration.TemplateChange], now: int | None) -> int | None:
    """Return the previously active version, from a history with the newest first."""
    put = (change.version for change in history if change.what in (Change.ACTIVATED, Change.ROLLED_BACK))
    return next((version for version in put if version != now), None)


def _check(body: str, name: str | None = None) -> None:
    if name is not None and not 0 < len(name) <= LONGEST_NAME:
        raise _wrong("name", Invalid.TEXT_LENGTH_WRONG(least=1, most=LONGEST_NAME))
    for field, text in (("name", name or ""), ("body", body)):
        if NOT_STORABLE.search(text):
            raise _wrong(field, Invalid.TEXT_NOT_STORABLE())
    if len(body.encode()) > BODY_BYTES:
        raise _wrong("body", Invalid.TOO_MANY_BYTES(most=BODY_BYTES))


def _wrong(field: str, problem: Notice) -> TemplateRefused:
    return TemplateRefused(faulty(TemplateRefusal.TEMPLATE_FIELD_NOT_VALID, [(field, problem)]))
