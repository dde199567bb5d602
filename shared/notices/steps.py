"""Codes of steps: what happened to a ticket, as its trace tells it."""

from __future__ import annotations

from shared.notices.notice import Code, Message, Plural
from shared.notices.reasons import Reason

AFTER_RESTORE = Reason.ASKED_AFTER_RESTORE.text


class What(Code):
    """What happened."""

    # calls
    CALL_ANSWERED = Message(
        "call_answered", "{method} {path} {actor} answered {status} after {ms} ms", why="[{error}]"
    )
    CALL_UNANSWERED = Message(
        "call_unanswered",
        "{method} {path} {actor} got no answer after {ms} ms",
        why="[{error}]",
        article="KB-TRACKER-001",
    )
    WAITED_FOR_CALL = Message(
        "waited_for_call",
        "Waited {seconds:.1f} s for one of {count} calls at once: {because}",
        article="KB-TRACKER-008",
    )

    # events
    EVENTS_ENDED = Message(
        "events_ended", Plural("Event {events}: {state}", "Events {events}: {state}"), why="{because}"
    )
    GOES_WITHOUT = Message(
        "goes_without",
        "Event {event_id} goes without {facts:, }: the helpdesk did not send it",
        why="{because}",
    )
    PERSON_REPLAYS = Message(
        "person_replays", "A person replayed events of this ticket", why="[{command}][{which}]"
    )
    REPLAYED_FOR_LINK = Message(
        "replayed_for_link",
        "What had been skipped is replayed",
        why="{link} was linked to tracker project {tracker_project_id}",
    )
    STATUS_MAP_CHANGED = Message(
        "status_map_changed",
        "The status is given again",
        why="it was given by another status_map, or by none",
    )
    TICKET_IS_BACK = Message(
        "ticket_is_back", "What had been skipped is looked at again", why="the ticket was restored in GLPI"
    )

    # on whose behalf
    SENT_AS_ADMINISTRATOR = Message(
        "sent_as_administrator", "Sent as the administrator", why="{match}", article="KB-SETUP-006"
    )
    PERSON_NOT_ACTIVE = Message(
        "person_not_active",
        "{login} is no active user of the tracker; asked as the administrator",
        why="{because}. Unlock {login} on the tracker, or say who it is with `deskbridge map-user`.",
        article="KB-SETUP-006",
    )
    PERSON_DELETED = Message(
        "person_deleted",
        "{login} was deleted on the tracker; asked as the administrator",
        why="{because}. Say who it is with `deskbridge map-user`.",
        article="KB-SETUP-006",
    )
    REFUSED_TO_ANYBODY = Message(
        "refused_to_anybody",
        "The tracker refused it to {login} and to the administrator alike",
        why="{because}. The rights of {login} are not the cause.",
        article="KB-WORK-003",
    )
    REFUSED_FOR_CONTENT = Message(
        "refused_for_content",
        "The tracker refused what was sent as {login}",
        why="{because}. {login} has the right to create it, so it is not repeated in another name.",
        article="KB-WORK-003",
    )
    BOOKED_TO_PERSON = Message(
        "booked_to_person",
        "Sent as the administrator, to be booked to {login}",
        why="{because}. {login} may log time in the project, and does not see the issue.",
    )
    REPEATED_AS_ADMINISTRATOR = Message(
        "repeated_as_administrator",
        "The tracker refused to let {login} do it; repeated as the administrator",
        why="{because}[. Give {login} a role in tracker project {tracker_project_id} that may do it]"
        "[. Role {roles} lacks the right *{right}*: allow it (Administration, Roles and permissions)]",
        article="KB-WORK-005",
    )
    ISSUE_MOVED = Message(
        "issue_moved",
        "Issue #{issue_id} is in tracker project {tracker_project_id} now",
        why="a person moved it; whoever logs time on it is made a member there",
    )
    LOGIN_CHANGED = Message(
        "login_changed", "{before} is {login} now", why="the tracker did not know the login any more"
    )
    MADE_MEMBER = Message(
        "made_member",
        "{login} was made a member of tracker project {tracker_project_id}",
        why="the tracker lets only members work in a private project",
    )
    NOT_MADE_MEMBER = Message(
        "not_made_member", "{login} could not be made a member", why="{because}", article="KB-HINT-008"
    )
    MEMBERSHIP_UNCLEAR = Message(
        "membership_unclear",
        "Whether {login} was made a member is not known",
        why="{because}",
        article="KB-HINT-008",
    )
    MEMBERSHIP_WITHHELD = Message(
        "membership_withheld",
        "{login} was not made a member",
        why="only people whom somebody has confirmed are made members (membership_for): `deskbridge users --confirm`",
        article="KB-SETUP-003",
    )
    TEMPLATE_ROLES_REFUSED = Message(
        "template_roles_refused",
        "The membership template's roles were left out; the standard body is sent",
        why="neither default_role_id nor template_role_ids has {roles}",
        article="KB-SETUP-003",
    )
    AUTHOR_DIFFERS = Message(
        "author_differs",
        "The {kind:noun} belongs to somebody else than was meant",
        why="[{because}]",
        article="KB-WORK-005",
    )

    # bodies
    TEMPLATE_FAILED = Message(
        "template_failed",
        "Template for {operation} failed; the standard body is sent",
        why="{template}: {because}",
        article="KB-TEMPLATE-001",
    )
    BODY_FROM_TEMPLATE = Message(
        "body_from_template", "Body of {operation} from {template}", why="[{warnings:; }]"
    )

    # issues, time entries, statuses
    ISSUE_CREATED = Message(
        "issue_created",
        "Issue #{issue_id} created in tracker project {tracker_project_id}",
        why="first finished ticket task of a ticket linked by {link}; {match}",
    )
    HOURS_LOGGED = Message(
        "hours_logged",
        "{hours:.2f} h logged on issue #{issue_id} as time entry #{time_entry_id}",
        why="ticket task {task_id} is Done and has time",
    )
    STATUS_GIVEN = Message(
        "status_given",
        "Issue #{issue_id} set to tracker status {tracker_status_id}",
        why="the ticket's newest status is {status} (event {event_id})",
    )
    UPDATE_GIVEN = Message(
        "update_given",
        "Issue #{issue_id} updated",
        why="the ticket's newest status is {status} (event {event_id})",
    )
    STATUS_KEPT = Message(
        "status_kept", "Issue #{issue_id} kept its status", why="{because}", article="KB-SETUP-004"
    )
    FIELDS_GIVEN = Message(
        "fields_given",
        "Issue #{issue_id} was given {fields} as the administrator",
        why="the tracker had not taken them when the issue was created",
    )
    FIELDS_KEPT = Message(
        "fields_kept",
        "Issue #{issue_id} has other values of {fields} than were sent",
        why="the tracker took them from nobody[: {because}]",
        article="KB-WORK-007",
    )
    PERHAPS_REFUSED_FOR = Message(
        "perhaps_refused_for",
        "Why it may have been refused: [{field}: ]{problem}",
        why="{record}",
        article="KB-WORK-003",
    )

    # in doubt
    DOUBT_BEGAN = Message(
        "doubt_began",
        "In doubt whether the {kind:noun} was created",
        why="{because}. The tracker is asked after {settling:g} s.",
        article="KB-WORK-001",
    )
    DOUBT_HELD = Message(
        "doubt_held",
        "In doubt whether the {kind:noun} was created",
        why="{because}. The policy is hold: a person decides (`deskbridge held`).",
        article="KB-WORK-002",
    )
    CREATION_FOUND = Message(
        "creation_found",
        "The {kind:noun} had been created: #{tracker_id}",
        why="the tracker was asked and has one with the same text, author and time that nothing else is linked to",
    )
    CREATION_ABSENT = Message(
        "creation_absent",
        "The {kind:noun} was not created after all",
        why="the tracker was asked and does not have it",
    )
    FOR_PERSON_TO_SAY = Message(
        "for_person_to_say",
        "Whether the {kind:noun} was created is for a person to say",
        why="{because}",
        article="KB-WORK-002",
    )
    LATE_AND_EXCHANGED = Message(
        "late_and_exchanged",
        "{kind:noun} #{tracker_id} came late",
        why="it was taken for another's that is just the same",
    )
    LATE_AND_TWICE = Message(
        "late_and_twice",
        "{kind:noun} #{tracker_id} came late: possibly created twice",
        why="`deskbridge held`",
        article="KB-WORK-002",
    )
    OWNER_ANSWERED = Message(
        "owner_answered",
        "The {kind:noun} #{tracker_id} belongs to {kind} {key}",
        why="its own answer from the tracker came in; what was adopted is settled again",
    )
    ISSUE_WENT_AWAY = Message(
        "issue_went_away",
        "Issue #{issue_id} is gone",
        why="it was deleted on the tracker; a person decides: `deskbridge held`",
        article="KB-WORK-002",
    )

    # after a restore
    NOT_THERE_YET = Message(
        "not_there_yet",
        "The tracker does not have the {kind:noun} yet",
        why=AFTER_RESTORE,
        article="KB-WORK-004",
    )
    CREATED_BEFORE = Message(
        "created_before", "The {kind:noun} had been created before: #{tracker_id}", why=AFTER_RESTORE
    )
    PERHAPS_CREATED_BEFORE = Message(
        "perhaps_created_before",
        "Whether the {kind:noun} was created before is for a person to say: #{candidates:, #}",
        why=Reason.ALIKE_AFTER_RESTORE.text,
        article="KB-WORK-004",
    )

    # a person decided
    PERSON_DECIDES = Message(
        "person_decides", "A person decided on {kind} {key}: {verdict}", why="it had waited because: {before}"
    )
    ADOPTION_TAKEN_BACK = Message(
        "adoption_taken_back_by_person",
        "A person took back that it is {kind:noun} #{tracker_id}",
        why="nothing had been sent to it; it waits for a decision again",
    )
    LINK_FORGOTTEN = Message(
        "person_forgets_link",
        "A person had deskbridge forget the link to {kind:noun} #{tracker_id}",
        why="the {kind:noun} stays on the tracker; the next event creates another one",
    )
    ENTRY_GIVEN_TO = Message(
        "entry_given_to",
        "Time entry #{time_entry_id} was given to {login}",
        why="a person corrected its author",
    )
    TIME_FOR_PERSON = Message("time_for_person", "Its time is for a person to decide on", why="{because}")
    TIME_AGAIN = Message("time_again", "Its time is logged again", why="{because}")
    TIME_AGAIN_LATER = Message(
        "time_again_later",
        "Its time is logged again once the helpdesk sends the ticket task again: its event was pruned",
        why="{because}",
    )


