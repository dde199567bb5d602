"""Codes of faults of the tracker, a lock or a template, and of faults in a call or its answer."""

from __future__ import annotations

from shared.notices.notice import Code, Message

CALL = "{method} {path}[ answered {status}][: {detail}][: {errors:; }]"
NEW_ADDRESS = "`deskbridge config set base_url=… --moved`"
OTHERS = "[; other tickets succeed ({others} since the first attempt)]"


class Fault(Code):
    """The message of an error; if the error stopped an event, also the event's reason."""

    TRACKER_FAILED = Message("tracker_failed", f"call to Redmine failed: {CALL}", article="KB-TRACKER-001")
    TRACKER_UNREACHABLE = Message(
        "tracker_unreachable", f"Redmine cannot be reached: {CALL}", article="KB-TRACKER-001"
    )
    TRACKER_BUSY = Message(
        "tracker_busy", f"Redmine is busy and asks deskbridge to wait: {CALL}", article="KB-TRACKER-001"
    )
    TRACKER_AWAY = Message(
        "tracker_away",
        f"another server answers in Redmine's place: {CALL}",
        article="KB-TRACKER-001",
    )
    TRACKER_FAILING = Message(
        "tracker_failing",
        f"Redmine gave no clear answer for several tickets in a row: {CALL}",
        article="KB-TRACKER-001",
    )
    TRACKER_CLOSED = Message(
        "tracker_closed",
        "Redmine rejects every call[: {detail}] ({method} {path}[ answered {status}][: {errors:; }])",
        article="KB-TRACKER-002",
    )
    OUTCOME_UNKNOWN = Message(
        "outcome_unknown", f"no clear answer from Redmine: {CALL}", article="KB-TRACKER-001"
    )
    IMPERSONATION_REFUSED = Message(
        "impersonation_refused",
        f"Redmine rejected the call on behalf of this user: {CALL}",
        article="KB-HINT-008",
    )
    TRACKER_REJECTED = Message(
        "tracker_rejected", f"Redmine rejected the call: {CALL}[ – {{hints:; }}]", article="KB-WORK-003"
    )
    ANSWER_TOO_LONG = Message(
        "answer_too_long",
        (
            f"the issue's notes are longer than deskbridge reads ({CALL}); delete or shorten the longest in Redmine, "
            "then replay"
        ),
        why="delete or shorten the longest notes of the issue in Redmine, then replay",
        article="KB-WORK-003",
    )
    TEMPLATE_FAULTY = Message(
        "template_faulty", "line {line}, column {column}: {message}", article="KB-TEMPLATE-001"
    )
    LOCK_HELD = Message("lock_held", "{name} is locked by another worker", article="KB-WORK-001")
    LOCK_RAN_OUT = Message(
        "lock_ran_out", "the lock expired while its worker was still processing", article="KB-WORK-001"
    )
    WORKER_ENDS = Message(
        "worker_ends", "the worker is stopping and leaves this ticket to another one", article="KB-WORK-001"
    )
    SETTINGS_REPLACED = Message(
        "settings_replaced",
        "settings used to build the request changed in the meantime",
        article="KB-WORK-001",
    )
    TRIAL_SENDS_NOTHING = Message(
        "trial_sends_nothing",
        "trial mode is on, so deskbridge did not send {method} {path}",
        article="KB-WORK-008",
    )
    LEASE_RAN_OUT = Message(
        "lease_ran_out", "the claim's lease expired before the call was made", article="KB-WORK-001"
    )
    MEMBERSHIP_UNKNOWN = Message(
        "membership_unknown",
        "deskbridge does not know yet if this user is a member: {because}",
        article="KB-HINT-008",
    )
    RIGHTS_UNKNOWN = Message(
        "rights_unknown",
        "the rights of {login} in Redmine are not known yet: {because}",
        article="KB-HINT-008",
    )
    DOCUMENT_REFUSED = Message(
        "document_refused", "GLPI does not give document {document_id}: {because}", article="KB-WORK-009"
    )
    FILE_NOT_STORED = Message(
        "file_not_stored",
        "the worker cannot write a document to its temporary folder {folder}: {error}",
        why="free space there, or set TMPDIR to another folder for the workers and restart them",
        article="KB-WORK-009",
    )
    NOTE_AWAITED = Message(
        "note_awaited",
        "deskbridge asks GLPI if the text still exists and is public before it sends it: {because}",
        article="KB-HELPDESK-003",
    )
    NOTE_HIDDEN = Message(
        "note_hidden",
        (
            "{kind:word} {key} is not sent, because GLPI does not show it: it was deleted, or GLPI's API "
            "user[ {user}] lacks a right (in the profile: See all tickets, and for follow-ups See private ones)"
        ),
        article="KB-HELPDESK-003",
    )
    ATTACHMENT_NOT_KEPT = Message(
        "attachment_not_kept",
        "Redmine answered 204, but did not attach the document",
        article="KB-WORK-009",
    )
    UPLOAD_DROPPED = Message(
        "upload_dropped",
        "Redmine did not attach the document, because it no longer has the uploaded file",
        article="KB-WORK-009",
    )
    ANOTHER_WORKER_HAS_IT = Message(
        "another_worker_has_it", "another worker has taken over", article="KB-WORK-001"
    )
    PROJECT_UNKNOWN = Message(
        "project_unknown",
        "the Redmine project of issue #{issue_id} is not known yet: {because}",
        article="KB-TRACKER-007",
    )
    LOGIN_UNKNOWN = Message(
        "login_unknown",
        "deskbridge does not know yet if {login} has a new login: {because}",
        article="KB-SETUP-006",
    )
    OPENNESS_UNKNOWN = Message(
        "openness_unknown",
        "{refusal}; deskbridge does not know if Redmine accepts other calls: {because}",
        article="KB-TRACKER-001",
    )
    OWN_FAULT = Message("own_fault", "internal error ({error}): please report it", article="KB-WORK-003")


