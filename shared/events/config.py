"""The plugin configuration: one record that an administrator edits (SPEC 2.1)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from shared.errors import SettingsError
from shared.events.formatting import Formatting
from shared.notices.invalid import Invalid, faulty
from shared.notices.refusals import Refusal
from shared.values.validation import Id, Unfit, model_faults, parts_of

SENT = "send"
"""Of `private_tasks`: the text of private ticket tasks is stored and sent."""


class PluginConfig(BaseModel):
    """What an administrator sets; the API key is kept apart and never part of it."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    base_url: str | None = Field(
        default=None,
        description=(
            "The tracker's address. Once something was created there it cannot be changed, except "
            "(`--moved`) when the same tracker moved"
        ),
    )
    header_prefix: Literal["Tracker", "Redmine"] = Field(
        default="Redmine",
        description="Header dialect: `X-Redmine-API-Key` or `X-Tracker-API-Key`, and the Switch-User header alike",
    )
    default_tracker_id: Id | None = Field(
        default=None, description="Issue type of new issues; none: the tracker project's own default"
    )
    default_priority_id: Id | None = Field(default=None, description="Priority of new issues")
    default_activity_id: Id | None = Field(
        default=None, description="Activity of time entries; it must be enabled in the tracker project"
    )
    default_role_id: Id | None = Field(
        default=None,
        description="Role that a technician is given in the tracker project; none: nobody is made a member",
    )
    membership_for: Literal["matched", "confirmed", "nobody"] = Field(
        default="matched",
        description=(
            "Who is made a member of the tracker project: `matched`, everybody who is matched, by e-mail "
            "too; `confirmed`, whom a person has mapped or confirmed (`deskbridge users --confirm`); "
            "`nobody`. A tracker administrator never is"
        ),
    )
    template_role_ids: tuple[Id, ...] = Field(
        default=(),
        description="Roles that a membership template may give beside default_role_id, a JSON list",
    )
    match_administrators: bool = Field(
        default=True,
        description="Match the tracker's administrators by e-mail, too; an override names them in any case",
    )
    default_watcher_ids: tuple[Id, ...] = Field(default=(), description="Watchers of new issues, a JSON list")
    status_map: dict[int, Id] = Field(
        default_factory=dict,
        description=(
            "Helpdesk ticket status to tracker status id, a JSON object; a status that is not in it is "
            "not sent"
        ),
    )
    done_state: int = Field(default=2, description="The ticket-task state that means Done")
    private_tasks: Literal["hours_only", "send", "skip"] = Field(
        default="hours_only",
        description=(
            "Private ticket tasks: `hours_only` logs the hours with the comment of a task without text, `send` sends "
            "the text too, `skip` logs nothing. Unless it is `send`, the text is not even stored"
        ),
    )
    in_doubt_policy: Literal["lookup", "hold"] = Field(
        default="lookup",
        description="After a lost answer: `lookup` asks the tracker, `hold` leaves it to a person",
    )
    spent_on: Literal["task_date", "omit"] = Field(
        default="task_date",
        description=(
            "The day of a time entry: `task_date`, that of the work (`task.date`), where the event says it; "
            "`omit`, the day on which it is sent"
        ),
    )
    text_formatting: Formatting | None = Field(
        default=None,
        description=(
            'How the tracker renders descriptions (its setting "Text formatting"): `textile`, `markdown`, '
            "`common_mark`, or `plain` to send texts as they are. Texts that it would change are sent in a fence. "
            "None: as `plain`, and the doctor asks"
        ),
    )
    project_activities: bool = Field(
        default=False,
        description=(
            "Metadata also says which activities each tracker project has of its own "
            "(`include=time_entry_activities`)"
        ),
    )
    verify_tls: bool = Field(default=True, description="Check the tracker's certificate")

    @property
    def sends_private_text(self) -> bool:
        """Whether the text of private ticket tasks may be stored and sent."""
        return self.private_tasks == SENT

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        if not value.strip().isprintable():  # urlsplit leaves some out without a word
            raise Unfit(Invalid.ADDRESS_NOT_PRINTABLE())
        parts = parts_of(value.strip())
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            raise Unfit(Invalid.TRACKER_ADDRESS_EXPECTED())
        if parts.username or parts.password or parts.query or parts.fragment:
            raise Unfit(Invalid.ADDRESS_WITH_MORE())
        return value.strip().rstrip("/")

    def changed(self, assignments: Mapping[str, str]) -> PluginConfig:
        """Return a copy with values as a person typed them (JSON, or plain text; an empty one is the default).

        Raises:
            SettingsError: naming each key that does not exist or value that does not fit.
        """
        unknown = sorted(set(assignments) - set(type(self).model_fields))
        if unknown:
            raise SettingsError(Refusal.CONFIG_KEY_UNKNOWN(keys=unknown, known=list(type(self).model_fields)))
        values = {name: _typed(name, text) for name, text in assignments.items()}
        try:
            return type(self).model_validate({**self.model_dump(), **values})
        except ValidationError as error:
            raise SettingsError(faulty(Refusal.CONFIG_NOT_VALID, model_faults(error))) from None


def _typed(name: str, text: str) -> Any:
    field = PluginConfig.model_fields[name]
    if not text.strip():
        return field.get_default(call_default_factory=True)
    if name in ("base_url", "header_prefix"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
