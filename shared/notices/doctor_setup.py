"""What the doctor's checks say: settings, links, people and metadata."""

from __future__ import annotations

from shared.notices.notice import Code, Message, Plural

SYNC = "run `deskbridge sync-metadata`"
MAP = "`deskbridge map-user HELPDESK_USER_ID TRACKER_USER_ID`"


class SetupFinding(Code):
    """What a check of settings, links, people and metadata has found."""

    API_KEY_STORED = Message(
        "api_key_stored",
        "stored, and encrypted with the first of DESKBRIDGE_SECRET_KEYS",
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
        why="set DESKBRIDGE_SECRET_KEYS as it was, or store the API key again",
        article="KB-SETUP-001",
    )
    API_KEY_OLD_ENCRYPTION = Message(
        "api_key_old_encryption",
        "encrypted with an older key",
        why="run `deskbridge config rotate-keys`",
        article="KB-SETUP-001",
    )
    METADATA_CURRENT = Message("metadata_current", "synchronised at {at}", article="KB-SETUP-005")
    METADATA_EMPTY = Message(
        "metadata_empty",
        "no metadata of the tracker is cached, so no id can be checked",
        why=SYNC,
        article="KB-SETUP-005",
    )
    METADATA_OLD = Message(
        "metadata_old",
        "{hours:.1f} hours old[; the last synchronisation failed: {error}]",
        why=f"start a worker, or {SYNC}",
        article="KB-SETUP-005",
    )
    METADATA_NOT_READ = Message(
        "metadata_not_read",
        "the last synchronisation failed: {error}",
        why="correct what the tracker fails on (its log names it), then run `deskbridge sync-metadata`",
        article="KB-SETUP-005",
    )
    CONFIG_ID_UNKNOWN = Message(
        "config_id_unknown",
        "{name}: {problem}",
        why="`deskbridge config set {name}=…`",
        article="KB-SETUP-007",
    )
    CONFIG_IDS_KNOWN = Message(
        "config_ids_known",
        "every other id of the configuration exists on the tracker",
        article="KB-SETUP-007",
    )
    ROLE_KNOWN = Message("role_known", "technicians are given role {role_id}", article="KB-SETUP-003")
    ROLE_NOT_SET = Message(
        "role_not_set",
        "default_role_id is empty: no memberships are created; the administrator acts for non-members",
        why="`deskbridge config set default_role_id=…`",
        article="KB-SETUP-003",
    )
    ACTIVITY_KNOWN = Message("activity_known", "activity {activity_id} exists", article="KB-TRACKER-006")
    ACTIVITY_NOT_SET = Message(
        "activity_not_set",
        "default_activity_id is empty: the tracker uses its own default, if it has one",
        why="`deskbridge config set default_activity_id=…`",
        article="KB-TRACKER-006",
    )
    STATUSES_MAPPED = Message(
        "statuses_mapped", "{mapped} mapped; every status seen in events is", article="KB-SETUP-004"
    )
    STATUSES_NOT_MAPPED = Message(
        "statuses_not_mapped",
        "helpdesk statuses that are not mapped, so never sent: {statuses}",
        why="`deskbridge config set 'status_map=…'`",
        article="KB-SETUP-004",
    )
    STATUS_MAP_WRONG = Message(
        "status_map_wrong",
        "status_map: {problem}",
        why="`deskbridge config set 'status_map=…'`",
        article="KB-SETUP-004",
    )
    PEOPLE_KNOWN = Message(
        "people_known",
        "helpdesk users seen in events: {total}, each known on the tracker",
        article="KB-SETUP-006",
    )
    PEOPLE_UNKNOWN = Message(
        "people_unknown",
        "{unknown} of {total} helpdesk users are matched with no active tracker user, by the main e-mail or by "
        "`map-user`: {people}; the administrator acts for them",
        why=MAP,
        article="KB-SETUP-006",
    )
    PEOPLE_LOCKED = Message(
        "people_locked",
        Plural(
            "a helpdesk user is locked on the tracker: {people}; the administrator acts for them",
            "{count} helpdesk users are locked on the tracker: {people}; the administrator acts for them",
        ),
        why="unlock them on the tracker, or say who does their work now with `deskbridge map-user`",
        article="KB-SETUP-006",
    )
    PEOPLE_DELETED = Message(
        "people_deleted",
        Plural(
            "the tracker user of a helpdesk user was deleted: {people}; the administrator acts for them",
            "the tracker users of {count} helpdesk users were deleted: {people}; the administrator acts for them",
        ),
        why=MAP,
        article="KB-SETUP-006",
    )
    PEOPLE_AMBIGUOUS = Message(
        "people_ambiguous",
        Plural(
            "the administrator acts for a helpdesk user whose e-mail several tracker users have: {people}",
            "the administrator acts for {count} helpdesk users whose e-mail several tracker users have: {people}",
        ),
        why=MAP,
        article="KB-SETUP-006",
    )
    MATCHES_NEW = Message(
        "matches_new",
        Plural(
            "a helpdesk user was matched by e-mail, and nobody has confirmed it: {people}",
            "{count} helpdesk users were matched by e-mail, and nobody has confirmed it: {people}",
        ),
        why="`deskbridge users`, then `users --confirm`, or `map-user` where one is wrong",
        article="KB-SETUP-006",
    )
    MATCHES_WAIT = Message(
        "matches_wait",
        Plural("a match waits for a person: {people}", "{count} matches wait for a person: {people}"),
        why=MAP,
        article="KB-SETUP-006",
    )
    MEMBERSHIP_BY_EMAIL = Message(
        "membership_by_email",
        Plural(
            (
                "whoever gets a technician's e-mail address on the tracker becomes a member of a private project: "
                "{projects}"
            ),
            "whoever gets a technician's e-mail address on the tracker becomes a member of {count} private projects: "
            "{projects}",
        ),
        why="`deskbridge config set membership_for=confirmed`, then `deskbridge users --confirm-all`",
        article="KB-SETUP-003",
    )
    FORMATTING_KNOWN = Message("formatting_known", "text_formatting is {formatting}", article="KB-SETUP-008")
    FORMATTING_NOT_SET = Message(
        "formatting_not_set",
        "text_formatting is not set: Redmine may turn plain text into lists, links and mentions, which mail people",
        why="`deskbridge config set text_formatting=…` as in Redmine under Administration, Settings, Text formatting",
        article="KB-SETUP-008",
    )


