"""Codes of changes: what somebody did with deskbridge, as the record of changes keeps it."""

from __future__ import annotations

from shared.notices.notice import Code, Plural, message


class Did(Code):
    """What somebody did, by page, API or command line."""

    CONFIG_CHANGED = message("config_changed", "changed the settings: {keys}")
    KEY_STORED = message("key_stored", "stored the tracker's API key")
    KEY_ROTATED = message("key_rotated", "encrypted the tracker's API key anew")
    METADATA_READ = message("metadata_read", "read the tracker's metadata")
    LINK_CHANGED = message("link_changed", "linked {kind} {id} to tracker project {tracker_project_id}")
    LINK_REMOVED = message("link_removed", "unlinked {kind} {id}")
    LINKS_IMPORTED = message("links_imported", Plural("imported {count} link", "imported {count} links"))
    PROJECT_CREATED = message("project_created", "created the tracker project “{name}”")
    PERSON_MAPPED = message(
        "person_mapped", "said that helpdesk user {helpdesk_user_id} is tracker user {tracker_user_id}"
    )
    PERSON_UNMAPPED = message("person_unmapped", "took back who helpdesk user {helpdesk_user_id} is")
    MATCHES_CONFIRMED = message(
        "matches_confirmed",
        Plural(
            "confirmed who helpdesk user {people} is", "confirmed who {count} helpdesk users are: {people}"
        ),
    )
    PERSON_FORGOTTEN = message("person_forgotten", "had a person forgotten")
    HELD_RESOLVED = message("held_resolved", "decided on {kind} {id}: {verdict}")
    ADOPTION_TAKEN_BACK = message(
        "adoption_taken_back", "took back that {kind} {id} is {kind:noun} #{tracker_id}"
    )
    LINK_FORGOTTEN = message(
        "link_forgotten", "had deskbridge forget that {kind} {id} is linked to {kind:noun} #{tracker_id}"
    )
    SAMPLE_SENT = message("sample_sent", "sent sample {id}")
    SAMPLE_REMOVED = message(
        "sample_removed",
        "removed sample {id}[, with issue #{issue_ids:, #}][, with time entry #{time_entry_ids:, #}]",
    )
    AUTHOR_CORRECTED = message("author_corrected", "gave time entry #{time_entry_id} to {login}")
    EVENTS_REPLAYED = message(
        "events_replayed", Plural("replayed {count} event[: {which}]", "replayed {count} events[: {which}]")
    )
    TEMPLATE_SAVED = message("template_saved", "saved version {version} of template “{name}”")
    TEMPLATE_ACTIVATED = message("template_activated", "put version {version} of template “{name}” in force")
    TEMPLATE_DEACTIVATED = message("template_deactivated", "took template “{name}” out of force")
    TEMPLATE_ROLLED_BACK = message(
        "template_rolled_back", "put version {version} of template “{name}” in force again"
    )
    TEMPLATE_DELETED = message("template_deleted", "deleted template “{name}”")
    DRY_RUN_MADE = message("dry_run_made", "made a dry run of a template for {operation}")
    RECOVERY_BEGUN = message("recovery_begun", "began to ask the tracker before each creation")
    RECOVERY_ENDED = message("recovery_ended", "ended asking the tracker before each creation")
    ACCOUNT_ADDED = message("account_added", "added the account {account} ({right})")
    ACCOUNT_DISABLED = message("account_disabled", "disabled the account {account}")
    ACCOUNT_ENABLED = message("account_enabled", "enabled the account {account} again")
    RIGHT_CHANGED = message("right_changed", "changed the account {account} from {before} to {after}")
    PASSWORD_CHANGED = message("password_changed", "changed the password of {account}")
    SIGNED_IN = message("signed_in", "signed in")
    SIGNED_OUT = message("signed_out", "ended every session of {account}")
    TOKEN_ADDED = message("token_added", "made the API token {token} ({right})")
    TOKEN_ROTATED = message("token_rotated", "replaced the API token {token}")
    TOKEN_REVOKED = message("token_revoked", "revoked the API token {token}")