class Arrival(Code):
    """That an event came in, as the trace tells it from the journal."""

    TICKET_CAME_IN = Message(
        "ticket_came_in", "Event {event_id} came in: ticket {verb}, ticket status {status}[ ({lateness})]"
    )
    DONE_TASK_CAME_IN = Message(
        "done_task_came_in",
        "Event {event_id} came in: ticket task {task_id} {verb}, Done, {hours:.4g} h, "
        "ticket status {status}[ ({lateness})]",
    )
    OPEN_TASK_CAME_IN = Message(
        "open_task_came_in",
        "Event {event_id} came in: ticket task {task_id} {verb}, not Done (state {state}), {hours:.4g} h, "
        "ticket status {status}[ ({lateness})]",
    )
    DELETION_CAME_IN = Message(
        "deletion_came_in", "Event {event_id} came in: ticket[ task {task_id}] {verb}[ ({lateness})]"
    )
    FROM_THE_FUTURE = Message(
        "from_the_future",
        "its time lay in the future and was set back: the helpdesk's clock is wrong",
        article="KB-SERVICE-007",
    )
    CAME_LATE = Message("came_late", "it happened at {occurred_at} UTC")


class Actor(Code):
    """On whose behalf a call was made."""

    AS_PERSON = Message("as_person", "as {login}")
    AS_ADMINISTRATOR = Message("as_administrator", "as the administrator")


class Which(Code):
    """What a person replayed, or what was linked: within a step or a change."""

    EVENTS_NAMED = Message("events_named", "`deskbridge replay {events: }`[ and {more} more]")
    EVENTS_OF_STATE = Message("events_of_state", "`deskbridge replay --state {state}`")
    EVENTS_OF_CODE = Message("events_of_code", "`deskbridge replay --state {state} --code {code}`")
    EVENTS_MATCHING = Message(
        "events_matching",
        "every {state:word} event that matches[, {kind}][, ticket {ticket_id}][, {code}][, {cause}]"
        "[, of {person}][, in {place}][, since {since}][, until {until}][, up to event {upto}]",
    )
    LINK_OF = Message("link_of", "{kind:word} {id}")
