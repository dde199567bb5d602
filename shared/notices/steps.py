"""Codes of steps: what happened to a ticket, as the ticket history shows it."""

from __future__ import annotations

from shared.notices.notice import Code, Message, Plural
from shared.notices.reasons import Reason

AFTER_RESTORE = Reason.ASKED_AFTER_RESTORE.text


class What(Code):
    """A step in a ticket's history."""

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
        "Waited {seconds:.1f} s, because the worker already made {count} calls at once: {because}",
        article="KB-TRACKER-008",
    )

    # events
    EVENTS_ENDED = Message(
        "events_ended", Plural("Event {events}: {state}", "Events {events}: {state}"), why="{because}"
    )
    GOES_WITHOUT = Message(
        "goes_without",
        "Event {event_id} is processed without {facts:, }, because GLPI did not send it",
        why="{because}",
    )
    PERSON_REPLAYS = Message(
        "person_replays", "An operator replayed events of this ticket", why="[{command}][{which}]"
    )
    REPLAYED_FOR_LINK = Message(
        "replayed_for_link",
        "Skipped events are replayed",
        why="{link} was mapped to Redmine project {tracker_project_id}",
    )
    STATUS_MAP_CHANGED = Message(
        "status_map_changed",
        "Status re-sent",
        why="the previous status_map mapped it differently, or not at all",
    )
    TICKET_IS_BACK = Message(
        "ticket_is_back", "Skipped events are processed again", why="the ticket was restored in GLPI"
    )

    # on whose behalf
    SENT_AS_ADMINISTRATOR = Message(
        "sent_as_administrator", "Sent as the API user", why="{match}", article="KB-SETUP-006"
    )
    PERSON_NOT_ACTIVE = Message(
        "person_not_active",
        "{login} is not an active Redmine user; sent as the API user",
        why=(
            "{because}. Unlock {login} in Redmine, or map the GLPI user to another Redmine user with "
            "`deskbridge user map`"
        ),
        article="KB-SETUP-006",
    )
    PERSON_DELETED = Message(
        "person_deleted",
        "{login} was deleted in Redmine; sent as the API user",
        why="{because}. Map the GLPI user to another Redmine user with `deskbridge user map`",
        article="KB-SETUP-006",
    )
    REFUSED_TO_ANYBODY = Message(
        "refused_to_anybody",
        "Redmine rejected it for {login} and for the API user",
        why="{because}. The rights of {login} are not the cause",
        article="KB-WORK-003",
    )
    REFUSED_FOR_CONTENT = Message(
        "refused_for_content",
        "Redmine rejected the request of {login}",
        why="{because}. {login} has the right to create it, so deskbridge does not repeat it as another user",
        article="KB-WORK-003",
    )
    PRIVATE_AS_ADMINISTRATOR = Message(
        "private_as_administrator",
        "The private note is sent as the API user",
        why=(
            "Redmine would make it public for {login}, who may not set notes as private[: {because}][. Role {roles} "
            "lacks the right *{right}*: allow it (Administration, Roles and permissions)]"
        ),
        article="KB-WORK-005",
    )
    BOOKED_TO_PERSON = Message(
        "booked_to_person",
        "Sent as the API user, and booked to {login}",
        why="{because}. {login} may log time in the project, but cannot see the issue",
    )
    REPEATED_AS_ADMINISTRATOR = Message(
        "repeated_as_administrator",
        "Redmine rejected the request of {login}; repeated as the API user",
        why=(
            "{because}[. Give {login} a role with this right in Redmine project {tracker_project_id}][. Role "
            "{roles} lacks the right *{right}*: allow it (Administration, Roles and permissions)]"
        ),
        article="KB-WORK-005",
    )
    ISSUE_MOVED = Message(
        "issue_moved",
        "Issue #{issue_id} is now in Redmine project {tracker_project_id}",
        why=(
            "someone moved it in Redmine; deskbridge adds technicians who log time on it as members of that "
            "project"
        ),
    )
    LOGIN_CHANGED = Message(
        "login_changed", "{before} now has the login {login}", why="Redmine no longer knew the old login"
    )
    MADE_MEMBER = Message(
        "made_member",
        "{login} became a member of Redmine project {tracker_project_id}",
        why="only members can work in a private project",
    )
    NOT_MADE_MEMBER = Message(
        "not_made_member",
        "deskbridge could not add {login} as a member",
        why="{because}",
        article="KB-HINT-008",
    )
    MEMBERSHIP_UNCLEAR = Message(
        "membership_unclear",
        "deskbridge does not know if {login} became a member",
        why="{because}",
        article="KB-HINT-008",
    )
    MEMBERSHIP_WITHHELD = Message(
        "membership_withheld",
        "{login} did not become a member",
        why=(
            "only users with a confirmed match become members (membership_for): run `deskbridge user list "
            "--confirm`"
        ),
        article="KB-SETUP-003",
    )
    TEMPLATE_ROLES_REFUSED = Message(
        "template_roles_refused",
        "deskbridge left out the membership template's roles and sent the standard body",
        why="{roles} is not in default_role_id or template_role_ids",
        article="KB-SETUP-003",
    )
    AUTHOR_DIFFERS = Message(
        "author_differs",
        "The {kind:noun} has another author than intended",
        why="[{because}]",
        article="KB-WORK-005",
    )

    # bodies
    TEMPLATE_FAILED = Message(
        "template_failed",
        "Template for {operation} failed; deskbridge sent the standard body",
        why="{template}: {because}",
        article="KB-TEMPLATE-001",
    )
    BODY_FROM_TEMPLATE = Message(
        "body_from_template", "Body of {operation} from {template}", why="[{warnings:; }]"
    )

    # issues, time entries, statuses
    ISSUE_CREATED = Message(
        "issue_created",
        "Issue #{issue_id} created in Redmine project {tracker_project_id}",
        why="first finished task of a ticket with the mapping {link}; {match}",
    )
    HOURS_LOGGED = Message(
        "hours_logged",
        "{hours:.2f} h logged on issue #{issue_id} as time entry #{time_entry_id}",
        why="ticket task {task_id} is Done and has time",
    )
    NOTE_ADDED = Message("note_added", "Note #{note_id} added to issue #{issue_id}", why="{kind:word} {key}")
    DOCUMENT_ADDED = Message(
        "document_added",
        "Document {document_id} attached to issue #{issue_id} as #{attachment_id}",
    )
    NOTE_IS_PUBLIC = Message(
        "note_is_public",
        "Redmine did not make note #{note_id} private: everyone who sees issue #{issue_id} can read it",
        why="make the note private in Redmine[, and give {login} the right Set notes as private]",
        article="KB-SETUP-003",
    )
    STATUS_GIVEN = Message(
        "status_given",
        "Issue #{issue_id} set to Redmine status {tracker_status_id}",
        why="the ticket's newest status is {status} (event {event_id})",
    )
    DELETED_STATUS_SET = Message(
        "deleted_status_set",
        "Issue #{issue_id} set to Redmine status {tracker_status_id}",
        why="the ticket was deleted or merged in GLPI (deleted_status_id)",
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
        "deskbridge set {fields} of issue #{issue_id} as the API user",
        why="Redmine did not accept these values when the issue was created",
    )
    FIELDS_KEPT = Message(
        "fields_kept",
        "Issue #{issue_id} has other values of {fields} than deskbridge sent",
        why="Redmine did not accept them from any user[: {because}]",
        article="KB-WORK-007",
    )
    PERHAPS_REFUSED_FOR = Message(
        "perhaps_refused_for",
        "Possible cause of the rejection: [{field}: ]{problem}",
        why="{record}",
        article="KB-WORK-003",
    )

    # in doubt
    DOUBT_BEGAN = Message(
        "doubt_began",
        "In doubt: deskbridge does not know if the {kind:noun} was created",
        why="{because}. deskbridge looks in Redmine after {settling:g} s",
        article="KB-WORK-001",
    )
    DOUBT_HELD = Message(
        "doubt_held",
        "In doubt: deskbridge does not know if the {kind:noun} was created",
        why="{because}. in_doubt_policy is hold, so it needs your decision (`deskbridge hold list`)",
        article="KB-WORK-002",
    )
    CREATION_FOUND = Message(
        "creation_found",
        "The {kind:noun} had been created: #{tracker_id}",
        why=(
            "deskbridge found it in Redmine with the same text, author and time, and nothing else is linked "
            "to it"
        ),
    )
    CREATION_ABSENT = Message(
        "creation_absent",
        "The {kind:noun} had not been created",
        why="deskbridge looked in Redmine and did not find it",
    )
    FOR_PERSON_TO_SAY = Message(
        "for_person_to_say",
        "Needs your decision: was the {kind:noun} created?",
        why="{because}",
        article="KB-WORK-002",
    )
    LATE_AND_EXCHANGED = Message(
        "late_and_exchanged",
        "{kind:noun} #{tracker_id} was confirmed late",
        why="it had been mistaken for an identical one of another ticket",
    )
    LATE_AND_TWICE = Message(
        "late_and_twice",
        "{kind:noun} #{tracker_id} was confirmed late: possibly created twice",
        why="run `deskbridge hold list`",
        article="KB-WORK-002",
    )
    OWNER_ANSWERED = Message(
        "owner_answered",
        "The {kind:noun} #{tracker_id} belongs to {kind:word} {key}",
        why="Redmine's own answer for it arrived, or Redmine reused the id",
    )
    ISSUE_WENT_AWAY = Message(
        "issue_went_away",
        "Issue #{issue_id} was deleted in Redmine",
        why="it needs your decision: run `deskbridge hold list`",
        article="KB-WORK-002",
    )

    ISSUE_REPLACED = Message(
        "issue_replaced",
        "Nothing was sent: issue #{issue_id} is now another issue[, created {created_on}][ by {author}]",
        why="it needs your decision: run `deskbridge hold list`",
        article="KB-WORK-002",
    )

    # after a restore
    NOT_THERE_YET = Message(
        "not_there_yet",
        "Redmine does not have the {kind:noun} yet",
        why=AFTER_RESTORE,
        article="KB-WORK-004",
    )
    CREATED_BEFORE = Message(
        "created_before", "The {kind:noun} had been created before: #{tracker_id}", why=AFTER_RESTORE
    )
    PERHAPS_CREATED_BEFORE = Message(
        "perhaps_created_before",
        "Needs your decision: was the {kind:noun} already created as #{candidates:, #}?",
        why=Reason.ALIKE_AFTER_RESTORE.text,
        article="KB-WORK-004",
    )

    # a person decided
    PERSON_DECIDES = Message(
        "person_decides",
        "An operator resolved {kind:word} {key}: {verdict}",
        why="it was on hold because: {before}",
    )
    ADOPTION_TAKEN_BACK = Message(
        "adoption_taken_back_by_person",
        "An operator undid the adoption of {kind:noun} #{tracker_id}",
        why="nothing had been sent to it, so it needs a decision again",
    )
    LINK_FORGOTTEN = Message(
        "person_forgets_link",
        "An operator removed the link to {kind:noun} #{tracker_id}",
        why="the {kind:noun} stays in Redmine, and the next event creates a new one",
    )
    ENTRY_GIVEN_TO = Message(
        "entry_given_to",
        "Time entry #{time_entry_id} was assigned to {login}",
        why="an operator corrected its author",
    )
    NOTE_AGAIN = Message("note_again", "The {kind:noun} is sent again", why="{because}")
    NOTE_NOT_AGAIN = Message(
        "note_not_again", "The {kind:noun} is not sent again, because its event was pruned", why="{because}"
    )
    TIME_FOR_PERSON = Message("time_for_person", "Its time needs your decision", why="{because}")
    NOTE_FOR_PERSON = Message("note_for_person", "The {kind:noun} needs your decision", why="{because}")
    TIME_AGAIN = Message("time_again", "Its time is logged again", why="{because}")
    TIME_AGAIN_LATER = Message(
        "time_again_later",
        "Its time will be logged when GLPI sends the ticket task again, because its event was pruned",
        why="{because}",
    )


