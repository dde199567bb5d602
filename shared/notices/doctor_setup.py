"""Check results of the doctor: settings, mappings, people and metadata."""

from __future__ import annotations

from shared.notices.notice import Code, Message, Plural

SYNC = "run `deskbridge metadata sync`"
MAP = "run `deskbridge user map GLPI_USER_ID REDMINE_USER_ID`"


class SetupFinding(Code):
    """A check result about settings, mappings, users or metadata."""

    API_KEY_STORED = Message(
        "api_key_stored",
        "stored and encrypted with the first key in DESKBRIDGE_SECRET_KEYS",
        article="KB-SETUP-001",
    )
    API_KEY_MISSING = Message(
        "api_key_missing",
        "not stored",
        why="store it with `deskbridge config set-api-key`",
        article="KB-SETUP-001",
    )
    API_KEY_UNREADABLE = Message(
        "api_key_unreadable",
        "{problem}",
        why="restore the previous DESKBRIDGE_SECRET_KEYS, or store the API key again",
        article="KB-SETUP-001",
    )
    API_KEY_OLD_ENCRYPTION = Message(
        "api_key_old_encryption",
        "encrypted with an older key",
        why="run `deskbridge config rotate-keys`",
        article="KB-SETUP-001",
    )
    METADATA_CURRENT = Message("metadata_current", "read at {at}", article="KB-SETUP-005")
    METADATA_EMPTY = Message(
        "metadata_empty",
        "Redmine's metadata has not been read, so no id can be checked",
        why=SYNC,
        article="KB-SETUP-005",
    )
    METADATA_OLD = Message(
        "metadata_old",
        "read {hours:.1f} hours ago[; the last attempt failed: {error}]",
        why=f"start a worker, or {SYNC}",
        article="KB-SETUP-005",
    )
    METADATA_NOT_READ = Message(
        "metadata_not_read",
        "the last attempt to read it failed: {error}",
        why="fix the cause (see Redmine's log), then run `deskbridge metadata sync`",
        article="KB-SETUP-005",
    )
    CONFIG_ID_UNKNOWN = Message(
        "config_id_unknown",
        "{name}: {problem}",
        why="run `deskbridge config set {name}=…`",
        article="KB-SETUP-007",
    )
    CONFIG_IDS_KNOWN = Message(
        "config_ids_known",
        "all other ids in the Redmine settings exist",
        article="KB-SETUP-007",
    )
    ROLE_KNOWN = Message("role_known", "deskbridge gives new members role {role_id}", article="KB-SETUP-003")
    NOTES_NOT_SENT = Message(
        "notes_not_sent", "sync_followups, sync_solutions and sync_documents are off", article="KB-SETUP-003"
    )
    NOTES_ALLOWED = Message(
        "notes_allowed", "role {role_id} has the rights to add notes", article="KB-SETUP-003"
    )
    NOTES_LACK_RIGHTS = Message(
        "notes_lack_rights",
        "role {role} lacks {rights}, so deskbridge sends notes and documents of its members as the API user",
        why="give the role these rights in Redmine (Administration, Roles and permissions)",
        article="KB-SETUP-003",
    )
    NOTES_RIGHTS_UNKNOWN = Message(
        "notes_rights_unknown",
        "the rights of role {role_id} cannot be read: {problem}",
        article="KB-SETUP-003",
    )
    ROLE_NOT_SET = Message(
        "role_not_set",
        (
            "default_role_id is empty, so deskbridge creates no memberships and sends the work of "
            "non-members as the API user"
        ),
        why="run `deskbridge config set default_role_id=…`",
        article="KB-SETUP-003",
    )
    ACTIVITY_KNOWN = Message("activity_known", "activity {activity_id} exists", article="KB-TRACKER-006")
    ACTIVITY_NOT_SET = Message(
        "activity_not_set",
        "default_activity_id is empty, so Redmine uses its own default activity, if it has one",
        why="run `deskbridge config set default_activity_id=…`",
        article="KB-TRACKER-006",
    )
    STATUSES_MAPPED = Message(
        "statuses_mapped",
        "{mapped} statuses are mapped, including every status in events",
        article="KB-SETUP-004",
    )
    STATUSES_NOT_MAPPED = Message(
        "statuses_not_mapped",
        "these GLPI statuses have no mapping and are never sent: {statuses}",
        why="run `deskbridge config set 'status_map=…'`",
        article="KB-SETUP-004",
    )
    STATUS_MAP_WRONG = Message(
        "status_map_wrong",
        "status_map: {problem}",
        why="run `deskbridge config set 'status_map=…'`",
        article="KB-SETUP-004",
    )
    PEOPLE_KNOWN = Message(
        "people_known",
        "every GLPI user in events has a Redmine user (users: {total})",
        article="KB-SETUP-006",
    )
    PEOPLE_UNKNOWN = Message(
        "people_unknown",
        (
            "{unknown} of {total} GLPI users have no active Redmine user by main e-mail or mapping: {people}. "
            "Their work is sent as the API user"
        ),
        why=MAP,
        article="KB-SETUP-006",
    )
    PEOPLE_LOCKED = Message(
        "people_locked",
        Plural(
            "a GLPI user is locked in Redmine, so the work is sent as the API user: {people}",
            "{count} GLPI users are locked in Redmine, so their work is sent as the API user: {people}",
        ),
        why="unlock these users in Redmine, or map them to other Redmine users with `deskbridge user map`",
        article="KB-SETUP-006",
    )
    PEOPLE_DELETED = Message(
        "people_deleted",
        Plural(
            "the Redmine user of a GLPI user was deleted, so the work is sent as the API user: {people}",
            (
                "the Redmine users of {count} GLPI users were deleted, so their work is sent as the API user: "
                "{people}"
            ),
        ),
        why=MAP,
        article="KB-SETUP-006",
    )
    PEOPLE_AMBIGUOUS = Message(
        "people_ambiguous",
        Plural(
            (
                "several Redmine users have the e-mail address of a GLPI user, whose work is sent as the API "
                "user: {people}"
            ),
            (
                "several Redmine users have the e-mail address of {count} GLPI users, whose work is sent as the "
                "API user: {people}"
            ),
        ),
        why=MAP,
        article="KB-SETUP-006",
    )
    ADMINISTRATORS_MATCHED = Message(
        "administrators_matched",
        Plural(
            "an e-mail address alone lets a GLPI user act as an administrator of Redmine: {people}",
            "e-mail addresses alone let {count} GLPI users act as administrators of Redmine: {people}",
        ),
        why=(
            "confirm correct matches with `user list --confirm`, and change wrong ones with `user map`. To match "
            "no administrator by e-mail, run `deskbridge config set match_administrators=false`"
        ),
        article="KB-SETUP-006",
    )
    MATCHES_NEW = Message(
        "matches_new",
        Plural(
            "a GLPI user was matched by e-mail and is not confirmed yet: {people}",
            "{count} GLPI users were matched by e-mail and are not confirmed yet: {people}",
        ),
        why=(
            "run `deskbridge user list`, then confirm correct matches with `user list --confirm`, and change wrong "
            "ones with `user map`"
        ),
        article="KB-SETUP-006",
    )
    MATCHES_WAIT = Message(
        "matches_wait",
        Plural(
            "a match needs your decision: {people}",
            "{count} matches need your decision: {people}",
        ),
        why=MAP,
        article="KB-SETUP-006",
    )
    MEMBERSHIP_BY_EMAIL = Message(
        "membership_by_email",
        Plural(
            (
                "anyone who sets a technician's e-mail address in Redmine becomes a member of a private project: "
                "{projects}"
            ),
            (
                "anyone who sets a technician's e-mail address in Redmine becomes a member of {count} private "
                "projects: {projects}"
            ),
        ),
        why="run `deskbridge config set membership_for=confirmed`, then `deskbridge user list --confirm-all`",
        article="KB-SETUP-003",
    )
    TASK_AUTHORS = Message(
        "task_authors",
        (
            "task_author is {setting}: of the last {total} finished ticket tasks, {count} have a technician who did "
            "not write them"
        ),
        article="KB-SETUP-006",
    )
    FORMATTING_KNOWN = Message(
        "formatting_known",
        (
            "text_formatting is {formatting}, which no check can compare, because Redmine's API does not report it "
            "(see Administration, Settings, General, Text formatting)"
        ),
        article="KB-SETUP-008",
    )
    FORMATTING_NOT_SET = Message(
        "formatting_not_set",
        (
            "text_formatting is not set, so Redmine can turn plain text into lists, links and mentions, "
            "which send e-mail"
        ),
        why=(
            "run `deskbridge config set text_formatting=…` with the value from Redmine (Administration, "
            "Settings, Text formatting)"
        ),
        article="KB-SETUP-008",
    )


