"""What is said of a value that is not as it should be."""

from __future__ import annotations

from shared.codes.invalid import Invalid, Unimported
from shared.sentences.template import Table

SENTENCES: Table = {
    Invalid.FAULT_OF_FIELD: "[{field}: ]{problem}",
    Invalid.FAULT_ON_LINE: "line {line}: [{field}: ]{problem}",
    Invalid.FAULT_OF_EVENT: "event {number}: {field}: {problem}",
    Invalid.FIELD_REQUIRED: "required",
    Invalid.FIELD_UNKNOWN: "there is no such field",
    Invalid.WHOLE_NUMBER_EXPECTED: "expected a whole number",
    Invalid.SMALLER_NUMBER_EXPECTED: "expected a smaller number",
    Invalid.NUMBER_EXPECTED: "expected a number",
    Invalid.NUMBER_TOO_SMALL: "expected {least} or more",
    Invalid.NUMBER_NOT_ABOVE: "expected more than {limit}",
    Invalid.NUMBER_TOO_LARGE: "expected {most} or less",
    Invalid.NUMBER_NOT_BELOW: "expected less than {limit}",
    Invalid.NUMBER_OUT_OF_RANGE: "has a number that is out of range",
    Invalid.TRUTH_EXPECTED: "expected true or false",
    Invalid.TEXT_EXPECTED: "expected text",
    Invalid.TEXT_TOO_SHORT: "too short: {least} is the least number of characters",
    Invalid.TEXT_TOO_LONG: "too long: {most} is the largest number of characters",
    Invalid.TEXT_LENGTH_WRONG: "{least} to {most} characters are expected",
    Invalid.TEXT_NOT_STORABLE: "text without U+0000 and lone surrogates is expected",
    Invalid.TEXT_OF_FORM: "expected text of the form {form}",
    Invalid.TOO_MANY_BYTES: "at most {most} bytes",
    Invalid.OBJECT_EXPECTED: "expected an object",
    Invalid.JSON_EXPECTED: "is not JSON",
    Invalid.JSON_FAULTY: "not JSON: {error}",
    Invalid.JSON_OBJECT_EXPECTED: "expected a JSON object",
    Invalid.LIST_EXPECTED: "expected a list",
    Invalid.LIST_TOO_SHORT: "too few: {least} is the least number",
    Invalid.LIST_TOO_LONG: "too many: {most} is the largest number",
    Invalid.NESTED_TOO_DEEP: "nested more than {most} levels deep",
    Invalid.CHOICE_EXPECTED: "expected one of {choices}",
    Invalid.TIME_EXPECTED: "expected a time such as 2026-11-21T09:30:00Z",
    Invalid.TIME_WITHOUT_ZONE: "expected a time with its zone, such as 2026-11-21T09:30:00Z",
    Invalid.TIME_WITHOUT_OFFSET: "expected RFC 3339 with an offset, such as 2026-11-21T09:30:00Z",
    Invalid.TIME_IN_MILLISECONDS: (
        "is a number of milliseconds; expected RFC 3339 with an offset, such as 2026-11-21T09:30:00Z"
    ),
    Invalid.TIME_IN_SECONDS: (
        "is a number of seconds; expected RFC 3339 with an offset, such as 2026-11-21T09:30:00Z"
    ),
    Invalid.DAY_EXPECTED: "expected a day such as 2026-11-21",
    Invalid.NETWORK_EXPECTED: "expected a network such as 10.0.0.0/8",
    Invalid.KEY_NOT_AS_EXPECTED: "{problem} before the colon",
    Invalid.VALUE_REFUSED: "this value is not accepted[: {error}]",
    Invalid.NOT_AS_EXPECTED: "not as expected ({type})",
    Invalid.TASK_REQUIRED: "required for ticket_task.* events",
    Invalid.DELIVERY_ID_EXPECTED: "expected 1 to 255 printable ASCII characters without blanks",
    Invalid.EVENT_COUNT_WRONG: "expected at least one event and at most {most}, got {got}",
    Invalid.TRACKER_ADDRESS_EXPECTED: "expected an address such as https://redmine.example.org",
    Invalid.WEB_ADDRESS_EXPECTED: "expected an http or https address such as https://glpi.example.org",
    Invalid.ADDRESS_NOT_PRINTABLE: "expected an address without control or invisible characters",
    Invalid.ADDRESS_WITH_MORE: "expected an address without user, password, query or fragment",
    Invalid.ADDRESS_NEEDED: "an address is needed",
    Invalid.ADDRESS_FORBIDDEN_HERE: (
        "{place}, which is not where a tracker is (DESKBRIDGE_ALLOW_LINK_LOCAL=1 lets it be there)"
    ),
    Invalid.LINK_LOCAL_ADDRESS: "{host} is a link-local address",
    Invalid.METADATA_SERVICE: "{host} is a cloud's metadata service",
    Invalid.KEY_NEEDED: "a key is needed",
    Invalid.KEY_NEEDED_ELSEWHERE: "another address needs the API key given anew with it (`api_key`)",
    Invalid.KEY_NEEDED_UNVERIFIED: "false needs the API key given anew with it (`api_key`)",
    Invalid.IDENTIFIER_IN_USE: (
        "taken by tracker project {project_id}[ ({project_name})]: link to it, or choose another"
    ),
    Invalid.NO_REASON_TOLD: "without a reason",
    Invalid.NO_REASON_FROM_TRACKER: "the tracker refused it without a reason",
    Invalid.TEMPLATE_NAME_TAKEN: "{operation} has a template of this name already: {name}",
    Invalid.TEMPLATE_OF_ANOTHER: "template {template_id} is for {operation}",
    Invalid.PROJECT_NOT_CHOSEN: "choose a tracker project",
    Invalid.ROLES_EXPECTED: "expected a JSON object such as {example}",
    Invalid.FERNET_KEY_EXPECTED: (
        "each must be a Fernet key: 32 bytes in URL-safe base64 (make one: `deskbridge make-key`)"
    ),
    Invalid.TOKEN_TOO_SHORT: (
        "a token has less than {least} bytes, so that it could be guessed (make one: `deskbridge make-token`)"
    ),
    Invalid.NETWORK_OF_EVERYBODY: (
        "a network of all addresses would let everybody name an address of their choice"
    ),
    Invalid.CERTIFICATES_EXPECTED: "expected a file with certificates (PEM) that can be read",
    Invalid.PROXY_EXPECTED: "expected http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT",
    Invalid.HOST_AND_PORT_EXPECTED: "expected HOST:PORT, such as 127.0.0.1:9101",
    Invalid.ORIGIN_EXPECTED: "expected an address without a path, such as https://deskbridge.example.org",
    Invalid.DATABASE_URL_EXPECTED: "expected postgresql+psycopg2://USER@HOST/DATABASE or sqlite:///FILE",
    Invalid.REDIS_URL_EXPECTED: "expected redis://HOST:PORT/NUMBER",
    Invalid.SENTINELS_EXPECTED: "expected redis+sentinel://HOST:PORT,HOST:PORT/NUMBER?master=NAME",
    Invalid.LEASES_REVERSED: "LOCK_LEASE must not be shorter than CLAIM_LEASE: the lock outlives the work",
    Invalid.ISSUER_EXPECTED: "OIDC_ISSUER must be an https address (http only on this machine)",
    Invalid.SETTINGS_INCOMPLETE: "{setting} needs {missing}",
    Unimported.COLUMN_NOT_OURS: "{name} is none of {columns}",
    Unimported.COLUMN_NOT_NAMED: "{name} is not named: --columns {name}=…",
    Unimported.COLUMN_NOT_THERE: "the file has no column {theirs} for {ours}; it has {columns}",
    Unimported.COLUMNS_MISSING: "the first line must name the columns; missing: {columns}",
    Unimported.NOT_CSV: "not CSV in UTF-8: {error}",
    Unimported.OTHER_TRACKERS_LINE: "it is of another tracker ({theirs}), not of {ours}",
    Unimported.KIND_EXPECTED: "kind: expected one of {kinds}",
    Unimported.ID_EXPECTED: "{name}: expected an id, got {got}",
    Unimported.CELLS_MISSING: "{columns}: missing",
    Unimported.TWICE_IN_FILE: "{kind} with {name} {value} is in line {line}, too",
    Unimported.LINKED_TO_ANOTHER: (
        "{kind} {id} is linked to tracker project {tracker_project_id} here; unlink it first"
    ),
    Unimported.MAPPED_TO_ANOTHER: (
        "helpdesk user {helpdesk_user_id} is mapped to tracker user {tracker_user_id} here; unmap them first"
    ),
    Unimported.CREATED_AS_ANOTHER: (
        "{kind} {id} is {kind:noun} #{present} here; it cannot be {kind:noun} #{wanted}, too"
    ),
    Unimported.UNDECIDED_HERE: (
        "{kind} {id} is {state} and undecided here; it cannot be {kind:noun} #{wanted}, too"
    ),
    Unimported.OBJECT_OF_ANOTHER: "{kind:noun} #{tracker_id} belongs to {kind} {id} here",
    Unimported.BEGUN_MEANWHILE: "{kind} {id} was begun at the same moment; try again",
    Unimported.SOMETHING_LINKED_MEANWHILE: "something was linked at the same moment; try again",
}