class Arrival(Code):
    """The arrival of an event, as the ticket history shows it."""

    TICKET_CAME_IN = Message(
        "ticket_came_in",
        "Event {event_id} arrived: ticket {verb:word}, ticket status {status}[ ({lateness})]",
    )
    NOTE_CAME_IN = Message(
        "note_came_in",
        ("Event {event_id} arrived: {kind:word} {key} {verb:word}, ticket status {status}[ ({lateness})]"),
    )
    DOCUMENT_CAME_IN = Message(
        "document_came_in",
        (
            "Event {event_id} arrived: document {document_id} {verb:word}, ticket status {status}[ ({lateness})]"
        ),
    )
    DONE_TASK_CAME_IN = Message(
        "done_task_came_in",
        (
            "Event {event_id} arrived: ticket task {task_id} {verb:word}, Done, {hours:.4g} h, ticket status "
            "{status}[ ({lateness})]"
        ),
    )
    OPEN_TASK_CAME_IN = Message(
        "open_task_came_in",
        (
            "Event {event_id} arrived: ticket task {task_id} {verb:word}, not Done (state {state}), {hours:.4g} "
            "h, ticket status {status}[ ({lateness})]"
        ),
    )
    DELETION_CAME_IN = Message(
        "deletion_came_in", "Event {event_id} arrived: ticket[ task {task_id}] {verb:word}[ ({lateness})]"
    )
    PART_WITHDRAWN = Message(
        "part_withdrawn",
        "Event {event_id} arrived: {kind:word} {key} {verb:word}[ ({lateness})]",
    )
    FROM_THE_FUTURE = Message(
        "from_the_future",
        "its time was in the future and was corrected: GLPI's clock is wrong",
        article="KB-SERVICE-007",
    )
    CAME_LATE = Message("came_late", "it happened at {occurred_at} UTC")


class Actor(Code):
    """The user on whose behalf a call was made."""

    AS_PERSON = Message("as_person", "as {login}")
    AS_ADMINISTRATOR = Message("as_administrator", "as the API user")


class Which(Code):
    """Within a step or a change: the replayed events, or the linked object."""

    EVENTS_NAMED = Message("events_named", "`deskbridge event replay {events: }`[ and {more} more]")
    EVENTS_OF_STATE = Message("events_of_state", "`deskbridge event replay --state {state}`")
    EVENTS_OF_CODE = Message("events_of_code", "`deskbridge event replay --state {state} --code {code}`")
    EVENTS_MATCHING = Message(
        "events_matching",
        (
            "every {state:word} event that matches[, {kind}][, ticket {ticket_id}][, {code}][, {cause}][, of "
            "{person}][, in {place}][, since {since}][, until {until}][, up to event {upto}]"
        ),
    )
    LINK_OF = Message("link_of", "{kind:word} {id}")
