"""What errors say, and what was the matter with an answer."""

from __future__ import annotations

from shared.codes.faults import Detail, Fault, HelpdeskFault
from shared.sentences.template import Table

CALL = "{method} {path}[ answered {status}][: {detail}][: {errors:; }]"

NEW_ADDRESS = "`deskbridge config set base_url=… --moved`"

OTHERS = "[; other tickets go through ({others} since the first attempt)]"

SENTENCES: Table = {
    Fault.TRACKER_FAILED: f"the tracker call failed: {CALL}",
    Fault.TRACKER_UNREACHABLE: f"the tracker could not be reached: {CALL}",
    Fault.TRACKER_BUSY: f"the tracker asks to wait: {CALL}",
    Fault.TRACKER_AWAY: f"something that is not the tracker's API answers in its place: {CALL}",
    Fault.TRACKER_FAILING: f"the tracker gives no clear answer to several tickets in a row: {CALL}",
    Fault.TRACKER_CLOSED: (
        "the tracker refuses every call[: {detail}] ({method} {path}[ answered {status}][: {errors:; }])"
    ),
    Fault.OUTCOME_UNKNOWN: f"no clear answer from the tracker: {CALL}",
    Fault.IMPERSONATION_REFUSED: f"the tracker refused the call on behalf of the person: {CALL}",
    Fault.TRACKER_REJECTED: f"the tracker refused the call: {CALL}[ – {{hints:; }}]",
    Fault.TEMPLATE_FAULTY: "line {line}, column {column}: {message}",
    Fault.LOCK_HELD: "{name} is locked by another worker",
    Fault.LOCK_RAN_OUT: "the lock ran out while its holder worked",
    Fault.WORKER_ENDS: "the worker is to end, and leaves it to others",
    Fault.SETTINGS_REPLACED: "what is sent is built from was changed meanwhile",
    Fault.LEASE_RAN_OUT: "the claim's lease ran out before the call was made",
    Fault.RIGHTS_UNKNOWN: "what {login} may do on the tracker is not known yet: {because}",
    Fault.MEMBERSHIP_UNKNOWN: "whether the person is a member is not known yet: {because}",
    Fault.PROJECT_UNKNOWN: "in which tracker project issue #{issue_id} is, is not known yet: {because}",
    Fault.LOGIN_UNKNOWN: "whether {login} has another login now is not known yet: {because}",
    Fault.OPENNESS_UNKNOWN: "{refusal}; whether the tracker is open is not known: {because}",
    Fault.OWN_FAULT: "a fault of deskbridge ({error}); please report it",
    Detail.NO_CONNECTION: "no connection ({error})",
    Detail.NAME_UNKNOWN: "the name {host} does not exist",
    Detail.NAME_NOT_RESOLVED: "the name {host} cannot be looked up at the moment",
    Detail.CONNECTION_REFUSED: "{host} refuses connections on port {port}",
    Detail.NOT_CONNECTED_IN_TIME: "{host} does not answer on port {port}",
    Detail.NO_ROUTE: "there is no route to {host}",
    Detail.PROXY_REFUSED: "the proxy {proxy} does not connect to {host}: it answered {status}",
    Detail.TLS_FAILED: "{host} does not speak TLS as it should ({error})",
    Detail.CERTIFICATE_EXPIRED: "the certificate of {host} expired[ on {date}]",
    Detail.CERTIFICATE_NOT_YET_VALID: "the certificate of {host} is not valid yet[, but from {date}]",
    Detail.CERTIFICATE_OF_UNKNOWN_AUTHORITY: "the certificate of {host} is of an authority that is not trusted here",
    Detail.CERTIFICATE_OF_ANOTHER: "the certificate that {host} shows is not for this name[ but for {names}]",
    Detail.CERTIFICATE_REFUSED: "the certificate of {host} is refused: {error}",
    Detail.ADDRESS_FORBIDDEN: "base_url leads to {address} (DESKBRIDGE_ALLOW_LINK_LOCAL=1 allows it)",
    Detail.TIME_OUT: "no answer within 5 s",
    Detail.CONNECTION_LOST: "the connection was lost before the whole answer came ({error})",
    Detail.NOT_JSON: "the answer is not JSON",
    Detail.NOT_THE_TRACKERS: (
        "something in front of the tracker answered in its place; base_url must be the tracker's own address"
    ),
    Detail.NO_API_THERE: "nothing is at this path, so base_url has another path or host than the tracker",
    Detail.A_PAGE: "it is no JSON, but as a page for signing in, or of maintenance",
    Detail.ADDRESS_MOVED: "every call is redirected to {base_url}, and redirects are not followed",
    Detail.REFUSED_ON_THE_WAY: (
        "something on the way to the tracker answers in its place[, and only for this text: other tickets go through "
        "({others} since the first attempt)]; look at the log of the firewall or proxy in front of the tracker"
    ),
    Detail.TOO_LARGE_ON_THE_WAY: (
        f"this text is too large for something on the way to the tracker{OTHERS}; raise the limit there "
        "(nginx: client_max_body_size)"
    ),
    Detail.ONLY_THIS_TEXT: (
        f"the tracker, or something on the way to it, fails on this text{OTHERS}; look at the logs of both "
        "(an emoji on an old MySQL: convert the tracker's database to utf8mb4)"
    ),
    Detail.NO_OBJECT: "the answer names no {kind:noun}",
    Detail.NO_PROJECT_ID: "the answer names no project",
    Detail.NO_LIST: "the answer has no list of {name}",
    Detail.WRONG_TOTAL_COUNT: "a total_count of {total} cannot be right",
    Detail.LIST_CHANGED: "the list changed while it was read",
    Detail.TOO_MANY_PAGES: "more than {pages} pages to look through",
    Detail.EDIT_CONFLICT: "edit conflict: it was changed at the same time",
    Detail.REDIRECT_NOT_FOLLOWED: (
        "it redirects[ to {location}], and redirects are not followed: base_url must be the tracker's own address"
    ),
    Detail.LOGIN_NO_HEADER: "the login has characters that no header can have",
    Detail.USER_WITHOUT_ID: "a user has no id or login: the API key must be an administrator's",
    Detail.ROW_WITHOUT_ID: "a row has no id or name",
    Detail.NO_USERS: "no users at all, not even the key's own",
    Detail.STATUS_NOT_THERE: "it has no status {tracker_status_id} (see status_map)",
    Detail.STATUS_NOT_TAKEN: (
        "the tracker answered 204, but issue #{issue_id} still has the status {kept}: no change from there to {wanted} "
        "is allowed[, only to {choices}][ and {more} more]. Allow it for some role (Administration, Workflow), or "
        "change status_map; then replay"
    ),
    Detail.STATUS_HINDERED: (
        "the tracker answered 204, but issue #{issue_id} still has the status {kept}: it cannot become {wanted} before "
        "its subtasks and the issues that block it are closed (#{tracker_ids:, #}). Close them, then replay"
    ),
    Detail.STATUS_TAKEN_BACK: (
        "the tracker answered 204, but issue #{issue_id} has the status {kept}, though a role may change it to "
        "{wanted}: the status is read-only (Administration, Workflow, Fields permissions), or it was changed again at "
        "once. Look there, then replay"
    ),
    Detail.TEMPORARY_UNCLEAR: "the dry run needs a temporary {kind:word}, and no clear answer came to its creation",
    Detail.UNCLEAR_TOO_OFTEN: "no clear answer, many times over",
    Detail.KEY_IS_UNKNOWN: (
        "it does not know the API key (changed, or its owner is locked, which are answered alike); store another with "
        "`deskbridge config set-api-key`"
    ),
    Detail.KEY_NOT_ADMINISTRATORS: (
        "the API key is {login}'s, who is no administrator; store an administrator's with "
        "`deskbridge config set-api-key`"
    ),
    Detail.REST_SWITCHED_OFF: "its REST API is switched off; switch it on in its settings (Administration, API)",
    Detail.EXPLAINED_BY: "[{field}: ]{problem} ({record})",
    HelpdeskFault.HELPDESK_TOLD_NO_TIME: "{method} {path}: no current_time",
    HelpdeskFault.HELPDESK_RIGHT_MISSING: "{method} {path}: {status}; has {user} the right to read it?",
    HelpdeskFault.HELPDESK_ANSWER_UNUSABLE: "{method} {path}: {status}, or not what it should be",
    HelpdeskFault.HELPDESK_ANSWER_AWAITED: "{method} {path}: another thread still waits for its answer",
    HelpdeskFault.HELPDESK_SIGN_IN_REFUSED: "{method} {path}: {status}[ {error}]",
    HelpdeskFault.HELPDESK_TOO_SLOW: "{method} {path}: too slow or too large",
    HelpdeskFault.HELPDESK_CALL_FAILED: "{method} {path}: {error}",
}

