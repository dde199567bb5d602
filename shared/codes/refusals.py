"""Codes of refusals: why deskbridge itself does not do what a person asked for."""

from __future__ import annotations

from shared.codes.notice import Code


class Refusal(Code):
    """Why a command or a request of the API was refused, or failed on this side of the tracker."""

    # the command line and the environment
    WRONG_USAGE = "wrong_usage"
    STOPPED_BY_USER = "stopped_by_user"
    FILE_NOT_USABLE = "file_not_usable"
    UNEXPECTED_ERROR = "unexpected_error"
    ENVIRONMENT_NOT_VALID = "environment_not_valid"
    VARIABLES_UNKNOWN = "variables_unknown"
    VARIABLE_NOT_READ = "variable_not_read"
    EXTRA_NOT_INSTALLED = "extra_not_installed"
    SENTRY_DSN_MALFORMED = "sentry_dsn_malformed"
    MONITOR_NOT_BOUND = "monitor_not_bound"
    SECRET_KEYS_NOT_SET = "secret_keys_not_set"  # noqa: S105 (a code)
    WEBHOOK_SECRETS_NOT_SET = "webhook_secrets_not_set"
    WEBHOOK_SECRET_MALFORMED = "webhook_secret_malformed"  # noqa: S105 (a code)
    WEBHOOK_SECRET_NOT_ENCODED = "webhook_secret_not_encoded"  # noqa: S105 (a code)
    WEBHOOK_SECRET_TOO_SHORT = "webhook_secret_too_short"  # noqa: S105 (a code)
    GLPI_SECRET_TOO_SHORT = "glpi_secret_too_short"  # noqa: S105 (a code)
    UNSIGNED_NOT_ON_LOOPBACK = "unsigned_not_on_loopback"
    SIGN_ON_WITHOUT_KEYS = "sign_on_without_keys"
    HELPDESK_API_NOT_SET = "helpdesk_api_not_set"
    UNITS_NO_VENV = "units_no_venv"
    UNITS_NOT_SEEN = "units_not_seen"
    UNITS_ARE_PACKAGED = "units_are_packaged"
    UNITS_NEED_ROOT = "units_need_root"
    UNITS_NEED_SYSTEMD = "units_need_systemd"
    UNITS_COMMAND_FAILED = "units_command_failed"

    # the database and Redis
    ENVIRONMENT_NOT_LOADED = "environment_not_loaded"
    DATABASE_MISSING = "database_missing"
    DATABASE_CONFLICT = "database_conflict"
    DATABASE_NOT_MIGRATED = "database_not_migrated"
    DATABASE_WITHOUT_TABLES = "database_without_tables"
    DATABASE_TOO_OLD = "database_too_old"
    DATABASE_TOO_NEW = "database_too_new"
    TABLE_LOCKED = "table_locked"
    DATABASE_DOWN = "database_down"
    DATABASE_HELD = "database_held"
    DATABASE_FAILED = "database_failed"
    REDIS_DOWN = "redis_down"

    # the tracker's settings
    TRACKER_NOT_CONFIGURED = "tracker_not_configured"
    API_KEY_NOT_STORED = "api_key_not_stored"
    API_KEY_NOT_OPENED = "api_key_not_opened"
    API_KEY_EMPTY = "api_key_empty"
    API_KEY_MALFORMED = "api_key_malformed"
    CONFIG_NOT_VALID = "config_not_valid"
    CONFIG_KEY_UNKNOWN = "config_key_unknown"
    ADDRESS_NOT_EMPTIED = "address_not_emptied"
    ADDRESS_IN_USE = "address_in_use"
    METADATA_BUSY = "metadata_busy"
    METADATA_PART_UNKNOWN = "metadata_part_unknown"
    ID_NOT_ON_TRACKER = "id_not_on_tracker"
    ID_SWITCHED_OFF = "id_switched_off"
    CATEGORY_NOT_OF_PROJECT = "category_not_of_project"
    PROJECT_WITHOUT_CATEGORIES = "project_without_categories"
    TRACKER_USERS_UNKNOWN = "tracker_users_unknown"

    # what is named and is not there
    EVENTS_UNKNOWN = "events_unknown"
    EVENT_UNKNOWN = "event_unknown"
    TICKET_UNKNOWN = "ticket_unknown"
    LINK_UNKNOWN = "link_unknown"
    RECORD_UNKNOWN = "record_unknown"
    OPERATION_UNKNOWN = "operation_unknown"
    TEMPLATE_UNKNOWN = "template_unknown"
    TEMPLATE_VERSION_UNKNOWN = "template_version_unknown"
    NO_VERSION_BEFORE = "no_version_before"
    ACCOUNT_UNKNOWN = "account_unknown"
    TOKEN_UNKNOWN = "token_unknown"  # noqa: S105 (a code)
    OVERRIDE_UNKNOWN = "override_unknown"
    NO_MATCH_TO_CONFIRM = "no_match_to_confirm"
    PERSON_UNKNOWN = "person_unknown"
    NOT_ON_TRACKER = "not_on_tracker"
    CHANGE_UNKNOWN = "change_unknown"
    HELPDESK_PROJECT_ZERO = "helpdesk_project_zero"

    # links and projects
    PROJECT_CLOSED_NOW = "project_closed_now"
    PROJECT_ARCHIVED_NOW = "project_archived_now"
    PROJECT_NOT_READ_YET = "project_not_read_yet"
    CATEGORY_NOT_READ_YET = "category_not_read_yet"
    FORM_NOT_VALID = "form_not_valid"
    PROJECT_IN_DOUBT = "project_in_doubt"
    PROJECT_JUST_ASKED_FOR = "project_just_asked_for"
    LINKS_NOT_IMPORTED = "links_not_imported"

    # what waits for a person, and what was done for another
    NOT_HELD_BUT = "not_held_but"
    NOT_HELD_NOR_KNOWN = "not_held_nor_known"
    EVENTS_PAST_RETENTION = "events_past_retention"
    LINKED_MEANWHILE = "linked_meanwhile"
    LINKED_ALREADY = "linked_already"
    NOT_LINKED_TO_ANY = "not_linked_to_any"
    ADOPTION_NOT_A_PERSONS = "adoption_not_a_persons"
    SENT_SINCE_ADOPTION = "sent_since_adoption"
    ADOPTION_IN_USE = "adoption_in_use"
    OLDER_THAN_SENT = "older_than_sent"
    LINK_IN_FLIGHT = "link_in_flight"
    LINK_FOR_A_PERSON = "link_for_a_person"
    TIME_ENTRY_UNKNOWN = "time_entry_unknown"
    LOGGING_EVENT_PRUNED = "logging_event_pruned"
    HOURS_OF_NOBODY = "hours_of_nobody"
    HOURS_OF_SOMEBODY_UNKNOWN = "hours_of_somebody_unknown"
    AUTHOR_REFUSED = "author_refused"
    AUTHOR_IGNORED = "author_ignored"
    DATA_STILL_NEEDED = "data_still_needed"
    RESTORED_IN_FUTURE = "restored_in_future"

    # templates
    TEMPLATE_FIELD_NOT_VALID = "template_field_not_valid"
    TEMPLATE_NOT_ACTIVE = "template_not_active"
    TEMPLATE_IS_ACTIVE = "template_is_active"
    TEMPLATE_ACTIVATED_MEANWHILE = "template_activated_meanwhile"
    TEMPLATE_CONFLICT = "template_conflict"
    FORM_IS_NO_EVENT = "form_is_no_event"
    NOTHING_LINKED_YET = "nothing_linked_yet"
    EVENT_WITHOUT_TASK = "event_without_task"
    EVENT_OF_DELETION = "event_of_deletion"
    EVENT_NOT_LINKED = "event_not_linked"
    NO_PROJECT_FOR_DRY_RUN = "no_project_for_dry_run"
    TEMPORARY_NOT_FILLED = "temporary_not_filled"
    TEMPORARY_REFUSED = "temporary_refused"

    # accounts and signing in
    ACCOUNT_NAME_TAKEN = "account_name_taken"
    ACCOUNT_NAME_UNFIT = "account_name_unfit"
    ACCOUNT_RIGHT_UNKNOWN = "account_right_unknown"
    TOKEN_RIGHT_UNKNOWN = "token_right_unknown"  # noqa: S105 (a code)
    ACCOUNT_SHUT = "account_shut"
    ACCOUNT_NOT_ADDED = "account_not_added"
    LAST_ADMINISTRATOR = "last_administrator"
    PASSWORD_TOO_SHORT = "password_too_short"  # noqa: S105 (a code)
    TOKEN_HAS_ENDED = "token_has_ended"  # noqa: S105 (a code)
    TOKEN_NAME_TAKEN = "token_name_taken"  # noqa: S105 (a code)
    TOKEN_EXCEEDS_OWNER = "token_exceeds_owner"  # noqa: S105 (a code)
    SIGN_IN_BUSY = "sign_in_busy"
    SIGN_ON_BEGUN_ELSEWHERE = "sign_on_begun_elsewhere"
    SIGN_ON_TOO_LATE = "sign_on_too_late"
    SIGN_ON_DENIED = "sign_on_denied"
    SIGN_ON_WITHOUT_NAME = "sign_on_without_name"
    SIGN_ON_UNVERIFIED = "sign_on_unverified"
    SIGN_ON_NO_GROUP = "sign_on_no_group"
    PROVIDER_NAMED_OTHERWISE = "provider_named_otherwise"
    PROVIDER_LACKS_ENDPOINT = "provider_lacks_endpoint"
    PROVIDER_TOKEN_FAULTY = "provider_token_faulty"  # noqa: S105 (a code)
    PROVIDER_TOKEN_FOREIGN = "provider_token_foreign"  # noqa: S105 (a code)
    PROVIDER_UNREACHABLE = "provider_unreachable"
    PROVIDER_ANSWER_UNUSABLE = "provider_answer_unusable"

    # events that are sent or asked for
    EVENT_NOT_VALID = "event_not_valid"
    EVENT_FILE_NOT_TEXT = "event_file_not_text"
    EVENTS_NOT_SENT = "events_not_sent"
    EVENTS_SENT_IN_PART = "events_sent_in_part"
    PRODUCER_UNREACHABLE = "producer_unreachable"
    PRODUCER_UNLIKE_ONE = "producer_unlike_one"
    PRODUCER_REFUSED = "producer_refused"
    HELPDESK_UNANSWERED = "helpdesk_unanswered"
    SAMPLE_NOT_LINKED = "sample_not_linked"
    SAMPLE_WAITS = "sample_waits"
    SAMPLE_UNDER_WAY = "sample_under_way"
    SAMPLE_AT_WORK = "sample_at_work"
    SAMPLE_UNMARKED = "sample_unmarked"
    SAMPLE_IN_USE = "sample_in_use"

    # requests of the console and the API
    ADDRESS_UNKNOWN = "address_unknown"
    METHOD_NOT_POSSIBLE = "method_not_possible"
    REQUEST_NOT_VALID = "request_not_valid"
    FORM_UNREADABLE = "form_unreadable"
    BODY_UNREADABLE = "body_unreadable"
    REQUEST_REFUSED = "request_refused"
    FORM_OF_ANOTHER_SITE = "form_of_another_site"
    FORM_OF_EARLIER_SESSION = "form_of_earlier_session"
    TOO_MANY_TOKENS = "too_many_tokens"
    TOO_MANY_TRIES = "too_many_tries"
    TOKEN_NEEDED = "token_needed"  # noqa: S105 (a code)
    RIGHT_NEEDED = "right_needed"
    AUTHORS_NOT_CORRECTED_HERE = "authors_not_corrected_here"
    EVENT_OR_CONTEXT = "event_or_context"
    PROJECT_OR_CREATE = "project_or_create"
    OPERATION_AND_BODY = "operation_and_body"
    DRY_RUN_BY_GET = "dry_run_by_get"
    NOT_REPLAYED_TOGETHER = "not_replayed_together"
    NOTHING_ASKED_FOR = "nothing_asked_for"


class Formerly(Code):
    """Refusals that versions before stored with their sentence as `text`; no longer made."""

    SETTING_NOT_VALID = "setting_not_valid"
    DOES_NOT_EXIST = "does_not_exist"
    HELPDESK_FAILED = "helpdesk_failed"
    DRY_RUN_NOT_POSSIBLE = "dry_run_not_possible"
