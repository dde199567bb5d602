"""Codes of reasons: why an event ended or waits, why a ledger row has its state, why a status was not set."""

from __future__ import annotations

from shared.notices.notice import NOTHING_WRONG, Code, Message, Plural

KEPT = "[; in Redmine the issue has other values of {fields} than deskbridge sent]"


class Reason(Code, article=NOTHING_WRONG):
    """Why an event ended or waits, a creation has its state, or a status was not set."""

    # an event needs nothing, or nothing more
    NO_LINK = Message(
        "no_link",
        (
            "neither the ticket's GLPI project nor its entity has a mapping (add one with `deskbridge mapping add`, "
            "then replay)"
        ),
        article="KB-HELPDESK-006",
    )
    NOT_DONE = Message("not_done", "the ticket task is not Done (state {state}, Done is {done_state})")
    NO_TIME = Message("no_time", "the ticket task has no time (actiontime is 0)")
    PRIVATE_TASK = Message(
        "private_task",
        (
            "the ticket task is private, and private_tasks is skip (to log it, change the setting and run "
            "`deskbridge event replay --state skipped --code private_task`)"
        ),
    )
    COPY_OF_ANOTHER = Message(
        "copy_of_another",
        "the ticket task is GLPI's copy of task {original}, and only the original's time is logged",
    )
    COPIED_FROM_TICKET = Message(
        "copied_from_ticket",
        (
            "the ticket task is GLPI's copy of a task of ticket {ticket}, and only the original's time is "
            "logged"
        ),
    )
    DELETED_THERE = Message("deleted_there", "deleted in GLPI; the objects in Redmine stay")
    PRIVATE_THERE = Message("private_there", "private in GLPI now; what is already in Redmine stays")
    TICKET_DELETED = Message(
        "ticket_deleted",
        "the ticket is deleted in GLPI; if someone restores it, deskbridge processes this event again",
    )
    OF_EARLIER_TICKET = Message(
        "of_earlier_ticket",
        (
            "it is about an earlier ticket {ticket_id}, created {before}, whose number GLPI gave to the one created "
            "{created_at}; enter it in Redmine by hand"
        ),
        article="KB-HELPDESK-009",
    )
    NO_ISSUE = Message("no_issue", "the ticket has no issue yet; a new issue gets the newest status")
    LOGGED_BEFORE = Message(
        "logged_before", "already logged as time entry #{time_entry_id}; later edits are not sent"
    )
    FOLLOWUPS_OFF = Message(
        "followups_off",
        (
            "sync_followups is off (to send follow-ups, change the setting and run `deskbridge event replay "
            "--state skipped --code followups_off`)"
        ),
    )
    PRIVATE_FOLLOWUP = Message(
        "private_followup",
        "the follow-up is private, and sync_followups is public; its text was not stored",
    )
    SOLUTIONS_OFF = Message(
        "solutions_off",
        (
            "sync_solutions is off (to send solutions, change the setting and run `deskbridge event replay "
            "--state skipped --code solutions_off`)"
        ),
    )
    DOCUMENTS_OFF = Message(
        "documents_off",
        (
            "sync_documents is off (to send documents, change the setting and run `deskbridge event replay "
            "--state skipped --code documents_off`)"
        ),
    )
    PRIVATE_DOCUMENT = Message(
        "private_document",
        "the document belongs to a private follow-up or task, and an attachment in Redmine cannot be private",
        article="KB-WORK-009",
    )
    DOCUMENT_TOO_LARGE = Message(
        "document_too_large",
        (
            "the document is larger than {most} MB (to send it, raise document_max_mb and run `deskbridge event replay "
            "--state skipped --code document_too_large`)"
        ),
        article="KB-WORK-009",
    )
    DOCUMENT_TYPE_REFUSED = Message(
        "document_type_refused",
        (
            "document_refused_types contains {type} (to send it, change the setting and run `deskbridge event replay "
            "--state skipped --code document_type_refused`)"
        ),
        article="KB-WORK-009",
    )
    DOCUMENT_GONE = Message(
        "document_gone", "GLPI does not have the document any more", article="KB-WORK-009"
    )
    DOCUMENT_IS_EMPTY = Message("document_is_empty", "the document is an empty file", article="KB-WORK-009")
    DOCUMENTS_NEED_API = Message(
        "documents_need_api",
        (
            "deskbridge cannot fetch the document, because DESKBRIDGE_GLPI_API_URL is not set (after setting it, run "
            "`deskbridge event replay --state skipped --code documents_need_api`)"
        ),
        article="KB-WORK-009",
    )
    NOTE_IS_EMPTY = Message(
        "note_is_empty", "it contains no text, or its private text was not stored when it arrived"
    )
    NO_ISSUE_FOR_NOTE = Message(
        "no_issue_for_note", "the ticket has no issue yet; deskbridge sends it when the ticket has one"
    )
    NOTED_BEFORE = Message("noted_before", "already sent as note #{note_id}; later edits are not sent")
    ATTACHED_BEFORE = Message("attached_before", "already attached as #{attachment_id}")
    NOTED_BY_EVENT = Message("noted_by_event", "sent by event {event_id}")
    NEWER_NOTE_EVENT = Message(
        "newer_note_event", "event {event_id} of the same follow-up or solution is newer"
    )
    EARLIER_DOCUMENT_EVENT = Message(
        "earlier_document_event", "event {event_id} of the same document is earlier"
    )
    LOGGED_BY_EVENT = Message("logged_by_event", "logged by event {event_id}")
    NEWER_TASK_EVENT = Message("newer_task_event", "event {event_id} of the same ticket task is newer")
    NEWER_TICKET_EVENT = Message("newer_ticket_event", "event {event_id} of the ticket is newer")
    TRIAL_DROPPED = Message(
        "trial_dropped",
        (
            "dropped after the trial (to send it, run `deskbridge event replay --state skipped --code "
            "trial_dropped`)"
        ),
        article="KB-WORK-008",
    )

    # it was done
    TIME_LOGGED = Message("time_logged", f"time entry #{{time_entry_id}} on issue #{{issue_id}}{KEPT}")
    TIME_LOGGED_AS_ANOTHER = Message(
        "time_logged_as_another",
        (
            "time entry #{time_entry_id} on issue #{issue_id}[, with a wrong author: {because}][; the issue has a "
            f"wrong author: {{of_issue}}]{KEPT}"
        ),
        article="KB-WORK-005",
    )
    NOTE_SENT = Message("note_sent", "note #{note_id} on issue #{issue_id}")
    NOTE_SENT_AS_ANOTHER = Message(
        "note_sent_as_another",
        "note #{note_id} on issue #{issue_id}, under the wrong user: {because}",
        article="KB-WORK-005",
    )
    DOCUMENT_ATTACHED = Message("document_attached", "attachment #{attachment_id} of issue #{issue_id}")
    DOCUMENT_ATTACHED_AS_ANOTHER = Message(
        "document_attached_as_another",
        "attachment #{attachment_id} of issue #{issue_id}, under the wrong user: {because}",
        article="KB-WORK-005",
    )
    STATUS_SET = Message("status_set", "issue #{issue_id} set to Redmine status {tracker_status_id}")
    ISSUE_UPDATED = Message("issue_updated", "issue #{issue_id} updated")
    STATUS_AS_IT_IS = Message("status_as_it_is", "issue #{issue_id} already has this status")

    # it cannot be done
    STATUS_NOT_MAPPED = Message(
        "status_not_mapped", "ticket status {status} is not in status_map", article="KB-SETUP-004"
    )
    STATUS_NOT_IN_TEMPLATE = Message(
        "status_not_in_template",
        "the active template produces no status for ticket status {status}",
        article="KB-SETUP-004",
    )
    STATUS_REFUSED = Message(
        "status_refused", "Redmine did not accept the status: {because}", article="KB-SETUP-004"
    )
    GAVE_UP = Message(
        "gave_up",
        Plural(
            "gave up after {count} attempt[: {because}]",
            "gave up after {count} attempts[: {because}]",
        ),
        article="KB-WORK-003",
    )
    EVENT_UNREADABLE = Message(
        "event_unreadable",
        ("the row in the journal cannot be read or does not match its event, so deskbridge did not write it"),
        article="KB-HELPDESK-002",
    )
    DELIVERY_UNREADABLE = Message(
        "delivery_unreadable",
        "unreadable delivery[ to {source}]: {faults:; }",
        article="KB-HELPDESK-002",
    )

    # it waits
    STATUS_WAITS = Message("status_waits", "the status is waiting", article="KB-WORK-001")
    BEING_CREATED = Message(
        "being_created", "another worker is creating the {kind:noun}", article="KB-WORK-001"
    )
    BEING_WORKED_ON = Message(
        "being_worked_on", "another worker is processing {kind:word} {key}", article="KB-WORK-001"
    )
    BEGUN_ANEW = Message("begun_anew", "{kind:word} {key} was started again", article="KB-WORK-001")
    ROW_CHANGED = Message("row_changed", "its ledger row changed in the meantime", article="KB-WORK-001")
    EQUAL_SETTLED_FIRST = Message(
        "equal_settled_first", "an identical {kind:noun} is being resolved first", article="KB-WORK-001"
    )
    LINKED_ELSEWHERE = Message(
        "linked_elsewhere",
        "{kind:noun} #{tracker_id} was just linked to another ticket or task",
        article="KB-WORK-001",
    )
    CREATION_IN_DOUBT = Message(
        "creation_in_doubt",
        "deskbridge does not know yet if the {kind:noun} was created: {because}",
        article="KB-WORK-001",
    )
    WAITS_FOR_PERSON = Message(
        "waits_for_person",
        "{kind:word} {key} is on hold and needs your decision: {because}",
        article="KB-WORK-002",
    )

    HELPDESK_AWAITED = Message(
        "helpdesk_awaited",
        "waiting for missing data from GLPI: {because}",
        article="KB-HELPDESK-003",
    )
    WORKER_AWAITED = Message(
        "worker_awaited",
        "no worker is running[, the last heartbeat was {seconds:.0f} s ago]; start `deskbridge worker`",
        article="KB-SERVICE-005",
    )
    TURN_AWAITED = Message(
        "turn_awaited",
        (
            "calls to Redmine are waiting: RATE_LIMIT allows {rate:g} per second, and the next call can "
            "start in {seconds:.0f} s"
        ),
        article="KB-TRACKER-008",
    )

    TRIAL_MODE = Message("trial_mode", "Trial mode: would {would}[ and {also}]", article="KB-WORK-008")
    EARLIER_NOTE_FIRST = Message(
        "earlier_note_first",
        "event {event_id} of the ticket is earlier, and is sent first",
        article="KB-WORK-001",
    )
    DOCUMENTS_UNDER_WAY = Message(
        "documents_under_way", "other documents are being sent at the moment", article="KB-WORK-001"
    )
    DOCUMENT_AWAITED = Message(
        "document_awaited", "GLPI does not send the document yet: {because}", article="KB-HELPDESK-003"
    )
    DOCUMENT_MISSING = Message(
        "document_missing",
        (
            "GLPI says that it does not have the document; deskbridge asks again for a day and then skips it (if it "
            "was deleted, there is nothing to do)"
        ),
        article="KB-WORK-009",
    )

    # a sample waits
    NO_WORKER_TOOK_IT = Message("no_worker_took_it", "no worker has processed it yet", article="KB-WORK-001")

    # some data of an event is missing
    HELPDESK_NOT_ASKED = Message(
        "helpdesk_not_asked",
        (
            "set DESKBRIDGE_GLPI_API_URL, or install the GLPI plugin, which sends this data; users can be "
            "mapped with `deskbridge user map`"
        ),
        article="KB-HELPDESK-003",
    )
    HELPDESK_SILENT_ON_IT = Message(
        "helpdesk_silent_on_it",
        "GLPI's API does not provide this data; the GLPI plugin sends it",
        article="KB-HELPDESK-003",
    )

    # a ledger row is linked
    CREATED_BY_EVENT = Message("created_by_event", "created by event {event_id}")
    FOUND_ON_TRACKER = Message("found_on_tracker", "found in Redmine as #{tracker_id}")
    FOUND_AFTER_RESTORE = Message("found_after_restore", "found in Redmine as #{tracker_id} after a restore")
    TAKEN_OVER = Message("taken_over", "imported from another installation")

    # it is in doubt
    CAUSE_NOT_KNOWN = Message("cause_not_known", "unknown", article="KB-WORK-002")
    NEVER_TOLD = Message(
        "never_told", "the worker that claimed it did not report a result", article="KB-WORK-001"
    )
    ASKED_AFTER_RESTORE = Message(
        "asked_after_restore",
        (
            "a backup was restored, so deskbridge looks in Redmine before it creates anything (`deskbridge "
            "restore begin`)"
        ),
        article="KB-WORK-001",
    )
    EQUAL_UNDER_WAY = Message(
        "equal_under_way", "another one that may look the same is being created", article="KB-WORK-001"
    )
    OWNED_BY_ANOTHER = Message(
        "owned_by_another", "#{tracker_id} belongs to {kind:word} {key}", article="KB-WORK-002"
    )

    # it is free
    ABSENT_ON_TRACKER = Message("absent_on_tracker", "not found in Redmine[, so it is sent again: {because}]")
    ALIKE_ARE_OTHERS = Message("alike_are_others", "similar objects in Redmine belong to other tickets")
    WENT_WITH_ISSUE = Message(
        "went_with_issue",
        "time entry #{time_entry_id} was deleted together with issue #{issue_id}",
        article="KB-WORK-002",
    )
    NOTE_WENT_WITH_ISSUE = Message(
        "note_went_with_issue",
        "{kind:noun} #{note_id} was deleted together with issue #{issue_id}",
        article="KB-WORK-002",
    )
    LINK_FORGOTTEN = Message("forgotten_by_a_person", "an operator removed the link to #{tracker_id}")

    # it waits for a person
    POSSIBLY_TWICE = Message(
        "possibly_twice",
        "possibly created twice[: #{tracker_ids:, #}; keep one, and delete the others in Redmine]",
        article="KB-WORK-002",
    )
    STAYS_UNDECIDED = Message("stays_undecided", "{before} ({because})", article="KB-WORK-002")
    POLICY_IS_HOLD = Message("policy_is_hold", "in_doubt_policy is hold", article="KB-WORK-002")
    UNEXPECTED_AUTHOR = Message(
        "unexpected_author",
        "Redmine has one with the same text, but with an unexpected author",
        article="KB-WORK-002",
    )
    OTHER_TEXT = Message(
        "other_text",
        "Redmine has one with another text, by the same author: Redmine changes texts, or someone added one by hand",
        article="KB-WORK-002",
    )
    NO_VERDICT = Message(
        "no_verdict",
        Plural(
            "still unclear after {count} lookup: {because}",
            "still unclear after {count} lookups; the last result: {because}",
        ),
        article="KB-WORK-002",
    )
    NEVER_CLEAR = Message(
        "never_clear",
        Plural(
            (
                "{count} attempt got no clear answer, and deskbridge did not find it in Redmine; check Redmine "
                "before you create it again"
            ),
            (
                "{count} attempts got no clear answer, and deskbridge did not find it in Redmine; check Redmine "
                "before you create it again"
            ),
        ),
        article="KB-WORK-002",
    )
    ALIKE_AFTER_RESTORE = Message(
        "alike_after_restore",
        (
            "a backup was restored, and Redmine has a similar object that was created since; it may be this "
            "one, edited, or another one not sent again yet"
        ),
        article="KB-WORK-002",
    )
    ADOPTION_TAKEN_BACK = Message(
        "taken_back_by_a_person", "an operator undid the adoption of #{tracker_id}", article="KB-WORK-002"
    )
    ISSUE_GONE = Message("issue_gone", "issue #{issue_id} was deleted in Redmine", article="KB-WORK-002")
    ISSUE_NUMBER_REUSED = Message(
        "issue_number_reused",
        (
            "the ticket's issue no longer exists: #{issue_id} is now another issue[, created {created_on}][ by "
            "{author}]. If it is the ticket's own after all, adopt it; otherwise create it again"
        ),
        article="KB-WORK-002",
    )
    HELPDESK_ID_REUSED = Message(
        "helpdesk_id_reused",
        (
            "GLPI has another {kind:word} {key}, created {created_at}; #{tracker_id} belongs to the one created "
            "{before}. Create it again; if it is the same after all, adopt #{tracker_id}"
        ),
        article="KB-HELPDESK-009",
    )
    ISSUE_GIVEN_UP = Message(
        "issue_given_up",
        "sent to issue #{issue_id}, which was replaced by issue #{adopted_id}",
        article="KB-WORK-002",
    )
    ISSUE_IS_ANOTHERS = Message(
        "issue_is_anothers",
        "sent to issue #{issue_id}, which belongs to ticket {ticket_id}",
        article="KB-WORK-002",
    )
    ID_GIVEN_AWAY = Message(
        "id_given_away", "Redmine reused #{tracker_id} for {kind:word} {key}", article="KB-WORK-002"
    )

    # an event is due again
    ANSWERED_AFTER_ALL = Message("answered_after_all", "the outstanding answer arrived")
    WAS_NOT_ITS_OWN = Message("was_not_its_own", "it had been linked to an object of another ticket")
    ADOPTED_ANOTHERS = Message("adopted_anothers", "the adopted object belongs to another ticket")
    PERSON_DECIDED = Message("person_decided", "an operator decided: {verdict}")
    PERSON_REPLAYED = Message("person_replayed", "replayed by an operator")
    LINK_WAS_MADE = Message("link_was_made", "replayed because a mapping was added")
    ISSUE_IS_THERE = Message("issue_is_there", "processed again because the ticket has an issue now")
    MAP_WAS_CHANGED = Message("map_was_changed", "replayed because status_map was changed")
    TICKET_RESTORED = Message("ticket_restored", "the ticket was restored in GLPI")
    TRIAL_OVER = Message("trial_over", "due because trial mode was switched off", article="KB-WORK-008")

    # a dry run has left something
    CREATION_UNKNOWN = Message(
        "creation_unknown",
        "deskbridge does not know if it was created[: {because}]",
        article="KB-TEMPLATE-002",
    )
    NO_ID_IN_ANSWER = Message("no_id_in_answer", "the response contains no id", article="KB-TEMPLATE-002")
    IN_USE = Message(
        "in_use",
        "{because}: delete it in Redmine with everything below it, or move that to another place",
        article="KB-TEMPLATE-002",
    )
    PROJECT_BELOW = Message("project_below", "it contains a subproject", article="KB-TEMPLATE-002")
    ISSUE_BELOW = Message("issue_below", "it has a subtask", article="KB-TEMPLATE-002")
    ISSUES_WITHIN = Message("issues_within", "it contains issues", article="KB-TEMPLATE-002")


