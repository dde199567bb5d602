"""The form of a tracker project (SPEC 2.3 "Project"): checked before anything is sent, field by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, ValidationError

from producer.admin.records.transaction import Store, Transaction
from shared.errors import BridgeError
from shared.events.payloads import Body
from shared.notices.faults import Detail
from shared.notices.hints import Hint
from shared.notices.invalid import Faults, Invalid, faulty
from shared.notices.notice import written
from shared.notices.refusals import Refusal
from shared.refusals.hints import hints
from shared.refusals.known import known_of
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.templating.operations import Operation
from shared.tracker.answers import clean
from shared.values.validation import Id, model_faults

MOST_FIELDS = 500

Text = Annotated[str, Field(max_length=100_000), AfterValidator(clean)]
"""Text that a person typed, without control characters: the tracker answers some of them with an error."""


class FormRefused(BridgeError):
    """A form that cannot be carried out; nothing was created.

    Args:
        faults: one entry per fault: (field, what is wrong with it).
    """

    def __init__(self, faults: Faults) -> None:
        super().__init__(faulty(Refusal.FORM_NOT_VALID, faults))


class ProjectForm(BaseModel):
    """What a person filled in to create a tracker project."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: Text
    identifier: Text
    description: Text | None = None
    is_public: StrictBool = False
    parent_id: Id | None = None
    enabled_module_names: (
        Annotated[list[Annotated[Text, Field(max_length=255)]], Field(max_length=100)] | None
    ) = None
    custom_field_values: Annotated[dict[str, Text | list[Text]], Field(max_length=MOST_FIELDS)] = {}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> ProjectForm:
        """Return the form without control characters in its texts, and with a lower-case identifier (SPEC 2.4).

        Raises:
            FormRefused: if fields are missing, unknown or of the wrong type; it names each of them.
        """
        try:
            form = cls.model_validate(dict(values))
        except ValidationError as error:
            raise FormRefused(model_faults(error)) from None
        return form.model_copy(
            update={"name": form.name.strip(), "identifier": form.identifier.strip().lower()}
        )

    def for_templates(self) -> dict[str, Any]:
        """Return the form as templates see it, with several values of a field joined to one text."""
        values = {
            name: ", ".join(value) if isinstance(value, list) else value
            for name, value in self.custom_field_values.items()
        }
        return {**self.model_dump(), "custom_field_values": values}

    def body(self) -> Body:
        """Return the request that creates the project; empty fields are left to the tracker's defaults."""
        values = self.model_dump(exclude_none=True)
        if not values["custom_field_values"]:
            del values["custom_field_values"]
        return {"project": values}


def faults_of(tx: Transaction, project: Mapping[str, Any]) -> Faults:
    """Return what the tracker would refuse, as far as the cache shows, by the form's field names.

    Args:
        tx: an open transaction.
        project: what will be sent: the form itself, or what a template made of it.
    """
    found = hints(Operation.PROJECT_CREATE, {"project": dict(project)}, known_of(tx, None))
    # an earlier attempt of this form may have taken the identifier; that is looked up later
    return [
        (one.field.removeprefix("project."), Detail.EXPLAINED_BY(problem=one.why, record=one.record))
        for one in found
        if one.why.code != Hint.IDENTIFIER_TAKEN
    ]


def fields_of_projects(store: Store) -> list[Entry]:
    """Return the custom fields of projects."""
    with store.transaction() as tx:
        return _project_fields(tx)


def refusal(tx: Transaction, messages: Sequence[str]) -> FormRefused:
    """Return the tracker's messages as faults; one that begins with a custom field's name belongs to that field.

    Other messages are in the tracker's language and name no field, so they apply to the whole form.
    """
    fields = sorted(_project_fields(tx), key=lambda field: -len(field.name))

    def place(message: str) -> str:
        field = next((one for one in fields if one.name and message.startswith(f"{one.name} ")), None)
        return f"custom_field_values.{field.tracker_id}" if field else ""

    return FormRefused(
        [(place(one), written(one)) for one in messages] or [("", Invalid.NO_REASON_FROM_TRACKER())]
    )


def _project_fields(tx: Transaction) -> list[Entry]:
    fields = tx.metadata.of_kind(MetadataKind.CUSTOM_FIELD)
    return [one for one in fields if one.details["customized_type"] == "project"]
