"""Codes of wrong authors: why somebody else than was meant has an issue or a time entry."""

from __future__ import annotations

from shared.codes.notice import Code


class Misattribution(Code):
    """Why the author is another than was meant; what would fix it is said beside."""

    NOBODY_NAMED = "author_not_named"
    NOT_MATCHED = "author_not_matched"
    PERSON_REFUSED = "person_was_refused"
    PERSON_NOT_ACTIVE = "author_not_active"
    PERSON_DELETED = "author_deleted"
    SWITCH_IGNORED = "switch_was_ignored"
    FOUND_AS_ANOTHERS = "found_as_anothers"
