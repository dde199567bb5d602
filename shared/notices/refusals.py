"""Codes of refusals: why deskbridge itself refuses a person's request."""

from __future__ import annotations

from shared.notices.notice import WRONG_ASKED, Code, Message, Plural


class Refusal(Code, article=WRONG_ASKED):
    """Why deskbridge refused a command or an API request, or could not carry it out."""

    # the tracker's settings
    TRACKER_NOT_CONFIGURED = Message(
        "tracker_not_configured",
        "Redmine is not configured: run `deskbridge config set base_url=https://…`",
        article="KB-TRACKER-001",
    )
    API_KEY_NOT_STORED = Message(
        "api_key_not_stored",
        "no API key is stored: run `deskbridge config set-api-key`",
        article="KB-SETUP-001",
    )
    API_KEY_NOT_OPENED = Message(
        "api_key_not_opened",
        (
            "cannot decrypt the stored API key with DESKBRIDGE_SECRET_KEYS[ of the worker on {host}]: add "
            "the key that encrypted it[, and restart the worker on {host}]"
        ),
        article="KB-SETUP-001",
    )
    API_KEY_EMPTY = Message("api_key_empty", "the API key is empty", article="KB-SETUP-001")
    API_KEY_MALFORMED = Message(
        "api_key_malformed",
        "the API key must be one line of printable ASCII characters without spaces",
        article="KB-SETUP-001",
    )
    CONFIG_NOT_VALID = Message("config_not_valid", "{faults:; }")
    CONFIG_KEY_UNKNOWN = Message("config_key_unknown", "unknown setting {keys} (known: {known})")
    ADDRESS_NOT_EMPTIED = Message(
        "address_not_emptied",
        (
            "base_url cannot be empty, because {issues} and {entries} were created at {before}. To stop the "
            "sync, stop the workers"
        ),
    )
    ADDRESS_IN_USE = Message(
        "address_in_use",
        (
            "base_url stays {before}, because {issues} and {entries} were created at {before}, and "
            "{base_url} uses other ids. If it is the same Redmine with a new URL, add --moved. Another "
            "Redmine needs its own installation and database"
        ),
    )
    ISSUE_IS_ANOTHER = Message(
        "issue_is_another_there",
        (
            "base_url stays {before}: issue #{issue_id} of {base_url} is not the one that deskbridge created[; it "
            "was created {created_on}][ by {author}]. Another Redmine needs its own installation and database"
        ),
    )
    ISSUES_NOT_THERE = Message(
        "issues_not_there",
        (
            "base_url stays {before}: {base_url} has none of the issues {issue_ids:, #} that deskbridge created. "
            "Another Redmine needs its own installation and database"
        ),
    )
    ISSUE_NOT_READ = Message(
        "issue_not_read_there",
        (
            "base_url stays {before}: deskbridge compares the issues that it created first, but {base_url} did "
            "not show issue #{issue_id}[: {problem}]"
        ),
    )
    METADATA_BUSY = Message(
        "metadata_busy", "another metadata sync is already running", article="KB-COMMAND-002"
    )
    METADATA_PART_UNKNOWN = Message(
        "metadata_part_unknown", "unknown part of the metadata: {part} (valid: {parts})"
    )
    ID_NOT_ON_TRACKER = Message(
        "id_not_on_tracker",
        (
            "Redmine has no {kind:word} {id}; valid: {choices}[ and {more} more] (for new ones, run "
            "`deskbridge metadata sync` first)"
        ),
        article="KB-SETUP-007",
    )
    ID_SWITCHED_OFF = Message(
        "id_switched_off",
        (
            "{id} ({name}) is disabled in Redmine; valid: {choices}[ and {more} more] (for new ones, run "
            "`deskbridge metadata sync` first)"
        ),
        article="KB-SETUP-007",
    )
    CATEGORY_NOT_OF_PROJECT = Message(
        "category_not_of_project",
        (
            "Redmine project {project_id} has no issue category {category_id}; valid: {choices}[ and {more} "
            "more] (for new ones, run `deskbridge metadata sync` first)"
        ),
        article="KB-SETUP-002",
    )
    PROJECT_WITHOUT_CATEGORIES = Message(
        "project_without_categories",
        (
            "Redmine project {project_id} has no issue categories, so {category_id} is not valid (for new "
            "ones, run `deskbridge metadata sync` first)"
        ),
        article="KB-SETUP-002",
    )
    TRACKER_USERS_UNKNOWN = Message(
        "tracker_users_unknown",
        (
            "Redmine has no active user {users}; valid: {choices}[ and {more} more] (for new ones, run "
            "`deskbridge metadata sync` first)"
        ),
        article="KB-SETUP-007",
    )

    # named objects that do not exist
    EVENTS_UNKNOWN = Message("events_unknown", "unknown event {events} (see `deskbridge event list`)")
    EVENT_UNKNOWN = Message("event_unknown", "unknown event {event_id} (see `deskbridge event list`)")
    TICKET_UNKNOWN = Message(
        "ticket_unknown",
        "ticket {ticket_id} is unknown: no event for it has been received (see `deskbridge event list`)",
    )
    LINK_UNKNOWN = Message("link_unknown", "{kind:word} {id} has no mapping (see `deskbridge mapping list`)")
    RECORD_UNKNOWN = Message("record_unknown", "there is no article {record}")
    OPERATION_UNKNOWN = Message("operation_unknown", "unknown operation {operation} (valid: {operations})")
    TEMPLATE_UNKNOWN = Message(
        "template_unknown", "there is no template {template_id} (see `deskbridge template list`)"
    )
    TEMPLATE_VERSION_UNKNOWN = Message(
        "template_version_unknown", "template {template_id} has no version {version} (newest: {newest})"
    )
    NO_VERSION_BEFORE = Message(
        "no_version_before", "template {template_id} has no previously active version"
    )
    ACCOUNT_UNKNOWN = Message("account_unknown", "there is no account {name} (see `deskbridge account list`)")
    TOKEN_UNKNOWN = Message("token_unknown", "there is no API token {name}")
    OVERRIDE_UNKNOWN = Message(
        "override_unknown", "GLPI user {helpdesk_user_id} has no mapping (see `deskbridge user list`)"
    )
    NO_MATCH_TO_CONFIRM = Message(
        "no_match_to_confirm",
        (
            "these GLPI users have no e-mail match to confirm: {people} (see `deskbridge user list`, or map them "
            "with `user map`)"
        ),
    )
    PERSON_UNKNOWN = Message("person_unknown", "deskbridge has no data about this person")
    NOT_ON_TRACKER = Message(
        "not_on_tracker",
        "Redmine has no {kind:noun} #{tracker_id}[ on issue #{issue_id}]: check the number",
        article="KB-SETUP-007",
    )
    CHANGE_UNKNOWN = Message("change_unknown", "there is no entry {change_id} in the audit log")
    HELPDESK_PROJECT_ZERO = Message("helpdesk_project_zero", "the id of a GLPI project must be 1 or more")

    # links and projects
    PROJECT_CLOSED_NOW = Message(
        "project_closed_now",
        "Redmine project {project_id}[ ({project_name})] is closed: reopen it in Redmine, then map it",
        article="KB-SETUP-002",
    )
    PROJECT_ARCHIVED_NOW = Message(
        "project_archived_now",
        ("Redmine project {project_id}[ ({project_name})] is archived: unarchive it in Redmine, then map it"),
        article="KB-SETUP-002",
    )
    PROJECT_NOT_READ_YET = Message(
        "project_not_read_yet",
        (
            "Redmine project {project_id}[ ({project_name})] was not found in the last metadata sync: run "
            "`deskbridge metadata sync`, then map it"
        ),
        article="KB-SETUP-002",
    )
    CATEGORY_NOT_READ_YET = Message(
        "category_not_read_yet",
        (
            "issue category {category_id} of Redmine project {project_id}[ ({project_name})] was not found "
            "in the last metadata sync: run `deskbridge metadata sync`, then map it"
        ),
        article="KB-SETUP-002",
    )
    FORM_NOT_VALID = Message("form_not_valid", "{faults:; }")
    PROJECT_IN_DOUBT = Message(
        "project_in_doubt",
        (
            "deskbridge does not know if Redmine project {identifier} was created ({problem}): send the form "
            "again in a moment; deskbridge looks for the project first"
        ),
        article="KB-TRACKER-007",
    )
    PROJECT_JUST_ASKED_FOR = Message(
        "project_just_asked_for",
        (
            "another form just requested Redmine project {identifier}, and the result is not known yet: send "
            "the form again in {seconds:g} seconds"
        ),
        article="KB-TRACKER-007",
    )
    LINKS_NOT_IMPORTED = Message("links_not_imported", "nothing was imported: {faults:; }[; and {more} more]")

    # creations on hold, links and wrong authors
    NOT_HELD_BUT = Message(
        "not_held_but",
        "{kind:word} {id} is not on hold: it is {state:word} (see `deskbridge hold list`)",
        article="KB-WORK-002",
    )
    NOT_HELD_NOR_KNOWN = Message(
        "not_held_nor_known",
        "{kind:word} {id} is not on hold: deskbridge does not know it (see `deskbridge hold list`)",
        article="KB-WORK-002",
    )
    EVENTS_PAST_RETENTION = Message(
        "events_past_retention",
        (
            "cannot log the time again, because the events of ticket task {task_id} were pruned: re-send the "
            "task from GLPI, then resolve it"
        ),
        article="KB-WORK-002",
    )
    NOTE_PAST_RETENTION = Message(
        "note_past_retention",
        "cannot send it again, because the events of {kind:word} {id} were pruned: add it in Redmine",
        article="KB-WORK-002",
    )
    LINKED_MEANWHILE = Message(
        "linked_meanwhile",
        "{kind:noun} #{number} was just linked to another ticket or task",
        article="KB-WORK-002",
    )
    LINKED_ALREADY = Message(
        "linked_already",
        "{kind:noun} #{number} already belongs to {kind:word} {id}: adopt another one",
        article="KB-WORK-002",
    )
    NOT_LINKED_TO_ANY = Message("not_linked_to_any", "{kind:word} {id} has no link to remove")
    ADOPTION_NOT_A_PERSONS = Message(
        "adoption_not_a_persons",
        "there is no adoption of {kind:word} {id} to undo",
        article="KB-WORK-002",
    )
    SENT_SINCE_ADOPTION = Message(
        "sent_since_adoption",
        (
            "deskbridge has sent data to {kind:noun} #{tracker_id} since the adoption, so it cannot be "
            "undone: correct it in Redmine, then remove the link (`deskbridge ticket forget`)"
        ),
        article="KB-WORK-002",
    )
    ADOPTION_IN_USE = Message(
        "adoption_in_use",
        "a worker is processing ticket {ticket_id}: try again in a moment",
        article="KB-WORK-002",
    )
    OLDER_THAN_SENT = Message(
        "older_than_sent",
        (
            "{kind:noun} #{number} was created before deskbridge sent anything for {kind:word} {id}: confirm "
            "that it is the right one, or choose another"
        ),
        article="KB-WORK-002",
    )
    LINK_IN_FLIGHT = Message(
        "link_in_flight",
        (
            "{kind:word} {id} is being processed ({state:word}), so its link cannot be removed now: try "
            "again later (see `deskbridge ticket history`)"
        ),
        article="KB-WORK-002",
    )
    LINK_FOR_A_PERSON = Message(
        "link_for_a_person",
        "{kind:word} {id} is on hold: resolve it with `deskbridge hold resolve` (see `deskbridge hold list`)",
        article="KB-WORK-002",
    )
    TIME_ENTRY_UNKNOWN = Message(
        "time_entry_unknown",
        "ticket task {task_id} has no time entry (see `deskbridge author list`)",
        article="KB-WORK-005",
    )
    LOGGING_EVENT_PRUNED = Message(
        "logging_event_pruned",
        "the event that logged ticket task {task_id} was pruned: correct the time entry in Redmine",
        article="KB-WORK-005",
    )
    HOURS_OF_NOBODY = Message("hours_of_nobody", "the ticket task names no technician", article="KB-WORK-005")
    HOURS_OF_SOMEBODY_UNKNOWN = Message(
        "hours_of_somebody_unknown",
        (
            "GLPI user {helpdesk_user_id} did the work, but has no Redmine user: map the user (`deskbridge "
            "user map`), then try again"
        ),
        article="KB-WORK-005",
    )
    AUTHOR_REFUSED = Message(
        "author_refused",
        (
            "Redmine rejected {login} ({problem}): only members of the issue's project can have time entries "
            "there"
        ),
        article="KB-WORK-005",
    )
    AUTHOR_IGNORED = Message(
        "author_ignored",
        "Redmine did not assign time entry #{time_entry_id} to {login}",
        article="KB-WORK-005",
    )
    ENTRY_IS_ANOTHER = Message(
        "entry_is_another",
        (
            "Nothing was changed: time entry #{time_entry_id} is not the one that deskbridge created on issue "
            "#{issue_id}. It was deleted or moved, or Redmine gave its number to another one"
        ),
        article="KB-WORK-005",
    )
    DATA_STILL_NEEDED = Message(
        "data_still_needed",
        (
            "deskbridge still needs this person's data, because tickets have pending events ({tickets}: "
            "{examples}): wait until `deskbridge event list --state pending` and `deskbridge hold list` no longer "
            "list them"
        ),
        article="KB-COMMAND-004",
    )
    RESTORED_IN_FUTURE = Message(
        "restored_in_future", "--since {since} is in the future: enter the time of the backup"
    )
    RECOVERY_NEEDED_BY_PENDING = Message(
        "recovery_needed_by_pending",
        Plural(
            "recovery mode stays on, because {count} event is pending, and would be processed without a search in "
            "Redmine: run this command again when it is done",
            "recovery mode stays on, because {count} events are pending, and would be processed without a search in "
            "Redmine: run this command again when they are done",
        ),
        article="KB-WORK-004",
    )
    RECOVERY_NEEDED_UNTIL = Message(
        "recovery_needed_until",
        (
            "recovery mode stays on, because a ticket whose events GLPI has not sent again would get a second issue: "
            "run this command after `deskbridge reconcile`, or after {until}, when the mode has been on for as long "
            "as the backup was old. If you know that nothing is missing, add --nothing-lost"
        ),
        article="KB-WORK-004",
    )
    RECOVERY_NEVER_BEGUN = Message(
        "recovery_never_begun",
        (
            "recovery mode is off, but nothing is sent: {problem}. Run `deskbridge restore begin`; if the database was "
            "only moved and lacks nothing, add --nothing-lost to this command"
        ),
        article="KB-WORK-010",
    )

    # events that are sent, and samples
    EVENT_NOT_VALID = Message("event_not_valid", "{faults:; }", article="KB-HELPDESK-005")
    EVENT_FILE_NOT_TEXT = Message(
        "event_file_not_text", "line {line} is not valid UTF-8", article="KB-HELPDESK-005"
    )
    EVENTS_NOT_SENT = Message(
        "events_not_sent", "nothing was sent:\n{faults:\n}[\n… and {more} more]", article="KB-HELPDESK-005"
    )
    EVENTS_SENT_IN_PART = Message(
        "events_sent_in_part",
        Plural(
            "{problem} ({count} event was accepted before that)",
            "{problem} ({count} events were accepted before that)",
        ),
        article="KB-HELPDESK-005",
    )
    PRODUCER_UNREACHABLE = Message(
        "producer_unreachable",
        "cannot reach {url} ({error}): check that `deskbridge producer` is running",
        article="KB-HELPDESK-005",
    )
    PRODUCER_UNLIKE_ONE = Message(
        "producer_unlike_one", "the server at {url} is not a deskbridge producer", article="KB-HELPDESK-005"
    )
    PRODUCER_REFUSED = Message(
        "producer_refused",
        "the producer rejected the request with {status}: {errors:; }[; try again in {wait} s]",
        article="KB-HELPDESK-005",
    )
    HELPDESK_UNANSWERED = Message(
        "helpdesk_unanswered",
        "GLPI's API gave no usable answer: {problem}",
        article="KB-HELPDESK-003",
    )
    SAMPLE_NOT_LINKED = Message(
        "sample_not_linked",
        (
            "entity {entity_id} has no mapping, so a sample would not be sent: run `deskbridge mapping add entity "
            "{entity_id} REDMINE_PROJECT_ID`"
        ),
    )
    SAMPLE_WAITS = Message(
        "sample_waits",
        (
            "the sample is not done after {seconds:g} s: {because}. Run `deskbridge doctor`, then remove the "
            "sample with `deskbridge event send --sample --clean-up`"
        ),
        article="KB-WORK-001",
    )
    SAMPLE_UNDER_WAY = Message(
        "sample_under_way",
        (
            "sample {id} is not removed yet, because deskbridge does not know if its {kind:noun} exists; run "
            "`deskbridge event send --sample --clean-up` again in a minute"
        ),
        article="KB-WORK-001",
    )
    SAMPLE_AT_WORK = Message(
        "sample_at_work",
        (
            "sample {id} is not removed yet, because a worker or another command is processing it; run "
            "`deskbridge event send --sample --clean-up` again in a minute"
        ),
        article="KB-WORK-001",
    )
    SAMPLE_UNMARKED = Message(
        "sample_unmarked",
        (
            "issue #{issue_id} of sample {id} is not deleted, because its subject and description lack "
            "“{mark}”. Check it, delete it in Redmine, then run `deskbridge event send --sample --clean-up` again"
        ),
    )
    SAMPLE_IN_USE = Message(
        "sample_in_use",
        (
            "issue #{issue_id} of sample {id} is not deleted, because it has other users' time or a subtask. "
            "Move that to another issue, then run `deskbridge event send --sample --clean-up` again"
        ),
    )
