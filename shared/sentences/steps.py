"""What steps of a trace say; `WHY`: why it was done, or what to do about it."""

from __future__ import annotations

from shared.codes.reasons import Reason
from shared.codes.steps import Actor, Arrival, What, Which
from shared.sentences.reasons import SENTENCES as REASONS
from shared.sentences.template import Plural, Table

SENTENCES: Table = {
    What.CALL_ANSWERED: "{method} {path} {actor} answered {status} after {ms} ms",
    What.CALL_UNANSWERED: "{method} {path} {actor} got no answer after {ms} ms",
    What.WAITED_FOR_CALL: "Waited {seconds:.1f} s for one of {count} calls at once: {because}",
    What.EVENTS_ENDED: Plural("Event {events}: {state}", "Events {events}: {state}"),
    What.GOES_WITHOUT: "Event {event_id} goes without {facts:, }: the helpdesk did not send it",
    What.PERSON_REPLAYS: "A person replayed events of this ticket",
    What.REPLAYED_FOR_LINK: "What had been skipped is replayed",
    What.STATUS_MAP_CHANGED: "The status is given again",
    What.TICKET_IS_BACK: "What had been skipped is looked at again",
    What.SENT_AS_ADMINISTRATOR: "Sent as the administrator",
    What.REPEATED_AS_ADMINISTRATOR: (
        "The tracker refused to let {login} do it; repeated as the administrator"
    ),
    What.REFUSED_FOR_CONTENT: "The tracker refused what was sent as {login}",
    What.BOOKED_TO_PERSON: "Sent as the administrator, to be booked to {login}",
    What.ISSUE_MOVED: "Issue #{issue_id} is in tracker project {tracker_project_id} now",
    What.PERSON_NOT_ACTIVE: "{login} is no active user of the tracker; asked as the administrator",
    What.PERSON_DELETED: "{login} was deleted on the tracker; asked as the administrator",
    What.REFUSED_TO_ANYBODY: "The tracker refused it to {login} and to the administrator alike",
    What.LOGIN_CHANGED: "{before} is {login} now",
    What.MADE_MEMBER: "{login} was made a member of tracker project {tracker_project_id}",
    What.NOT_MADE_MEMBER: "{login} could not be made a member",
    What.MEMBERSHIP_UNCLEAR: "Whether {login} was made a member is not known",
    What.MEMBERSHIP_WITHHELD: "{login} was not made a member",
    What.TEMPLATE_ROLES_REFUSED: "The membership template's roles were left out; the standard body is sent",
    What.AUTHOR_DIFFERS: "The {kind:noun} belongs to somebody else than was meant",
    What.TEMPLATE_FAILED: "Template for {operation} failed; the standard body is sent",
    What.BODY_FROM_TEMPLATE: "Body of {operation} from {template}",
    What.ISSUE_CREATED: "Issue #{issue_id} created in tracker project {tracker_project_id}",
    What.HOURS_LOGGED: "{hours:.2f} h logged on issue #{issue_id} as time entry #{time_entry_id}",
    What.STATUS_GIVEN: "Issue #{issue_id} set to tracker status {tracker_status_id}",
    What.UPDATE_GIVEN: "Issue #{issue_id} updated",
    What.STATUS_KEPT: "Issue #{issue_id} kept its status",
    What.FIELDS_GIVEN: "Issue #{issue_id} was given {fields} as the administrator",
    What.FIELDS_KEPT: "Issue #{issue_id} has other values of {fields} than were sent",
    What.PERHAPS_REFUSED_FOR: "Why it may have been refused: [{field}: ]{problem}",
    What.DOUBT_BEGAN: "In doubt whether the {kind:noun} was created",
    What.DOUBT_HELD: "In doubt whether the {kind:noun} was created",
    What.CREATION_FOUND: "The {kind:noun} had been created: #{tracker_id}",
    What.CREATION_ABSENT: "The {kind:noun} was not created after all",
    What.FOR_PERSON_TO_SAY: "Whether the {kind:noun} was created is for a person to say",
    What.LATE_AND_EXCHANGED: "{kind:noun} #{tracker_id} came late",
    What.LATE_AND_TWICE: "{kind:noun} #{tracker_id} came late: possibly created twice",
    What.OWNER_ANSWERED: "The {kind:noun} #{tracker_id} belongs to {kind} {key}",
    What.ISSUE_WENT_AWAY: "Issue #{issue_id} is gone",
    What.NOT_THERE_YET: "The tracker does not have the {kind:noun} yet",
    What.CREATED_BEFORE: "The {kind:noun} had been created before: #{tracker_id}",
    What.PERHAPS_CREATED_BEFORE: (
        "Whether the {kind:noun} was created before is for a person to say: #{candidates:, #}"
    ),
    What.PERSON_DECIDES: "A person decided on {kind} {key}: {verdict}",
    What.ADOPTION_TAKEN_BACK: "A person took back that it is {kind:noun} #{tracker_id}",
    What.LINK_FORGOTTEN: "A person had deskbridge forget the link to {kind:noun} #{tracker_id}",
    What.ENTRY_GIVEN_TO: "Time entry #{time_entry_id} was given to {login}",
    What.TIME_FOR_PERSON: "Its time is for a person to decide on",
    What.TIME_AGAIN: "Its time is logged again",
    What.TIME_AGAIN_LATER: (
        "Its time is logged again once the helpdesk sends the ticket task again: its event was pruned"
    ),
    Arrival.TICKET_CAME_IN: "Event {event_id} came in: ticket {verb}, ticket status {status}[ ({lateness})]",
    Arrival.DONE_TASK_CAME_IN: (
        "Event {event_id} came in: ticket task {task_id} {verb}, Done, {hours:.4g} h, "
        "ticket status {status}[ ({lateness})]"
    ),
    Arrival.OPEN_TASK_CAME_IN: (
        "Event {event_id} came in: ticket task {task_id} {verb}, not Done (state {state}), {hours:.4g} h, "
        "ticket status {status}[ ({lateness})]"
    ),
    Arrival.DELETION_CAME_IN: "Event {event_id} came in: ticket[ task {task_id}] {verb}[ ({lateness})]",
    Arrival.FROM_THE_FUTURE: "its time lay in the future and was set back: the helpdesk's clock is wrong",
    Arrival.CAME_LATE: "it happened at {occurred_at} UTC",
    Actor.AS_PERSON: "as {login}",
    Actor.AS_ADMINISTRATOR: "as the administrator",
    Which.EVENTS_NAMED: "`deskbridge replay {events: }`[ and {more} more]",
    Which.EVENTS_OF_STATE: "`deskbridge replay --state {state}`",
    Which.EVENTS_OF_CODE: "`deskbridge replay --state {state} --code {code}`",
    Which.EVENTS_MATCHING: (
        "every {state:word} event that matches[, {kind}][, ticket {ticket_id}][, {code}][, {cause}]"
        "[, since {since}][, until {until}][, up to event {upto}]"
    ),
    Which.LINK_OF: "{kind:word} {id}",
}

