"""Codes of what goes wrong with the tracker, a lock or a template, and of what was the matter with an answer."""

from __future__ import annotations

from shared.notices.notice import Code, Message

CALL = "{method} {path}[ answered {status}][: {detail}][: {errors:; }]"
NEW_ADDRESS = "`deskbridge config set base_url=… --moved`"
OTHERS = "[; other tickets go through ({others} since the first attempt)]"


class Fault(Code):
    """What an error of `shared.errors` says; where it stopped an event, it is that event's reason."""

    TRACKER_FAILED = Message("tracker_failed", f"the tracker call failed: {CALL}", article="KB-TRACKER-001")
    TRACKER_UNREACHABLE = Message(
        "tracker_unreachable", f"the tracker could not be reached: {CALL}", article="KB-TRACKER-001"
    )
    TRACKER_BUSY = Message("tracker_busy", f"the tracker asks to wait: {CALL}", article="KB-TRACKER-001")
    TRACKER_AWAY = Message(
        "tracker_away",
        f"something that is not the tracker's API answers in its place: {CALL}",
        article="KB-TRACKER-001",
    )
    TRACKER_FAILING = Message(
        "tracker_failing",
        f"the tracker gives no clear answer to several tickets in a row: {CALL}",
        article="KB-TRACKER-001",
    )
    TRACKER_CLOSED = Message(
        "tracker_closed",
        "the tracker refuses every call[: {detail}] ({method} {path}[ answered {status}][: {errors:; }])",
        article="KB-TRACKER-002",
    )
    OUTCOME_UNKNOWN = Message(
        "outcome_unknown", f"no clear answer from the tracker: {CALL}", article="KB-TRACKER-001"
    )
    IMPERSONATION_REFUSED = Message(
        "impersonation_refused",
        f"the tracker refused the call on behalf of the person: {CALL}",
        article="KB-HINT-008",
    )
    TRACKER_REJECTED = Message(
        "tracker_rejected", f"the tracker refused the call: {CALL}[ – {{hints:; }}]", article="KB-WORK-003"
    )
    TEMPLATE_FAULTY = Message(
        "template_faulty", "line {line}, column {column}: {message}", article="KB-TEMPLATE-001"
    )
    LOCK_HELD = Message("lock_held", "{name} is locked by another worker", article="KB-WORK-001")
    LOCK_RAN_OUT = Message("lock_ran_out", "the lock ran out while its holder worked", article="KB-WORK-001")
    WORKER_ENDS = Message(
        "worker_ends", "the worker is to end, and leaves it to others", article="KB-WORK-001"
    )
    SETTINGS_REPLACED = Message(
        "settings_replaced", "what is sent is built from was changed meanwhile", article="KB-WORK-001"
    )
    LEASE_RAN_OUT = Message(
        "lease_ran_out", "the claim's lease ran out before the call was made", article="KB-WORK-001"
    )
    MEMBERSHIP_UNKNOWN = Message(
        "membership_unknown",
        "whether the person is a member is not known yet: {because}",
        article="KB-HINT-008",
    )
    RIGHTS_UNKNOWN = Message(
        "rights_unknown",
        "what {login} may do on the tracker is not known yet: {because}",
        article="KB-HINT-008",
    )
    PROJECT_UNKNOWN = Message(
        "project_unknown",
        "in which tracker project issue #{issue_id} is, is not known yet: {because}",
        article="KB-TRACKER-007",
    )
    LOGIN_UNKNOWN = Message(
        "login_unknown",
        "whether {login} has another login now is not known yet: {because}",
        article="KB-SETUP-006",
    )
    OPENNESS_UNKNOWN = Message(
        "openness_unknown",
        "{refusal}; whether the tracker is open is not known: {because}",
        article="KB-TRACKER-001",
    )
    OWN_FAULT = Message(
        "own_fault", "a fault of deskbridge ({error}); please report it", article="KB-WORK-003"
    )


