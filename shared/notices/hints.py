"""Codes of hints: what may explain a refusal of the tracker."""

from __future__ import annotations

from shared.notices.notice import Code, Message

PROJECT = "{project_id}[ ({project_name})]"
SINCE = "in the last copy of Redmine's metadata"
CLOSED = f"Redmine project {PROJECT} is closed; reopen it in Redmine, or change the mapping"
ARCHIVED = f"Redmine project {PROJECT} is archived; unarchive it in Redmine, or change the mapping"
ABSENT = f"Redmine project {PROJECT} was deleted; change the mapping"
CHOICES = "[; valid: {choices}][ and {more} more]"
IGNORED, IDENTIFIER = "KB-HINT-015", "KB-HINT-009"
"""Articles about values that the tracker silently ignores, and about project identifiers."""


class Hint(Code):
    """Why Redmine may have refused a call, judged by the payload and the metadata.

    Codes that begin with MAYBE are guesses, which the metadata cannot confirm.
    """

    NO_REASON_GIVEN = Message(
        "no_reason_given",
        "the metadata does not explain this; read Redmine's own message in the response",
        article="KB-HINT-013",
    )
    REFERENCE_REPLACED = Message(
        "reference_replaced", "deskbridge sent {sent}, but Redmine used {used}[ ({name})]", article=IGNORED
    )

    NO_PROJECT_GIVEN = Message(
        "no_project_given", "the request names no Redmine project", article="KB-HINT-001"
    )
    PROJECT_NOT_ACTIVE = Message(
        "project_not_active",
        f"Redmine project {{project_id}} is closed, archived or deleted {SINCE}",
        article="KB-HINT-001",
    )
    PROJECT_CLOSED = Message("project_closed", CLOSED, article="KB-HINT-001")
    PROJECT_ARCHIVED = Message("project_archived", ARCHIVED, article="KB-HINT-001")
    PROJECT_ABSENT = Message("project_absent", ABSENT, article="KB-HINT-001")
    NO_ISSUE_TRACKING = Message(
        "no_issue_tracking",
        (
            f"Redmine project {PROJECT} does not have the module issue_tracking; enable it in the project's "
            "settings"
        ),
        article="KB-HINT-001",
    )
    MAYBE_PROJECT_CLOSED = Message(
        "maybe_project_closed",
        f"the project may have been closed or archived; it was active {SINCE}",
        article="KB-HINT-001",
    )
    SUBJECT_EMPTY = Message("subject_empty", "the subject is empty", article="KB-HINT-012")
    SUBJECT_TOO_LONG = Message(
        "subject_too_long",
        "the subject has {length} characters; the maximum is {most}",
        article="KB-HINT-012",
    )
    UNKNOWN_PRIORITY = Message(
        "unknown_priority", f"Redmine has no priority {{priority_id}}{CHOICES}", article="KB-HINT-014"
    )
    NO_DEFAULT_PRIORITY = Message(
        "no_default_priority",
        f"the request has no priority, and Redmine has no default priority{CHOICES}",
        article="KB-HINT-014",
    )
    UNKNOWN_CATEGORY = Message(
        "unknown_category",
        f"Redmine project {{project_id}} has no issue category {{category_id}}{CHOICES}",
        article="KB-HINT-014",
    )
    CATEGORY_ASSIGNEE_LOCKED = Message(
        "category_assignee_locked",
        (
            "issue category {category_id} ({category}) assigns issues to user {user_id}[ ({user})], who is "
            "not active in Redmine; change the category's assignee, or unlock the user"
        ),
        article="KB-HINT-016",
    )
    UNKNOWN_ISSUE_TYPE = Message(
        "unknown_issue_type",
        f"Redmine has no issue type {{issue_type_id}} and uses the project's first one{CHOICES}",
        article=IGNORED,
    )
    UNKNOWN_STATUS = Message(
        "unknown_status",
        f"Redmine has no status {{status_id}} and ignores it{CHOICES}",
        article=IGNORED,
    )
    NO_STATUS_GIVEN = Message(
        "no_status_given", "the request has no status, so the issue keeps its status", article=IGNORED
    )
    UNKNOWN_WATCHERS = Message(
        "unknown_watchers", f"these users are not active {SINCE}: {{user_ids}}", article="KB-HINT-011"
    )
    MAYBE_WATCHER_LOCKED = Message(
        "maybe_watcher_locked", "a watcher may have been locked or deleted", article="KB-HINT-011"
    )
    UNKNOWN_ASSIGNEE = Message(
        "unknown_assignee",
        f"user {{user_id}} is not active {SINCE} (or it is a group)",
        article="KB-HINT-016",
    )
    MAYBE_ASSIGNEE_NOT_MEMBER = Message(
        "maybe_assignee_not_member",
        "the assignee may not be a member of the project",
        article="KB-HINT-016",
    )
    MAYBE_VERSION_NOT_USABLE = Message(
        "maybe_version_not_usable",
        "the target version may not exist or may not be usable in this project",
        article="KB-HINT-014",
    )
    MAYBE_PARENT_ISSUE_NOT_USABLE = Message(
        "maybe_parent_issue_not_usable",
        "the parent issue may not exist or may not be usable in this project",
        article="KB-HINT-014",
    )
    NOT_A_DATE = Message("not_a_date", "expected a date such as 2026-11-21", article="KB-HINT-017")
    DUE_BEFORE_START = Message(
        "due_before_start", "the due date is before the start date", article="KB-HINT-017"
    )
    NEGATIVE_ESTIMATE = Message("negative_estimate", "the estimated time is negative", article="KB-HINT-017")
    PERCENT_OUT_OF_RANGE = Message(
        "percent_out_of_range", "percent done must be between 0 and 100", article="KB-HINT-017"
    )

    TIME_PROJECT_NOT_ACTIVE = Message(
        "time_project_not_active",
        f"Redmine project {{project_id}} is closed, archived or deleted {SINCE}",
        article="KB-HINT-007",
    )
    TIME_PROJECT_CLOSED = Message("time_project_closed", CLOSED, article="KB-HINT-007")
    TIME_PROJECT_ARCHIVED = Message("time_project_archived", ARCHIVED, article="KB-HINT-007")
    TIME_PROJECT_ABSENT = Message("time_project_absent", ABSENT, article="KB-HINT-007")
    NO_TIME_TRACKING = Message(
        "no_time_tracking",
        (
            f"Redmine project {PROJECT} does not have the module time_tracking; enable it in the project's "
            "settings"
        ),
        article="KB-HINT-007",
    )
    MAYBE_NO_TIME_TRACKING = Message(
        "maybe_no_time_tracking",
        (
            "the project may not have the module time_tracking, or it (in Redmine 6.1 also the issue) may "
            "have been closed"
        ),
        article="KB-HINT-007",
    )
    MAYBE_ISSUE_CLOSED = Message(
        "maybe_issue_closed",
        "the issue is closed, and Redmine 6.1 can be set to reject time on closed issues",
        article="KB-HINT-007",
    )
    NO_DEFAULT_ACTIVITY = Message(
        "no_default_activity",
        f"the request has no activity, and Redmine has no default activity{CHOICES}",
        article="KB-HINT-002",
    )
    ACTIVITY_NOT_ENABLED = Message(
        "activity_not_enabled",
        f"activity {{activity_id}} is not enabled[ in Redmine project {{project_id}}] {SINCE}{CHOICES}",
        article="KB-HINT-002",
    )
    ACTIVITY_NOT_USABLE_NOW = Message(
        "activity_not_usable_now",
        (
            f"activity {{activity_id}} is not enabled in Redmine project {PROJECT}{CHOICES}; enable it "
            "there, or change default_activity_id"
        ),
        article="KB-HINT-002",
    )
    ACTIVITY_SWITCHED_OFF = Message(
        "activity_switched_off",
        (
            f"activity {{activity_id}} is disabled in all of Redmine{CHOICES}; run `deskbridge config set "
            "default_activity_id=…`"
        ),
        article="KB-HINT-002",
    )
    MAYBE_ACTIVITY_NOT_ENABLED = Message(
        "maybe_activity_not_enabled",
        "the activity may not be enabled in this project (not checked, see project_activities)",
        article="KB-HINT-002",
    )
    COMMENT_TOO_LONG = Message(
        "comment_too_long",
        "the comment has {length} characters; the maximum is {most}",
        article="KB-HINT-005",
    )
    MAYBE_COMMENT_REQUIRED = Message(
        "maybe_comment_required",
        "the comment is empty, and Redmine can be set to require one",
        article="KB-HINT-005",
    )
    NO_HOURS_GIVEN = Message("no_hours_given", "the request has no hours", article="KB-HINT-006")
    HOURS_OUT_OF_RANGE = Message(
        "hours_out_of_range",
        "{hours} h is out of range: Redmine accepts 0 to {most}, or less if its settings limit it",
        article="KB-HINT-006",
    )
    MAYBE_HOURS_ROUND_TO_ZERO = Message(
        "maybe_hours_round_to_zero",
        "Redmine may reject hours that it rounds to 0 (5.0: below 18 s; 6.0 and 6.1: below 30 s)",
        article="KB-HINT-006",
    )
    MAYBE_TOO_MANY_HOURS_IN_A_DAY = Message(
        "maybe_too_many_hours_in_a_day",
        "this is more than 24 hours, and Redmine can be set to limit the hours of a day",
        article="KB-HINT-006",
    )
    MAYBE_DAY_NOT_OPEN = Message(
        "maybe_day_not_open",
        (
            "{day} is in the future, and Redmine can be set to reject that; `deskbridge config set "
            "spent_on=omit` books hours on the day they are sent"
        ),
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
        "use lower-case letters a to z, digits, dashes and underscores; not only digits, and not `new`",
        article=IDENTIFIER,
    )
    IDENTIFIER_TAKEN = Message(
        "identifier_taken", "already used by Redmine project {project}", article=IDENTIFIER
    )
    MAYBE_IDENTIFIER_OF_ARCHIVED = Message(
        "maybe_identifier_of_archived",
        "an archived project may already use it; Redmine does not list archived projects",
        article=IDENTIFIER,
    )
    PARENT_PROJECT_NOT_ACTIVE = Message(
        "parent_project_not_active",
        f"Redmine project {{project_id}} is closed, archived or deleted {SINCE}",
        article="KB-HINT-010",
    )
    MAYBE_PARENT_PROJECT_CLOSED = Message(
        "maybe_parent_project_closed",
        "the parent project may have been closed",
        article="KB-HINT-010",
    )

    NO_USABLE_ROLE = Message(
        "no_usable_role",
        f"none of the roles exists, or they are built-in roles, {SINCE}{CHOICES}",
        article="KB-HINT-008",
    )
    DEFAULT_ROLE_GONE = Message(
        "default_role_gone",
        (
            "role {role_id} was deleted in Redmine, so deskbridge adds no members: run `deskbridge config "
            f"set default_role_id=…`{CHOICES}"
        ),
        article="KB-HINT-008",
    )
    NO_MEMBER_GIVEN = Message("no_member_given", "the request names no user", article="KB-HINT-008")
    UNKNOWN_MEMBER = Message(
        "unknown_member",
        f"user {{user_id}} is not active {SINCE} (or it is a group)",
        article="KB-HINT-008",
    )
    MAYBE_ALREADY_MEMBER = Message(
        "maybe_already_member",
        "the user may already be a member, which is fine, or may have been deleted",
        article="KB-HINT-008",
    )

    CUSTOM_FIELD_REQUIRED = Message(
        "custom_field_required",
        (
            "Redmine requires the custom field {name}, which has no value (if it is optional now, run "
            "`deskbridge metadata sync`)"
        ),
        article="KB-HINT-003",
    )
    CUSTOM_FIELD_NOT_A_CHOICE = Message(
        "custom_field_not_a_choice",
        "the custom field {name} must be one of: {choices}[ and {more} more]",
        article="KB-HINT-004",
    )
    CUSTOM_FIELD_TAKES_ONE_VALUE = Message(
        "custom_field_takes_one_value",
        "the custom field {name} accepts one value, not a list",
        article="KB-HINT-018",
    )
    CUSTOM_FIELD_TAKES_INTEGER = Message(
        "custom_field_takes_integer", "the custom field {name} must be an integer", article="KB-HINT-018"
    )
    CUSTOM_FIELD_TAKES_NUMBER = Message(
        "custom_field_takes_number", "the custom field {name} must be a number", article="KB-HINT-018"
    )
    CUSTOM_FIELD_TAKES_DATE = Message(
        "custom_field_takes_date",
        "the custom field {name} must be a date such as 2026-11-21",
        article="KB-HINT-018",
    )
    CUSTOM_FIELD_TAKES_BOOLEAN = Message(
        "custom_field_takes_boolean", "the custom field {name} must be 0 or 1", article="KB-HINT-018"
    )
    UNKNOWN_CUSTOM_FIELD = Message(
        "unknown_custom_field", f"this custom field does not exist here {SINCE}{CHOICES}", article=IGNORED
    )
    CUSTOM_FIELD_IGNORED = Message(
        "custom_field_ignored",
        "Redmine has no custom field {field_id} here, and ignored it",
        article=IGNORED,
    )