class Named(Code):
    """A user or an object in a check result, with its known details."""

    STATUS_SEEN = Message(
        "status_seen",
        Plural("{status} ({count} ticket)", "{status} ({count} tickets)"),
        article="KB-SETUP-004",
    )
    STATUS_SEEN_OFTEN = Message("status_seen_often", "{status} ({most}+ tickets)", article="KB-SETUP-004")
    PERSON_MATCHED = Message(
        "person_matched", "{helpdesk_user_id} ({email}): {login}", article="KB-SETUP-006"
    )
    PERSON_WITH_EMAIL = Message("person_with_email", "{helpdesk_user_id} ({email})", article="KB-SETUP-006")
    PERSON_WITHOUT_EMAIL = Message(
        "person_without_email", "{helpdesk_user_id} (no e-mail)", article="KB-SETUP-006"
    )
    PERSON_FOUND_BY_EMAIL = Message(
        "person_found_by_email",
        "{helpdesk_user_id} ({email}; Redmine finds {candidates} by this address)",
        article="KB-SETUP-006",
    )
    ISSUE_OF_TICKET = Message(
        "issue_of_ticket", "issue #{issue_id} (ticket {ticket_id})", article="KB-SETUP-004"
    )
    TEMPLATE_IN_FORCE = Message("template_in_force", "{operation} ({name})", article="KB-TEMPLATE-001")
    FIELD_REQUIRED_THERE = Message("field_required_there", "{id} ({name})", article="KB-TRACKER-003")
    LEFT_ON_TRACKER = Message(
        "left_on_tracker", "{kind:word} #{tracker_id} with “{mark}” ({because})", article="KB-TEMPLATE-002"
    )
    LEFT_WITHOUT_NUMBER = Message(
        "left_without_number",
        "{kind:word} of unknown id with “{mark}” ({because})",
        article="KB-TEMPLATE-002",
    )
    NOT_DELETED_YET = Message("not_deleted_yet", "not deleted yet", article="KB-TEMPLATE-002")
    OTHER_INSTALLATION = Message(
        "other_installation",
        "{installation}[ (a worker on {host}, {seconds:.0f} s ago)]",
        article="KB-SERVICE-003",
    )
    THE_DATABASE = Message("the_database", "the database", article="KB-SERVICE-007")
    THE_TRACKER = Message("the_tracker", "Redmine", article="KB-SERVICE-007")
