"""Codes of what is wrong with a value: of an event, a form, a setting, a line of a file."""

from __future__ import annotations

from collections.abc import Iterable

from shared.notices.notice import WRONG_ASKED, Code, Message, Notice


class Invalid(Code, article=WRONG_ASKED):
    """What was expected of a value."""

    FAULT_OF_FIELD = Message("fault_of_field", "[{field}: ]{problem}")
    FAULT_ON_LINE = Message("fault_on_line", "line {line}: [{field}: ]{problem}")
    FAULT_OF_EVENT = Message("fault_of_event", "event {number}: {field}: {problem}")

    FIELD_REQUIRED = Message("field_required", "required")
    FIELD_UNKNOWN = Message("field_unknown", "there is no such field")
    WHOLE_NUMBER_EXPECTED = Message("whole_number_expected", "expected a whole number")
    SMALLER_NUMBER_EXPECTED = Message("smaller_number_expected", "expected a smaller number")
    NUMBER_EXPECTED = Message("number_expected", "expected a number")
    NUMBER_TOO_SMALL = Message("number_too_small", "expected {least} or more")
    NUMBER_NOT_ABOVE = Message("number_not_above", "expected more than {limit}")
    NUMBER_TOO_LARGE = Message("number_too_large", "expected {most} or less")
    NUMBER_NOT_BELOW = Message("number_not_below", "expected less than {limit}")
    NUMBER_OUT_OF_RANGE = Message("number_out_of_range", "has a number that is out of range")
    TRUTH_EXPECTED = Message("truth_expected", "expected true or false")
    TEXT_EXPECTED = Message("text_expected", "expected text")
    TEXT_TOO_SHORT = Message("text_too_short", "too short: {least} is the least number of characters")
    TEXT_TOO_LONG = Message("text_too_long", "too long: {most} is the largest number of characters")
    TEXT_LENGTH_WRONG = Message("text_length_wrong", "{least} to {most} characters are expected")
    TEXT_NOT_STORABLE = Message("text_not_storable", "text without U+0000 and lone surrogates is expected")
    TEXT_OF_FORM = Message("text_of_form", "expected text of the form {form}")
    TOO_MANY_BYTES = Message("too_many_bytes", "at most {most} bytes")
    OBJECT_EXPECTED = Message("object_expected", "expected an object")
    JSON_EXPECTED = Message("json_expected", "is not JSON")
    JSON_FAULTY = Message("json_faulty", "not JSON: {error}")
    JSON_OBJECT_EXPECTED = Message("json_object_expected", "expected a JSON object")
    LIST_EXPECTED = Message("list_expected", "expected a list")
    LIST_TOO_SHORT = Message("list_too_short", "too few: {least} is the least number")
    LIST_TOO_LONG = Message("list_too_long", "too many: {most} is the largest number")
    NESTED_TOO_DEEP = Message("nested_too_deep", "nested more than {most} levels deep")
    CHOICE_EXPECTED = Message("choice_expected", "expected one of {choices}")
    TIME_EXPECTED = Message("time_expected", "expected a time such as 2026-11-21T09:30:00Z")
    TIME_WITHOUT_ZONE = Message(
        "time_without_zone", "expected a time with its zone, such as 2026-11-21T09:30:00Z"
    )
    TIME_WITHOUT_OFFSET = Message(
        "time_without_offset", "expected RFC 3339 with an offset, such as 2026-11-21T09:30:00Z"
    )
    TIME_IN_MILLISECONDS = Message(
        "time_in_milliseconds",
        "is a number of milliseconds; expected RFC 3339 with an offset, such as 2026-11-21T09:30:00Z",
    )
    TIME_IN_SECONDS = Message(
        "time_in_seconds",
        "is a number of seconds; expected RFC 3339 with an offset, such as 2026-11-21T09:30:00Z",
    )
    DAY_EXPECTED = Message("day_expected", "expected a day such as 2026-11-21")
    NETWORK_EXPECTED = Message("network_expected", "expected a network such as 10.0.0.0/8")
    KEY_NOT_AS_EXPECTED = Message("key_not_as_expected", "{problem} before the colon")
    VALUE_REFUSED = Message("value_refused", "this value is not accepted[: {error}]")
    NOT_AS_EXPECTED = Message("not_as_expected", "not as expected ({type})")

    TASK_REQUIRED = Message("task_required", "required for ticket_task.* events")
    DELIVERY_ID_EXPECTED = Message(
        "delivery_id_expected", "expected 1 to 255 printable ASCII characters without blanks"
    )
    EVENT_COUNT_WRONG = Message(
        "event_count_wrong", "expected at least one event and at most {most}, got {got}"
    )

    WEB_ADDRESS_EXPECTED = Message(
        "web_address_expected", "expected an http or https address such as https://glpi.example.org"
    )
    TRACKER_ADDRESS_EXPECTED = Message(
        "tracker_address_expected", "expected an address such as https://redmine.example.org"
    )
    ADDRESS_NOT_PRINTABLE = Message(
        "address_not_printable", "expected an address without control or invisible characters"
    )
    ADDRESS_WITH_MORE = Message(
        "address_with_more", "expected an address without user, password, query or fragment"
    )
    ADDRESS_NEEDED = Message("address_needed", "an address is needed")
    ADDRESS_FORBIDDEN_HERE = Message(
        "address_forbidden_here",
        "{place}, which is not where a tracker is (DESKBRIDGE_ALLOW_LINK_LOCAL=1 lets it be there)",
    )
    LINK_LOCAL_ADDRESS = Message("link_local_address", "{host} is a link-local address")
    METADATA_SERVICE = Message("metadata_service", "{host} is a cloud's metadata service")
    KEY_NEEDED = Message("key_needed", "a key is needed")
    KEY_NEEDED_ELSEWHERE = Message(
        "key_needed_elsewhere", "another address needs the API key again (`api_key`)"
    )
    KEY_NEEDED_UNVERIFIED = Message("key_needed_unverified", "false needs the API key again (`api_key`)")

    IDENTIFIER_IN_USE = Message(
        "identifier_in_use",
        "taken by tracker project {project_id}[ ({project_name})]: link to it, or choose another",
    )
    NO_REASON_FROM_TRACKER = Message("no_reason_from_tracker", "the tracker refused it without a reason")
    NO_REASON_TOLD = Message("no_reason_told", "without a reason")
    TEMPLATE_NAME_TAKEN = Message(
        "template_name_taken", "{operation} has a template of this name already: {name}"
    )
    TEMPLATE_OF_ANOTHER = Message("template_of_another", "template {template_id} is for {operation}")
    PROJECT_NOT_CHOSEN = Message("project_not_chosen", "choose a tracker project")

    ROLES_EXPECTED = Message("roles_expected", "expected a JSON object such as {example}")
    FERNET_KEY_EXPECTED = Message(
        "fernet_key_expected",
        "each must be a Fernet key: 32 bytes in URL-safe base64 (make one: `deskbridge make-key`)",
    )
    TOKEN_TOO_SHORT = Message(
        "token_too_short",
        "a token has less than {least} bytes, so that it could be guessed (make one: `deskbridge make-token`)",
    )
    NETWORK_OF_EVERYBODY = Message(
        "network_of_everybody",
        "a network of all addresses would let everybody name an address of their choice",
    )
    CERTIFICATES_EXPECTED = Message(
        "certificates_expected", "expected a file with certificates (PEM) that can be read"
    )
    PROXY_EXPECTED = Message("proxy_expected", "expected http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT")
    HOST_AND_PORT_EXPECTED = Message("host_and_port_expected", "expected HOST:PORT, such as 127.0.0.1:9101")
    ORIGIN_EXPECTED = Message(
        "origin_expected", "expected an address without a path, such as https://deskbridge.example.org"
    )
    DATABASE_URL_EXPECTED = Message(
        "database_url_expected", "expected postgresql+psycopg2://USER@HOST/DATABASE or sqlite:///FILE"
    )
    REDIS_URL_EXPECTED = Message("redis_url_expected", "expected redis://HOST:PORT/NUMBER")
    SENTINELS_EXPECTED = Message(
        "sentinels_expected", "expected redis+sentinel://HOST:PORT,HOST:PORT/NUMBER?master=NAME"
    )
    LEASES_REVERSED = Message(
        "leases_reversed", "LOCK_LEASE must not be shorter than CLAIM_LEASE: the lock outlives the work"
    )
    ISSUER_EXPECTED = Message(
        "issuer_expected", "OIDC_ISSUER must be an https address (http only on this machine)"
    )
    SETTINGS_INCOMPLETE = Message("settings_incomplete", "{setting} needs {missing}")


