"""What reasons say, of events and ledger rows alike."""

from __future__ import annotations

from shared.codes.reasons import Matching, Reason, Verdict
from shared.sentences.template import Plural, Table

KEPT = "[; the tracker has the issue with other values of {fields} than were sent]"

SENTENCES: Table = {
    Reason.NO_LINK: (
        "neither the ticket's helpdesk project nor its entity is linked to a tracker project "
        "(link one with `deskbridge link`, then replay)"
    ),
    Reason.NOT_DONE: "the ticket task is not Done (state {state}, Done is {done_state})",
    Reason.NO_TIME: "the ticket task has no time (actiontime is 0)",
    Reason.PRIVATE_TASK: (
        "the ticket task is private, and private_tasks is skip (to log its hours after all, change that and "
        "`deskbridge replay --state skipped --code private_task`)"
    ),
    Reason.COPY_OF_ANOTHER: (
        "GLPI made the ticket task as a copy (copy_of {original}): its time belongs to the original, "
        "whether or not that was logged"
    ),
    Reason.DELETED_THERE: "deleted in GLPI; what was sent before stays",
    Reason.TICKET_DELETED: (
        "the ticket is deleted in GLPI (in its bin, or for good); should it be restored, this is looked at again"
    ),
    Reason.NO_ISSUE: "the ticket has no issue; its newest status is taken when one is created",
    Reason.LOGGED_BEFORE: "logged before as time entry #{time_entry_id}; edits are not sent",
    Reason.LOGGED_BY_EVENT: "logged by event {event_id}",
    Reason.NEWER_TASK_EVENT: "event {event_id} of the same ticket task is newer",
    Reason.NEWER_TICKET_EVENT: "event {event_id} of the ticket is newer",
    Reason.TIME_LOGGED: f"time entry #{{time_entry_id}} on issue #{{issue_id}}{KEPT}",
    Reason.TIME_LOGGED_AS_ANOTHER: (
        f"time entry #{{time_entry_id}} on issue #{{issue_id}}; not by whom it should be: {{because}}{KEPT}"
    ),
    Reason.STATUS_SET: "issue #{issue_id} set to tracker status {tracker_status_id}",
    Reason.ISSUE_UPDATED: "issue #{issue_id} updated",
    Reason.STATUS_AS_IT_IS: "issue #{issue_id} has this status already",
    Reason.STATUS_NOT_MAPPED: "ticket status {status} is not in status_map",
    Reason.STATUS_NOT_IN_TEMPLATE: "ticket status {status} gives nothing in the template in force",
    Reason.STATUS_REFUSED: "the status was not given: {because}",
    Reason.DELIVERY_UNREADABLE: "a delivery[ to {source}] that cannot be read: {faults:; }",
    Reason.EVENT_UNREADABLE: (
        "the journal's row cannot be read, or is about something else than its event: no producer of ours wrote it"
    ),
    Reason.GAVE_UP: Plural(
        "gave up after {count} attempt without a clear answer",
        "gave up after {count} attempts without a clear answer",
    ),
    Reason.STATUS_WAITS: "the status waits",
    Reason.BEING_CREATED: "another worker is creating the {kind:noun}",
    Reason.BEING_WORKED_ON: "{kind} {key} is being worked on by others",
    Reason.BEGUN_ANEW: "{kind} {key} was begun anew",
    Reason.ROW_CHANGED: "its ledger row changed meanwhile",
    Reason.EQUAL_SETTLED_FIRST: "an equal {kind:noun} is being settled first",
    Reason.LINKED_ELSEWHERE: "{kind:noun} #{tracker_id} was linked to something else just now",
    Reason.CREATION_IN_DOUBT: "in doubt whether the {kind:noun} was created: {because}",
    Reason.WAITS_FOR_PERSON: "{kind} {key} waits for a person: {because}",
    Reason.HELPDESK_AWAITED: "the helpdesk is to say what the event lacks: {because}",
    Reason.NO_WORKER_TOOK_IT: "no worker has taken it",
    Reason.WORKER_AWAITED: "no worker has given a sign of life[ for {seconds:.0f} s]; start `deskbridge worker`",
    Reason.TURN_AWAITED: (
        "calls to the tracker wait for their turn: RATE_LIMIT allows {rate:g} a second, and the next turn is free in "
        "{seconds:.0f} s"
    ),
    Reason.HELPDESK_NOT_ASKED: (
        "let deskbridge ask the helpdesk's API (DESKBRIDGE_GLPI_API_URL), or install the helpdesk's plugin, which "
        "sends it; people can be mapped with `deskbridge map-user`"
    ),
    Reason.HELPDESK_SILENT_ON_IT: "the helpdesk's API does not tell it; the helpdesk's plugin sends it",
    Reason.CREATED_BY_EVENT: "created by event {event_id}",
    Reason.FOUND_ON_TRACKER: "found on the tracker as #{tracker_id}",
    Reason.FOUND_AFTER_RESTORE: "found on the tracker as #{tracker_id} after a restore",
    Reason.TAKEN_OVER: "taken over from another installation",
    Reason.CAUSE_NOT_KNOWN: "unknown",
    Reason.NEVER_TOLD: "the worker that claimed it never told what came of it",
    Reason.ASKED_AFTER_RESTORE: (
        "a backup was restored, so the tracker is asked before anything is created (`deskbridge recover`)"
    ),
    Reason.EQUAL_UNDER_WAY: "another of the same text is under way",
    Reason.OWNED_BY_ANOTHER: "#{tracker_id} turned out to belong to {kind} {key}",
    Reason.ABSENT_ON_TRACKER: "the tracker does not have it[, so it is sent again: {because}]",
    Reason.ALIKE_ARE_OTHERS: "what was alike on the tracker belongs to others",
    Reason.WENT_WITH_ISSUE: "time entry #{time_entry_id} went away with issue #{issue_id}",
    Reason.LINK_FORGOTTEN: "a person had deskbridge forget that it is linked to #{tracker_id}",
    Reason.POSSIBLY_TWICE: (
        "possibly created twice[: #{tracker_ids:, #}; keep one, delete the others on the tracker]"
    ),
    Reason.STAYS_UNDECIDED: "{before} ({because})",
    Reason.POLICY_IS_HOLD: "the policy is hold",
    Reason.UNEXPECTED_AUTHOR: (
        "the tracker has one with the same text, but by an author who is not expected"
    ),
    Reason.NO_VERDICT: Plural(
        "{count} round without a verdict: {because}",
        "{count} rounds without a verdict, the last: {because}",
    ),
    Reason.NEVER_CLEAR: Plural(
        "{count} attempt got no clear answer, and the tracker has nothing of it; look there before you have it "
        "created again",
        "{count} attempts got no clear answer, and the tracker has none of them; look there before you have it "
        "created again",
    ),
    Reason.ALIKE_AFTER_RESTORE: (
        "a backup was restored, and the tracker has one made since that is alike in part: "
        "it may be this one, edited, or another's that was not sent again yet"
    ),
    Reason.ISSUE_GONE: "issue #{issue_id} no longer exists on the tracker",
    Reason.ISSUE_GIVEN_UP: "logged on issue #{issue_id}, which was given up for issue #{adopted_id}",
    Reason.ISSUE_IS_ANOTHERS: "logged on issue #{issue_id}, which turned out to belong to ticket {ticket_id}",
    Reason.ID_GIVEN_AWAY: "the tracker gave #{tracker_id} to {kind} {key}",
    Reason.ANSWERED_AFTER_ALL: "what it waited for was answered after all",
    Reason.WAS_NOT_ITS_OWN: "what it had been linked to was not its own",
    Reason.ADOPTED_ANOTHERS: "what was adopted belongs to another",
    Reason.PERSON_DECIDED: "a person decided: {verdict}",
    Reason.ADOPTION_TAKEN_BACK: "a person took back that it is #{tracker_id}",
    Reason.PERSON_REPLAYED: "replayed by a person",
    Reason.LINK_WAS_MADE: "replayed: a link was made",
    Reason.MAP_WAS_CHANGED: "replayed: status_map was changed",
    Reason.TICKET_RESTORED: "the ticket was restored in GLPI",
    Reason.CREATION_UNKNOWN: "whether it was created is not known[: {because}]",
    Reason.NO_ID_IN_ANSWER: "the answer names no id",
    Reason.IN_USE: "{because}: delete it by hand, with what is below it, or move that away",
    Reason.PROJECT_BELOW: "a project was created below it",
    Reason.ISSUE_BELOW: "an issue was created below it",
    Reason.ISSUES_WITHIN: "issues were created in it",
    Verdict.ADOPT: "adopted {kind:noun} #{tracker_id}",
    Verdict.CREATE_AGAIN: "have the {kind:noun} created again",
    Matching.NOBODY_NAMED: "the helpdesk names nobody",
    Matching.OVERRIDE_NOT_CACHED: (
        "helpdesk user {helpdesk_user_id} is mapped to tracker user {tracker_user_id}, whom the cache of active "
        "tracker users does not hold (locked or deleted, or `deskbridge sync-metadata` is due)"
    ),
    Matching.BY_OVERRIDE: "override: helpdesk user {helpdesk_user_id} is {login}",
    Matching.BY_EMAIL: "e-mail: helpdesk user {helpdesk_user_id} is {login}",
    Matching.NO_EMAIL: "helpdesk user {helpdesk_user_id} has no override and no e-mail",
    Matching.EMAIL_UNKNOWN: (
        "helpdesk user {helpdesk_user_id} has no override, and no active tracker user (one that is locked is not) has "
        "the same main e-mail: say who it is with `deskbridge map-user`"
    ),
    Matching.EMAIL_CHANGED: (
        "helpdesk user {helpdesk_user_id} was tracker user {tracker_user_id} by e-mail, and the e-mail is {login}'s "
        "now: say who it is with `deskbridge map-user`"
    ),
    Matching.EMAIL_TAKEN: (
        "helpdesk user {helpdesk_user_id} has the e-mail of {login}, who is helpdesk user {other_id} already: "
        "say who it is with `deskbridge map-user`"
    ),
    Matching.NO_ADMINISTRATORS: (
        "helpdesk user {helpdesk_user_id} has the e-mail of {login}, an administrator of the tracker, and those are "
        "not matched by e-mail (match_administrators)"
    ),
    Matching.EMAIL_AMBIGUOUS: (
        "several tracker users have the e-mail of helpdesk user {helpdesk_user_id}[: {candidates}]; say who it is with "
        "`deskbridge map-user`"
    ),
}
