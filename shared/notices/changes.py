"""Codes of changes: what somebody did with deskbridge, as the record of changes keeps it."""

from __future__ import annotations

from shared.notices.notice import Code, Message, Plural


class Did(Code):
    """What somebody did, by page, API or command line."""

    CONFIG_CHANGED = Message("config_changed", "changed the settings: {keys}")
    KEY_STORED = Message("key_stored", "stored the tracker's API key")
    KEY_ROTATED = Message("key_rotated", "encrypted the tracker's API key again")
    METADATA_READ = Message("metadata_read", "read the tracker's metadata")
    LINK_CHANGED = Message("link_changed", "linked {kind} {id} to tracker project {tracker_project_id}")
    LINK_REMOVED = Message("link_removed", "unlinked {kind} {id}")
    LINKS_IMPORTED = Message("links_imported", Plural("imported {count} link", "imported {count} links"))
    PROJECT_CREATED = Message("project_created", "created the tracker project “{name}”")
    PERSON_MAPPED = Message(
        "person_mapped", "said that helpdesk user {helpdesk_user_id} is tracker user {tracker_user_id}"
    )
    PERSON_UNMAPPED = Message("person_unmapped", "took back who helpdesk user {helpdesk_user_id} is")
    MATCHES_CONFIRMED = Message(
        "matches_confirmed",
        Plural(
            "confirmed who helpdesk user {people} is", "confirmed who {count} helpdesk users are: {people}"
        ),
    )
    PERSON_FORGOTTEN = Message("person_forgotten", "had a person forgotten")
    HELD_RESOLVED = Message("held_resolved", "decided on {kind} {id}: {verdict}")
    ADOPTION_TAKEN_BACK = Message(
        "adoption_taken_back", "took back that {kind} {id} is {kind:noun} #{tracker_id}"
    )
    LINK_FORGOTTEN = Message(
        "link_forgotten", "had deskbridge forget that {kind} {id} is linked to {kind:noun} #{tracker_id}"
    )
    SAMPLE_SENT = Message("sample_sent", "sent sample {id}")
    SAMPLE_REMOVED = Message(
        "sample_removed",
        "removed sample {id}[, with issue #{issue_ids:, #}][, with time entry #{time_entry_ids:, #}]",
    )
    AUTHOR_CORRECTED = Message("author_corrected", "gave time entry #{time_entry_id} to {login}")
    EVENTS_REPLAYED = Message(
        "events_replayed", Plural("replayed {count} event[: {which}]", "replayed {count} events[: {which}]")
    )
    TEMPLATE_SAVED = Message("template_saved", "saved version {version} of template “{name}”")
    TEMPLATE_ACTIVATED = Message("template_activated", "put version {version} of template “{name}” in force")
    TEMPLATE_DEACTIVATED = Message("template_deactivated", "took template “{name}” out of force")
    TEMPLATE_ROLLED_BACK = Message(
        "template_rolled_back", "put version {version} of template “{name}” in force again"
    )
    TEMPLATE_DELETED = Message("template_deleted", "deleted template “{name}”")
    DRY_RUN_MADE = Message("dry_run_made", "made a dry run of a template for {operation}")
    RECOVERY_BEGUN = Message("recovery_begun", "began to ask the tracker before each creation")
    RECOVERY_ENDED = Message("recovery_ended", "ended asking the tracker before each creation")
    ACCOUNT_ADDED = Message("account_added", "added the account {account} ({right})")
    ACCOUNT_DISABLED = Message("account_disabled", "disabled the account {account}")
    ACCOUNT_ENABLED = Message("account_enabled", "enabled the account {account} again")
    RIGHT_CHANGED = Message("right_changed", "changed the account {account} from {before} to {after}")
    PASSWORD_CHANGED = Message("password_changed", "changed the password of {account}")
    SIGNED_IN = Message("signed_in", "signed in")
    SIGNED_OUT = Message("signed_out", "ended every session of {account}")
    TOKEN_ADDED = Message("token_added", "made the API token {token} ({right})")
    TOKEN_ROTATED = Message("token_rotated", "replaced the API token {token}")
    TOKEN_REVOKED = Message("token_revoked", "revoked the API token {token}")
