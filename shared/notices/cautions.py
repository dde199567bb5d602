"""Codes of warnings: what a person should know of something that is done all the same."""

from __future__ import annotations

from shared.notices.notice import WRONG_ASKED, Code, Message, Plural


class Caution(Code, article=WRONG_ASKED):
    """What could not be checked, is to be looked at, or was done otherwise than asked."""

    KEY_NOT_USABLE = Message(
        "key_not_usable", "the API key is stored, but nothing can be sent with it yet: {problem}"
    )
    IDS_NOT_CONFIRMED = Message(
        "ids_not_confirmed", "accepted without a check, since no metadata of the tracker confirms it: {keys}"
    )
    DRY_RUN_LEFT_BEHIND = Message(
        "dry_run_left_behind",
        "a dry run left {kind:word}[ #{tracker_id}] “{mark}” on {base_url}: delete it there",
        article="KB-TEMPLATE-002",
    )
    LINKS_OF_OTHER_TRACKER = Message(
        "links_of_other_tracker",
        Plural(
            "{count} link (`deskbridge links`) holds ids of the tracker at {base_url}: check it, or create it again",
            "{count} links (`deskbridge links`) hold ids of the tracker at {base_url}: check each, or create it again",
        ),
    )
    OVERRIDES_OF_OTHER_TRACKER = Message(
        "overrides_of_other_tracker",
        Plural(
            "{count} user override (`deskbridge users`) holds an id of the tracker at {base_url}: "
            "check it, or create it again",
            "{count} user overrides (`deskbridge users`) hold ids of the tracker at {base_url}: "
            "check each, or create it again",
        ),
    )
    LINKED_WITHOUT_CATEGORY = Message("linked_without_category", "linked without a category: {problem}")
    FORM_SENT_AS_IT_IS = Message(
        "form_sent_as_it_is", "{template} failed, so the form was sent as it is: {problem}"
    )
    ROLES_NOT_ALLOWED = Message(
        "roles_not_allowed",
        "role {roles} is neither default_role_id nor in template_role_ids: the standard body will be sent",
    )
    IDENTIFIER_NOT_ASKED = Message(
        "identifier_not_asked",
        "project.identifier was replaced by a mark, so the tracker was not asked about it",
    )
    MEMBERSHIP_NOT_ASKED = Message(
        "membership_not_asked",
        "the membership was tried in a temporary project: whether they are a member already was not asked",
    )
    STILL_A_WATCHER = Message(
        "still_a_watcher", "default_watcher_ids still has {users}: `deskbridge config set`"
    )


class Amount(Code, article=WRONG_ASKED):
    """How many there are of something, within another sentence."""

    ISSUES_COUNTED = Message("issues_counted", Plural("{count} issue", "{count} issues"))
    ENTRIES_COUNTED = Message("entries_counted", Plural("{count} time entry", "{count} time entries"))
