"""What the record of changes says."""

from __future__ import annotations

from shared.codes.changes import Did
from shared.sentences.template import Plural, Table

SENTENCES: Table = {
    Did.CONFIG_CHANGED: "changed the settings: {keys}",
    Did.KEY_STORED: "stored the tracker's API key",
    Did.KEY_ROTATED: "encrypted the tracker's API key anew",
    Did.METADATA_READ: "read the tracker's metadata",
    Did.LINK_CHANGED: "linked {kind} {id} to tracker project {tracker_project_id}",
    Did.LINK_REMOVED: "unlinked {kind} {id}",
    Did.LINKS_IMPORTED: Plural("imported {count} link", "imported {count} links"),
    Did.PROJECT_CREATED: "created the tracker project “{name}”",
    Did.PERSON_MAPPED: "said that helpdesk user {helpdesk_user_id} is tracker user {tracker_user_id}",
    Did.PERSON_UNMAPPED: "took back who helpdesk user {helpdesk_user_id} is",
    Did.MATCHES_CONFIRMED: Plural(
        "confirmed who helpdesk user {people} is", "confirmed who {count} helpdesk users are: {people}"
    ),
    Did.PERSON_FORGOTTEN: "had a person forgotten",
    Did.HELD_RESOLVED: "decided on {kind} {id}: {verdict}",
    Did.ADOPTION_TAKEN_BACK: "took back that {kind} {id} is {kind:noun} #{tracker_id}",
    Did.LINK_FORGOTTEN: "had deskbridge forget that {kind} {id} is linked to {kind:noun} #{tracker_id}",
    Did.SAMPLE_SENT: "sent sample {id}",
    Did.SAMPLE_REMOVED: (
        "removed sample {id}[, with issue #{issue_ids:, #}][, with time entry #{time_entry_ids:, #}]"
    ),
    Did.AUTHOR_CORRECTED: "gave time entry #{time_entry_id} to {login}",
    Did.EVENTS_REPLAYED: Plural("replayed {count} event[: {which}]", "replayed {count} events[: {which}]"),
    Did.TEMPLATE_SAVED: "saved version {version} of template “{name}”",
    Did.TEMPLATE_ACTIVATED: "put version {version} of template “{name}” in force",
    Did.TEMPLATE_DEACTIVATED: "took template “{name}” out of force",
    Did.TEMPLATE_ROLLED_BACK: "put version {version} of template “{name}” in force again",
    Did.TEMPLATE_DELETED: "deleted template “{name}”",
    Did.DRY_RUN_MADE: "made a dry run of a template for {operation}",
    Did.RECOVERY_BEGUN: "began to ask the tracker before each creation",
    Did.RECOVERY_ENDED: "ended asking the tracker before each creation",
    Did.ACCOUNT_ADDED: "added the account {account} ({right})",
    Did.ACCOUNT_DISABLED: "disabled the account {account}",
    Did.ACCOUNT_ENABLED: "enabled the account {account} again",
    Did.RIGHT_CHANGED: "changed the account {account} from {before} to {after}",
    Did.PASSWORD_CHANGED: "changed the password of {account}",
    Did.SIGNED_IN: "signed in",
    Did.SIGNED_OUT: "ended every session of {account}",
    Did.TOKEN_ADDED: "made the API token {token} ({right})",
    Did.TOKEN_ROTATED: "replaced the API token {token}",
    Did.TOKEN_REVOKED: "revoked the API token {token}",
}
