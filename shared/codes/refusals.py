"""Codes of refusals: why deskbridge itself does not do what a person asked for."""

from __future__ import annotations

from shared.codes.coded import Code


class Refusal(Code):
    """Why a command or a request of the API was refused, or failed on this side of the tracker."""

    WRONG_USAGE = "wrong_usage"
    STOPPED_BY_USER = "stopped_by_user"
    SETTING_NOT_VALID = "setting_not_valid"
    DOES_NOT_EXIST = "does_not_exist"
    EVENT_NOT_VALID = "event_not_valid"
    SIGNATURE_NOT_VALID = "signature_not_valid"

    ENVIRONMENT_NOT_LOADED = "environment_not_loaded"
    DATABASE_MISSING = "database_missing"
    DATABASE_CONFLICT = "database_conflict"
    DATABASE_NOT_MIGRATED = "database_not_migrated"
    DATABASE_DOWN = "database_down"
    DATABASE_HELD = "database_held"
    DATABASE_FAILED = "database_failed"
    REDIS_DOWN = "redis_down"
    FILE_NOT_USABLE = "file_not_usable"
    UNEXPECTED_ERROR = "unexpected_error"

    AUTHOR_NOT_CORRECTED = "author_not_corrected"
    DATA_STILL_NEEDED = "data_still_needed"
    DRY_RUN_NOT_POSSIBLE = "dry_run_not_possible"
    NO_TEMPLATE_CONTEXT = "no_template_context"
    EVENTS_NOT_SENT = "events_not_sent"
    FORM_NOT_VALID = "form_not_valid"
    LINKS_NOT_IMPORTED = "links_not_imported"
    METADATA_BUSY = "metadata_busy"
    METADATA_NOT_SYNCHRONISED = "metadata_not_synchronised"
    NOT_ON_TRACKER = "not_on_tracker"
    NOT_RESOLVED = "not_resolved"
    PROJECT_IN_DOUBT = "project_in_doubt"
    TEMPLATE_CONFLICT = "template_conflict"
    TEMPLATE_REFUSED = "template_refused"
    HELPDESK_FAILED = "helpdesk_failed"
    ACCOUNT_REFUSED = "account_refused"
    SIGN_IN_BUSY = "sign_in_busy"
