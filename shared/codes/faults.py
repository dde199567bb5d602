"""Codes of what goes wrong with the tracker, a lock or a template, and of what was the matter with an answer."""

from __future__ import annotations

from shared.codes.coded import Code


class Fault(Code):
    """What an error of `shared.errors` says; where it stopped an event, it is that event's reason."""

    TRACKER_FAILED = "tracker_failed"
    TRACKER_UNREACHABLE = "tracker_unreachable"
    TRACKER_BUSY = "tracker_busy"
    TRACKER_AWAY = "tracker_away"
    TRACKER_FAILING = "tracker_failing"
    TRACKER_CLOSED = "tracker_closed"
    OUTCOME_UNKNOWN = "outcome_unknown"
    IMPERSONATION_REFUSED = "impersonation_refused"
    TRACKER_REJECTED = "tracker_rejected"
    TEMPLATE_FAULTY = "template_faulty"
    LOCK_HELD = "lock_held"
    LOCK_RAN_OUT = "lock_ran_out"
    WORKER_ENDS = "worker_ends"
    SETTINGS_REPLACED = "settings_replaced"
    LEASE_RAN_OUT = "lease_ran_out"
    MEMBERSHIP_UNKNOWN = "membership_unknown"
    RIGHTS_UNKNOWN = "rights_unknown"
    PROJECT_UNKNOWN = "project_unknown"
    LOGIN_UNKNOWN = "login_unknown"
    OPENNESS_UNKNOWN = "openness_unknown"
    OWN_FAULT = "own_fault"


class Detail(Code):
    """What was the matter with a call or its answer, as far as the method, path and status do not tell."""

    NO_CONNECTION = "no_connection"
    ADDRESS_FORBIDDEN = "address_forbidden"
    TIME_OUT = "time_out"
    CONNECTION_LOST = "connection_lost"
    NOT_JSON = "not_json"
    NOT_THE_TRACKERS = "not_the_trackers"
    REFUSED_ON_THE_WAY = "refused_on_the_way"
    TOO_LARGE_ON_THE_WAY = "too_large_on_the_way"
    ONLY_THIS_TEXT = "only_this_text"
    NO_OBJECT = "no_object"
    NO_PROJECT_ID = "no_project_id"
    NO_LIST = "no_list"
    WRONG_TOTAL_COUNT = "wrong_total_count"
    LIST_CHANGED = "list_changed"
    TOO_MANY_PAGES = "too_many_pages"
    EDIT_CONFLICT = "edit_conflict"
    REDIRECT_NOT_FOLLOWED = "redirect_not_followed"
    LOGIN_NO_HEADER = "login_no_header"
    USER_WITHOUT_ID = "user_without_id"
    ROW_WITHOUT_ID = "row_without_id"
    NO_USERS = "no_users"
    STATUS_NOT_THERE = "status_not_there"
    TEMPORARY_UNCLEAR = "temporary_unclear"
    UNCLEAR_TOO_OFTEN = "unclear_too_often"
    KEY_IS_UNKNOWN = "key_is_unknown"
    KEY_NOT_ADMINISTRATORS = "key_not_administrators"
    REST_SWITCHED_OFF = "rest_switched_off"
    EXPLAINED_BY = "explained_by"


class HelpdeskFault(Code):
    """What was the matter with a call to the helpdesk's API."""

    HELPDESK_TOLD_NO_TIME = "helpdesk_told_no_time"
    HELPDESK_RIGHT_MISSING = "helpdesk_right_missing"
    HELPDESK_ANSWER_UNUSABLE = "helpdesk_answer_unusable"
    HELPDESK_ANSWER_AWAITED = "helpdesk_answer_awaited"
    HELPDESK_SIGN_IN_REFUSED = "helpdesk_sign_in_refused"
    HELPDESK_TOO_SLOW = "helpdesk_too_slow"
    HELPDESK_CALL_FAILED = "helpdesk_call_failed"