WHY: Table = {
    Detail.REFUSED_ON_THE_WAY: (
        "have the firewall or proxy in front of the tracker pass deskbridge's POST and PUT on, whatever their text"
    ),
    Detail.TOO_LARGE_ON_THE_WAY: "raise the limit of the proxy in front of the tracker (nginx: client_max_body_size)",
    Detail.ONLY_THIS_TEXT: "look at the logs of the tracker and of the proxy in front of it",
    Detail.NO_API_THERE: f"{NEW_ADDRESS}, with the path that the tracker is under",
    Detail.A_PAGE: (
        "have whatever stands in front of the tracker let calls with an API key pass without signing in; maintenance "
        "ends by itself"
    ),
    Detail.ADDRESS_MOVED: "`deskbridge config set base_url={base_url} --moved`",
    Detail.REDIRECT_NOT_FOLLOWED: (
        "have whatever stands in front of the tracker let calls with an API key pass without signing in"
    ),
    Detail.NAME_UNKNOWN: "correct the address, or have the name put into the DNS again",
    Detail.NAME_NOT_RESOLVED: "check the DNS server of this machine (/etc/resolv.conf)",
    Detail.CONNECTION_REFUSED: "check that its web server runs, and the port of the address",
    Detail.NOT_CONNECTED_IN_TIME: "check that it runs, and that no firewall is in between",
    Detail.NO_ROUTE: "check the network of this machine",
    Detail.PROXY_REFUSED: "have the proxy let this machine through, or put the host into DESKBRIDGE_NO_PROXY",
    Detail.TLS_FAILED: "check that the address has the right port, and that its server speaks TLS 1.2 or later",
    Detail.CERTIFICATE_EXPIRED: "renew it on that server",
    Detail.CERTIFICATE_NOT_YET_VALID: "check the clock of this machine, and the certificate on that server",
    Detail.CERTIFICATE_OF_UNKNOWN_AUTHORITY: (
        "set DESKBRIDGE_CA_FILE to a file with the certificate of its authority, in every process, and restart them"
    ),
    Detail.CERTIFICATE_OF_ANOTHER: "use a name in the address that the certificate has, or have one made for this name",
    Detail.CERTIFICATE_REFUSED: "renew it on that server",
}