class Detail(Code):
    """What was wrong with a call or its answer, in addition to its method, path and status."""

    NO_CONNECTION = Message("no_connection", "no connection ({error})", article="KB-TRACKER-001")
    NAME_UNKNOWN = Message(
        "name_unknown",
        "the host name {host} does not exist",
        why="correct the URL, or add the name to the DNS",
        article="KB-TRACKER-001",
    )
    NAME_NOT_RESOLVED = Message(
        "name_not_resolved",
        "the host name {host} cannot be resolved at the moment",
        why="check this machine's DNS server (/etc/resolv.conf)",
        article="KB-TRACKER-001",
    )
    CONNECTION_REFUSED = Message(
        "connection_refused",
        "{host} refuses connections on port {port}",
        why="check that the web server is running, and that the port is correct",
        article="KB-TRACKER-001",
    )
    NOT_CONNECTED_IN_TIME = Message(
        "not_connected_in_time",
        "{host} does not answer on port {port}",
        why="check that the server is running and that no firewall blocks the connection",
        article="KB-TRACKER-001",
    )
    NO_ROUTE = Message(
        "no_route",
        "there is no route to {host}",
        why="check this machine's network",
        article="KB-TRACKER-001",
    )
    PROXY_REFUSED = Message(
        "proxy_refused",
        "proxy {proxy} refused to connect to {host} (status {status})",
        why="allow this machine on the proxy, or add the host to DESKBRIDGE_NO_PROXY",
        article="KB-TRACKER-001",
    )
    TLS_FAILED = Message(
        "tls_failed",
        "the TLS connection to {host} failed ({error})",
        why="check the port in the URL, and that the server supports TLS 1.2 or later",
        article="KB-TRACKER-001",
    )
    CERTIFICATE_EXPIRED = Message(
        "certificate_expired",
        "the certificate of {host} expired[ on {date}]",
        why="renew the certificate on that server",
        article="KB-TRACKER-001",
    )
    CERTIFICATE_NOT_YET_VALID = Message(
        "certificate_not_yet_valid",
        "the certificate of {host} is not valid yet[, only from {date}]",
        why="check this machine's clock, and the certificate on that server",
        article="KB-TRACKER-001",
    )
    CERTIFICATE_OF_UNKNOWN_AUTHORITY = Message(
        "certificate_of_unknown_authority",
        "the certificate of {host} was issued by an unknown authority",
        why=(
            "set DESKBRIDGE_CA_FILE to a file with the authority's certificate in every process, then "
            "restart them"
        ),
        article="KB-TRACKER-001",
    )
    CERTIFICATE_OF_ANOTHER = Message(
        "certificate_of_another",
        "the certificate of {host} is for another name[: {names}]",
        why="use a name from the certificate in the URL, or get a certificate for this name",
        article="KB-TRACKER-001",
    )
    CERTIFICATE_REFUSED = Message(
        "certificate_refused",
        "the certificate of {host} is not accepted: {error}",
        why="renew the certificate on that server",
        article="KB-TRACKER-001",
    )
    ADDRESS_FORBIDDEN = Message(
        "address_forbidden",
        "base_url leads to {address}, which is forbidden (to allow it, set DESKBRIDGE_ALLOW_LINK_LOCAL=1)",
        article="KB-TRACKER-001",
    )
    TIME_OUT = Message("time_out", "no answer within 5 s", article="KB-TRACKER-001")
    CONNECTION_LOST = Message(
        "connection_lost",
        "the connection was lost before the response was complete ({error})",
        article="KB-TRACKER-001",
    )
    NOT_JSON = Message("not_json", "the answer is not JSON", article="KB-TRACKER-001")
    NOT_THE_TRACKERS = Message(
        "not_the_trackers",
        "a server in front of Redmine answered in its place; base_url must be Redmine's own URL",
        article="KB-TRACKER-001",
    )
    NO_API_THERE = Message(
        "no_api_there",
        "this path does not exist on the server, so the host or path in base_url is wrong",
        why=f"run {NEW_ADDRESS} with Redmine's full URL, including its path",
        article="KB-TRACKER-001",
    )
    A_PAGE = Message(
        "a_page",
        "the response is a web page, such as a sign-in or maintenance page, and not JSON",
        why=(
            "let calls with an API key pass the proxy without a sign-in; if this is maintenance, wait until "
            "it ends"
        ),
        article="KB-TRACKER-001",
    )
    ADDRESS_MOVED = Message(
        "address_moved",
        "every call is redirected to {base_url}, and deskbridge does not follow redirects",
        why="run `deskbridge config set base_url={base_url} --moved`",
        article="KB-TRACKER-001",
    )
    REFUSED_ON_THE_WAY = Message(
        "refused_on_the_way",
        (
            "a firewall or proxy rejects the call before it reaches Redmine[, but only with this text: other "
            "tickets succeed ({others} since the first attempt)]; check its log"
        ),
        why=(
            "configure the firewall or proxy in front of Redmine to accept deskbridge's POST and PUT "
            "requests with any text"
        ),
        article="KB-TRACKER-012",
    )
    TOO_LARGE_ON_THE_WAY = Message(
        "too_large_on_the_way",
        (
            f"the text or file is too large for a proxy in front of Redmine{OTHERS}; raise the proxy's limit "
            "(nginx: client_max_body_size)"
        ),
        why="raise the limit of the proxy in front of Redmine (nginx: client_max_body_size)",
        article="KB-TRACKER-012",
    )
    ONLY_THIS_TEXT = Message(
        "only_this_text",
        (
            f"Redmine, or a proxy in front of it, fails on this text{OTHERS}; check both logs (for emoji on "
            "an old MySQL, convert Redmine's database to utf8mb4)"
        ),
        why="check the logs of Redmine and of the proxy in front of it",
        article="KB-TRACKER-012",
    )
    NO_OBJECT = Message("no_object", "the response contains no {kind:noun}", article="KB-TRACKER-001")
    NO_PROJECT_ID = Message("no_project_id", "the response contains no project", article="KB-TRACKER-001")
    NO_LIST = Message("no_list", "the response contains no list of {name}", article="KB-TRACKER-001")
    WRONG_TOTAL_COUNT = Message(
        "wrong_total_count", "the total_count {total} in the response is not valid", article="KB-TRACKER-001"
    )
    LIST_CHANGED = Message(
        "list_changed", "the list changed while deskbridge was reading it", article="KB-TRACKER-001"
    )
    TOO_MANY_PAGES = Message(
        "too_many_pages", "the list has more than {pages} pages", article="KB-TRACKER-001"
    )
    NOTE_NOT_KEPT = Message(
        "note_not_kept",
        "Redmine answered 204, but did not add the note, because the right *Add notes* is missing",
        article="KB-WORK-003",
    )
    ATTACHMENT_NOT_SEEN = Message(
        "attachment_not_seen",
        "the attachment could not be read back: {because}",
        article="KB-WORK-001",
    )
    NO_UPLOAD_TOKEN = Message(
        "no_upload_token", "the response has no usable token for the uploaded file", article="KB-TRACKER-001"
    )
    NOTE_NOT_SEEN = Message(
        "note_not_seen",
        "Redmine answered 204, and the note could not be read back: {because}",
        article="KB-WORK-001",
    )
    EDIT_CONFLICT = Message(
        "edit_conflict", "edit conflict: it was changed at the same time in Redmine", article="KB-WORK-003"
    )
    REDIRECT_NOT_FOLLOWED = Message(
        "redirect_not_followed",
        (
            "the server redirects[ to {location}], and deskbridge does not follow redirects: base_url must "
            "be Redmine's own URL"
        ),
        why="let calls with an API key pass the proxy without a sign-in",
        article="KB-TRACKER-001",
    )
    LOGIN_NO_HEADER = Message(
        "login_no_header",
        "the login contains characters that are not allowed in an HTTP header",
        article="KB-SETUP-006",
    )
    USER_WITHOUT_ID = Message(
        "user_without_id",
        "Redmine sent a user without an id or login, so the API key is not an administrator's",
        article="KB-SETUP-006",
    )
    ROW_WITHOUT_ID = Message(
        "row_without_id", "Redmine sent a row without an id or name", article="KB-TRACKER-001"
    )
    NO_USERS = Message("no_users", "Redmine's list of users is empty", article="KB-SETUP-006")
    STATUS_NOT_THERE = Message(
        "status_not_there",
        "Redmine has no status {tracker_status_id} (see status_map and deleted_status_id)",
        article="KB-SETUP-004",
    )
    STATUS_NOT_TAKEN = Message(
        "status_not_taken",
        (
            "issue #{issue_id} still has status {kept}, because no workflow allows the change to {wanted}[, "
            "only to {choices}][ and {more} more]. Allow it for a role (Administration, Workflow) or change "
            "status_map, then replay"
        ),
        article="KB-SETUP-004",
    )
    STATUS_HINDERED = Message(
        "status_hindered",
        (
            "issue #{issue_id} still has status {kept}, because open subtasks or blocking issues "
            "(#{tracker_ids:, #}) prevent the change to {wanted}. Close them, then replay"
        ),
        article="KB-SETUP-004",
    )
    STATUS_TAKEN_BACK = Message(
        "status_taken_back",
        (
            "issue #{issue_id} has status {kept}, although a role may change it to {wanted}. Either the "
            "field is read-only (Administration, Workflow, Fields permissions), or Redmine changed it back. "
            "Check this, then replay"
        ),
        article="KB-SETUP-004",
    )
    TEMPORARY_UNCLEAR = Message(
        "temporary_unclear",
        "the dry run needs a temporary {kind:word}, but Redmine did not confirm that it was created",
        article="KB-TEMPLATE-002",
    )
    UNCLEAR_TOO_OFTEN = Message(
        "unclear_too_often", "Redmine gave no clear answer too many times", article="KB-WORK-003"
    )
    KEY_IS_UNKNOWN = Message(
        "key_is_unknown",
        (
            "the API key was changed, or its owner is locked; store another key with "
            "`deskbridge config set-api-key`"
        ),
        article="KB-TRACKER-002",
    )
    KEY_NOT_ADMINISTRATORS = Message(
        "key_not_administrators",
        (
            "the API key belongs to {login}, who is not a Redmine administrator; store an administrator's "
            "key with `deskbridge config set-api-key`"
        ),
        article="KB-TRACKER-002",
    )
    REST_SWITCHED_OFF = Message(
        "rest_switched_off",
        "Redmine's REST API is disabled; enable it (Administration, Settings, API)",
        article="KB-TRACKER-002",
    )
    EXPLAINED_BY = Message("explained_by", "[{field}: ]{problem} ({record})", article="KB-WORK-003")