class Verdict(Code, article="KB-WORK-002"):
    """A user's decision about a creation on hold."""

    ADOPT = Message("adopt_it", "adopt {kind:noun} #{tracker_id}")
    CREATE_AGAIN = Message("create_it_again", "create the {kind:noun} again")


class Matching(Code, article="KB-SETUP-006"):
    """The match of a GLPI user with a Redmine user, or why there is none."""

    NOBODY_NAMED = Message("nobody_named", "GLPI names no technician")
    OVERRIDE_NOT_CACHED = Message(
        "override_not_cached",
        (
            "GLPI user {helpdesk_user_id} is mapped to Redmine user {tracker_user_id}, who is locked or "
            "deleted (or new: run `deskbridge metadata sync`)"
        ),
    )
    BY_OVERRIDE = Message("by_override", "mapped: GLPI user {helpdesk_user_id} is {login}")
    BY_EMAIL = Message("by_email", "e-mail: GLPI user {helpdesk_user_id} is {login}")
    NO_EMAIL = Message("no_email", "GLPI user {helpdesk_user_id} has no mapping and no e-mail address")
    EMAIL_UNKNOWN = Message(
        "email_unknown",
        (
            "GLPI user {helpdesk_user_id} has no mapping, and no active Redmine user has this e-mail "
            "address: map the user with `deskbridge user map`"
        ),
    )
    EMAIL_AMBIGUOUS = Message(
        "email_ambiguous",
        (
            "several Redmine users have the e-mail address of GLPI user {helpdesk_user_id}[: {candidates}]; "
            "map the user with `deskbridge user map`"
        ),
    )
    EMAIL_CHANGED = Message(
        "email_changed",
        (
            "the e-mail address that matched GLPI user {helpdesk_user_id} to Redmine user {tracker_user_id} "
            "now belongs to {login}: map the user with `deskbridge user map`"
        ),
    )
    EMAIL_TAKEN = Message(
        "email_taken",
        (
            "GLPI user {helpdesk_user_id} has the e-mail address of {login}, who already matches GLPI user "
            "{other_id}: map the user with `deskbridge user map`"
        ),
    )
    NO_ADMINISTRATORS = Message(
        "no_administrators",
        (
            "GLPI user {helpdesk_user_id} has the e-mail address of {login}, a Redmine administrator, and "
            "match_administrators is off"
        ),
    )
