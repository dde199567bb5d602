"""Codes of hints: what may explain a refusal of the tracker."""

from __future__ import annotations

from shared.codes.coded import Code


class Hint(Code):
    """Why the tracker may have refused something, as far as the payload and the metadata tell.

    Those that begin with MAYBE are guesses: the metadata cannot tell.
    """

    NO_REASON_GIVEN = "no_reason_given"
    REFERENCE_REPLACED = "reference_replaced"

    NO_PROJECT_GIVEN = "no_project_given"
    PROJECT_NOT_ACTIVE = "project_not_active"
    PROJECT_CLOSED = "project_closed"
    PROJECT_ARCHIVED = "project_archived"
    PROJECT_ABSENT = "project_absent"
    NO_ISSUE_TRACKING = "no_issue_tracking"
    MAYBE_PROJECT_CLOSED = "maybe_project_closed"
    SUBJECT_EMPTY = "subject_empty"
    SUBJECT_TOO_LONG = "subject_too_long"
    UNKNOWN_PRIORITY = "unknown_priority"
    NO_DEFAULT_PRIORITY = "no_default_priority"
    UNKNOWN_CATEGORY = "unknown_category"
    UNKNOWN_ISSUE_TYPE = "unknown_issue_type"
    UNKNOWN_STATUS = "unknown_status"
    NO_STATUS_GIVEN = "no_status_given"
    UNKNOWN_WATCHERS = "unknown_watchers"
    MAYBE_WATCHER_LOCKED = "maybe_watcher_locked"
    UNKNOWN_ASSIGNEE = "unknown_assignee"
    MAYBE_ASSIGNEE_NOT_MEMBER = "maybe_assignee_not_member"
    MAYBE_VERSION_NOT_USABLE = "maybe_version_not_usable"
    MAYBE_PARENT_ISSUE_NOT_USABLE = "maybe_parent_issue_not_usable"
    NOT_A_DATE = "not_a_date"
    DUE_BEFORE_START = "due_before_start"
    NEGATIVE_ESTIMATE = "negative_estimate"
    PERCENT_OUT_OF_RANGE = "percent_out_of_range"

    TIME_PROJECT_NOT_ACTIVE = "time_project_not_active"
    TIME_PROJECT_CLOSED = "time_project_closed"
    TIME_PROJECT_ARCHIVED = "time_project_archived"
    TIME_PROJECT_ABSENT = "time_project_absent"
    NO_TIME_TRACKING = "no_time_tracking"
    MAYBE_NO_TIME_TRACKING = "maybe_no_time_tracking"
    MAYBE_ISSUE_CLOSED = "maybe_issue_closed"
    NO_DEFAULT_ACTIVITY = "no_default_activity"
    ACTIVITY_NOT_ENABLED = "activity_not_enabled"
    ACTIVITY_NOT_USABLE_NOW = "activity_not_usable_now"
    MAYBE_ACTIVITY_NOT_ENABLED = "maybe_activity_not_enabled"
    COMMENT_TOO_LONG = "comment_too_long"
    MAYBE_COMMENT_REQUIRED = "maybe_comment_required"
    NO_HOURS_GIVEN = "no_hours_given"
    HOURS_OUT_OF_RANGE = "hours_out_of_range"
    MAYBE_HOURS_ROUND_TO_ZERO = "maybe_hours_round_to_zero"
    MAYBE_TOO_MANY_HOURS_IN_A_DAY = "maybe_too_many_hours_in_a_day"

    PROJECT_NAME_EMPTY = "project_name_empty"
    PROJECT_NAME_TOO_LONG = "project_name_too_long"
    IDENTIFIER_EMPTY = "identifier_empty"
    IDENTIFIER_TOO_LONG = "identifier_too_long"
    IDENTIFIER_NOT_VALID = "identifier_not_valid"
    IDENTIFIER_TAKEN = "identifier_taken"
    MAYBE_IDENTIFIER_OF_ARCHIVED = "maybe_identifier_of_archived"
    PARENT_PROJECT_NOT_ACTIVE = "parent_project_not_active"
    MAYBE_PARENT_PROJECT_CLOSED = "maybe_parent_project_closed"

    NO_USABLE_ROLE = "no_usable_role"
    NO_MEMBER_GIVEN = "no_member_given"
    UNKNOWN_MEMBER = "unknown_member"
    MAYBE_ALREADY_MEMBER = "maybe_already_member"

    CUSTOM_FIELD_REQUIRED = "custom_field_required"
    CUSTOM_FIELD_NOT_A_CHOICE = "custom_field_not_a_choice"
    CUSTOM_FIELD_TAKES_ONE_VALUE = "custom_field_takes_one_value"
    CUSTOM_FIELD_TAKES_INTEGER = "custom_field_takes_integer"
    CUSTOM_FIELD_TAKES_NUMBER = "custom_field_takes_number"
    CUSTOM_FIELD_TAKES_DATE = "custom_field_takes_date"
    CUSTOM_FIELD_TAKES_BOOLEAN = "custom_field_takes_boolean"
    UNKNOWN_CUSTOM_FIELD = "unknown_custom_field"
    CUSTOM_FIELD_IGNORED = "custom_field_ignored"