class HelpdeskFault(Code, article="KB-HELPDESK-003"):
    """What was wrong with a call to GLPI's API."""

    HELPDESK_TOLD_NO_TIME = Message(
        "helpdesk_told_no_time",
        (
            "{method} {path}: the response has no current_time; check that DESKBRIDGE_GLPI_API_URL is GLPI's own "
            "address, without /api.php"
        ),
    )
    HELPDESK_RIGHT_MISSING = Message(
        "helpdesk_right_missing", "{method} {path}: {status}; check that {user} has the right to read it"
    )
    HELPDESK_ANSWER_UNUSABLE = Message(
        "helpdesk_answer_unusable", "{method} {path}: {status}, or an unexpected response"
    )
    HELPDESK_SENT_ANOTHER_FILE = Message(
        "helpdesk_sent_another_file",
        (
            "{method} {path}: {size} bytes[ of {type}][ instead of {announced} bytes], which are not the document "
            "(open the document in GLPI; look for a sign-in page, a proxy or an error message before GLPI's API)"
        ),
        article="KB-WORK-009",
    )
    HELPDESK_ANSWER_AWAITED = Message(
        "helpdesk_answer_awaited", "{method} {path}: another thread is still waiting for the response"
    )
    HELPDESK_SIGN_IN_REFUSED = Message(
        "helpdesk_sign_in_refused",
        "[GLPI does not accept {settings}: ]{method} {path}: {status}[ {error}]",
    )
    HELPDESK_TOO_SLOW = Message("helpdesk_too_slow", "{method} {path}: the response is too slow or too large")
    HELPDESK_CALL_FAILED = Message("helpdesk_call_failed", "{method} {path}: {error}")
