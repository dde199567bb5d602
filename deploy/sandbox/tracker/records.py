"""The rows that the mock Redmine holds, as plain dataclasses of JSON types.

Times are seconds since 1970 with fractions; responses truncate them to whole seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from deploy.sandbox.tracker.releases import DEFAULT

ACTIVE, CLOSED, ARCHIVED, DELETING = 1, 5, 9, 10
USER_ACTIVE, USER_LOCKED = 1, 3
ADMIN_ID, ANONYMOUS_ID = 1, 4
NON_MEMBER_ROLE, ANONYMOUS_ROLE = 1, 2
STATUS_NEW = 1


@dataclass(slots=True)
class User:
    """A tracker user. `language` is empty if the request's Accept-Language decides."""

    id: int
    login: str
    firstname: str
    lastname: str
    mail: str
    admin: bool = False
    status: int = USER_ACTIVE
    language: str = "en"
    api_key: str = ""
    created_on: float = 0.0
    further_mails: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name as responses show it."""
        return f"{self.firstname} {self.lastname}"


@dataclass(slots=True)
class Role:
    """A role; `builtin` ones (non-member, anonymous) can't be given to a member.

    Attributes:
        issues_visibility: `default`, or `own`: only issues with the user as author or assignee.
        issue_type_ids: types of which it may create issues; empty for all.
        read_only, required: issue fields, such as `description`, that its workflow makes so.
    """

    id: int
    name: str
    permissions: list[str]
    builtin: bool = False
    issues_visibility: str = "default"
    issue_type_ids: list[int] = field(default_factory=list)
    read_only: list[str] = field(default_factory=list)
    required: list[str] = field(default_factory=list)


@dataclass(slots=True)
class IssueType:
    """What Redmine calls a "tracker" (Bug, Feature, Support)."""

    id: int
    name: str


@dataclass(slots=True)
class Status:
    """An issue status."""

    id: int
    name: str
    is_closed: bool = False


@dataclass(slots=True)
class Enumeration:
    """An issue priority or a time-entry activity.

    An activity with a `project_id` is that project's own row for the activity `parent_id`. If there is
    one, the parent's id is invalid in the project, and the row's id is valid while it is active.
    """

    id: int
    name: str
    is_default: bool = False
    active: bool = True
    project_id: int | None = None
    parent_id: int | None = None


@dataclass(slots=True)
class Category:
    """An issue category of one project; `assigned_to_id` is the assignee of its new issues."""

    id: int
    project_id: int
    name: str
    assigned_to_id: int | None = None


@dataclass(slots=True)
class CustomField:
    """A custom-field definition; `kind` is project, issue or time_entry."""

    id: int
    name: str
    kind: str
    field_format: str = "string"
    is_filter: bool = False
    searchable: bool = False
    possible_values: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Project:
    """A tracker project; `committed` is the monotonic time of its insertion (not kept over restarts).

    `ends` is the time at which a project that is being deleted disappears, in seconds since 1970.
    """

    id: int
    name: str
    identifier: str
    description: str | None = None
    is_public: bool = False
    status: int = ACTIVE
    parent_id: int | None = None
    inherit_members: bool = False
    modules: list[str] = field(default_factory=list)
    tracker_ids: list[int] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    created_on: float = 0.0
    updated_on: float = 0.0
    committed: float = 0.0
    ends: float | None = None


@dataclass(slots=True)
class Membership:
    """One user's roles in one project."""

    id: int
    project_id: int
    user_id: int
    role_ids: list[int]


@dataclass(slots=True)
class Issue:
    """An issue; `journals` are its changes and notes, numbered across all issues; `committed` as in Project."""

    id: int
    project_id: int
    tracker_id: int
    status_id: int
    priority_id: int
    author_id: int
    subject: str
    description: str | None = None
    category_id: int | None = None
    assigned_to_id: int | None = None
    start_date: str | None = None
    due_date: str | None = None
    parent_id: int | None = None
    watchers: list[int] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    journals: list[dict[str, Any]] = field(default_factory=list)
    lock_version: int = 0
    created_on: float = 0.0
    updated_on: float = 0.0
    closed_on: float | None = None
    committed: float = 0.0


@dataclass(slots=True)
class Attachment:
    """An uploaded file, attached to an issue once an update names its token; its content is not kept."""

    id: int
    author_id: int
    filename: str
    content_type: str | None
    filesize: int
    digest: str
    issue_id: int | None = None
    created_on: float = 0.0
    description: str = ""

    @property
    def token(self) -> str:
        """The token by which an update of an issue attaches it."""
        return f"{self.id}.{self.digest}"


@dataclass(slots=True)
class TimeEntry:
    """A time entry; `spent_on` is an ISO date, `hours` are as sent (responses show them rounded)."""

    id: int
    project_id: int
    issue_id: int | None
    user_id: int
    author_id: int
    activity_id: int
    hours: float
    comments: str | None
    spent_on: str
    values: dict[str, Any] = field(default_factory=dict)
    created_on: float = 0.0


@dataclass(slots=True)
class Settings:
    """The switches of the stand-in; each can be set through `/_control/settings`.

    Attributes:
        rest_enabled: Off: every key is refused, as with Redmine's REST setting off.
        login_required: On: an anonymous caller gets 401 on the lists too.
        new_issue_statuses: On: status_id is honoured when an issue is created.
        require_comments: On: a time entry needs a comment.
        accept_zero_hours: Off: hours that round to 0 are refused.
        future_dates: Off: time entries on future days are refused.
        max_hours_per_day: Hours one user may log on one day; 0 means no limit.
        required_custom_fields: Ids of custom fields that must have a value on creation.
        closed_moves: Pairs of status ids, before and after: no role may make this transition.
        null_is_500: On: U+0000 in a text answers 500, as on PostgreSQL.
        clock_offset: Seconds that the tracker's clock runs ahead of this machine's.
        date_header: Send a Date header.
        latency_ms: Milliseconds that each request waits before it is processed.
        duplicate_identifiers_race: On: concurrent creations of one project identifier all succeed.
        put_conflicts: On: an update gets the empty 422 if the issue changed after the request arrived.
        reuse_deleted_ids: On: the id of a deleted last object is reused, as on SQLite.
        default_language: Language of error texts if neither the user nor the request has one.
        redmine: The version of Redmine that it emulates (see `releases`).
        attachment_max_kb: Maximum size of a file, in kilobytes.
        refused_extensions: Extensions of refused files, such as `exe`.
        closed_issues_take_time: Off: time entries on closed issues are refused (6.1).
        edits_texts: On: descriptions, comments and notes are stored trimmed and as a paragraph, as by an HTML editor.
        deletion_s: Seconds for which a deleted project still exists (6.0, 6.1).
    """

    rest_enabled: bool = True
    login_required: bool = False
    new_issue_statuses: bool = False
    require_comments: bool = False
    accept_zero_hours: bool = True
    future_dates: bool = True
    max_hours_per_day: float = 999.0
    required_custom_fields: list[int] = field(default_factory=list)
    closed_moves: list[list[int]] = field(default_factory=list)
    null_is_500: bool = False
    clock_offset: float = 0.0
    date_header: bool = True
    latency_ms: float = 0.0
    duplicate_identifiers_race: bool = False
    put_conflicts: bool = False
    reuse_deleted_ids: bool = False
    default_language: str = "en"
    redmine: str = DEFAULT
    attachment_max_kb: int = 5120
    refused_extensions: list[str] = field(default_factory=list)
    closed_issues_take_time: bool = True
    edits_texts: bool = False
    deletion_s: float = 0.05
