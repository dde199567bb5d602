"""The differences between the versions of Redmine that the stand-in emulates."""

from __future__ import annotations

from dataclasses import dataclass, replace

DEFAULT = "5.0"


@dataclass(frozen=True, slots=True)
class Release:
    """One version; with every field False it behaves like Redmine 5.0.

    Attributes:
        whole_minutes: listed hours are rounded to whole minutes before they are rounded to two decimals.
        creator_watches: the creator of an issue watches it if their role may add watchers.
        blank_priority: a priority of null means the default.
        filters_users: users are listed with their status, and `login`, `mail`, `admin` and `status=*` are filters.
        deletes_projects_later: a deleted project still exists for a moment, with status 10.
        tells_more: custom fields and statuses have a description, listed projects a homepage.
        bare_404: an unknown address gets an empty body instead of a page.
        hides_entries: a time entry that the caller may not see is 404, not 403.
        open_categories: a user who sees a project's issues may read its categories, even if it is closed.
        closed_issues: logging time on closed issues may be switched off (`closed_issues_take_time`).
        unique_identifiers: the database also refuses a project identifier that exists.
    """

    whole_minutes: bool = False
    creator_watches: bool = False
    blank_priority: bool = False
    filters_users: bool = False
    deletes_projects_later: bool = False
    tells_more: bool = False
    bare_404: bool = False
    hides_entries: bool = False
    open_categories: bool = False
    closed_issues: bool = False
    unique_identifiers: bool = False


_6_0 = Release(
    whole_minutes=True,
    creator_watches=True,
    blank_priority=True,
    filters_users=True,
    deletes_projects_later=True,
    tells_more=True,
    bare_404=True,
    hides_entries=True,
)
RELEASES = {
    "5.0": Release(),
    "6.0": _6_0,
    "6.1": replace(_6_0, open_categories=True, closed_issues=True, unique_identifiers=True),
}
