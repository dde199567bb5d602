"""Codes of warnings: what a person should know of something that is done all the same."""

from __future__ import annotations

from shared.codes.notice import Code


class Caution(Code):
    """What could not be checked, is to be looked at, or was done otherwise than asked."""

    KEY_NOT_USABLE = "key_not_usable"
    IDS_NOT_CONFIRMED = "ids_not_confirmed"
    DRY_RUN_LEFT_BEHIND = "dry_run_left_behind"
    LINKS_OF_OTHER_TRACKER = "links_of_other_tracker"
    OVERRIDES_OF_OTHER_TRACKER = "overrides_of_other_tracker"
    LINKED_WITHOUT_CATEGORY = "linked_without_category"
    FORM_SENT_AS_IT_IS = "form_sent_as_it_is"
    ROLES_NOT_ALLOWED = "roles_not_allowed"
    IDENTIFIER_NOT_ASKED = "identifier_not_asked"
    MEMBERSHIP_NOT_ASKED = "membership_not_asked"
    STILL_A_WATCHER = "still_a_watcher"


class Amount(Code):
    """How many there are of something, within another sentence."""

    ISSUES_COUNTED = "issues_counted"
    ENTRIES_COUNTED = "entries_counted"
