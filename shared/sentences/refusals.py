"""What refusals say: why deskbridge did not do what was asked."""

from __future__ import annotations

from shared.codes.refusals import Refusal
from shared.sentences.template import Table

TEXT = "{text}"

SENTENCES: Table = {
    Refusal.WRONG_USAGE: TEXT,
    Refusal.STOPPED_BY_USER: "stopped",
    Refusal.SETTING_NOT_VALID: TEXT,
    Refusal.DOES_NOT_EXIST: TEXT,
    Refusal.EVENT_NOT_VALID: TEXT,
    Refusal.SIGNATURE_NOT_VALID: TEXT,
    Refusal.ENVIRONMENT_NOT_LOADED: (
        "the environment of the installation is not loaded: no DESKBRIDGE_ variable is set, and the database of the "
        "default, {file}, does not exist; load the environment, or begin a new installation with `deskbridge migrate`"
    ),
    Refusal.DATABASE_MISSING: (
        "the SQLite database {file} does not exist: check DESKBRIDGE_DATABASE_URL, or make it with `deskbridge migrate`"
    ),
    Refusal.DATABASE_CONFLICT: "the same data was changed at the same time; try again ({error})",
    Refusal.DATABASE_NOT_MIGRATED: (
        "the database's tables are not those of this version: run `deskbridge migrate` ({error})"
    ),
    Refusal.DATABASE_DOWN: (
        "the database cannot be reached: check that it runs, and DESKBRIDGE_DATABASE_URL ({error})"
    ),
    Refusal.DATABASE_HELD: (
        "another process holds what this command needs in the database: try again in a minute ({error})"
    ),
    Refusal.DATABASE_FAILED: "the database failed: {error}",
    Refusal.REDIS_DOWN: "Redis cannot be reached: check that it runs, and DESKBRIDGE_REDIS_URL ({error})",
    Refusal.FILE_NOT_USABLE: "[{file}: ]{error}",
    Refusal.UNEXPECTED_ERROR: "a fault in deskbridge itself, please report it: {type}: {error}[ at {place}]",
    Refusal.AUTHOR_NOT_CORRECTED: TEXT,
    Refusal.DATA_STILL_NEEDED: TEXT,
    Refusal.DRY_RUN_NOT_POSSIBLE: TEXT,
    Refusal.NO_TEMPLATE_CONTEXT: TEXT,
    Refusal.EVENTS_NOT_SENT: TEXT,
    Refusal.FORM_NOT_VALID: TEXT,
    Refusal.LINKS_NOT_IMPORTED: TEXT,
    Refusal.METADATA_BUSY: "another metadata synchronisation is under way",
    Refusal.METADATA_NOT_SYNCHRONISED: TEXT,
    Refusal.NOT_ON_TRACKER: TEXT,
    Refusal.NOT_RESOLVED: TEXT,
    Refusal.PROJECT_IN_DOUBT: TEXT,
    Refusal.TEMPLATE_CONFLICT: TEXT,
    Refusal.TEMPLATE_REFUSED: TEXT,
    Refusal.HELPDESK_FAILED: TEXT,
    Refusal.ACCOUNT_REFUSED: TEXT,
    Refusal.SIGN_IN_BUSY: TEXT,
}

WHY: Table = {}
