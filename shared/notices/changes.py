"""Codes of changes: what a user did with deskbridge, as the audit log records it."""

from __future__ import annotations

from shared.notices.notice import Code, Message, Plural


class Did(Code):
    """What a user did on a page, through the API or with a command."""

    CONFIG_CHANGED = Message("config_changed", "changed the settings: {keys}")
    KEY_STORED = Message("key_stored", "stored the Redmine API key")
    KEY_ROTATED = Message("key_rotated", "encrypted the Redmine API key again")
    NOTIFICATIONS_SET = Message("notifications_set", "chose where notifications go: {services}")
    NOTIFICATIONS_REMOVED = Message("notifications_removed", "stopped notifications")
    METADATA_READ = Message("metadata_read", "read Redmine's metadata")
    LINK_CHANGED = Message("link_changed", "mapped {kind:word} {id} to Redmine project {tracker_project_id}")
    LINK_REMOVED = Message("link_removed", "removed the mapping of {kind:word} {id}")
    LINKS_IMPORTED = Message(
        "links_imported",
        Plural(
            "imported {count} mapping",
            "imported {count} mappings",
        ),
    )
    PROJECT_CREATED = Message("project_created", "created the Redmine project “{name}”")
    PERSON_MAPPED = Message(
        "person_mapped", "mapped GLPI user {helpdesk_user_id} to Redmine user {tracker_user_id}"
    )
    PERSON_UNMAPPED = Message("person_unmapped", "removed the mapping of GLPI user {helpdesk_user_id}")
    MATCHES_CONFIRMED = Message(
        "matches_confirmed",
        Plural(
            "confirmed the e-mail match of GLPI user {people}",
            "confirmed the e-mail matches of {count} GLPI users: {people}",
        ),
    )
    PERSON_FORGOTTEN = Message("person_forgotten", "erased a person's data")
    HELD_RESOLVED = Message("held_resolved", "resolved {kind:word} {id}: {verdict}")
    ADOPTION_TAKEN_BACK = Message(
        "adoption_taken_back", "undid the adoption of {kind:noun} #{tracker_id} by {kind:word} {id}"
    )
    LINK_FORGOTTEN = Message(
        "link_forgotten", "removed the link between {kind:word} {id} and {kind:noun} #{tracker_id}"
    )
    SAMPLE_SENT = Message("sample_sent", "sent sample {id}")
    SAMPLE_REMOVED = Message(
        "sample_removed",
        "removed sample {id}[, with issue #{issue_ids:, #}][, with time entry #{time_entry_ids:, #}]",
    )
    AUTHOR_CORRECTED = Message("author_corrected", "assigned time entry #{time_entry_id} to {login}")
    EVENTS_REPLAYED = Message(
        "events_replayed", Plural("replayed {count} event[: {which}]", "replayed {count} events[: {which}]")
    )
    TEMPLATE_SAVED = Message("template_saved", "saved version {version} of template “{name}”")
    TEMPLATE_ACTIVATED = Message("template_activated", "activated version {version} of template “{name}”")
    TEMPLATE_DEACTIVATED = Message("template_deactivated", "deactivated template “{name}”")
    TEMPLATE_ROLLED_BACK = Message(
        "template_rolled_back", "reactivated version {version} of template “{name}”"
    )
    TEMPLATE_DELETED = Message("template_deleted", "deleted template “{name}”")
    DRY_RUN_MADE = Message(
        "dry_run_made", "dry-ran a template for {operation}, which creates and deletes a test object"
    )
    RECOVERY_BEGUN = Message(
        "recovery_begun", "turned on recovery mode: deskbridge looks in Redmine before each creation"
    )
    RECOVERY_ENDED = Message("recovery_ended", "turned off recovery mode")
    TRIAL_BEGUN = Message("trial_begun", "switched on trial mode: nothing is sent to Redmine")
    TRIAL_ENDED_SENDING = Message(
        "trial_ended_sending",
        Plural(
            "switched off trial mode, to send {count} waiting event",
            "switched off trial mode, to send {count} waiting events",
        ),
    )
    TRIAL_ENDED_DROPPING = Message(
        "trial_ended_dropping",
        Plural(
            "switched off trial mode, and dropped {count} waiting event",
            "switched off trial mode, and dropped {count} waiting events",
        ),
    )
    ACCOUNT_ADDED = Message("account_added", "added account {account} ({right:word})")
    ACCOUNT_DISABLED = Message("account_disabled", "disabled account {account}")
    ACCOUNT_ENABLED = Message("account_enabled", "enabled account {account} again")
    RIGHT_CHANGED = Message(
        "right_changed", "changed the role of {account} from {before:word} to {after:word}"
    )
    PASSWORD_CHANGED = Message("password_changed", "changed the password of {account}")
    SIGNED_IN = Message("signed_in", "signed in")
    SIGNED_OUT = Message("signed_out", "ended all sessions of {account}")
    TOKEN_ADDED = Message("token_added", "created API token {token} ({right:word})")
    TOKEN_ROTATED = Message("token_rotated", "replaced API token {token}")
    TOKEN_REVOKED = Message("token_revoked", "revoked API token {token}")
