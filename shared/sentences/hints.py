"""What hints say: why the tracker may have refused something."""

from __future__ import annotations

from shared.codes.hints import Hint
from shared.sentences.template import Table

PROJECT = "[{project}][{project_id}][ ({project_name})]"
"""`project` in rows of the version before, which had both in one text."""

SINCE = "as of the last metadata synchronisation"
CLOSED = f"tracker project {PROJECT} is closed; reopen it there, or link another one"
ARCHIVED = f"tracker project {PROJECT} is archived; unarchive it there, or link another one"
ABSENT = f"tracker project {PROJECT} does not exist: it was deleted; link another one"
CHOICES = "[; there are: {choices}][ and {more} more]"

SENTENCES: Table = {
    Hint.NO_REASON_GIVEN: "the cause cannot be told from here; the tracker's own words are in its answer",
    Hint.REFERENCE_REPLACED: "sent {sent}, but the tracker used {used}[ ({name})]",
    Hint.NO_PROJECT_GIVEN: "no tracker project is given",
    Hint.PROJECT_NOT_ACTIVE: f"tracker project {{project_id}} is closed, archived or deleted {SINCE}",
    Hint.PROJECT_CLOSED: CLOSED,
    Hint.PROJECT_ARCHIVED: ARCHIVED,
    Hint.PROJECT_ABSENT: ABSENT,
    Hint.NO_ISSUE_TRACKING: f"tracker project {PROJECT} lacks the module issue_tracking; enable it in its settings",
    Hint.MAYBE_PROJECT_CLOSED: f"possibly the project was closed or archived; it was active {SINCE}",
    Hint.SUBJECT_EMPTY: "the subject is empty",
    Hint.SUBJECT_TOO_LONG: "the subject has {length} characters; the maximum is {most}",
    Hint.UNKNOWN_PRIORITY: f"the tracker has no priority {{priority_id}}{CHOICES}",
    Hint.NO_DEFAULT_PRIORITY: f"no priority is sent, and the tracker has no default priority{CHOICES}",
    Hint.UNKNOWN_CATEGORY: f"tracker project {{project_id}} has no issue category {{category_id}}{CHOICES}",
    Hint.CATEGORY_ASSIGNEE_LOCKED: (
        "issue category {category_id} ({category}) assigns its issues to user {user_id}[ ({user})], who is no active "
        "user of the tracker; give the category another assignee there, or unlock the user"
    ),
    Hint.UNKNOWN_ISSUE_TYPE: "the tracker has no issue type {issue_type_id} and uses the project's first one"
    + CHOICES,
    Hint.UNKNOWN_STATUS: f"the tracker has no status {{status_id}} and ignores it{CHOICES}",
    Hint.NO_STATUS_GIVEN: "no status is sent, so it does not change",
    Hint.UNKNOWN_WATCHERS: f"no active tracker user {SINCE}: {{user_ids}}",
    Hint.MAYBE_WATCHER_LOCKED: "possibly a watcher has since been locked or deleted",
    Hint.UNKNOWN_ASSIGNEE: f"no active tracker user {{user_id}} {SINCE} (or it is a group)",
    Hint.MAYBE_ASSIGNEE_NOT_MEMBER: "possibly the assignee is not a member of the project",
    Hint.MAYBE_VERSION_NOT_USABLE: "possibly the target version does not exist or cannot be used here",
    Hint.MAYBE_PARENT_ISSUE_NOT_USABLE: "possibly the parent issue does not exist or cannot be used here",
    Hint.NOT_A_DATE: "not a date such as 2026-11-21",
    Hint.DUE_BEFORE_START: "the due date is before the start date",
    Hint.NEGATIVE_ESTIMATE: "the estimated time is negative",
    Hint.PERCENT_OUT_OF_RANGE: "percent done must be between 0 and 100",
    Hint.TIME_PROJECT_NOT_ACTIVE: f"tracker project {{project_id}} is closed, archived or deleted {SINCE}",
    Hint.TIME_PROJECT_CLOSED: CLOSED,
    Hint.TIME_PROJECT_ARCHIVED: ARCHIVED,
    Hint.TIME_PROJECT_ABSENT: ABSENT,
    Hint.NO_TIME_TRACKING: f"tracker project {PROJECT} lacks the module time_tracking; enable it in its settings",
    Hint.MAYBE_ISSUE_CLOSED: (
        "the issue is closed, and Redmine 6.1 takes no time on closed issues if its settings say so"
    ),
    Hint.MAYBE_NO_TIME_TRACKING: "possibly the project lacks the module time_tracking, or has since been closed"
    " (Redmine 6.1: or the issue)",
    Hint.NO_DEFAULT_ACTIVITY: f"no activity is sent, and the tracker has no default activity{CHOICES}",
    Hint.ACTIVITY_NOT_ENABLED: (
        f"activity {{activity_id}} is not enabled[ in tracker project {{project_id}}] {SINCE}{CHOICES}"
    ),
    Hint.ACTIVITY_NOT_USABLE_NOW: (
        f"activity {{activity_id}} cannot be used in tracker project {PROJECT}{CHOICES}; enable it there, or change "
        "default_activity_id"
    ),
    Hint.ACTIVITY_SWITCHED_OFF: (
        f"activity {{activity_id}} is switched off on the whole tracker{CHOICES}; `deskbridge config set "
        "default_activity_id=…`"
    ),
    Hint.MAYBE_ACTIVITY_NOT_ENABLED: (
        "possibly the activity is not enabled in this project (not checked; see project_activities)"
    ),
    Hint.COMMENT_TOO_LONG: "the comment has {length} characters; the maximum is {most}",
    Hint.MAYBE_COMMENT_REQUIRED: "the comment is empty, and the tracker requires one if its settings say so",
    Hint.NO_HOURS_GIVEN: "no hours are sent",
    Hint.HOURS_OUT_OF_RANGE: "{hours} h: the tracker accepts 0 to {most}, or less where its settings say so",
    Hint.MAYBE_HOURS_ROUND_TO_ZERO: "possibly the tracker refuses hours that it rounds to 0"
    " (Redmine 5.0: below 18 s; 6.0 and 6.1: below 30 s)",
    Hint.MAYBE_TOO_MANY_HOURS_IN_A_DAY: "these are more hours than a day has; the tracker may limit them to one day's",
    Hint.MAYBE_DAY_NOT_OPEN: (
        "{day} is in the future, and the tracker takes no time on days to come if its settings say so; "
        "`deskbridge config set spent_on=omit` books hours on the day on which they are sent"
    ),
    Hint.PROJECT_NAME_EMPTY: "the name is empty",
    Hint.PROJECT_NAME_TOO_LONG: "the name has {length} characters; the maximum is {most}",
    Hint.IDENTIFIER_EMPTY: "the identifier is empty",
    Hint.IDENTIFIER_TOO_LONG: "the identifier has {length} characters; the maximum is {most}",
    Hint.IDENTIFIER_NOT_VALID: (
        "expected lowercase letters a to z, digits, dashes and underscores, not only digits, and not `new`"
    ),
    Hint.IDENTIFIER_TAKEN: "already used by tracker project {project}",
    Hint.MAYBE_IDENTIFIER_OF_ARCHIVED: "possibly already used by an archived project, which is in no list",
    Hint.PARENT_PROJECT_NOT_ACTIVE: f"tracker project {{project_id}} is closed, archived or deleted {SINCE}",
    Hint.MAYBE_PARENT_PROJECT_CLOSED: "possibly the parent project has since been closed",
    Hint.NO_USABLE_ROLE: f"none of the roles exists, or they are built-in roles, {SINCE}{CHOICES}",
    Hint.DEFAULT_ROLE_GONE: (
        "the tracker has no role {role_id} any more, so nobody is made a member: "
        "`deskbridge config set default_role_id=…`[; there are: {choices}][ and {more} more]"
    ),
    Hint.NO_MEMBER_GIVEN: "no user is given",
    Hint.UNKNOWN_MEMBER: f"no active tracker user {{user_id}} {SINCE} (or it is a group)",
    Hint.MAYBE_ALREADY_MEMBER: "possibly already a member, as desired; or the user has since been deleted",
    Hint.CUSTOM_FIELD_REQUIRED: "the tracker requires the custom field {name}, which has no value",
    Hint.CUSTOM_FIELD_NOT_A_CHOICE: "the custom field {name} must be one of: {choices}[ and {more} more]",
    Hint.CUSTOM_FIELD_TAKES_ONE_VALUE: "the custom field {name} takes one value, not a list",
    Hint.CUSTOM_FIELD_TAKES_INTEGER: "the custom field {name} takes an integer",
    Hint.CUSTOM_FIELD_TAKES_NUMBER: "the custom field {name} takes a number",
    Hint.CUSTOM_FIELD_TAKES_DATE: "the custom field {name} takes a date such as 2026-11-21",
    Hint.CUSTOM_FIELD_TAKES_BOOLEAN: "the custom field {name} takes 0 or 1",
    Hint.UNKNOWN_CUSTOM_FIELD: f"there is no such custom field here {SINCE}{CHOICES}",
    Hint.CUSTOM_FIELD_IGNORED: "the tracker has no custom field {field_id} there and ignored it",
}

WHY: Table = {}
