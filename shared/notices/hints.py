"""Codes of hints: what may explain a refusal of the tracker."""

from __future__ import annotations

from shared.notices.notice import Code, Message

PROJECT = "[{project}][{project_id}][ ({project_name})]"
"""`project` in rows of the version before, which had both in one text."""
SINCE = "as of the last metadata synchronisation"
CLOSED = f"tracker project {PROJECT} is closed; reopen it there, or link another one"
ARCHIVED = f"tracker project {PROJECT} is archived; unarchive it there, or link another one"
ABSENT = f"tracker project {PROJECT} does not exist: it was deleted; link another one"
CHOICES = "[; there are: {choices}][ and {more} more]"
IGNORED, IDENTIFIER = "KB-HINT-015", "KB-HINT-009"
"""Articles about what the tracker ignores silently, and about the identifiers of projects."""


class Hint(Code):
    """Why the tracker may have refused something, as far as the payload and the metadata tell.

    Those that begin with MAYBE are guesses: the metadata cannot tell.
    """

    NO_REASON_GIVEN = Message(
        "no_reason_given",
        "the cause cannot be told from here; the tracker's own words are in its answer",
        article="KB-HINT-013",
    )
    REFERENCE_REPLACED = Message(
        "reference_replaced", "sent {sent}, but the tracker used {used}[ ({name})]", article=IGNORED
    )

    NO_PROJECT_GIVEN = Message("no_project_given", "no tracker project is given", article="KB-HINT-001")
    PROJECT_NOT_ACTIVE = Message(
        "project_not_active",
        f"tracker project {{project_id}} is closed, archived or deleted {SINCE}",
        article="KB-HINT-001",
    )
    PROJECT_CLOSED = Message("project_closed", CLOSED, article="KB-HINT-001")
    PROJECT_ARCHIVED = Message("project_archived", ARCHIVED, article="KB-HINT-001")
    PROJECT_ABSENT = Message("project_absent", ABSENT, article="KB-HINT-001")
    NO_ISSUE_TRACKING = Message(
        "no_issue_tracking",
        f"tracker project {PROJECT} lacks the module issue_tracking; enable it in its settings",
        article="KB-HINT-001",
    )
    MAYBE_PROJECT_CLOSED = Message(
        "maybe_project_closed",
        f"possibly the project was closed or archived; it was active {SINCE}",
        article="KB-HINT-001",
    )
    SUBJECT_EMPTY = Message("subject_empty", "the subject is empty", article="KB-HINT-012")
    SUBJECT_TOO_LONG = Message(
        "subject_too_long",
        "the subject has {length} characters; the maximum is {most}",
        article="KB-HINT-012",
    )
    UNKNOWN_PRIORITY = Message(
        "unknown_priority", f"the tracker has no priority {{priority_id}}{CHOICES}", article="KB-HINT-014"
    )
    NO_DEFAULT_PRIORITY = Message(
        "no_default_priority",
        f"no priority is sent, and the tracker has no default priority{CHOICES}",
        article="KB-HINT-014",
    )
    UNKNOWN_CATEGORY = Message(
        "unknown_category",
        f"tracker project {{project_id}} has no issue category {{category_id}}{CHOICES}",
        article="KB-HINT-014",
    )
    CATEGORY_ASSIGNEE_LOCKED = Message(
        "category_assignee_locked",
        "issue category {category_id} ({category}) assigns its issues to user {user_id}[ ({user})], who is no active "
        "user of the tracker; give the category another assignee there, or unlock the user",
        article="KB-HINT-016",
    )
    UNKNOWN_ISSUE_TYPE = Message(
        "unknown_issue_type",
        "the tracker has no issue type {issue_type_id} and uses the project's first one" + CHOICES,
        article=IGNORED,
    )
    UNKNOWN_STATUS = Message(
        "unknown_status",
        f"the tracker has no status {{status_id}} and ignores it{CHOICES}",
        article=IGNORED,
    )
    NO_STATUS_GIVEN = Message("no_status_given", "no status is sent, so it does not change", article=IGNORED)
    UNKNOWN_WATCHERS = Message(
        "unknown_watchers", f"no active tracker user {SINCE}: {{user_ids}}", article="KB-HINT-011"
    )
    MAYBE_WATCHER_LOCKED = Message(
        "maybe_watcher_locked", "possibly a watcher has since been locked or deleted", article="KB-HINT-011"
    )
    UNKNOWN_ASSIGNEE = Message(
        "unknown_assignee",
        f"no active tracker user {{user_id}} {SINCE} (or it is a group)",
        article="KB-HINT-016",
    )
    MAYBE_ASSIGNEE_NOT_MEMBER = Message(
        "maybe_assignee_not_member",
        "possibly the assignee is not a member of the project",
        article="KB-HINT-016",
    )
    MAYBE_VERSION_NOT_USABLE = Message(
        "maybe_version_not_usable",
        "possibly the target version does not exist or cannot be used here",
        article="KB-HINT-014",
    )
    MAYBE_PARENT_ISSUE_NOT_USABLE = Message(
        "maybe_parent_issue_not_usable",
        "possibly the parent issue does not exist or cannot be used here",
        article="KB-HINT-014",
    )
    NOT_A_DATE = Message("not_a_date", "not a date such as 2026-11-21", article="KB-HINT-017")
    DUE_BEFORE_START = Message(
        "due_before_start", "the due date is before the start date", article="KB-HINT-017"
    )
    NEGATIVE_ESTIMATE = Message("negative_estimate", "the estimated time is negative", article="KB-HINT-017")
    PERCENT_OUT_OF_RANGE = Message(
        "percent_out_of_range", "percent done must be between 0 and 100", article="KB-HINT-017"
    )

    TIME_PROJECT_NOT_ACTIVE = Message(
        "time_project_not_active",
        f"tracker project {{project_id}} is closed, archived or deleted {SINCE}",
        article="KB-HINT-007",
    )
    TIME_PROJECT_CLOSED = Message("time_project_closed", CLOSED, article="KB-HINT-007")
    TIME_PROJECT_ARCHIVED = Message("time_project_archived", ARCHIVED, article="KB-HINT-007")
    TIME_PROJECT_ABSENT = Message("time_project_absent", ABSENT, article="KB-HINT-007")
    NO_TIME_TRACKING = Message(
        "no_time_tracking",
        f"tracker project {PROJECT} lacks the module time_tracking; enable it in its settings",
        article="KB-HINT-007",
    )
    MAYBE_NO_TIME_TRACKING = Message(
        "maybe_no_time_tracking",
        "possibly the project lacks the module time_tracking, or has since been closed"
        " (Redmine 6.1: or the issue)",
        article="KB-HINT-007",
    )
    MAYBE_ISSUE_CLOSED = Message(
        "maybe_issue_closed",
        "the issue is closed, and Redmine 6.1 takes no time on closed issues if its settings say so",
        article="KB-HINT-007",
    )
    NO_DEFAULT_ACTIVITY = Message(
        "no_default_activity",
        f"no activity is sent, and the tracker has no default activity{CHOICES}",
        article="KB-HINT-002",
    )
    ACTIVITY_NOT_ENABLED = Message(
        "activity_not_enabled",
        f"activity {{activity_id}} is not enabled[ in tracker project {{project_id}}] {SINCE}{CHOICES}",
        article="KB-HINT-002",
    )
    ACTIVITY_NOT_USABLE_NOW = Message(
        "activity_not_usable_now",
        f"activity {{activity_id}} cannot be used in tracker project {PROJECT}{CHOICES}; enable it there, or change "
        "default_activity_id",
        article="KB-HINT-002",
    )
    ACTIVITY_SWITCHED_OFF = Message(
        "activity_switched_off",
        f"activity {{activity_id}} is switched off on the whole tracker{CHOICES}; `deskbridge config set "
        "default_activity_id=…`",
        article="KB-HINT-002",
    )
    MAYBE_ACTIVITY_NOT_ENABLED = Message(
        "maybe_activity_not_enabled",
        "possibly the activity is not enabled in this project (not checked; see project_activities)",
        article="KB-HINT-002",
    )
    COMMENT_TOO_LONG = Message(
        "comment_too_long",
        "the comment has {length} characters; the maximum is {most}",
        article="KB-HINT-005",
    )
    MAYBE_COMMENT_REQUIRED = Message(
        "maybe_comment_required",
        "the comment is empty, and the tracker requires one if its settings say so",
        article="KB-HINT-005",
    )
    NO_HOURS_GIVEN = Message("no_hours_given", "no hours are sent", article="KB-HINT-006")
    HOURS_OUT_OF_RANGE = Message(
        "hours_out_of_range",
        "{hours} h: the tracker accepts 0 to {most}, or less where its settings say so",
        article="KB-HINT-006",
    )
    MAYBE_HOURS_ROUND_TO_ZERO = Message(
        "maybe_hours_round_to_zero",
        "possibly the tracker refuses hours that it rounds to 0"
        " (Redmine 5.0: below 18 s; 6.0 and 6.1: below 30 s)",
        article="KB-HINT-006",
    )
    MAYBE_TOO_MANY_HOURS_IN_A_DAY = Message(
        "maybe_too_many_hours_in_a_day",
        "these are more hours than a day has; the tracker may limit them to one day's",
        article="KB-HINT-006",
    )
    MAYBE_DAY_NOT_OPEN = Message(
        "maybe_day_not_open",
        "{day} is in the future, and the tracker takes no time on days to come if its settings say so; "
        "`deskbridge config set spent_on=omit` books hours on the day on which they are sent",
        article="KB-HINT-017",
    )

    PROJECT_NAME_EMPTY = Message("project_name_empty", "the name is empty", article="KB-HINT-019")
    PROJECT_NAME_TOO_LONG = Message(
        "project_name_too_long",
        "the name has {length} characters; the maximum is {most}",
        article="KB-HINT-019",
    )
    IDENTIFIER_EMPTY = Message("identifier_empty", "the identifier is empty", article=IDENTIFIER)
    IDENTIFIER_TOO_LONG = Message(
        "identifier_too_long",
        "the identifier has {length} characters; the maximum is {most}",
        article=IDENTIFIER,
    )
    IDENTIFIER_NOT_VALID = Message(
        "identifier_not_valid",
        "expected lowercase letters a to z, digits, dashes and underscores, not only digits, and not `new`",
        article=IDENTIFIER,
    )
    IDENTIFIER_TAKEN = Message(
        "identifier_taken", "already used by tracker project {project}", article=IDENTIFIER
    )
    MAYBE_IDENTIFIER_OF_ARCHIVED = Message(
        "maybe_identifier_of_archived",
        "possibly already used by an archived project, which is in no list",
        article=IDENTIFIER,
    )
    PARENT_PROJECT_NOT_ACTIVE = Message(
        "parent_project_not_active",
        f"tracker project {{project_id}} is closed, archived or deleted {SINCE}",
        article="KB-HINT-010",
    )
    MAYBE_PARENT_PROJECT_CLOSED = Message(
        "maybe_parent_project_closed",
        "possibly the parent project has since been closed",
        article="KB-HINT-010",
    )

    NO_USABLE_ROLE = Message(
        "no_usable_role",
        f"none of the roles exists, or they are built-in roles, {SINCE}{CHOICES}",
        article="KB-HINT-008",
    )
    DEFAULT_ROLE_GONE = Message(
        "default_role_gone",
        "the tracker has no role {role_id} any more, so nobody is made a member: "
        "`deskbridge config set default_role_id=…`[; there are: {choices}][ and {more} more]",
        article="KB-HINT-008",
    )
    NO_MEMBER_GIVEN = Message("no_member_given", "no user is given", article="KB-HINT-008")
    UNKNOWN_MEMBER = Message(
        "unknown_member",
        f"no active tracker user {{user_id}} {SINCE} (or it is a group)",
        article="KB-HINT-008",
    )
    MAYBE_ALREADY_MEMBER = Message(
        "maybe_already_member",
        "possibly already a member, as desired; or the user has since been deleted",
        article="KB-HINT-008",
    )

    CUSTOM_FIELD_REQUIRED = Message(
        "custom_field_required",
        "the tracker requires the custom field {name}, which has no value",
        article="KB-HINT-003",
    )
    CUSTOM_FIELD_NOT_A_CHOICE = Message(
        "custom_field_not_a_choice",
        "the custom field {name} must be one of: {choices}[ and {more} more]",
        article="KB-HINT-004",
    )
    CUSTOM_FIELD_TAKES_ONE_VALUE = Message(
        "custom_field_takes_one_value",
        "the custom field {name} takes one value, not a list",
        article="KB-HINT-018",
    )
    CUSTOM_FIELD_TAKES_INTEGER = Message(
        "custom_field_takes_integer", "the custom field {name} takes an integer", article="KB-HINT-018"
    )
    CUSTOM_FIELD_TAKES_NUMBER = Message(
        "custom_field_takes_number", "the custom field {name} takes a number", article="KB-HINT-018"
    )
    CUSTOM_FIELD_TAKES_DATE = Message(
        "custom_field_takes_date",
        "the custom field {name} takes a date such as 2026-11-21",
        article="KB-HINT-018",
    )
    CUSTOM_FIELD_TAKES_BOOLEAN = Message(
        "custom_field_takes_boolean", "the custom field {name} takes 0 or 1", article="KB-HINT-018"
    )
    UNKNOWN_CUSTOM_FIELD = Message(
        "unknown_custom_field", f"there is no such custom field here {SINCE}{CHOICES}", article=IGNORED
    )
    CUSTOM_FIELD_IGNORED = Message(
        "custom_field_ignored",
        "the tracker has no custom field {field_id} there and ignored it",
        article=IGNORED,
    )
