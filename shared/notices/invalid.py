"""Codes of faults in a value: of an event, a form, a setting, a line of a file."""

from __future__ import annotations

from collections.abc import Iterable

from shared.notices.notice import WRONG_ASKED, Code, Message, Notice


class Invalid(Code, article=WRONG_ASKED):
    """What was expected of a value."""

    FAULT_OF_FIELD = Message("fault_of_field", "[{field}: ]{problem}")
    FAULT_ON_LINE = Message("fault_on_line", "line {line}: [{field}: ]{problem}")
    FAULT_OF_EVENT = Message("fault_of_event", "event {number}: {field}: {problem}")

    FIELD_REQUIRED = Message("field_required", "required")
    FIELD_UNKNOWN = Message("field_unknown", "unknown field")
    WHOLE_NUMBER_EXPECTED = Message("whole_number_expected", "expected a whole number")
    SMALLER_NUMBER_EXPECTED = Message("smaller_number_expected", "expected a smaller number")
    NUMBER_EXPECTED = Message("number_expected", "expected a number")
    NUMBER_TOO_SMALL = Message("number_too_small", "must be {least} or more")
    NUMBER_NOT_ABOVE = Message("number_not_above", "must be more than {limit}")
    NUMBER_TOO_LARGE = Message("number_too_large", "must be {most} or less")
    NUMBER_NOT_BELOW = Message("number_not_below", "must be less than {limit}")
    NUMBER_OUT_OF_RANGE = Message("number_out_of_range", "contains a number that is out of range")
    TRUTH_EXPECTED = Message("truth_expected", "expected true or false")
    TEXT_EXPECTED = Message("text_expected", "expected text")
    TEXT_TOO_SHORT = Message("text_too_short", "must be at least {least} characters")
    TEXT_TOO_LONG = Message("text_too_long", "must be at most {most} characters")
    TEXT_LENGTH_WRONG = Message("text_length_wrong", "must be {least} to {most} characters")
    TEXT_NOT_STORABLE = Message(
        "text_not_storable", "contains characters that cannot be stored (U+0000 or a lone surrogate)"
    )
    TEXT_OF_FORM = Message("text_of_form", "must have the form {form}")
    TOO_MANY_BYTES = Message("too_many_bytes", "must be at most {most} bytes")
    OBJECT_EXPECTED = Message("object_expected", "expected an object")
    JSON_EXPECTED = Message("json_expected", "must be JSON")
    JSON_FAULTY = Message("json_faulty", "not valid JSON: {error}")
    JSON_OBJECT_EXPECTED = Message("json_object_expected", "expected a JSON object")
    LIST_EXPECTED = Message("list_expected", "expected a list")
    LIST_TOO_SHORT = Message("list_too_short", "the list must have a length of {least} or more")
    LIST_TOO_LONG = Message("list_too_long", "the list must have a length of {most} or less")
    NESTED_TOO_DEEP = Message("nested_too_deep", "nested more than {most} levels deep")
    CHOICE_EXPECTED = Message("choice_expected", "expected one of {choices}")
    TIME_EXPECTED = Message("time_expected", "expected a time such as 2026-11-21T09:30:00Z")
    TIME_WITHOUT_ZONE = Message(
        "time_without_zone", "expected a time with a time zone, such as 2026-11-21T09:30:00Z"
    )
    TIME_WITHOUT_OFFSET = Message(
        "time_without_offset", "expected RFC 3339 with an offset, such as 2026-11-21T09:30:00Z"
    )
    TIME_IN_MILLISECONDS = Message(
        "time_in_milliseconds",
        (
            "a number of milliseconds is not allowed; expected RFC 3339 with an offset, such as "
            "2026-11-21T09:30:00Z"
        ),
    )
    TIME_IN_SECONDS = Message(
        "time_in_seconds",
        (
            "a number of seconds is not allowed; expected RFC 3339 with an offset, such as "
            "2026-11-21T09:30:00Z"
        ),
    )
    DAY_EXPECTED = Message("day_expected", "expected a date such as 2026-11-21")
    NETWORK_EXPECTED = Message("network_expected", "expected a network such as 10.0.0.0/8")
    KEY_NOT_AS_EXPECTED = Message("key_not_as_expected", "{problem} before the colon")
    VALUE_REFUSED = Message("value_refused", "this value is not allowed[: {error}]")
    NOT_AS_EXPECTED = Message("not_as_expected", "not valid ({type})")

    TASK_REQUIRED = Message("task_required", "required for ticket_task.* events")
    FILE_TYPE_EXPECTED = Message("file_type_expected", "expected types such as image/png, video/* or .exe")
    PART_REQUIRED = Message("part_required", "required for the event {event}")
    DELIVERY_ID_EXPECTED = Message(
        "delivery_id_expected", "must be 1 to 255 printable ASCII characters without spaces"
    )
    EVENT_COUNT_WRONG = Message("event_count_wrong", "the number of events must be 1 to {most}, got {got}")

    WEB_ADDRESS_EXPECTED = Message(
        "web_address_expected", "expected an http or https URL such as https://glpi.example.org"
    )
    TRACKER_ADDRESS_EXPECTED = Message(
        "tracker_address_expected", "expected a URL such as https://redmine.example.org"
    )
    ADDRESS_NOT_PRINTABLE = Message(
        "address_not_printable", "the URL must not contain control or invisible characters"
    )
    ADDRESS_WITH_MORE = Message(
        "address_with_more", "the URL must not contain a user, password, query or fragment"
    )
    ADDRESS_NEEDED = Message("address_needed", "a URL is required")
    ADDRESS_FORBIDDEN_HERE = Message(
        "address_forbidden_here",
        "{place}, which is not allowed for Redmine (to allow it, set DESKBRIDGE_ALLOW_LINK_LOCAL=1)",
    )
    LINK_LOCAL_ADDRESS = Message("link_local_address", "{host} is a link-local address")
    METADATA_SERVICE = Message("metadata_service", "{host} is a cloud provider's metadata service")
    KEY_NEEDED = Message("key_needed", "an API key is required")
    KEY_NEEDED_ELSEWHERE = Message(
        "key_needed_elsewhere", "if you change the URL, enter the API key again (`api_key`)"
    )
    KEY_NEEDED_UNVERIFIED = Message(
        "key_needed_unverified", "to set it to false, enter the API key again (`api_key`)"
    )

    IDENTIFIER_IN_USE = Message(
        "identifier_in_use",
        (
            "Redmine project {project_id}[ ({project_name})] has this identifier: map to that project, or "
            "choose another identifier"
        ),
    )
    NO_REASON_FROM_TRACKER = Message("no_reason_from_tracker", "Redmine rejected it without a reason")
    NO_REASON_TOLD = Message("no_reason_told", "no reason was given")
    TEMPLATE_NAME_TAKEN = Message(
        "template_name_taken", "{operation} already has a template with the name {name}"
    )
    TEMPLATE_OF_ANOTHER = Message("template_of_another", "template {template_id} is for {operation}")
    PROJECT_NOT_CHOSEN = Message("project_not_chosen", "choose a Redmine project")

    ROLES_EXPECTED = Message("roles_expected", "expected a JSON object such as {example}")
    FERNET_KEY_EXPECTED = Message(
        "fernet_key_expected",
        (
            "each key must be a Fernet key: 32 bytes in URL-safe base64 (create one with `deskbridge "
            "secret key`)"
        ),
    )
    TOKEN_TOO_SHORT = Message(
        "token_too_short",
        (
            "a token must have at least {least} bytes, because a shorter one can be guessed (create one with "
            "`deskbridge secret token`)"
        ),
    )
    NETWORK_OF_EVERYBODY = Message(
        "network_of_everybody",
        "this network contains all addresses, so any client could claim any source address",
    )
    CERTIFICATES_EXPECTED = Message(
        "certificates_expected", "expected a readable file with certificates (PEM)"
    )
    PROXY_EXPECTED = Message("proxy_expected", "expected http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT")
    HOST_AND_PORT_EXPECTED = Message("host_and_port_expected", "expected HOST:PORT, such as 127.0.0.1:9101")
    ORIGIN_EXPECTED = Message(
        "origin_expected", "expected a URL without a path, such as https://deskbridge.example.org"
    )
    DATABASE_URL_EXPECTED = Message(
        "database_url_expected", "expected postgresql+psycopg2://USER@HOST/DATABASE or sqlite:///FILE"
    )
    REDIS_URL_EXPECTED = Message("redis_url_expected", "expected redis://HOST:PORT/NUMBER")
    LINE_BREAK_INSIDE = Message(
        "line_break_inside", "must be on one line; separate several keys or secrets with commas"
    )
    URL_IN_QUOTES = Message("url_in_quotes", "remove the quotation marks around the URL")
    PASSWORD_NOT_ENCODED = Message(
        "password_not_encoded",
        "in the user or password of the URL, write @ as %40, : as %3A, / as %2F, ? as %3F and # as %23",
    )
    SENTINELS_EXPECTED = Message(
        "sentinels_expected", "expected redis+sentinel://HOST:PORT,HOST:PORT/NUMBER?master=NAME"
    )
    LEASES_REVERSED = Message("leases_reversed", "LOCK_LEASE must not be shorter than CLAIM_LEASE")
    ISSUER_EXPECTED = Message(
        "issuer_expected", "OIDC_ISSUER must be an https URL (http only on this machine)"
    )
    SETTINGS_INCOMPLETE = Message(
        "settings_incomplete",
        "{setting} requires {missing}: set it, or fill the file that it is read from",
    )


