"""The Redmine settings: one record that an administrator edits (SPEC 2.1)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import IntFlag
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from shared.errors import SettingsError
from shared.events.formatting import Formatting
from shared.events.setting import Setting
from shared.notices.invalid import Invalid, faulty
from shared.notices.language import N_
from shared.notices.refusals import Refusal
from shared.values.validation import Id, Unfit, model_faults, parts_of

SENT = "send"
"""Value of `private_tasks`: the text of private ticket tasks is stored and sent."""
ALL = "all"
"""Value of `sync_followups`: private follow-ups are stored and sent too."""
FILE_TYPE = re.compile(r"\.[a-z0-9]{1,20}|[a-z0-9.+-]+/(?:\*|[a-z0-9.+-]+)")
MEGABYTE = 1024 * 1024

HELPDESK_STATUSES = {
    1: N_("New"),
    2: N_("Assigned"),
    3: N_("Planned"),
    4: N_("Pending"),
    5: N_("Solved"),
    6: N_("Closed"),
}
"""GLPI's ticket statuses."""


class PrivateTexts(IntFlag):
    """Kinds of private texts: those of ticket tasks, those of follow-ups."""

    NONE = 0
    TASKS = 1
    FOLLOWUPS = 2


class PluginConfig(BaseModel):
    """The Redmine settings, in the order of the settings pages; the API key is stored separately."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    base_url: Annotated[
        str | None,
        Setting(
            "redmine",
            N_("Address"),
            N_(
                "For example https://redmine.example.org. If you change it, enter the API key again, because the "
                "stored key is never sent to another address."
            ),
        ),
    ] = Field(
        default=None,
        description=(
            "Redmine's URL. After deskbridge has created something there, it can change only with `--moved`, "
            "if the same Redmine has a new URL"
        ),
    )
    header_prefix: Annotated[
        Literal["Tracker", "Redmine"],
        Setting(
            "redmine",
            N_("Header prefix"),
            choices={"Redmine": "X-Redmine-API-Key", "Tracker": "X-Tracker-API-Key"},
        ),
    ] = Field(
        default="Redmine",
        description="Prefix of the API headers: `X-Redmine-API-Key` or `X-Tracker-API-Key`, and `…-Switch-User`",
    )
    verify_tls: Annotated[bool, Setting("redmine", N_("Check the certificate"))] = Field(
        default=True, description="Check Redmine's TLS certificate"
    )
    text_formatting: Annotated[
        Formatting | None,
        Setting(
            "redmine",
            N_("Text formatting"),
            N_(
                "The same as in Redmine (Administration, Settings, General). Characters that Redmine would interpret "
                "are escaped."
            ),
            empty=N_("not chosen yet"),
            choices={
                "textile": "Textile",
                "markdown": "Markdown",
                "common_mark": "CommonMark Markdown",
                "plain": N_("none: send texts as they are"),
            },
        ),
    ] = Field(
        default=None,
        description=(
            'Redmine\'s setting "Text formatting": `textile`, `markdown`, `common_mark`, or `plain` to send texts '
            "unchanged. Characters that Redmine would interpret are escaped. None: as `plain`, with a warning "
            "of the doctor"
        ),
    )
    default_tracker_id: Annotated[
        Id | None,
        Setting(
            "defaults",
            N_("Issue type"),
            N_("Leave empty for the Redmine project's default."),
            kind="issue_type",
            empty=N_("none"),
        ),
    ] = Field(default=None, description="Issue type of new issues; none: the Redmine project's default")
    default_priority_id: Annotated[
        Id | None, Setting("defaults", N_("Priority"), kind="priority", empty=N_("none"))
    ] = Field(default=None, description="Priority of new issues")
    default_activity_id: Annotated[
        Id | None,
        Setting(
            "defaults",
            N_("Activity"),
            N_("It must be enabled in the project."),
            kind="activity",
            empty=N_("none"),
        ),
    ] = Field(default=None, description="Activity of time entries; it must be enabled in the Redmine project")
    default_role_id: Annotated[
        Id | None,
        Setting(
            "defaults",
            N_("Role"),
            N_(
                "deskbridge adds technicians to Redmine projects with this role. If empty, it adds no members."
            ),
            kind="role",
            empty=N_("none"),
        ),
    ] = Field(
        default=None,
        description=(
            "Role of the technicians that deskbridge adds to a Redmine project, for the issues and time entries that "
            "it sends; none: it adds no members"
        ),
    )
    default_watcher_ids: Annotated[
        tuple[Id, ...],
        Setting("defaults", N_("Watchers"), kind="user", empty=N_("New issues have no watchers.")),
    ] = Field(default=(), description="Watchers of new issues, a JSON list")
    status_map: Annotated[
        dict[int, Id],
        Setting(
            "status-map",
            N_("Status"),
            N_("Unmapped statuses are never sent."),
            kind="status",
            empty=N_("not sent"),
            keys=HELPDESK_STATUSES,
            row=N_("Redmine status for %(number)s"),
        ),
    ] = Field(
        default_factory=dict,
        description=(
            "GLPI ticket status to Redmine status id, a JSON object; unmapped statuses are not sent"
        ),
    )
    deleted_status_id: Annotated[
        Id | None,
        Setting(
            "status-map",
            N_("Status after the ticket is deleted"),
            N_("If the ticket is restored in GLPI, the issue gets the ticket's status again."),
            kind="status",
            empty=N_("the issue keeps its status"),
        ),
    ] = Field(
        default=None,
        description=(
            "Redmine status id for the issue of a ticket that is deleted in GLPI from then on; none: the issue keeps "
            "its status"
        ),
    )
    done_state: Annotated[
        int,
        Setting(
            "behaviour",
            N_("State that means Done"),
            N_("The state of a finished ticket task (2 in GLPI). Only the time of finished tasks is logged."),
        ),
    ] = Field(default=2, description="The ticket-task state that means Done")
    task_author: Annotated[
        Literal["writer", "technician"],
        Setting(
            "behaviour",
            N_("Whose time a ticket task is"),
            N_("They differ if one person plans a task for another. The doctor counts such tasks."),
            choices={
                "writer": N_("the person who wrote the task"),
                "technician": N_("the technician of the task, else the person who wrote it"),
            },
        ),
    ] = Field(
        default="writer",
        description=(
            "The author of a time entry: `writer`, the person who wrote the ticket task (`task.user`); `technician`, "
            "the technician of the task (`task.technician`), else the writer. Time entries that exist keep their author"
        ),
    )
    spent_on: Annotated[
        Literal["task_date", "omit"],
        Setting(
            "behaviour",
            N_("Day of a time entry"),
            choices={
                "task_date": N_("the day of the work, if GLPI provides it"),
                "omit": N_("the day it is sent to Redmine"),
            },
        ),
    ] = Field(
        default="task_date",
        description=(
            "The day of a time entry: `task_date`, the day of the work (`task.date`), if the event contains it; "
            "`omit`, the day it is sent"
        ),
    )
    private_tasks: Annotated[
        Literal["hours_only", "send", "skip"],
        Setting(
            "behaviour",
            N_("Private ticket tasks"),
            choices={
                "hours_only": N_("log the hours without the text"),
                "send": N_("log the hours with the text"),
                "skip": N_("log nothing"),
            },
        ),
    ] = Field(
        default="hours_only",
        description=(
            "Private ticket tasks: `hours_only` logs the hours without the text, `send` also sends the text, "
            "`skip` logs nothing. The text is stored only with `send`"
        ),
    )
    sync_followups: Annotated[
        Literal["off", "public", "all"],
        Setting(
            "behaviour",
            N_("Follow-ups"),
            N_(
                "Also switch this on in GLPI: on the plugin's page, or with webhooks. If private ones are sent: "
                "members of the Redmine project can read them if their role has the right View private notes."
            ),
            choices={
                "off": N_("not sent"),
                "public": N_("send public ones as notes"),
                "all": N_("send all as notes, private ones as private notes"),
            },
        ),
    ] = Field(
        default="off",
        description=(
            "GLPI follow-ups as notes of the Redmine issue: `off`, none; `public`, all but private ones; `all`, "
            "private ones too, as private notes. The text of private follow-ups is stored only with `all`. Members of "
            "the Redmine project can read private notes if their role has the right View private notes"
        ),
    )
    sync_solutions: Annotated[
        Literal["off", "on"],
        Setting(
            "behaviour",
            N_("Solutions"),
            N_("Also switch this on in GLPI: on the plugin's page, or with webhooks."),
            choices={"off": N_("not sent"), "on": N_("send as notes")},
        ),
    ] = Field(default="off", description="GLPI solutions as notes of the Redmine issue: `off` or `on`")
    sync_documents: Annotated[
        Literal["off", "on"],
        Setting(
            "behaviour",
            N_("Documents"),
            N_(
                "deskbridge fetches documents from GLPI's API. Also switch this on in GLPI, on the plugin's page."
            ),
            choices={"off": N_("not sent"), "on": N_("send as attachments")},
        ),
    ] = Field(
        default="off",
        description=(
            "GLPI documents of a ticket as attachments of the Redmine issue: `off` or `on`. deskbridge fetches them "
            "from GLPI's API. Documents of private follow-ups and tasks are never sent"
        ),
    )
    document_max_mb: Annotated[
        int,
        Setting(
            "behaviour",
            N_("Largest document (MB)"),
            N_("Redmine has a limit of its own (Administration, Settings, Files)."),
        ),
    ] = Field(
        default=10,
        ge=1,
        le=25,
        description="Largest document that is sent, in MB, at most 25; Redmine has a limit of its own",
    )
    document_refused_types: Annotated[
        tuple[str, ...],
        Setting("behaviour", N_("Types of documents that are not sent"), N_("For example: video/*, .exe")),
    ] = Field(
        default=(),
        description='Types of documents that are not sent, a JSON list such as `["video/*", ".exe"]`',
    )
    in_doubt_policy: Annotated[
        Literal["lookup", "hold"],
        Setting(
            "behaviour",
            N_("After a lost answer"),
            choices={
                "lookup": N_("Look it up in Redmine and continue"),
                "hold": N_("Always put it on hold"),
            },
            explained={"lookup": N_("Only unclear cases are put on hold.")},
        ),
    ] = Field(
        default="lookup",
        description="After a lost answer: `lookup` looks in Redmine, `hold` puts the creation on hold",
    )
    membership_for: Annotated[
        Literal["matched", "confirmed", "nobody"],
        Setting(
            "behaviour",
            N_("Who is made a member"),
            N_(
                "Technicians whose issue or time entry deskbridge sends. A follow-up, solution or document makes "
                "no one a member."
            ),
            choices={
                "matched": N_("every matched user"),
                "confirmed": N_("only confirmed users"),
                "nobody": N_("no one"),
            },
        ),
    ] = Field(
        default="matched",
        description=(
            "Users that deskbridge adds to a Redmine project: `matched`, every user with a mapping or an e-mail match; "
            "`confirmed`, only mapped or confirmed users (`deskbridge user list --confirm`); `nobody`, no user. "
            "deskbridge never adds Redmine administrators"
        ),
    )
    match_administrators: Annotated[
        bool, Setting("behaviour", N_("Also match Redmine administrators by e-mail"))
    ] = Field(
        default=True,
        description="Also match Redmine administrators by e-mail; a user mapping applies in any case",
    )
    project_activities: Annotated[
        bool, Setting("behaviour", N_("Also read each project's own activities"))
    ] = Field(
        default=False,
        description="Also read the activities of each Redmine project (`include=time_entry_activities`)",
    )
    correct_authors: Annotated[
        bool,
        Setting(
            "behaviour",
            N_("Let operators give time entries to the right person"),
            N_(
                "Changes time entries in Redmine that were logged under another name (page Wrong authors). An issue "
                "keeps its author."
            ),
        ),
    ] = Field(
        default=False,
        description=(
            "Let operators give time entries that were logged under another name to the right person (page *Wrong "
            "authors*, `deskbridge author correct`)"
        ),
    )
    template_role_ids: Annotated[
        tuple[Id, ...],
        Setting(
            "behaviour",
            N_("Roles that a membership template can assign"),
            kind="role",
            confirmed=False,
            empty=N_("No roles have been read yet. Read the metadata first."),
        ),
    ] = Field(
        default=(),
        description="Roles that a membership template can assign besides default_role_id, a JSON list",
    )
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
    def logs_for_technician(self) -> bool:
        """Whether the technician of a ticket task is the author of its time entry."""
        return self.task_author == "technician"

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
        """The size limit of documents, in bytes."""
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
        if not value.strip().isprintable():  # urlsplit silently drops some characters
            raise Unfit(Invalid.ADDRESS_NOT_PRINTABLE())
        parts = parts_of(value.strip())
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            raise Unfit(Invalid.TRACKER_ADDRESS_EXPECTED())
        if parts.username or parts.password or parts.query or parts.fragment:
            raise Unfit(Invalid.ADDRESS_WITH_MORE())
        return value.strip().rstrip("/")

    def ids(self, name: str) -> list[int]:
        """Return the Redmine ids in a setting, sorted and without duplicates."""
        value = getattr(self, name)
        if isinstance(value, Mapping):
            value = value.values()
        return sorted({value} if isinstance(value, int) else set(value or ()))

    def changed(self, assignments: Mapping[str, str]) -> PluginConfig:
        """Return a copy with values that a person typed (JSON or plain text; an empty text restores the default).

        Raises:
            SettingsError: if a key is unknown or a value is not valid; names each of them.
        """
        unknown = sorted(set(assignments) - set(type(self).model_fields))
        if unknown:
            raise SettingsError(Refusal.CONFIG_KEY_UNKNOWN(keys=unknown, known=list(type(self).model_fields)))
        values = {name: _typed(name, text) for name, text in assignments.items()}
        try:
            return type(self).model_validate({**self.model_dump(), **values})
        except ValidationError as error:
            raise SettingsError(faulty(Refusal.CONFIG_NOT_VALID, model_faults(error))) from None


SETTINGS: Mapping[str, Setting] = {
    name: one
    for name, given in PluginConfig.model_fields.items()
    for one in given.metadata
    if isinstance(one, Setting)
}
"""The settings on the settings pages, by name; trial mode has a form of its own."""


def _typed(name: str, text: str) -> Any:
    if not text.strip():
        return PluginConfig.model_fields[name].get_default(call_default_factory=True)
    if name in ("base_url", "header_prefix"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
