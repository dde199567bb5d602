"""Codes of reasons: why an event ended or waits, why a ledger row is as it is, why a status was not given."""

from __future__ import annotations

from shared.notices.notice import NOTHING_WRONG, Code, Message, Plural

KEPT = "[; the tracker has the issue with other values of {fields} than were sent]"


class Reason(Code, article=NOTHING_WRONG):
    """Why something is as it is."""

    # an event needs nothing, or nothing more
    NO_LINK = Message(
        "no_link",
        "neither the ticket's helpdesk project nor its entity is linked to a tracker project "
        "(link one with `deskbridge link`, then replay)",
        article="KB-HELPDESK-006",
    )
    NOT_DONE = Message("not_done", "the ticket task is not Done (state {state}, Done is {done_state})")
    NO_TIME = Message("no_time", "the ticket task has no time (actiontime is 0)")
    PRIVATE_TASK = Message(
        "private_task",
        "the ticket task is private, and private_tasks is skip (to log its hours after all, change that and "
        "`deskbridge replay --state skipped --code private_task`)",
    )
    COPY_OF_ANOTHER = Message(
        "copy_of_another",
        "GLPI made the ticket task as a copy (copy_of {original}): its time belongs to the original, "
        "whether or not that was logged",
    )
    COPIED_FROM_TICKET = Message(
        "copied_from_ticket",
        "GLPI copied the ticket task from ticket {ticket}: its time belongs to the original there, "
        "whether or not that was logged",
    )
    DELETED_THERE = Message("deleted_there", "deleted in GLPI; what was sent before stays")
    TICKET_DELETED = Message(
        "ticket_deleted",
        "the ticket is deleted in GLPI (in its bin, or for good); should it be restored, this is looked at again",
    )
    NO_ISSUE = Message("no_issue", "the ticket has no issue; its newest status is taken when one is created")
    LOGGED_BEFORE = Message(
        "logged_before", "logged before as time entry #{time_entry_id}; edits are not sent"
    )
    LOGGED_BY_EVENT = Message("logged_by_event", "logged by event {event_id}")
    NEWER_TASK_EVENT = Message("newer_task_event", "event {event_id} of the same ticket task is newer")
    NEWER_TICKET_EVENT = Message("newer_ticket_event", "event {event_id} of the ticket is newer")

    # it was done
    TIME_LOGGED = Message("time_logged", f"time entry #{{time_entry_id}} on issue #{{issue_id}}{KEPT}")
    TIME_LOGGED_AS_ANOTHER = Message(
        "time_logged_as_another",
        f"time entry #{{time_entry_id}} on issue #{{issue_id}}; not by whom it should be: {{because}}{KEPT}",
        article="KB-WORK-005",
    )
    STATUS_SET = Message("status_set", "issue #{issue_id} set to tracker status {tracker_status_id}")
    ISSUE_UPDATED = Message("issue_updated", "issue #{issue_id} updated")
    STATUS_AS_IT_IS = Message("status_as_it_is", "issue #{issue_id} has this status already")

    # it cannot be done
    STATUS_NOT_MAPPED = Message(
        "status_not_mapped", "ticket status {status} is not in status_map", article="KB-SETUP-004"
    )
    STATUS_NOT_IN_TEMPLATE = Message(
        "status_not_in_template",
        "ticket status {status} gives nothing in the template in force",
        article="KB-SETUP-004",
    )
    STATUS_REFUSED = Message("status_refused", "the status was not given: {because}", article="KB-SETUP-004")
    GAVE_UP = Message(
        "gave_up",
        Plural(
            "gave up after {count} attempt without a clear answer",
            "gave up after {count} attempts without a clear answer",
        ),
        article="KB-WORK-003",
    )
    EVENT_UNREADABLE = Message(
        "event_unreadable",
        "the journal's row cannot be read, or is about something else than its event: no producer of ours wrote it",
        article="KB-HELPDESK-002",
    )
    DELIVERY_UNREADABLE = Message(
        "delivery_unreadable",
        "a delivery[ to {source}] that cannot be read: {faults:; }",
        article="KB-HELPDESK-002",
    )

    # it waits
    STATUS_WAITS = Message("status_waits", "the status waits", article="KB-WORK-001")
    BEING_CREATED = Message(
        "being_created", "another worker is creating the {kind:noun}", article="KB-WORK-001"
    )
    BEING_WORKED_ON = Message(
        "being_worked_on", "{kind} {key} is being worked on by others", article="KB-WORK-001"
    )
    BEGUN_ANEW = Message("begun_anew", "{kind} {key} was started again", article="KB-WORK-001")
    ROW_CHANGED = Message("row_changed", "its ledger row changed meanwhile", article="KB-WORK-001")
    EQUAL_SETTLED_FIRST = Message(
        "equal_settled_first", "an equal {kind:noun} is being settled first", article="KB-WORK-001"
    )
    LINKED_ELSEWHERE = Message(
        "linked_elsewhere",
        "{kind:noun} #{tracker_id} was linked to something else just now",
        article="KB-WORK-001",
    )
    CREATION_IN_DOUBT = Message(
        "creation_in_doubt", "in doubt whether the {kind:noun} was created: {because}", article="KB-WORK-001"
    )
    WAITS_FOR_PERSON = Message(
        "waits_for_person", "{kind} {key} waits for a person: {because}", article="KB-WORK-002"
    )

    HELPDESK_AWAITED = Message(
        "helpdesk_awaited",
        "the helpdesk is to say what the event lacks: {because}",
        article="KB-HELPDESK-003",
    )
    WORKER_AWAITED = Message(
        "worker_awaited",
        "no worker has given a sign of life[ for {seconds:.0f} s]; start `deskbridge worker`",
        article="KB-SERVICE-005",
    )
    TURN_AWAITED = Message(
        "turn_awaited",
        "calls to the tracker wait for their turn: RATE_LIMIT allows {rate:g} a second, and the next turn is free in "
        "{seconds:.0f} s",
        article="KB-TRACKER-008",
    )

    # a sample waits
    NO_WORKER_TOOK_IT = Message("no_worker_took_it", "no worker has taken it", article="KB-WORK-001")

    # an event goes without something
    HELPDESK_NOT_ASKED = Message(
        "helpdesk_not_asked",
        "let deskbridge ask the helpdesk's API (DESKBRIDGE_GLPI_API_URL), or install the helpdesk's plugin, which "
        "sends it; people can be mapped with `deskbridge map-user`",
        article="KB-HELPDESK-003",
    )
    HELPDESK_SILENT_ON_IT = Message(
        "helpdesk_silent_on_it",
        "the helpdesk's API does not tell it; the helpdesk's plugin sends it",
        article="KB-HELPDESK-003",
    )

    # a ledger row is linked
    CREATED_BY_EVENT = Message("created_by_event", "created by event {event_id}")
    FOUND_ON_TRACKER = Message("found_on_tracker", "found on the tracker as #{tracker_id}")
    FOUND_AFTER_RESTORE = Message(
        "found_after_restore", "found on the tracker as #{tracker_id} after a restore"
    )
    TAKEN_OVER = Message("taken_over", "taken over from another installation")

    # it is in doubt
    CAUSE_NOT_KNOWN = Message("cause_not_known", "unknown", article="KB-WORK-002")
    NEVER_TOLD = Message(
        "never_told", "the worker that claimed it never told what came of it", article="KB-WORK-001"
    )
    ASKED_AFTER_RESTORE = Message(
        "asked_after_restore",
        "a backup was restored, so the tracker is asked before anything is created (`deskbridge recover`)",
        article="KB-WORK-001",
    )
    EQUAL_UNDER_WAY = Message(
        "equal_under_way", "another of the same text is under way", article="KB-WORK-001"
    )
    OWNED_BY_ANOTHER = Message(
        "owned_by_another", "#{tracker_id} turned out to belong to {kind} {key}", article="KB-WORK-002"
    )

    # it is free
    ABSENT_ON_TRACKER = Message(
        "absent_on_tracker", "the tracker does not have it[, so it is sent again: {because}]"
    )
    ALIKE_ARE_OTHERS = Message("alike_are_others", "what was alike on the tracker belongs to others")
    WENT_WITH_ISSUE = Message(
        "went_with_issue",
        "time entry #{time_entry_id} went away with issue #{issue_id}",
        article="KB-WORK-002",
    )
    LINK_FORGOTTEN = Message(
        "forgotten_by_a_person", "a person had deskbridge forget that it is linked to #{tracker_id}"
    )

    # it waits for a person
    POSSIBLY_TWICE = Message(
        "possibly_twice",
        "possibly created twice[: #{tracker_ids:, #}; keep one, delete the others on the tracker]",
        article="KB-WORK-002",
    )
    STAYS_UNDECIDED = Message("stays_undecided", "{before} ({because})", article="KB-WORK-002")
    POLICY_IS_HOLD = Message("policy_is_hold", "the policy is hold", article="KB-WORK-002")
    UNEXPECTED_AUTHOR = Message(
        "unexpected_author",
        "the tracker has one with the same text, but by an author who is not expected",
        article="KB-WORK-002",
    )
    NO_VERDICT = Message(
        "no_verdict",
        Plural(
            "{count} round without a verdict: {because}",
            "{count} rounds without a verdict, the last: {because}",
        ),
        article="KB-WORK-002",
    )
    NEVER_CLEAR = Message(
        "never_clear",
        Plural(
            "{count} attempt got no clear answer, and the tracker has nothing of it; look there before you have it "
            "created again",
            "{count} attempts got no clear answer, and the tracker has none of them; look there before you have it "
            "created again",
        ),
        article="KB-WORK-002",
    )
    ALIKE_AFTER_RESTORE = Message(
        "alike_after_restore",
        "a backup was restored, and the tracker has one made since that is alike in part: "
        "it may be this one, edited, or another's that was not sent again yet",
        article="KB-WORK-002",
    )
    ADOPTION_TAKEN_BACK = Message(
        "taken_back_by_a_person", "a person took back that it is #{tracker_id}", article="KB-WORK-002"
    )
    ISSUE_GONE = Message(
        "issue_gone", "issue #{issue_id} no longer exists on the tracker", article="KB-WORK-002"
    )
    ISSUE_GIVEN_UP = Message(
        "issue_given_up",
        "logged on issue #{issue_id}, which was given up for issue #{adopted_id}",
        article="KB-WORK-002",
    )
    ISSUE_IS_ANOTHERS = Message(
        "issue_is_anothers",
        "logged on issue #{issue_id}, which turned out to belong to ticket {ticket_id}",
        article="KB-WORK-002",
    )
    ID_GIVEN_AWAY = Message(
        "id_given_away", "the tracker gave #{tracker_id} to {kind} {key}", article="KB-WORK-002"
    )

    # an event goes on
    ANSWERED_AFTER_ALL = Message("answered_after_all", "what it waited for was answered after all")
    WAS_NOT_ITS_OWN = Message("was_not_its_own", "what it had been linked to was not its own")
    ADOPTED_ANOTHERS = Message("adopted_anothers", "what was adopted belongs to another")
    PERSON_DECIDED = Message("person_decided", "a person decided: {verdict}")
    PERSON_REPLAYED = Message("person_replayed", "replayed by a person")
    LINK_WAS_MADE = Message("link_was_made", "replayed: a link was made")
    MAP_WAS_CHANGED = Message("map_was_changed", "replayed: status_map was changed")
    TICKET_RESTORED = Message("ticket_restored", "the ticket was restored in GLPI")

    # a dry run has left something
    CREATION_UNKNOWN = Message(
        "creation_unknown", "whether it was created is not known[: {because}]", article="KB-TEMPLATE-002"
    )
    NO_ID_IN_ANSWER = Message("no_id_in_answer", "the answer names no id", article="KB-TEMPLATE-002")
    IN_USE = Message(
        "in_use",
        "{because}: delete it by hand, with what is below it, or move that away",
        article="KB-TEMPLATE-002",
    )
    PROJECT_BELOW = Message("project_below", "a project was created below it", article="KB-TEMPLATE-002")
    ISSUE_BELOW = Message("issue_below", "an issue was created below it", article="KB-TEMPLATE-002")
    ISSUES_WITHIN = Message("issues_within", "issues were created in it", article="KB-TEMPLATE-002")


