"""Refusals of access: accounts, signing in, tokens, and requests of the console and the API."""

from __future__ import annotations

from shared.notices.notice import WRONG_ASKED, Code, Message


class AccessRefusal(Code, article=WRONG_ASKED):
    """Why a person, or a request of the console or the API, was not let in."""

    # accounts and signing in
    ACCOUNT_NAME_TAKEN = Message("account_name_taken", "there is an account {name} already")
    ACCOUNT_NAME_UNFIT = Message(
        "account_name_unfit", "a name has 1 to 100 letters, digits, blanks or any of . _ @ + -"
    )
    ACCOUNT_RIGHT_UNKNOWN = Message("account_right_unknown", "an account's right is one of {rights}")
    TOKEN_RIGHT_UNKNOWN = Message("token_right_unknown", "a token's right is one of {rights}")
    ACCOUNT_SHUT = Message("account_shut", "the account {name} is shut")
    ACCOUNT_NOT_ADDED = Message(
        "account_not_added", "there is no account {name}: an administrator can add it"
    )
    LAST_ADMINISTRATOR = Message(
        "last_administrator", "{name} is the only administrator: make another one first"
    )
    PASSWORD_TOO_SHORT = Message("password_too_short", "a password has at least {least} characters")
    TOKEN_HAS_ENDED = Message(
        "token_has_ended", "the token {name} is revoked or has expired: make a new one; its name is free"
    )
    TOKEN_NAME_TAKEN = Message("token_name_taken", "there is a token {name}; choose another name")
    TOKEN_EXCEEDS_OWNER = Message(
        "token_exceeds_owner",
        "a token may do no more than its owner: it was to have the right {right:word}, and {name} has {has:word}",
    )
    SIGN_IN_BUSY = Message(
        "sign_in_busy", "too many sign in at this moment: try again", article="KB-COMMAND-002"
    )
    SIGN_ON_BEGUN_ELSEWHERE = Message(
        "sign_on_begun_elsewhere", "This sign-in was started in another browser or window: sign in again."
    )
    SIGN_ON_TOO_LATE = Message("sign_on_too_late", "This sign-in took too long: sign in again.")
    SIGN_ON_DENIED = Message("sign_on_denied", "Your provider did not let you in.")
    SIGN_ON_WITHOUT_NAME = Message("sign_on_without_name", "Your provider does not say who you are.")
    SIGN_ON_UNVERIFIED = Message("sign_on_unverified", "Your provider has not verified your e-mail address.")
    SIGN_ON_NO_GROUP = Message("sign_on_no_group", "None of your groups may come in here.")
    PROVIDER_NAMED_OTHERWISE = Message(
        "provider_named_otherwise", "the OpenID provider calls itself by another name than OIDC_ISSUER"
    )
    PROVIDER_LACKS_ENDPOINT = Message(
        "provider_lacks_endpoint", "the OpenID provider names no {name} that can be used"
    )
    PROVIDER_TOKEN_FAULTY = Message(
        "provider_token_faulty", "the OpenID provider's ID token is not good: {error}"
    )
    PROVIDER_TOKEN_FOREIGN = Message(
        "provider_token_foreign", "the OpenID provider's ID token is for another client"
    )
    PROVIDER_UNREACHABLE = Message(
        "provider_unreachable", "the OpenID provider cannot be asked: {method} {address}: {error}"
    )
    PROVIDER_ANSWER_UNUSABLE = Message(
        "provider_answer_unusable",
        "the OpenID provider's answer cannot be used: {method} {address} answered {status}",
    )

    # requests of the console and the API
    ADDRESS_UNKNOWN = Message("address_unknown", "there is nothing at this address")
    METHOD_NOT_POSSIBLE = Message("method_not_possible", "this is not possible at this address")
    REQUEST_NOT_VALID = Message("request_not_valid", "fix the named fields")
    FORM_UNREADABLE = Message("form_unreadable", "send it again")
    BODY_UNREADABLE = Message(
        "body_unreadable", "the body cannot be read: send JSON in UTF-8, not nested too deep"
    )
    REQUEST_REFUSED = Message("request_refused", "the request was refused with {status}")
    FORM_OF_ANOTHER_SITE = Message(
        "form_of_another_site", "the form was sent by another site; open the page and try again"
    )
    FORM_OF_EARLIER_SESSION = Message(
        "form_of_earlier_session",
        "you have signed in again since this page was opened: open it again; nothing was changed",
    )
    TOO_MANY_TOKENS = Message("too_many_tokens", "wait before you try again", article="KB-COMMAND-002")
    TOO_MANY_TRIES = Message("too_many_tries", "wait {seconds} seconds", article="KB-COMMAND-002")
    TOKEN_NEEDED = Message(
        "token_needed",
        "send `Authorization: Bearer TOKEN` with one of DESKBRIDGE_CONSOLE_TOKENS or `deskbridge account "
        "token`",
    )
    RIGHT_NEEDED = Message("right_needed", "this needs the right {needed:word}; yours is {has:word}")
    AUTHORS_NOT_CORRECTED_HERE = Message(
        "authors_not_corrected_here",
        "authors are changed only where DESKBRIDGE_CORRECT_AUTHORS=1 is set",
        article="KB-WORK-005",
    )
    EVENT_OR_CONTEXT = Message("event_or_context", "give `event_id` or `context`, not both")
    PROJECT_OR_CREATE = Message("project_or_create", "give either `tracker_project_id` or `create`")
    OPERATION_AND_BODY = Message("operation_and_body", "give `operation` and `body`, or `template_id`")
    DRY_RUN_BY_GET = Message("dry_run_by_get", "a dry run changes the tracker: ask for it with POST")
    NOT_REPLAYED_TOGETHER = Message(
        "not_replayed_together", "only failed and skipped events are replayed together"
    )
    NOTHING_ASKED_FOR = Message("nothing_asked_for", "say what to do")