class Named(Code):
    """Somebody or something that a finding names, with what is known of it."""

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
        "{helpdesk_user_id} ({email}; the tracker finds {candidates} by it)",
        article="KB-SETUP-006",
    )
    TEMPLATE_IN_FORCE = Message("template_in_force", "{operation} ({name})", article="KB-TEMPLATE-001")
    FIELD_REQUIRED_THERE = Message("field_required_there", "{id} ({name})", article="KB-TRACKER-003")
    LEFT_ON_TRACKER = Message(
        "left_on_tracker", "{kind:word} #{tracker_id} with “{mark}” ({because})", article="KB-TEMPLATE-002"
    )
    LEFT_WITHOUT_NUMBER = Message(
        "left_without_number",
        "{kind:word} whose number is not known with “{mark}” ({because})",
        article="KB-TEMPLATE-002",
    )
    NOT_DELETED_YET = Message("not_deleted_yet", "not deleted yet", article="KB-TEMPLATE-002")
    OTHER_INSTALLATION = Message(
        "other_installation",
        "{installation}[ (a worker on {host}, {seconds:.0f} s ago)]",
        article="KB-SERVICE-003",
    )
    THE_DATABASE = Message("the_database", "the database", article="KB-SERVICE-007")
    THE_TRACKER = Message("the_tracker", "the tracker", article="KB-SERVICE-007")
