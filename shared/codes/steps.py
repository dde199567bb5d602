"""Codes of steps: what happened to a ticket, as its trace tells it."""

from __future__ import annotations

from shared.codes.notice import Code


class What(Code):
    """What happened. Its sentence and the one that says why are in `shared.sentences.steps`."""

    # calls
    CALL_ANSWERED = "call_answered"
    CALL_UNANSWERED = "call_unanswered"
    WAITED_FOR_CALL = "waited_for_call"

    # events
    EVENTS_ENDED = "events_ended"
    GOES_WITHOUT = "goes_without"
    PERSON_REPLAYS = "person_replays"
    REPLAYED_FOR_LINK = "replayed_for_link"
    STATUS_MAP_CHANGED = "status_map_changed"
    TICKET_IS_BACK = "ticket_is_back"

    # on whose behalf
    SENT_AS_ADMINISTRATOR = "sent_as_administrator"
    PERSON_NOT_ACTIVE = "person_not_active"
    PERSON_DELETED = "person_deleted"
    REFUSED_TO_ANYBODY = "refused_to_anybody"
    REFUSED_FOR_CONTENT = "refused_for_content"
    BOOKED_TO_PERSON = "booked_to_person"
    REPEATED_AS_ADMINISTRATOR = "repeated_as_administrator"
    ISSUE_MOVED = "issue_moved"
    LOGIN_CHANGED = "login_changed"
    MADE_MEMBER = "made_member"
    NOT_MADE_MEMBER = "not_made_member"
    MEMBERSHIP_UNCLEAR = "membership_unclear"
    MEMBERSHIP_WITHHELD = "membership_withheld"
    TEMPLATE_ROLES_REFUSED = "template_roles_refused"
    AUTHOR_DIFFERS = "author_differs"

    # bodies
    TEMPLATE_FAILED = "template_failed"
    BODY_FROM_TEMPLATE = "body_from_template"

    # issues, time entries, statuses
    ISSUE_CREATED = "issue_created"
    HOURS_LOGGED = "hours_logged"
    STATUS_GIVEN = "status_given"
    UPDATE_GIVEN = "update_given"
    STATUS_KEPT = "status_kept"
    FIELDS_GIVEN = "fields_given"
    FIELDS_KEPT = "fields_kept"
    PERHAPS_REFUSED_FOR = "perhaps_refused_for"

    # in doubt
    DOUBT_BEGAN = "doubt_began"
    DOUBT_HELD = "doubt_held"
    CREATION_FOUND = "creation_found"
    CREATION_ABSENT = "creation_absent"
    FOR_PERSON_TO_SAY = "for_person_to_say"
    LATE_AND_EXCHANGED = "late_and_exchanged"
    LATE_AND_TWICE = "late_and_twice"
    OWNER_ANSWERED = "owner_answered"
    ISSUE_WENT_AWAY = "issue_went_away"

    # after a restore
    NOT_THERE_YET = "not_there_yet"
    CREATED_BEFORE = "created_before"
    PERHAPS_CREATED_BEFORE = "perhaps_created_before"

    # a person decided
    PERSON_DECIDES = "person_decides"
    ADOPTION_TAKEN_BACK = "adoption_taken_back_by_person"
    LINK_FORGOTTEN = "person_forgets_link"
    ENTRY_GIVEN_TO = "entry_given_to"
    TIME_FOR_PERSON = "time_for_person"
    TIME_AGAIN = "time_again"
    TIME_AGAIN_LATER = "time_again_later"


class Arrival(Code):
    """That an event came in, as the trace tells it from the journal."""

    TICKET_CAME_IN = "ticket_came_in"
    DONE_TASK_CAME_IN = "done_task_came_in"
    OPEN_TASK_CAME_IN = "open_task_came_in"
    DELETION_CAME_IN = "deletion_came_in"
    FROM_THE_FUTURE = "from_the_future"
    CAME_LATE = "came_late"


class Actor(Code):
    """On whose behalf a call was made."""

    AS_PERSON = "as_person"
    AS_ADMINISTRATOR = "as_administrator"


class Which(Code):
    """What a person replayed, or what was linked: within a step or a change."""

    EVENTS_NAMED = "events_named"
    EVENTS_OF_STATE = "events_of_state"
    EVENTS_OF_CODE = "events_of_code"
    EVENTS_MATCHING = "events_matching"
    LINK_OF = "link_of"