class Unimported(Code, article=WRONG_ASKED):
    """Why a line of a file of links is not imported."""

    COLUMN_NOT_OURS = Message("column_not_ours", "{name} is none of {columns}")
    COLUMN_NOT_NAMED = Message("column_not_named", "{name} is not named: --columns {name}=…")
    COLUMN_NOT_THERE = Message(
        "column_not_there", "the file has no column {theirs} for {ours}; it has {columns}"
    )
    COLUMNS_MISSING = Message("columns_missing", "the first line must name the columns; missing: {columns}")
    NOT_CSV = Message("not_csv", "not CSV in UTF-8: {error}")
    OTHER_TRACKERS_LINE = Message("other_trackers_line", "it is of another tracker ({theirs}), not of {ours}")
    KIND_EXPECTED = Message("kind_expected", "kind: expected one of {kinds}")
    ID_EXPECTED = Message("id_expected", "{name}: expected an id, got {got}")
    CELLS_MISSING = Message("cells_missing", "{columns}: missing")
    TWICE_IN_FILE = Message("twice_in_file", "{kind} with {name} {value} is in line {line}, too")
    LINKED_TO_ANOTHER = Message(
        "linked_to_another",
        "{kind} {id} is linked to tracker project {tracker_project_id} here; unlink it first",
    )
    MAPPED_TO_ANOTHER = Message(
        "mapped_to_another",
        "helpdesk user {helpdesk_user_id} is mapped to tracker user {tracker_user_id} here; unmap them first",
    )
    CREATED_AS_ANOTHER = Message(
        "created_as_another",
        "{kind} {id} is {kind:noun} #{present} here; it cannot be {kind:noun} #{wanted}, too",
    )
    UNDECIDED_HERE = Message(
        "undecided_here", "{kind} {id} is {state} and undecided here; it cannot be {kind:noun} #{wanted}, too"
    )
    OBJECT_OF_ANOTHER = Message("object_of_another", "{kind:noun} #{tracker_id} belongs to {kind} {id} here")
    BEGUN_MEANWHILE = Message("begun_meanwhile", "{kind} {id} was begun at the same moment; try again")
    SOMETHING_LINKED_MEANWHILE = Message(
        "something_linked_meanwhile", "something was linked at the same moment; try again"
    )


Faults = list[tuple[str, Notice]]
"""One entry for each fault: the field that it is in, empty where it is the whole; and what is wrong with it."""


def faulty(code: Code, faults: Iterable[tuple[str, Notice]]) -> Notice:
    """Return a refusal that tells every fault by its field."""
    return code(
        faults=[Invalid.FAULT_OF_FIELD(field=field or None, problem=problem) for field, problem in faults]
    )


def faults_in(refused: Notice) -> Faults:
    """Return the faults that a refusal tells by their fields; of one that is about a single field that one."""
    if "faults" not in refused.params:
        field = refused.params.get("field")
        return [(field, refused)] if field else []
    return [
        (one.params.get("field") or "", one.params["problem"])
        for one in refused.params["faults"]
        if isinstance(one, Notice) and one.code == Invalid.FAULT_OF_FIELD
    ]
