"""Codes of refusals: why deskbridge itself does not do what a person asked for."""

from __future__ import annotations

from shared.notices.notice import WRONG_ASKED, Code, Message, Plural


class Refusal(Code, article=WRONG_ASKED):
    """Why a command or a request of the API was refused, or failed on this side of the tracker."""

    # the command line and the environment
    WRONG_USAGE = Message("wrong_usage", "{text}")
    STOPPED_BY_USER = Message("stopped_by_user", "stopped", article="")
    FILE_NOT_USABLE = Message("file_not_usable", "[{file}: ]{error}")
    UNEXPECTED_ERROR = Message(
        "unexpected_error",
        "a fault in deskbridge itself, please report it[: {type}: {error}][ at {place}]",
        article="KB-COMMAND-003",
    )
    ENVIRONMENT_NOT_VALID = Message("environment_not_valid", "{faults:; }")
    VARIABLES_UNKNOWN = Message(
        "variables_unknown",
        Plural(
            "deskbridge has no setting {variables}: correct the name of the variable, or remove it",
            "deskbridge has no settings {variables}: correct the names of the variables, or remove them",
        ),
    )
    VARIABLE_NOT_READ = Message("variable_not_read", "{variable}: the file cannot be read ({error})")
    EXTRA_NOT_INSTALLED = Message(
        "extra_not_installed",
        "{variable} is set, but {package} is not installed: add the extra {extra} to the lock file and install "
        "deskbridge again",
    )
    SENTRY_DSN_MALFORMED = Message(
        "sentry_dsn_malformed", "DESKBRIDGE_SENTRY_DSN is no DSN of a Sentry project"
    )
    MONITOR_NOT_BOUND = Message(
        "monitor_not_bound", "DESKBRIDGE_MONITOR_LISTEN: {address} cannot be bound ({error})"
    )
    SECRET_KEYS_NOT_SET = Message(
        "secret_keys_not_set",
        "DESKBRIDGE_SECRET_KEYS is not set: make a key with `deskbridge make-key`",
        article="KB-SETUP-001",
    )
    WEBHOOK_SECRETS_NOT_SET = Message(
        "webhook_secrets_not_set",
        "DESKBRIDGE_WEBHOOK_SECRETS is not set: make a secret with `deskbridge make-secret` and give it "
        "to the helpdesk, too (or DESKBRIDGE_ALLOW_UNSIGNED=1 for a first try on this machine)",
    )
    WEBHOOK_SECRET_MALFORMED = Message(
        "webhook_secret_malformed",
        "DESKBRIDGE_WEBHOOK_SECRETS: each must have the form {prefix}<base64> (make one: `deskbridge "
        "make-secret`)",
    )
    WEBHOOK_SECRET_NOT_ENCODED = Message(
        "webhook_secret_not_encoded",
        "DESKBRIDGE_WEBHOOK_SECRETS: what follows {prefix} must be base64 (make one: `deskbridge "
        "make-secret`)",
    )
    WEBHOOK_SECRET_TOO_SHORT = Message(
        "webhook_secret_too_short",
        "DESKBRIDGE_WEBHOOK_SECRETS: a secret has fewer than {least} bytes and could be guessed (make "
        "one: `deskbridge make-secret`)",
    )
    GLPI_SECRET_TOO_SHORT = Message(
        "glpi_secret_too_short",
        "DESKBRIDGE_GLPI_WEBHOOK_SECRETS: a secret has fewer than {least} bytes and could be guessed (make "
        "one: `deskbridge make-token`, and type it into GLPI's webhooks)",
    )
    UNSIGNED_NOT_ON_LOOPBACK = Message(
        "unsigned_not_on_loopback", "DESKBRIDGE_ALLOW_UNSIGNED=1 is only accepted on a loopback address"
    )
    SIGN_ON_WITHOUT_KEYS = Message(
        "sign_on_without_keys", "OIDC_ISSUER needs DESKBRIDGE_SECRET_KEYS (make one: `deskbridge make-key`)"
    )
    HELPDESK_API_NOT_SET = Message(
        "helpdesk_api_not_set",
        "GLPI cannot be asked, since DESKBRIDGE_GLPI_API_URL is not set: set it "
        "(`deskbridge knowledge show KB-HELPDESK-003` explains how)",
        article="KB-HELPDESK-003",
    )
    UNITS_NO_VENV = Message("units_no_venv", "{venv} is no venv with deskbridge that a unit can name")
    UNITS_NOT_SEEN = Message("units_not_seen", "units do not see {venv}: set deskbridge up in {place}")
    UNITS_ARE_PACKAGED = Message(
        "units_are_packaged", "the package deskbridge is installed, and has brought the units"
    )
    UNITS_NEED_ROOT = Message(
        "units_need_root", "only root can install units; --dry-run shows them to anybody"
    )
    UNITS_NEED_SYSTEMD = Message(
        "units_need_systemd", "systemd does not run this machine; --dry-run shows what would be written"
    )
    UNITS_COMMAND_FAILED = Message("units_command_failed", "{command}: {error}")

    # the database and Redis
    ENVIRONMENT_NOT_LOADED = Message(
        "environment_not_loaded",
        "the environment of the installation is not loaded: no DESKBRIDGE_ variable is set, and the database of the "
        "default, {file}, does not exist; load the environment, or begin a new installation with `deskbridge migrate`",
        article="KB-SERVICE-001",
    )
    DATABASE_MISSING = Message(
        "database_missing",
        (
            "the SQLite database {file} does not exist: check DESKBRIDGE_DATABASE_URL, or make it with "
            "`deskbridge migrate`"
        ),
        article="KB-SERVICE-001",
    )
    DATABASE_CONFLICT = Message(
        "database_conflict",
        "the same data was changed at the same time; try again[ ({error})]",
        article="KB-COMMAND-002",
    )
    DATABASE_NOT_MIGRATED = Message(
        "database_not_migrated",
        "the database's tables are not those of this version: run `deskbridge migrate`[ ({error})]",
        article="KB-SERVICE-002",
    )
    DATABASE_WITHOUT_TABLES = Message(
        "database_without_tables",
        "the database has no tables yet: run `deskbridge migrate`",
        article="KB-SERVICE-002",
    )
    DATABASE_TOO_OLD = Message(
        "database_too_old",
        "the database is at revision {found}, not at {newest}: run `deskbridge migrate`",
        article="KB-SERVICE-002",
    )
    DATABASE_TOO_NEW = Message(
        "database_too_new",
        "the database is at revision {found}, newer than this version of deskbridge ({newest}): update "
        "deskbridge",
        article="KB-SERVICE-002",
    )
    TABLE_LOCKED = Message(
        "table_locked",
        "a table is locked (by a running backup?): nothing was changed; try again when it is done",
        article="KB-SERVICE-002",
    )
    DATABASE_DOWN = Message(
        "database_down",
        "the database cannot be used[: {error}]: check that it runs and has connections to spare, and "
        "DESKBRIDGE_DATABASE_URL",
        article="KB-SERVICE-001",
    )
    DATABASE_HELD = Message(
        "database_held",
        "another process holds what this command needs in the database: try again in a minute[ ({error})]",
        article="KB-COMMAND-002",
    )
    DATABASE_FAILED = Message("database_failed", "the database failed[: {error}]", article="KB-COMMAND-003")
    REDIS_DOWN = Message(
        "redis_down",
        "Redis cannot be reached: check that it runs, and DESKBRIDGE_REDIS_URL[ ({error})]",
        article="KB-SERVICE-003",
    )

    # the tracker's settings
    TRACKER_NOT_CONFIGURED = Message(
        "tracker_not_configured",
        "no tracker is configured: `deskbridge config set base_url=https://…`",
        article="KB-TRACKER-001",
    )
    API_KEY_NOT_STORED = Message(
        "api_key_not_stored", "no API key is stored: `deskbridge config set-api-key`", article="KB-SETUP-001"
    )
    API_KEY_NOT_OPENED = Message(
        "api_key_not_opened",
        "the stored API key cannot be opened with DESKBRIDGE_SECRET_KEYS[ of the worker on {host}]: add the key that "
        "it was stored with[, and restart the worker on {host}]",
        article="KB-SETUP-001",
    )
    API_KEY_EMPTY = Message("api_key_empty", "the API key is empty", article="KB-SETUP-001")
    API_KEY_MALFORMED = Message(
        "api_key_malformed",
        "the API key must be one line of printable ASCII characters without blanks",
        article="KB-SETUP-001",
    )
    CONFIG_NOT_VALID = Message("config_not_valid", "{faults:; }")
    CONFIG_KEY_UNKNOWN = Message(
        "config_key_unknown", "no such configuration key: {keys} (there are: {known})"
    )
    ADDRESS_NOT_EMPTIED = Message(
        "address_not_emptied",
        "base_url cannot be emptied: {issues} and {entries} were created at {before}; to stop sending, "
        "stop the workers",
    )
    ADDRESS_IN_USE = Message(
        "address_in_use",
        "base_url stays {before}: {issues} and {entries} were created at {before}, and their numbers "
        "mean something else at {base_url}. Is it the same tracker under a new address? Then add "
        "--moved. Another tracker needs an installation and a database of its own",
    )
    METADATA_BUSY = Message(
        "metadata_busy", "another metadata synchronisation is under way", article="KB-COMMAND-002"
    )
    METADATA_PART_UNKNOWN = Message(
        "metadata_part_unknown", "no such part of the metadata: {part} (there are: {parts})"
    )
    ID_NOT_ON_TRACKER = Message(
        "id_not_on_tracker",
        "the tracker has no {kind:word} {id}; there are: {choices}[ and {more} more] (new ones are known "
        "after `deskbridge sync-metadata`)",
        article="KB-SETUP-007",
    )
    ID_SWITCHED_OFF = Message(
        "id_switched_off",
        "{id} ({name}) is switched off on the tracker; there are: {choices}[ and {more} more] (new ones "
        "are known after `deskbridge sync-metadata`)",
        article="KB-SETUP-007",
    )
    CATEGORY_NOT_OF_PROJECT = Message(
        "category_not_of_project",
        "tracker project {project_id} has no issue category {category_id}; it has: {choices}[ and {more} "
        "more] (new ones are known after `deskbridge sync-metadata`)",
        article="KB-SETUP-002",
    )
    PROJECT_WITHOUT_CATEGORIES = Message(
        "project_without_categories",
        "tracker project {project_id} has no issue category {category_id}; it has none (new ones are "
        "known after `deskbridge sync-metadata`)",
        article="KB-SETUP-002",
    )
    TRACKER_USERS_UNKNOWN = Message(
        "tracker_users_unknown",
        "the tracker has no active user {users}; there are: {choices}[ and {more} more] (new ones are "
        "known after `deskbridge sync-metadata`)",
        article="KB-SETUP-007",
    )

    # what is named and is not there
    EVENTS_UNKNOWN = Message("events_unknown", "no such event: {events} (see `deskbridge events`)")
    EVENT_UNKNOWN = Message("event_unknown", "there is no event {event_id} (`deskbridge events`)")
    TICKET_UNKNOWN = Message(
        "ticket_unknown", "nothing was ever heard of ticket {ticket_id} (see `deskbridge events`)"
    )
    LINK_UNKNOWN = Message("link_unknown", "{kind:word} {id} is not linked (see `deskbridge links`)")
    RECORD_UNKNOWN = Message("record_unknown", "there is no knowledge record {record}")
    OPERATION_UNKNOWN = Message(
        "operation_unknown", "no such operation: {operation} (there are: {operations})"
    )
    TEMPLATE_UNKNOWN = Message(
        "template_unknown", "there is no template {template_id} (`deskbridge template list`)"
    )
    TEMPLATE_VERSION_UNKNOWN = Message(
        "template_version_unknown", "template {template_id} has no version {version}: its newest is {newest}"
    )
    NO_VERSION_BEFORE = Message(
        "no_version_before", "no other version of template {template_id} was in force before"
    )
    ACCOUNT_UNKNOWN = Message("account_unknown", "there is no account {name} (`deskbridge account list`)")
    TOKEN_UNKNOWN = Message("token_unknown", "there is no API token {name}")
    OVERRIDE_UNKNOWN = Message(
        "override_unknown", "helpdesk user {helpdesk_user_id} has no override (see `deskbridge users`)"
    )
    NO_MATCH_TO_CONFIRM = Message(
        "no_match_to_confirm",
        "no match by e-mail to be confirmed: {people} (see `deskbridge users`; `map-user` decides)",
    )
    PERSON_UNKNOWN = Message("person_unknown", "nothing that is kept names this person")
    NOT_ON_TRACKER = Message(
        "not_on_tracker",
        "the tracker has no {kind:noun} #{tracker_id}[ on issue #{issue_id}]: check the number",
        article="KB-SETUP-007",
    )
    CHANGE_UNKNOWN = Message("change_unknown", "there is no change {change_id}")
    HELPDESK_PROJECT_ZERO = Message("helpdesk_project_zero", "a helpdesk project's id is 1 or more")

    # links and projects
    PROJECT_CLOSED_NOW = Message(
        "project_closed_now",
        "tracker project {project_id}[ ({project_name})] is closed: reopen it on the tracker, then link it",
        article="KB-SETUP-002",
    )
    PROJECT_ARCHIVED_NOW = Message(
        "project_archived_now",
        "tracker project {project_id}[ ({project_name})] is archived: unarchive it on the tracker, then "
        "link it",
        article="KB-SETUP-002",
    )
    PROJECT_NOT_READ_YET = Message(
        "project_not_read_yet",
        "tracker project {project_id}[ ({project_name})] was not there at the last metadata "
        "synchronisation: run `deskbridge sync-metadata`, then link it",
        article="KB-SETUP-002",
    )
    CATEGORY_NOT_READ_YET = Message(
        "category_not_read_yet",
        "issue category {category_id} of tracker project {project_id}[ ({project_name})] was not there at "
        "the last metadata synchronisation: run `deskbridge sync-metadata`, then link it",
        article="KB-SETUP-002",
    )
    FORM_NOT_VALID = Message("form_not_valid", "{faults:; }")
    PROJECT_IN_DOUBT = Message(
        "project_in_doubt",
        "whether the tracker project {identifier} was created is not known ({problem}): send the same "
        "form again in a moment; it is looked up before anything is sent",
        article="KB-TRACKER-007",
    )
    PROJECT_JUST_ASKED_FOR = Message(
        "project_just_asked_for",
        "a form asked for the tracker project {identifier} a moment ago, and it is not known yet whether "
        "it was created: send the form again in {seconds:g} seconds",
        article="KB-TRACKER-007",
    )
    LINKS_NOT_IMPORTED = Message("links_not_imported", "nothing was imported: {faults:; }[; and {more} more]")

    # what waits for a person, and what was done for another
    NOT_HELD_BUT = Message(
        "not_held_but",
        "{kind:word} {id} does not wait for a person: it is {state:word} (see `deskbridge held`)",
        article="KB-WORK-002",
    )
    NOT_HELD_NOR_KNOWN = Message(
        "not_held_nor_known",
        "{kind:word} {id} does not wait for a person: it is not known (see `deskbridge held`)",
        article="KB-WORK-002",
    )
    EVENTS_PAST_RETENTION = Message(
        "events_past_retention",
        "nothing would have the time logged again: the events of ticket task {task_id} are past their "
        "retention; have the helpdesk send it again, then resolve it",
        article="KB-WORK-002",
    )
    LINKED_MEANWHILE = Message(
        "linked_meanwhile",
        "{kind:noun} #{number} was linked to something else just now",
        article="KB-WORK-002",
    )
    LINKED_ALREADY = Message(
        "linked_already",
        "{kind:noun} #{number} belongs to {kind:word} {id} already; adopt another one",
        article="KB-WORK-002",
    )
    NOT_LINKED_TO_ANY = Message(
        "not_linked_to_any", "{kind:word} {id} is not linked, so there is nothing to forget"
    )
    ADOPTION_NOT_A_PERSONS = Message(
        "adoption_not_a_persons",
        "no person linked {kind:word} {id}, so there is nothing to take back",
        article="KB-WORK-002",
    )
    SENT_SINCE_ADOPTION = Message(
        "sent_since_adoption",
        "something was sent to {kind:noun} #{tracker_id} since it was adopted, so that is not taken back: put it right "
        "on the tracker, then have the link forgotten (`deskbridge forget-link`)",
        article="KB-WORK-002",
    )
    ADOPTION_IN_USE = Message(
        "adoption_in_use", "a worker is at ticket {ticket_id}; try again in a moment", article="KB-WORK-002"
    )
    OLDER_THAN_SENT = Message(
        "older_than_sent",
        "{kind:noun} #{number} was created before anything was sent for {kind:word} {id}: say that it is this one all "
        "the same, or choose another",
        article="KB-WORK-002",
    )
    LINK_IN_FLIGHT = Message(
        "link_in_flight",
        "{kind:word} {id} is under way ({state:word}), and what is under way is not forgotten; try again once it has "
        "ended (see `deskbridge trace`)",
        article="KB-WORK-002",
    )
    LINK_FOR_A_PERSON = Message(
        "link_for_a_person",
        "{kind:word} {id} waits for a person; decide on it with `deskbridge resolve` (see `deskbridge held`)",
        article="KB-WORK-002",
    )
    TIME_ENTRY_UNKNOWN = Message(
        "time_entry_unknown",
        "ticket task {task_id} has no time entry (see `deskbridge misattributed`)",
        article="KB-WORK-005",
    )
    LOGGING_EVENT_PRUNED = Message(
        "logging_event_pruned",
        "the event that logged ticket task {task_id} is past its retention: correct it on the tracker",
        article="KB-WORK-005",
    )
    HOURS_OF_NOBODY = Message(
        "hours_of_nobody", "the ticket task names nobody whose hours these are", article="KB-WORK-005"
    )
    HOURS_OF_SOMEBODY_UNKNOWN = Message(
        "hours_of_somebody_unknown",
        "the hours are those of helpdesk user {helpdesk_user_id}, who is nobody on the tracker yet: say "
        "who they are (`deskbridge map-user`), then try again",
        article="KB-WORK-005",
    )
    AUTHOR_REFUSED = Message(
        "author_refused",
        "the tracker refused {login} ({problem}); only a member of the issue's project can have hours there",
        article="KB-WORK-005",
    )
    AUTHOR_IGNORED = Message(
        "author_ignored",
        "the tracker did not give time entry #{time_entry_id} to {login}",
        article="KB-WORK-005",
    )
    DATA_STILL_NEEDED = Message(
        "data_still_needed",
        "what names this person is not done yet in {tickets} of the tickets ({examples}): wait until "
        "`deskbridge events --state pending` and `deskbridge held` show them no more, then forget",
        article="KB-COMMAND-004",
    )
    RESTORED_IN_FUTURE = Message(
        "restored_in_future", "--since {since} lies in the future: name when the backup was made"
    )

    # events that are sent or asked for
    EVENT_NOT_VALID = Message("event_not_valid", "{faults:; }", article="KB-HELPDESK-005")
    EVENT_FILE_NOT_TEXT = Message("event_file_not_text", "line {line}: not UTF-8", article="KB-HELPDESK-005")
    EVENTS_NOT_SENT = Message(
        "events_not_sent", "nothing was sent:\n{faults:\n}[\n… and {more} more]", article="KB-HELPDESK-005"
    )
    EVENTS_SENT_IN_PART = Message(
        "events_sent_in_part",
        Plural(
            "{problem} ({count} event was taken before it)",
            "{problem} ({count} events were taken before it)",
        ),
        article="KB-HELPDESK-005",
    )
    PRODUCER_UNREACHABLE = Message(
        "producer_unreachable",
        "{url} cannot be reached: is `deskbridge producer` running? ({error})",
        article="KB-HELPDESK-005",
    )
    PRODUCER_UNLIKE_ONE = Message(
        "producer_unlike_one", "{url} does not answer as a producer does", article="KB-HELPDESK-005"
    )
    PRODUCER_REFUSED = Message(
        "producer_refused",
        "the producer refused with {status}: {errors:; }[; try again in {wait} s]",
        article="KB-HELPDESK-005",
    )
    HELPDESK_UNANSWERED = Message(
        "helpdesk_unanswered",
        "the helpdesk's API gave no usable answer: {problem}",
        article="KB-HELPDESK-003",
    )
    SAMPLE_NOT_LINKED = Message(
        "sample_not_linked",
        "entity {entity_id} is not linked, so a sample of it would not be sent: "
        "`deskbridge link entity {entity_id} TRACKER_PROJECT_ID`",
    )
    SAMPLE_WAITS = Message(
        "sample_waits",
        "the sample is not done after {seconds:g} s: {because}; see `deskbridge doctor`, then remove the sample with "
        "`deskbridge send --sample --clean-up`",
        article="KB-WORK-001",
    )
    SAMPLE_UNDER_WAY = Message(
        "sample_under_way",
        "sample {id} is not removed yet, since whether its {kind:noun} exists is not known; repeat "
        "`deskbridge send --sample --clean-up` in a minute",
        article="KB-WORK-001",
    )
    SAMPLE_AT_WORK = Message(
        "sample_at_work",
        "sample {id} is not removed yet, since a worker or another command works on it; repeat "
        "`deskbridge send --sample --clean-up` in a minute",
        article="KB-WORK-001",
    )
    SAMPLE_UNMARKED = Message(
        "sample_unmarked",
        "issue #{issue_id} of sample {id} is not deleted, since neither its subject nor its description says "
        "“{mark}”; look at it, delete it on the tracker, then repeat `deskbridge send --sample --clean-up`",
    )
    SAMPLE_IN_USE = Message(
        "sample_in_use",
        "issue #{issue_id} of sample {id} is not deleted, since there is time of other people on it, or an issue below "
        "it; move that away, then repeat `deskbridge send --sample --clean-up`",
    )


class Formerly(Code, article=WRONG_ASKED):
    """Refusals that versions before stored with their sentence as `text`; no longer made."""

    SETTING_NOT_VALID = Message("setting_not_valid", "{text}")
    DOES_NOT_EXIST = Message("does_not_exist", "{text}")
    HELPDESK_FAILED = Message("helpdesk_failed", "{text}", article="KB-HELPDESK-003")
    DRY_RUN_NOT_POSSIBLE = Message("dry_run_not_possible", "{text}")
