"""The form of a tracker project (SPEC 2.3 "Project"): checked before anything is sent, field by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, ValidationError

from shared.codes.refusals import Refusal
from shared.errors import BridgeError, NotFound
from shared.metadata.confirming import confirm
from shared.payloads import IDENTIFIER, LONGEST_IDENTIFIER, LONGEST_NAME, RESERVED, Body
from shared.store import Store, Transaction
from shared.store.metadata import Entry, MetadataKind
from shared.tracker.answers import clean
from shared.validation import Id, model_faults

MOST_FIELDS = 500
FIELD_RECORD = "KB-TRACKER-003"
"""The knowledge record on required custom fields."""

Faults = list[tuple[str, str]]
Text = Annotated[str, Field(max_length=100_000), AfterValidator(clean)]
"""What a person typed; the tracker answers some control characters with an error of its own."""


class FormRefused(BridgeError):
    """A form that cannot be carried out; nothing was created.

    Args:
        faults: one entry per fault: (field, what is wrong with it).
    """

    otherwise = Refusal.FORM_NOT_VALID

    def __init__(self, faults: Sequence[tuple[str, str]]) -> None:
        self.faults = tuple(faults)
        super().__init__(
            "; ".join(f"{field}: {problem}" if field else problem for field, problem in self.faults)
        )


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
        """Return the form without control characters in its texts, its identifier lower-cased (SPEC 2.4).

        Raises:
            FormRefused: naming each field that is missing, unknown or of the wrong type.
        """
        try:
            form = cls.model_validate(dict(values))
        except ValidationError as error:
            raise FormRefused(model_faults(error)) from None
        return form.model_copy(
            update={"name": form.name.strip(), "identifier": form.identifier.strip().lower()}
        )

    def for_templates(self) -> dict[str, Any]:
        """Return the form as templates see it: several values of a field as one text."""
        values = {
            name: ", ".join(value) if isinstance(value, list) else value
            for name, value in self.custom_field_values.items()
        }
        return {**self.model_dump(), "custom_field_values": values}

    def body(self) -> Body:
        """Return the request that creates it; what is empty is left to the tracker's own defaults."""
        values = self.model_dump(exclude_none=True)
        if not values["custom_field_values"]:
            del values["custom_field_values"]
        return {"project": values}


def faults_of(tx: Transaction, project: Mapping[str, Any]) -> Faults:
    """Return what the tracker would refuse, as far as the cache can tell, in the form's words.

    Args:
        tx: an open transaction.
        project: what is to be sent: the form itself, or what a template made of it.
    """
    return [*_name_faults(project), *_parent_faults(tx, project), *_custom_field_faults(tx, project)]


def fields_of_projects(store: Store) -> list[Entry]:
    """Return the custom fields that a project has."""
    with store.transaction() as tx:
        return _project_fields(tx)


def refusal(tx: Transaction, messages: Sequence[str]) -> FormRefused:
    """Return the tracker's own messages as faults; one that begins with a custom field's name belongs to it.

    Other messages are in the tracker's language and name no field, so they stand for the whole form.
    """
    fields = sorted(_project_fields(tx), key=lambda field: -len(field.name))

    def place(message: str) -> str:
        field = next((one for one in fields if one.name and message.startswith(f"{one.name} ")), None)
        return f"custom_field_values.{field.tracker_id}" if field else ""

    return FormRefused(
        [(place(one), one) for one in messages] or [("", "the tracker refused it without a reason")]
    )


def _name_faults(project: Mapping[str, Any]) -> Faults:
    faults: Faults = []
    name, identifier = str(project.get("name") or ""), str(project.get("identifier") or "")
    if not name.strip():
        faults.append(("name", "a name is needed"))
    if len(name) > LONGEST_NAME:
        faults.append(("name", f"at most {LONGEST_NAME} characters"))
    if len(identifier) > LONGEST_IDENTIFIER:
        faults.append(("identifier", f"at most {LONGEST_IDENTIFIER} characters"))
    elif not IDENTIFIER.fullmatch(identifier) or identifier in RESERVED:
        faults.append(
            (
                "identifier",
                "lowercase letters a to z, digits, dashes and underscores, not only digits, and not `new`",
            )
        )
    return faults


def _parent_faults(tx: Transaction, project: Mapping[str, Any]) -> Faults:
    if project.get("parent_id") is None:
        return []
    try:
        confirm(tx, MetadataKind.PROJECT, project["parent_id"])
    except NotFound as unknown:
        return [("parent_id", str(unknown))]
    return []


def _custom_field_faults(tx: Transaction, project: Mapping[str, Any]) -> Faults:
    """Ask for required fields before the call, and refuse values that the tracker would drop or refuse."""
    fields = {str(one.tracker_id): one for one in _project_fields(tx)}
    values = _custom_values(project)
    faults: Faults = []
    for field_id in values:
        if not field_id.isascii() or not field_id.isdigit() or (fields and field_id not in fields):
            known = ", ".join(map(str, fields.values())) or "none"
            faults.append(
                (f"custom_field_values.{field_id[:20]}", f"no such field of projects; there are: {known}")
            )
    for field_id, field in fields.items():
        given, place = values.get(field_id), f"custom_field_values.{field_id}"
        value = given.strip() if isinstance(given, str) else given
        if (
            value in (None, "", [])
            and field.details["is_required"]
            and field.details["default_value"] is None
        ):
            faults.append((place, f"the tracker requires {field.name} ({FIELD_RECORD})"))
        choices = [one["value"] for one in field.details["possible_values"]]
        closed = choices and field.details["field_format"] in ("list", "enumeration")
        unknown = [
            one for one in (value if isinstance(value, list) else [value]) if one and one not in choices
        ]
        if closed and unknown:
            faults.append((place, f"{field.name} is one of: {', '.join(choices[:20])}"))
    return faults


def _custom_values(project: Mapping[str, Any]) -> dict[str, Any]:
    """Return custom-field values by id; a template may also give them as a list, as the tracker's own API does."""
    listed = project.get("custom_fields") or ()
    values = {str(one["id"]): one.get("value") for one in listed if isinstance(one, dict) and "id" in one}
    return {**values, **(project.get("custom_field_values") or {})}


def _project_fields(tx: Transaction) -> list[Entry]:
    fields = tx.metadata.of_kind(MetadataKind.CUSTOM_FIELD)
    return [one for one in fields if one.details["customized_type"] == "project"]
