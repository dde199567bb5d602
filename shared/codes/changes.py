"""Codes of changes: what somebody did with deskbridge, as the record of changes keeps it."""

from __future__ import annotations

from shared.codes.notice import Code


class Did(Code):
    """What somebody did, by page, API or command line."""

    CONFIG_CHANGED = "config_changed"
    KEY_STORED = "key_stored"
    KEY_ROTATED = "key_rotated"
    METADATA_READ = "metadata_read"
    LINK_CHANGED = "link_changed"
    LINK_REMOVED = "link_removed"
    LINKS_IMPORTED = "links_imported"
    PROJECT_CREATED = "project_created"
    PERSON_MAPPED = "person_mapped"
    PERSON_UNMAPPED = "person_unmapped"
    MATCHES_CONFIRMED = "matches_confirmed"
    PERSON_FORGOTTEN = "person_forgotten"
    HELD_RESOLVED = "held_resolved"
    ADOPTION_TAKEN_BACK = "adoption_taken_back"
    LINK_FORGOTTEN = "link_forgotten"
    SAMPLE_SENT = "sample_sent"
    SAMPLE_REMOVED = "sample_removed"
    AUTHOR_CORRECTED = "author_corrected"
    EVENTS_REPLAYED = "events_replayed"
    TEMPLATE_SAVED = "template_saved"
    TEMPLATE_ACTIVATED = "template_activated"
    TEMPLATE_DEACTIVATED = "template_deactivated"
    TEMPLATE_ROLLED_BACK = "template_rolled_back"
    TEMPLATE_DELETED = "template_deleted"
    DRY_RUN_MADE = "dry_run_made"
    RECOVERY_BEGUN = "recovery_begun"
    RECOVERY_ENDED = "recovery_ended"
    ACCOUNT_ADDED = "account_added"
    ACCOUNT_DISABLED = "account_disabled"
    ACCOUNT_ENABLED = "account_enabled"
    RIGHT_CHANGED = "right_changed"
    PASSWORD_CHANGED = "password_changed"  # noqa: S105 (a code)
    SIGNED_IN = "signed_in"
    SIGNED_OUT = "signed_out"
    TOKEN_ADDED = "token_added"  # noqa: S105 (a code)
    TOKEN_ROTATED = "token_rotated"  # noqa: S105 (a code)
    TOKEN_REVOKED = "token_revoked"  # noqa: S105 (a code)