class Detail(Code):
    """What was the matter with a call or its answer, as far as the method, path and status do not tell."""

    NO_CONNECTION = Message("no_connection", "no connection ({error})", article="KB-TRACKER-001")
    NAME_UNKNOWN = Message(
        "name_unknown",
        "the name {host} does not exist",
        why="correct the address, or have the name put into the DNS again",
        article="KB-TRACKER-001",
    )
    NAME_NOT_RESOLVED = Message(
        "name_not_resolved",
        "the name {host} cannot be looked up at the moment",
        why="check the DNS server of this machine (/etc/resolv.conf)",
        article="KB-TRACKER-001",
    )
    CONNECTION_REFUSED = Message(
        "connection_refused",
        "{host} refuses connections on port {port}",
        why="check that its web server runs, and the port of the address",
        article="KB-TRACKER-001",
    )
    NOT_CONNECTED_IN_TIME = Message(
        "not_connected_in_time",
        "{host} does not answer on port {port}",
        why="check that it runs, and that no firewall is in between",
        article="KB-TRACKER-001",
    )
    NO_ROUTE = Message(
        "no_route",
        "there is no route to {host}",
        why="check the network of this machine",
        article="KB-TRACKER-001",
    )
    PROXY_REFUSED = Message(
        "proxy_refused",
        "the proxy {proxy} does not connect to {host}: it answered {status}",
        why="have the proxy let this machine through, or put the host into DESKBRIDGE_NO_PROXY",
        article="KB-TRACKER-001",
    )
    TLS_FAILED = Message(
        "tls_failed",
        "{host} does not speak TLS as it should ({error})",
        why="check that the address has the right port, and that its server speaks TLS 1.2 or later",
        article="KB-TRACKER-001",
    )
    CERTIFICATE_EXPIRED = Message(
        "certificate_expired",
        "the certificate of {host} expired[ on {date}]",
        why="renew it on that server",
        article="KB-TRACKER-001",
    )
    CERTIFICATE_NOT_YET_VALID = Message(
        "certificate_not_yet_valid",
        "the certificate of {host} is not valid yet[, but from {date}]",
        why="check the clock of this machine, and the certificate on that server",
        article="KB-TRACKER-001",
    )
    CERTIFICATE_OF_UNKNOWN_AUTHORITY = Message(
        "certificate_of_unknown_authority",
        "the certificate of {host} is of an authority that is not trusted here",
        why=(
            "set DESKBRIDGE_CA_FILE to a file with the certificate of its authority, in every process, and "
            "restart them"
        ),
        article="KB-TRACKER-001",
    )
    CERTIFICATE_OF_ANOTHER = Message(
        "certificate_of_another",
        "the certificate that {host} shows is not for this name[ but for {names}]",
        why="use a name in the address that the certificate has, or have one made for this name",
        article="KB-TRACKER-001",
    )
    CERTIFICATE_REFUSED = Message(
        "certificate_refused",
        "the certificate of {host} is refused: {error}",
        why="renew it on that server",
        article="KB-TRACKER-001",
    )
    ADDRESS_FORBIDDEN = Message(
        "address_forbidden",
        "base_url leads to {address} (DESKBRIDGE_ALLOW_LINK_LOCAL=1 allows it)",
        article="KB-TRACKER-001",
    )
    TIME_OUT = Message("time_out", "no answer within 5 s", article="KB-TRACKER-001")
    CONNECTION_LOST = Message(
        "connection_lost",
        "the connection was lost before the whole answer came ({error})",
        article="KB-TRACKER-001",
    )
    NOT_JSON = Message("not_json", "the answer is not JSON", article="KB-TRACKER-001")
    NOT_THE_TRACKERS = Message(
        "not_the_trackers",
        "something in front of the tracker answered in its place; base_url must be the tracker's own address",
        article="KB-TRACKER-001",
    )
    NO_API_THERE = Message(
        "no_api_there",
        "nothing is at this path, so base_url has another path or host than the tracker",
        why=f"{NEW_ADDRESS}, with the path that the tracker is under",
        article="KB-TRACKER-001",
    )
    A_PAGE = Message(
        "a_page",
        "it is no JSON, but as a page for signing in, or of maintenance",
        why=(
            "have whatever stands in front of the tracker let calls with an API key pass without signing in; "
            "maintenance ends by itself"
        ),
        article="KB-TRACKER-001",
    )
    ADDRESS_MOVED = Message(
        "address_moved",
        "every call is redirected to {base_url}, and redirects are not followed",
        why="`deskbridge config set base_url={base_url} --moved`",
        article="KB-TRACKER-001",
    )
    REFUSED_ON_THE_WAY = Message(
        "refused_on_the_way",
        "something on the way to the tracker answers in its place[, and only for this text: other tickets go through "
        "({others} since the first attempt)]; look at the log of the firewall or proxy in front of the tracker",
        why="have the firewall or proxy in front of the tracker pass deskbridge's POST and PUT on, whatever their text",
        article="KB-TRACKER-012",
    )
    TOO_LARGE_ON_THE_WAY = Message(
        "too_large_on_the_way",
        f"this text is too large for something on the way to the tracker{OTHERS}; raise the limit there "
        "(nginx: client_max_body_size)",
        why="raise the limit of the proxy in front of the tracker (nginx: client_max_body_size)",
        article="KB-TRACKER-012",
    )
    ONLY_THIS_TEXT = Message(
        "only_this_text",
        f"the tracker, or something on the way to it, fails on this text{OTHERS}; look at the logs of both "
        "(an emoji on an old MySQL: convert the tracker's database to utf8mb4)",
        why="look at the logs of the tracker and of the proxy in front of it",
        article="KB-TRACKER-012",
    )
    NO_OBJECT = Message("no_object", "the answer names no {kind:noun}", article="KB-TRACKER-001")
    NO_PROJECT_ID = Message("no_project_id", "the answer names no project", article="KB-TRACKER-001")
    NO_LIST = Message("no_list", "the answer has no list of {name}", article="KB-TRACKER-001")
    WRONG_TOTAL_COUNT = Message(
        "wrong_total_count", "a total_count of {total} cannot be right", article="KB-TRACKER-001"
    )
    LIST_CHANGED = Message("list_changed", "the list changed while it was read", article="KB-TRACKER-001")
    TOO_MANY_PAGES = Message(
        "too_many_pages", "more than {pages} pages to look through", article="KB-TRACKER-001"
    )
    EDIT_CONFLICT = Message(
        "edit_conflict", "edit conflict: it was changed at the same time", article="KB-WORK-003"
    )
    REDIRECT_NOT_FOLLOWED = Message(
        "redirect_not_followed",
        "it redirects[ to {location}], and redirects are not followed: base_url must be the tracker's own address",
        why="have whatever stands in front of the tracker let calls with an API key pass without signing in",
        article="KB-TRACKER-001",
    )
    LOGIN_NO_HEADER = Message(
        "login_no_header", "the login has characters that no header can have", article="KB-SETUP-006"
    )
    USER_WITHOUT_ID = Message(
        "user_without_id",
        "a user has no id or login: the API key must be an administrator's",
        article="KB-SETUP-006",
    )
    ROW_WITHOUT_ID = Message("row_without_id", "a row has no id or name", article="KB-TRACKER-001")
    NO_USERS = Message("no_users", "no users at all, not even the key's own", article="KB-SETUP-006")
    STATUS_NOT_THERE = Message(
        "status_not_there", "it has no status {tracker_status_id} (see status_map)", article="KB-SETUP-004"
    )
    STATUS_NOT_TAKEN = Message(
        "status_not_taken",
        "the tracker answered 204, but issue #{issue_id} still has the status {kept}: no change from there to {wanted} "
        "is allowed[, only to {choices}][ and {more} more]. Allow it for some role (Administration, Workflow), or "
        "change status_map; then replay",
        article="KB-SETUP-004",
    )
    STATUS_HINDERED = Message(
        "status_hindered",
        "the tracker answered 204, but issue #{issue_id} still has the status {kept}: it cannot become {wanted} before "
        "its subtasks and the issues that block it are closed (#{tracker_ids:, #}). Close them, then replay",
        article="KB-SETUP-004",
    )
    STATUS_TAKEN_BACK = Message(
        "status_taken_back",
        "the tracker answered 204, but issue #{issue_id} has the status {kept}, though a role may change it to "
        "{wanted}: the status is read-only (Administration, Workflow, Fields permissions), or it was changed again at "
        "once. Look there, then replay",
        article="KB-SETUP-004",
    )
    TEMPORARY_UNCLEAR = Message(
        "temporary_unclear",
        "the dry run needs a temporary {kind:word}, and no clear answer came to its creation",
        article="KB-TEMPLATE-002",
    )
    UNCLEAR_TOO_OFTEN = Message(
        "unclear_too_often", "no clear answer, many times over", article="KB-WORK-003"
    )
    KEY_IS_UNKNOWN = Message(
        "key_is_unknown",
        "it does not know the API key (changed, or its owner is locked, which are answered alike); store another with "
        "`deskbridge config set-api-key`",
        article="KB-TRACKER-002",
    )
    KEY_NOT_ADMINISTRATORS = Message(
        "key_not_administrators",
        "the API key is {login}'s, who is no administrator; store an administrator's with "
        "`deskbridge config set-api-key`",
        article="KB-TRACKER-002",
    )
    REST_SWITCHED_OFF = Message(
        "rest_switched_off",
        "its REST API is switched off; switch it on in its settings (Administration, API)",
        article="KB-TRACKER-002",
    )
    EXPLAINED_BY = Message("explained_by", "[{field}: ]{problem} ({record})", article="KB-WORK-003")


class HelpdeskFault(Code, article="KB-HELPDESK-003"):
    """What was the matter with a call to the helpdesk's API."""

    HELPDESK_TOLD_NO_TIME = Message("helpdesk_told_no_time", "{method} {path}: no current_time")
    HELPDESK_RIGHT_MISSING = Message(
        "helpdesk_right_missing", "{method} {path}: {status}; has {user} the right to read it?"
    )
    HELPDESK_ANSWER_UNUSABLE = Message(
        "helpdesk_answer_unusable", "{method} {path}: {status}, or not what it should be"
    )
    HELPDESK_ANSWER_AWAITED = Message(
        "helpdesk_answer_awaited", "{method} {path}: another thread still waits for its answer"
    )
    HELPDESK_SIGN_IN_REFUSED = Message("helpdesk_sign_in_refused", "{method} {path}: {status}[ {error}]")
    HELPDESK_TOO_SLOW = Message("helpdesk_too_slow", "{method} {path}: too slow or too large")
    HELPDESK_CALL_FAILED = Message("helpdesk_call_failed", "{method} {path}: {error}")