class Verdict(Code, article="KB-WORK-002"):
    """What a person decided about an issue or a time entry."""

    ADOPT = Message("adopt_it", "adopted {kind:noun} #{tracker_id}")
    CREATE_AGAIN = Message("create_it_again", "have the {kind:noun} created again")


class Matching(Code, article="KB-SETUP-006"):
    """Who a helpdesk user is on the tracker, and why."""

    NOBODY_NAMED = Message("nobody_named", "the helpdesk names nobody")
    OVERRIDE_NOT_CACHED = Message(
        "override_not_cached",
        "helpdesk user {helpdesk_user_id} is mapped to tracker user {tracker_user_id}, whom the cache of active "
        "tracker users does not hold (locked or deleted, or `deskbridge sync-metadata` is due)",
    )
    BY_OVERRIDE = Message("by_override", "override: helpdesk user {helpdesk_user_id} is {login}")
    BY_EMAIL = Message("by_email", "e-mail: helpdesk user {helpdesk_user_id} is {login}")
    NO_EMAIL = Message("no_email", "helpdesk user {helpdesk_user_id} has no override and no e-mail")
    EMAIL_UNKNOWN = Message(
        "email_unknown",
        "helpdesk user {helpdesk_user_id} has no override, and no active tracker user (one that is locked is not) has "
        "the same main e-mail: say who it is with `deskbridge map-user`",
    )
    EMAIL_AMBIGUOUS = Message(
        "email_ambiguous",
        "several tracker users have the e-mail of helpdesk user {helpdesk_user_id}[: {candidates}]; say who it is with "
        "`deskbridge map-user`",
    )
    EMAIL_CHANGED = Message(
        "email_changed",
        "helpdesk user {helpdesk_user_id} was tracker user {tracker_user_id} by e-mail, and the e-mail is {login}'s "
        "now: say who it is with `deskbridge map-user`",
    )
    EMAIL_TAKEN = Message(
        "email_taken",
        "helpdesk user {helpdesk_user_id} has the e-mail of {login}, who is helpdesk user {other_id} already: "
        "say who it is with `deskbridge map-user`",
    )
    NO_ADMINISTRATORS = Message(
        "no_administrators",
        "helpdesk user {helpdesk_user_id} has the e-mail of {login}, an administrator of the tracker, and those are "
        "not matched by e-mail (match_administrators)",
    )
