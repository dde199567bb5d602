"""Codes of refusals that the machine causes: the environment, installed parts, the database, Redis."""

from __future__ import annotations

from shared.notices.notice import WRONG_ASKED, Code, Message, Plural

CONFIRM_DATABASE = (
    "run `deskbridge restore begin`; if the database was only moved and lacks nothing, run `deskbridge restore end "
    "--nothing-lost`"
)


class SystemRefusal(Code, article=WRONG_ASKED):
    """Why a command or a process cannot do its work on this machine."""

    # the command line and the environment
    WRONG_USAGE = Message("wrong_usage", "{text}")
    STOPPED_BY_USER = Message("stopped_by_user", "stopped", article="")
    FILE_NOT_USABLE = Message("file_not_usable", "[{file}: ]{error}")
    UNEXPECTED_ERROR = Message(
        "unexpected_error",
        "internal error, please report it[: {type}: {error}][ at {place}]",
        article="KB-COMMAND-003",
    )
    ENVIRONMENT_NOT_VALID = Message("environment_not_valid", "{faults:; }")
    VARIABLES_UNKNOWN = Message(
        "variables_unknown",
        Plural(
            "unknown setting {variables}: correct the name of the variable, or remove it",
            "unknown settings {variables}: correct the names of the variables, or remove them",
        ),
    )
    VARIABLE_NOT_READ = Message("variable_not_read", "{variable}: the file cannot be read ({error})")
    EXTRA_NOT_INSTALLED = Message(
        "extra_not_installed",
        (
            "{variable} is set, but {package} is not installed: add the extra {extra} to the lock file, then "
            "install deskbridge again"
        ),
    )
    SENTRY_DSN_MALFORMED = Message("sentry_dsn_malformed", "DESKBRIDGE_SENTRY_DSN is not a valid Sentry DSN")
    MONITOR_NOT_BOUND = Message(
        "monitor_not_bound", "DESKBRIDGE_MONITOR_LISTEN: cannot listen on {address} ({error})"
    )
    DATABASE_BEHIND = Message(
        "database_behind",
        "the database lacks events that deskbridge has processed: it was restored from a backup",
        why=CONFIRM_DATABASE,
        article="KB-WORK-010",
    )
    DATABASE_COPIED = Message(
        "database_copied",
        "the database is a copy, or was restored from a backup: PostgreSQL gave it another identity",
        why=CONFIRM_DATABASE,
        article="KB-WORK-010",
    )
    SECRET_KEYS_NOT_SET = Message(
        "secret_keys_not_set",
        "DESKBRIDGE_SECRET_KEYS is not set: create a key with `deskbridge secret key`",
        article="KB-SETUP-001",
    )
    WEBHOOK_SECRETS_NOT_SET = Message(
        "webhook_secrets_not_set",
        (
            "DESKBRIDGE_WEBHOOK_SECRETS is not set: create a secret with `deskbridge secret webhook`, and enter "
            "it in GLPI too (for a first try on this machine, set DESKBRIDGE_ALLOW_UNSIGNED=1)"
        ),
    )
    WEBHOOK_SECRET_MALFORMED = Message(
        "webhook_secret_malformed",
        (
            "DESKBRIDGE_WEBHOOK_SECRETS: each secret must have the form {prefix}<base64> (create one with "
            "`deskbridge secret webhook`)"
        ),
    )
    WEBHOOK_SECRET_NOT_ENCODED = Message(
        "webhook_secret_not_encoded",
        (
            "DESKBRIDGE_WEBHOOK_SECRETS: the part after {prefix} must be base64 (create a secret with "
            "`deskbridge secret webhook`)"
        ),
    )
    WEBHOOK_SECRET_TOO_SHORT = Message(
        "webhook_secret_too_short",
        (
            "DESKBRIDGE_WEBHOOK_SECRETS: a secret must have at least {least} bytes, because a shorter one "
            "can be guessed (create one with `deskbridge secret webhook`)"
        ),
    )
    GLPI_SECRET_TOO_SHORT = Message(
        "glpi_secret_too_short",
        (
            "DESKBRIDGE_GLPI_WEBHOOK_SECRETS: a secret must have at least {least} bytes (create one with "
            "`deskbridge secret token`, and enter it in GLPI's webhooks)"
        ),
    )
    UNSIGNED_NOT_ON_LOOPBACK = Message(
        "unsigned_not_on_loopback", "DESKBRIDGE_ALLOW_UNSIGNED=1 is only allowed on a loopback address"
    )
    SIGN_ON_WITHOUT_KEYS = Message(
        "sign_on_without_keys",
        "OIDC_ISSUER requires DESKBRIDGE_SECRET_KEYS (create a key with `deskbridge secret key`)",
    )
    HELPDESK_API_NOT_SET = Message(
        "helpdesk_api_not_set",
        (
            "deskbridge cannot query GLPI, because DESKBRIDGE_GLPI_API_URL is not set (see `deskbridge "
            "article show KB-HELPDESK-003`)"
        ),
        article="KB-HELPDESK-003",
    )
    UNITS_NO_VENV = Message(
        "units_no_venv", "{venv} is not a virtual environment with deskbridge that systemd units can use"
    )
    UNITS_NOT_SEEN = Message(
        "units_not_seen", "systemd units cannot access {venv}: install deskbridge in {place}"
    )
    UNITS_ARE_PACKAGED = Message(
        "units_are_packaged", "the deskbridge package is installed, and already contains the units"
    )
    UNITS_NEED_ROOT = Message(
        "units_need_root", "installing units requires root; use --dry-run to preview them"
    )
    UNITS_NEED_SYSTEMD = Message(
        "units_need_systemd", "systemd is not running on this machine; use --dry-run to preview the units"
    )
    UNITS_COMMAND_FAILED = Message("units_command_failed", "{command}: {error}")

    # the database and Redis
    ENVIRONMENT_NOT_LOADED = Message(
        "environment_not_loaded",
        (
            "no DESKBRIDGE_ variable is set, and the default database {file} does not exist. Load your "
            "environment file, or create a new database with `deskbridge migrate`"
        ),
        article="KB-SERVICE-001",
    )
    DATABASE_MISSING = Message(
        "database_missing",
        (
            "the SQLite database {file} does not exist: check DESKBRIDGE_DATABASE_URL, or create it with "
            "`deskbridge migrate`"
        ),
        article="KB-SERVICE-001",
    )
    DATABASE_CONFLICT = Message(
        "database_conflict",
        "another process changed the same data at the same time: try again[ ({error})]",
        article="KB-COMMAND-002",
    )
    DATABASE_NOT_MIGRATED = Message(
        "database_not_migrated",
        "the database schema does not match this version: run `deskbridge migrate`[ ({error})]",
        article="KB-SERVICE-002",
    )
    DATABASE_WITHOUT_TABLES = Message(
        "database_without_tables",
        "the database has no tables yet: run `deskbridge migrate`",
        article="KB-SERVICE-002",
    )
    DATABASE_TOO_OLD = Message(
        "database_too_old",
        "the database is at revision {found}, but this version needs {newest}: run `deskbridge migrate`",
        article="KB-SERVICE-002",
    )
    DATABASE_TOO_NEW = Message(
        "database_too_new",
        (
            "the database is at revision {found}, and this version only knows {newest}: upgrade deskbridge on "
            "this machine"
        ),
        article="KB-SERVICE-002",
    )
    TABLES_INCOMPLETE = Message(
        "tables_incomplete",
        (
            "the database is at revision {revision}, but lacks {parts}. `deskbridge migrate` cannot restore "
            "them: restore a backup"
        ),
        article="KB-SERVICE-002",
    )
    TABLE_LOCKED = Message(
        "table_locked",
        "nothing was changed, because a table is locked, for example by a running backup: try again later",
        article="KB-SERVICE-002",
    )
    DATABASE_DOWN = Message(
        "database_down",
        (
            "cannot use the database[: {error}]: check that it is running and accepts more connections, and "
            "check DESKBRIDGE_DATABASE_URL"
        ),
        article="KB-SERVICE-001",
    )
    DATABASE_HELD = Message(
        "database_held",
        "another process has locked data that this command needs: try again in a minute[ ({error})]",
        article="KB-COMMAND-002",
    )
    DATABASE_FAILED = Message("database_failed", "database error[: {error}]", article="KB-COMMAND-003")
    REDIS_DOWN = Message(
        "redis_down",
        "cannot reach Redis: check that it is running, and check DESKBRIDGE_REDIS_URL[ ({error})]",
        article="KB-SERVICE-003",
    )
