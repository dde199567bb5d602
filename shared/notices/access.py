"""Refusals of access: accounts, signing in, tokens, and requests of the console and the API."""

from __future__ import annotations

from shared.notices.notice import WRONG_ASKED, Code, Message


class AccessRefusal(Code, article=WRONG_ASKED):
    """Why access, or a request to the console or the API, was refused."""

    # accounts and signing in
    ACCOUNT_NAME_TAKEN = Message("account_name_taken", "an account {name} already exists")
    ACCOUNT_NAME_UNFIT = Message(
        "account_name_unfit", "a name has 1 to 100 characters: letters, digits, spaces or any of . _ @ + -"
    )
    ACCOUNT_RIGHT_UNKNOWN = Message("account_right_unknown", "an account's role must be one of {rights}")
    TOKEN_RIGHT_UNKNOWN = Message("token_right_unknown", "a token's role must be one of {rights}")
    ACCOUNT_SHUT = Message("account_shut", "account {name} is disabled")
    ACCOUNT_NOT_ADDED = Message(
        "account_not_added", "there is no account {name}: ask an administrator to add it"
    )
    LAST_ADMINISTRATOR = Message(
        "last_administrator", "{name} is the only administrator: make another account an administrator first"
    )
    PASSWORD_TOO_SHORT = Message("password_too_short", "a password must have at least {least} characters")
    TOKEN_HAS_ENDED = Message(
        "token_has_ended",
        "token {name} is revoked or has expired: create a new one, which can have the same name",
    )
    TOKEN_NAME_TAKEN = Message("token_name_taken", "a token {name} already exists: choose another name")
    TOKEN_EXCEEDS_OWNER = Message(
        "token_exceeds_owner",
        (
            "a token cannot have more rights than its owner: {right:word} was requested, and {name} is "
            "{has:word}"
        ),
    )
    SIGN_IN_BUSY = Message(
        "sign_in_busy", "too many people are signing in: try again in a moment", article="KB-COMMAND-002"
    )
    SIGN_ON_BEGUN_ELSEWHERE = Message(
        "sign_on_begun_elsewhere", "This sign-in was started in another browser or window. Sign in again."
    )
    SIGN_ON_TOO_LATE = Message("sign_on_too_late", "This sign-in took too long. Sign in again.")
    SIGN_ON_DENIED = Message("sign_on_denied", "Your identity provider rejected the sign-in.")
    SIGN_ON_WITHOUT_NAME = Message("sign_on_without_name", "Your identity provider did not send your name.")
    SIGN_ON_UNVERIFIED = Message(
        "sign_on_unverified", "Your identity provider has not verified your e-mail address."
    )
    SIGN_ON_NO_GROUP = Message("sign_on_no_group", "None of your groups has access to this console.")
    PROVIDER_NAMED_OTHERWISE = Message(
        "provider_named_otherwise", "the OpenID provider's issuer differs from OIDC_ISSUER"
    )
    PROVIDER_LACKS_ENDPOINT = Message(
        "provider_lacks_endpoint", "the OpenID provider's configuration has no usable {name}"
    )
    PROVIDER_TOKEN_FAULTY = Message(
        "provider_token_faulty", "the OpenID provider's ID token is not valid: {error}"
    )
    PROVIDER_TOKEN_FOREIGN = Message(
        "provider_token_foreign", "the OpenID provider's ID token was issued for another client"
    )
    PROVIDER_UNREACHABLE = Message(
        "provider_unreachable", "cannot reach the OpenID provider: {method} {address}: {error}"
    )
    PROVIDER_ANSWER_UNUSABLE = Message(
        "provider_answer_unusable",
        "the OpenID provider's response is not usable: {method} {address} returned {status}",
    )

    # requests of the console and the API
    ADDRESS_UNKNOWN = Message("address_unknown", "there is nothing at this address")
    METHOD_NOT_POSSIBLE = Message("method_not_possible", "this address does not support this method")
    REQUEST_NOT_VALID = Message("request_not_valid", "correct the fields listed in `errors`")
    FORM_UNREADABLE = Message("form_unreadable", "the form cannot be read: send it again")
    BODY_UNREADABLE = Message(
        "body_unreadable", "the request body cannot be read: send JSON in UTF-8 with fewer nested levels"
    )
    REQUEST_REFUSED = Message("request_refused", "the request was rejected with status {status}")
    FORM_OF_ANOTHER_SITE = Message(
        "form_of_another_site", "the form was sent from another site: open the page and try again"
    )
    FORM_OF_EARLIER_SESSION = Message(
        "form_of_earlier_session",
        "nothing was changed, because you signed in again after you opened this page: reload it",
    )
    TOO_MANY_TOKENS = Message(
        "too_many_tokens", "too many wrong tokens: wait before you try again", article="KB-COMMAND-002"
    )
    TOO_MANY_TRIES = Message(
        "too_many_tries", "too many attempts: try again in {seconds} seconds", article="KB-COMMAND-002"
    )
    TOKEN_NEEDED = Message(
        "token_needed",
        (
            "send `Authorization: Bearer TOKEN` with a token of DESKBRIDGE_CONSOLE_TOKENS or of `deskbridge "
            "account token`"
        ),
    )
    RIGHT_NEEDED = Message("right_needed", "this requires the {needed:word} role, and you have {has:word}")
    AUTHORS_NOT_CORRECTED_HERE = Message(
        "authors_not_corrected_here",
        "authors are corrected only if an administrator allows it in the settings (`deskbridge config set "
        "correct_authors=true`)",
        article="KB-WORK-005",
    )
    EVENT_OR_CONTEXT = Message("event_or_context", "specify `event_id` or `context`, not both")
    PROJECT_OR_CREATE = Message("project_or_create", "specify either `tracker_project_id` or `create`")
    OPERATION_AND_BODY = Message("operation_and_body", "specify `operation` and `body`, or `template_id`")
    DRY_RUN_BY_GET = Message(
        "dry_run_by_get", "a dry run creates and deletes a test object in Redmine, so it requires POST"
    )
    NOT_REPLAYED_TOGETHER = Message(
        "not_replayed_together", "only failed and skipped events can be replayed together"
    )
    NOTHING_ASKED_FOR = Message("nothing_asked_for", "the request does not specify an action")