AFTER_RESTORE = REASONS[Reason.ASKED_AFTER_RESTORE]

WHY: Table = {
    What.CALL_ANSWERED: "[{error}]",
    What.CALL_UNANSWERED: "[{error}]",
    What.EVENTS_ENDED: "{because}",
    What.GOES_WITHOUT: "{because}",
    What.PERSON_REPLAYS: "[{command}][{which}]",
    What.STATUS_MAP_CHANGED: "it was given by another status_map, or by none",
    What.TICKET_IS_BACK: "the ticket was restored in GLPI",
    What.REPLAYED_FOR_LINK: "{link} was linked to tracker project {tracker_project_id}",
    What.SENT_AS_ADMINISTRATOR: "{match}",
    What.REPEATED_AS_ADMINISTRATOR: (
        "{because}[. Give {login} a role in tracker project {tracker_project_id} that may do it]"
        "[. Role {roles} lacks the right *{right}*: allow it (Administration, Roles and permissions)]"
    ),
    What.REFUSED_FOR_CONTENT: (
        "{because}. {login} has the right to create it, so it is not repeated in another name."
    ),
    What.BOOKED_TO_PERSON: "{because}. {login} may log time in the project, and does not see the issue.",
    What.ISSUE_MOVED: "a person moved it; whoever logs time on it is made a member there",
    What.PERSON_NOT_ACTIVE: (
        "{because}. Unlock {login} on the tracker, or say who it is with `deskbridge map-user`."
    ),
    What.PERSON_DELETED: "{because}. Say who it is with `deskbridge map-user`.",
    What.REFUSED_TO_ANYBODY: "{because}. The rights of {login} are not the cause.",
    What.LOGIN_CHANGED: "the tracker did not know the login any more",
    What.MADE_MEMBER: "the tracker lets only members work in a private project",
    What.NOT_MADE_MEMBER: "{because}",
    What.MEMBERSHIP_UNCLEAR: "{because}",
    What.MEMBERSHIP_WITHHELD: (
        "only people whom somebody has confirmed are made members (membership_for): `deskbridge users --confirm`"
    ),
    What.TEMPLATE_ROLES_REFUSED: "neither default_role_id nor template_role_ids has {roles}",
    What.AUTHOR_DIFFERS: "[{because}]",
    What.TEMPLATE_FAILED: "{template}: {because}",
    What.BODY_FROM_TEMPLATE: "[{warnings:; }]",
    What.ISSUE_CREATED: "first finished ticket task of a ticket linked by {link}; {match}",
    What.HOURS_LOGGED: "ticket task {task_id} is Done and has time",
    What.STATUS_GIVEN: "the ticket's newest status is {status} (event {event_id})",
    What.UPDATE_GIVEN: "the ticket's newest status is {status} (event {event_id})",
    What.STATUS_KEPT: "{because}",
    What.FIELDS_GIVEN: "the tracker had not taken them when the issue was created",
    What.FIELDS_KEPT: "the tracker took them from nobody[: {because}]",
    What.PERHAPS_REFUSED_FOR: "{record}",
    What.DOUBT_BEGAN: "{because}. The tracker is asked after {settling:g} s.",
    What.DOUBT_HELD: "{because}. The policy is hold: a person decides (`deskbridge held`).",
    What.CREATION_FOUND: (
        "the tracker was asked and has one with the same text, author and time that nothing else is linked to"
    ),
    What.CREATION_ABSENT: "the tracker was asked and does not have it",
    What.FOR_PERSON_TO_SAY: "{because}",
    What.LATE_AND_EXCHANGED: "it was taken for another's that is just the same",
    What.LATE_AND_TWICE: "`deskbridge held`",
    What.OWNER_ANSWERED: "its own answer from the tracker came in; what was adopted is settled anew",
    What.ISSUE_WENT_AWAY: "it was deleted on the tracker; a person decides: `deskbridge held`",
    What.NOT_THERE_YET: AFTER_RESTORE,
    What.CREATED_BEFORE: AFTER_RESTORE,
    What.PERHAPS_CREATED_BEFORE: REASONS[Reason.ALIKE_AFTER_RESTORE],
    What.PERSON_DECIDES: "it had waited because: {before}",
    What.ADOPTION_TAKEN_BACK: "nothing had been sent to it; it waits for a decision again",
    What.LINK_FORGOTTEN: "the {kind:noun} stays on the tracker; the next event creates another one",
    What.ENTRY_GIVEN_TO: "a person corrected its author",
    What.TIME_FOR_PERSON: "{because}",
    What.TIME_AGAIN: "{because}",
    What.TIME_AGAIN_LATER: "{because}",
}