class Unimported(Code, article=WRONG_ASKED):
    """Why a line of an import file was not imported."""

    COLUMN_NOT_OURS = Message("column_not_ours", "{name} is not one of {columns}")
    COLUMN_NOT_NAMED = Message("column_not_named", "no column is set for {name}: use --columns {name}=…")
    COLUMN_NOT_THERE = Message(
        "column_not_there", "the file has no column {theirs} for {ours} (columns: {columns})"
    )
    COLUMNS_MISSING = Message(
        "columns_missing", "the first line must contain the column names; missing: {columns}"
    )
    NOT_CSV = Message("not_csv", "not valid CSV in UTF-8: {error}")
    OTHER_TRACKERS_LINE = Message(
        "other_trackers_line", "the line belongs to another Redmine ({theirs}), not to {ours}"
    )
    KIND_EXPECTED = Message("kind_expected", "kind must be one of {kinds}")
    ID_EXPECTED = Message("id_expected", "{name} must be an id, not {got}")
    CELLS_MISSING = Message("cells_missing", "empty cells: {columns}")
    TWICE_IN_FILE = Message("twice_in_file", "{kind:word} with {name} {value} is also in line {line}")
    LINKED_TO_ANOTHER = Message(
        "linked_to_another",
        (
            "{kind:word} {id} is mapped to Redmine project {tracker_project_id} here: remove that mapping "
            "first"
        ),
    )
    MAPPED_TO_ANOTHER = Message(
        "mapped_to_another",
        (
            "GLPI user {helpdesk_user_id} is mapped to Redmine user {tracker_user_id} here: remove that "
            "mapping first"
        ),
    )
    CREATED_AS_ANOTHER = Message(
        "created_as_another",
        ("{kind:word} {id} already has {kind:noun} #{present} here, so it cannot have {kind:noun} #{wanted}"),
    )
    UNDECIDED_HERE = Message(
        "undecided_here",
        (
            "{kind:word} {id} is {state:word} here and needs a decision, so it cannot have {kind:noun} "
            "#{wanted}"
        ),
    )
    OBJECT_OF_ANOTHER = Message(
        "object_of_another", "{kind:noun} #{tracker_id} belongs to {kind:word} {id} here"
    )
    BEGUN_MEANWHILE = Message(
        "begun_meanwhile", "a worker started {kind:word} {id} at the same time: try again"
    )
    SOMETHING_LINKED_MEANWHILE = Message(
        "something_linked_meanwhile", "another link or mapping was created at the same time: try again"
    )


Faults = list[tuple[str, Notice]]
"""One entry for each fault: its field, or an empty text for the whole, and the fault itself."""


def faulty(code: Code, faults: Iterable[tuple[str, Notice]]) -> Notice:
    """Return a refusal that lists every fault with its field."""
    return code(
        faults=[Invalid.FAULT_OF_FIELD(field=field or None, problem=problem) for field, problem in faults]
    )


def faults_in(refused: Notice) -> Faults:
    """Return the faults that a refusal lists by field, or the refusal itself if it is about a single field."""
    if "faults" not in refused.params:
        field = refused.params.get("field")
        return [(field, refused)] if field else []
    return [
        (one.params.get("field") or "", one.params["problem"])
        for one in refused.params["faults"]
        if isinstance(one, Notice) and one.code == Invalid.FAULT_OF_FIELD
    ]
