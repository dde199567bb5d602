"""Codes of reasons: why an event ended or waits, why a ledger row is as it is, why a status was not given."""

from __future__ import annotations

from shared.codes.notice import Code


class Reason(Code):
    """Why something is as it is. Parameters are named as in `shared.sentences.reasons`."""

    # an event needs nothing, or nothing more
    NO_LINK = "no_link"
    NOT_DONE = "not_done"
    NO_TIME = "no_time"
    PRIVATE_TASK = "private_task"
    COPY_OF_ANOTHER = "copy_of_another"
    DELETED_THERE = "deleted_there"
    TICKET_DELETED = "ticket_deleted"
    NO_ISSUE = "no_issue"
    LOGGED_BEFORE = "logged_before"
    LOGGED_BY_EVENT = "logged_by_event"
    NEWER_TASK_EVENT = "newer_task_event"
    NEWER_TICKET_EVENT = "newer_ticket_event"

    # it was done
    TIME_LOGGED = "time_logged"
    TIME_LOGGED_AS_ANOTHER = "time_logged_as_another"
    STATUS_SET = "status_set"
    ISSUE_UPDATED = "issue_updated"
    STATUS_AS_IT_IS = "status_as_it_is"

    # it cannot be done
    STATUS_NOT_MAPPED = "status_not_mapped"
    STATUS_NOT_IN_TEMPLATE = "status_not_in_template"
    STATUS_REFUSED = "status_refused"
    GAVE_UP = "gave_up"
    EVENT_UNREADABLE = "event_unreadable"
    DELIVERY_UNREADABLE = "delivery_unreadable"

    # it waits
    STATUS_WAITS = "status_waits"
    BEING_CREATED = "being_created"
    BEING_WORKED_ON = "being_worked_on"
    BEGUN_ANEW = "begun_anew"
    ROW_CHANGED = "row_changed"
    EQUAL_SETTLED_FIRST = "equal_settled_first"
    LINKED_ELSEWHERE = "linked_elsewhere"
    CREATION_IN_DOUBT = "creation_in_doubt"
    WAITS_FOR_PERSON = "waits_for_person"

    HELPDESK_AWAITED = "helpdesk_awaited"
    WORKER_AWAITED = "worker_awaited"
    TURN_AWAITED = "turn_awaited"

    # a sample waits
    NO_WORKER_TOOK_IT = "no_worker_took_it"

    # an event goes without something
    HELPDESK_NOT_ASKED = "helpdesk_not_asked"
    HELPDESK_SILENT_ON_IT = "helpdesk_silent_on_it"

    # a ledger row is linked
    CREATED_BY_EVENT = "created_by_event"
    FOUND_ON_TRACKER = "found_on_tracker"
    FOUND_AFTER_RESTORE = "found_after_restore"
    TAKEN_OVER = "taken_over"

    # it is in doubt
    CAUSE_NOT_KNOWN = "cause_not_known"
    NEVER_TOLD = "never_told"
    ASKED_AFTER_RESTORE = "asked_after_restore"
    EQUAL_UNDER_WAY = "equal_under_way"
    OWNED_BY_ANOTHER = "owned_by_another"

    # it is free
    ABSENT_ON_TRACKER = "absent_on_tracker"
    ALIKE_ARE_OTHERS = "alike_are_others"
    WENT_WITH_ISSUE = "went_with_issue"
    LINK_FORGOTTEN = "forgotten_by_a_person"

    # it waits for a person
    POSSIBLY_TWICE = "possibly_twice"
    STAYS_UNDECIDED = "stays_undecided"
    POLICY_IS_HOLD = "policy_is_hold"
    UNEXPECTED_AUTHOR = "unexpected_author"
    NO_VERDICT = "no_verdict"
    NEVER_CLEAR = "never_clear"
    ALIKE_AFTER_RESTORE = "alike_after_restore"
    ADOPTION_TAKEN_BACK = "taken_back_by_a_person"
    ISSUE_GONE = "issue_gone"
    ISSUE_GIVEN_UP = "issue_given_up"
    ISSUE_IS_ANOTHERS = "issue_is_anothers"
    ID_GIVEN_AWAY = "id_given_away"

    # an event goes on
    ANSWERED_AFTER_ALL = "answered_after_all"
    WAS_NOT_ITS_OWN = "was_not_its_own"
    ADOPTED_ANOTHERS = "adopted_anothers"
    PERSON_DECIDED = "person_decided"
    PERSON_REPLAYED = "person_replayed"
    LINK_WAS_MADE = "link_was_made"
    MAP_WAS_CHANGED = "map_was_changed"
    TICKET_RESTORED = "ticket_restored"

    # a dry run has left something
    CREATION_UNKNOWN = "creation_unknown"
    NO_ID_IN_ANSWER = "no_id_in_answer"
    IN_USE = "in_use"
    PROJECT_BELOW = "project_below"
    ISSUE_BELOW = "issue_below"
    ISSUES_WITHIN = "issues_within"


class Verdict(Code):
    """What a person decided about an issue or a time entry."""

    ADOPT = "adopt_it"
    CREATE_AGAIN = "create_it_again"


class Matching(Code):
    """Who a helpdesk user is on the tracker, and why."""

    NOBODY_NAMED = "nobody_named"
    OVERRIDE_NOT_CACHED = "override_not_cached"
    BY_OVERRIDE = "by_override"
    BY_EMAIL = "by_email"
    NO_EMAIL = "no_email"
    EMAIL_UNKNOWN = "email_unknown"
    EMAIL_AMBIGUOUS = "email_ambiguous"
    EMAIL_CHANGED = "email_changed"
    EMAIL_TAKEN = "email_taken"
    NO_ADMINISTRATORS = "no_administrators"
