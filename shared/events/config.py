"""The plugin configuration: one record that an administrator edits (SPEC 2.1)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import IntFlag
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from shared.errors import SettingsError
from shared.events.formatting import Formatting
from shared.notices.invalid import Invalid, faulty
from shared.notices.refusals import Refusal
from shared.values.validation import Id, Unfit, model_faults, parts_of

SENT = "send"
"""Of `private_tasks`: the text of private ticket tasks is stored and sent."""
ALL = "all"
"""Of `sync_followups`: private follow-ups are stored and sent too."""
FILE_TYPE = re.compile(r"\.[a-z0-9]{1,20}|[a-z0-9.+-]+/(?:\*|[a-z0-9.+-]+)")
MEGABYTE = 1024 * 1024


class PrivateTexts(IntFlag):
    """Whose private texts may be stored."""

    NONE = 0
    TASKS = 1
    FOLLOWUPS = 2


class PluginConfig(BaseModel):
    """What an administrator sets; the API key is kept apart and never part of it."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    base_url: str | None = Field(
        default=None,
        description=(
            "Redmine's URL. After deskbridge has created something there, it can change only with `--moved`, "
            "if the same Redmine has a new URL"
        ),
    )
    header_prefix: Literal["Tracker", "Redmine"] = Field(
        default="Redmine",
        description="Prefix of the API headers: `X-Redmine-API-Key` or `X-Tracker-API-Key`, and `…-Switch-User`",
    )
    default_tracker_id: Id | None = Field(
        default=None, description="Issue type of new issues; none: the Redmine project's default"
    )
    default_priority_id: Id | None = Field(default=None, description="Priority of new issues")
    default_activity_id: Id | None = Field(
        default=None, description="Activity of time entries; it must be enabled in the Redmine project"
    )
    default_role_id: Id | None = Field(
        default=None,
        description="Role of the technicians that deskbridge adds to a Redmine project; none: it adds no members",
    )
    membership_for: Literal["matched", "confirmed", "nobody"] = Field(
        default="matched",
        description=(
            "Users that deskbridge adds to a Redmine project: `matched`, every user with a mapping or an e-mail match; "
            "`confirmed`, only mapped or confirmed users (`deskbridge user list --confirm`); `nobody`, no user. "
            "deskbridge never adds Redmine administrators"
        ),
    )
    template_role_ids: tuple[Id, ...] = Field(
        default=(),
        description="Roles that a membership template can assign besides default_role_id, a JSON list",
    )
    match_administrators: bool = Field(
        default=True,
        description="Also match Redmine administrators by e-mail; a user mapping applies in any case",
    )
    default_watcher_ids: tuple[Id, ...] = Field(default=(), description="Watchers of new issues, a JSON list")
    status_map: dict[int, Id] = Field(
        default_factory=dict,
        description=(
            "GLPI ticket status to Redmine status id, a JSON object; unmapped statuses are not sent"
        ),
    )
    done_state: int = Field(default=2, description="The ticket-task state that means Done")
    private_tasks: Literal["hours_only", "send", "skip"] = Field(
        default="hours_only",
        description=(
            "Private ticket tasks: `hours_only` logs the hours without the text, `send` also sends the text, "
            "`skip` logs nothing. The text is stored only with `send`"
        ),
    )
    sync_followups: Literal["off", "public", "all"] = Field(
        default="off",
        description=(
            "GLPI follow-ups as notes of the Redmine issue: `off`, none; `public`, all but private ones; `all`, "
            "private ones too, as private notes. The text of private follow-ups is stored only with `all`"
        ),
    )
    sync_solutions: Literal["off", "on"] = Field(
        default="off", description="GLPI solutions as notes of the Redmine issue: `off` or `on`"
    )
    sync_documents: Literal["off", "on"] = Field(
        default="off",
        description=(
            "GLPI documents of a ticket as attachments of the Redmine issue: `off` or `on`. deskbridge fetches them "
            "from GLPI's API. Documents of private follow-ups and tasks are never sent"
        ),
    )
    document_max_mb: int = Field(
        default=10,
        ge=1,
        le=25,
        description="Largest document that is sent, in MB, at most 25; Redmine has a limit of its own",
    )
    document_refused_types: tuple[str, ...] = Field(
        default=(),
        description='Types of documents that are not sent, a JSON list such as `["video/*", ".exe"]`',
    )
    in_doubt_policy: Literal["lookup", "hold"] = Field(
        default="lookup",
        description="After a lost answer: `lookup` looks in Redmine, `hold` puts the creation on hold",
    )
    spent_on: Literal["task_date", "omit"] = Field(
        default="task_date",
        description=(
            "The day of a time entry: `task_date`, the day of the work (`task.date`), if the event contains it; "
            "`omit`, the day it is sent"
        ),
    )
    text_formatting: Formatting | None = Field(
        default=None,
        description=(
            'Redmine\'s setting "Text formatting": `textile`, `markdown`, `common_mark`, or `plain` to send texts '
            "unchanged. Texts that Redmine would change are sent as a code block. None: as `plain`, with a warning "
            "of the doctor"
        ),
    )
    correct_authors: bool = Field(
        default=False,
        description=(
            "Let operators give time entries that were logged under another name to the right person (page *Wrong "
            "authors*, `deskbridge author correct`)"
        ),
    )
    project_activities: bool = Field(
        default=False,
        description=("Also read the activities of each Redmine project (`include=time_entry_activities`)"),
    )
    verify_tls: bool = Field(default=True, description="Check Redmine's TLS certificate")
    trial: bool = Field(
        default=False,
        description=(
            "Trial mode: events are planned and kept, and nothing is sent to Redmine for them. `off` sends what waits; "
            "`deskbridge trial off --drop` drops it"
        ),
    )

    @property
    def sends_private_text(self) -> bool:
        """Whether the text of private ticket tasks may be stored and sent."""
        return self.private_tasks == SENT

    @property
    def sends_notes(self) -> bool:
        """Whether follow-ups or solutions are sent."""
        return self.sync_followups != "off" or self.sync_solutions != "off"

    @property
    def sends_private_followups(self) -> bool:
        """Whether private follow-ups may be stored and sent."""
        return self.sync_followups == ALL

    @property
    def sends_documents(self) -> bool:
        """Whether documents are sent."""
        return self.sync_documents == "on"

    @property
    def document_most(self) -> int:
        """The bytes of the largest document that is sent."""
        return self.document_max_mb * MEGABYTE

    @field_validator("document_refused_types")
    @classmethod
    def _file_types(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        found = tuple(one.strip().lower() for one in values)
        if not all(map(FILE_TYPE.fullmatch, found)):
            raise Unfit(Invalid.FILE_TYPE_EXPECTED())
        return found

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
