"""All rows of the mock Redmine, with the indexes that keep it fast, and its clock."""

from __future__ import annotations

import time
from collections import defaultdict
from threading import RLock

from deploy.sandbox.tracker.records import (
    ANONYMOUS_ID,
    DELETING,
    STATUS_NEW,
    Attachment,
    Category,
    CustomField,
    Enumeration,
    Issue,
    IssueType,
    Membership,
    Project,
    Role,
    Settings,
    Status,
    TimeEntry,
    User,
)
from deploy.sandbox.tracker.releases import RELEASES, Release

TABLES: dict[str, type] = {
    "users": User,
    "roles": Role,
    "issue_types": IssueType,
    "statuses": Status,
    "priorities": Enumeration,
    "activities": Enumeration,
    "categories": Category,
    "custom_fields": CustomField,
    "projects": Project,
    "memberships": Membership,
    "issues": Issue,
    "time_entries": TimeEntry,
    "attachments": Attachment,
}


class Tracker:
    """All data of one mock Redmine. Hold `lock` while reading or changing them."""

    def __init__(self, settings: Settings | None = None) -> None:
        """Make an empty tracker; see `seed.seeded` for one with data."""
        self.lock = RLock()
        self.settings = settings or Settings()
        self.changes = 0
        self.users: dict[int, User] = {}
        self.roles: dict[int, Role] = {}
        self.issue_types: dict[int, IssueType] = {}
        self.statuses: dict[int, Status] = {}
        self.priorities: dict[int, Enumeration] = {}
        self.activities: dict[int, Enumeration] = {}
        self.categories: dict[int, Category] = {}
        self.custom_fields: dict[int, CustomField] = {}
        self.projects: dict[int, Project] = {}
        self.memberships: dict[int, Membership] = {}
        self.issues: dict[int, Issue] = {}
        self.time_entries: dict[int, TimeEntry] = {}
        self.attachments: dict[int, Attachment] = {}
        self.last_ids: dict[str, int] = {}
        self.reindex()

    @property
    def release(self) -> Release:
        """The version of Redmine that it emulates."""
        return RELEASES[self.settings.redmine]

    def now(self) -> float:
        """Return the tracker's time: seconds since 1970, with the offset in the settings."""
        return time.time() + self.settings.clock_offset

    def reindex(self) -> None:
        """Rebuild the indexes from the rows."""
        self.by_login = {user.login.lower(): user for user in self.users.values() if user.login}
        self.by_key = {user.api_key: user for user in self.users.values() if user.api_key}
        self.members = {(row.project_id, row.user_id): row for row in self.memberships.values()}
        self.member_projects: dict[int, set[int]] = defaultdict(set)
        for row in self.memberships.values():
            self.member_projects[row.user_id].add(row.project_id)
        self.below_issue: dict[int, set[int]] = defaultdict(set)
        for issue in self.issues.values():
            self._index_issue(issue)
        self.entries_of_issue: dict[int, list[int]] = defaultdict(list)
        self.hours_of_day: dict[tuple[int, str], float] = defaultdict(float)
        for entry in self.time_entries.values():
            self._index_entry(entry)

    def next_id(self, table: str) -> int:
        """Return the id for the next row of a table; by default, ids are never reused."""
        rows: dict[int, object] = getattr(self, table)
        highest = next(reversed(rows), 0)
        if not self.settings.reuse_deleted_ids:
            highest = max(highest, self.last_ids.get(table, 0))
        self.last_ids[table] = highest + 1
        return highest + 1

    def next_journal_id(self) -> int:
        """Return the id for the next journal of any issue."""
        self.last_ids["journals"] = self.last_ids.get("journals", 0) + 1
        return self.last_ids["journals"]

    def find_project(self, reference: object) -> Project | None:
        """Return a project by id (number or text) or by identifier, or None."""
        text = str(reference)
        if text.isascii() and text.isdigit():
            return self.projects.get(int(text))
        return next((p for p in self.projects.values() if p.identifier == text), None)

    def add_issue(self, issue: Issue) -> None:
        """Insert an issue."""
        issue.committed = time.monotonic()
        self.issues[issue.id] = issue
        self._index_issue(issue)
        self.changes += 1

    def add_project(self, project: Project) -> None:
        """Insert a project."""
        project.committed = time.monotonic()
        self.projects[project.id] = project
        self.changes += 1

    def add_membership(self, membership: Membership) -> None:
        """Insert a membership; it counts from the next request on."""
        self.memberships[membership.id] = membership
        self.members[membership.project_id, membership.user_id] = membership
        self.member_projects[membership.user_id].add(membership.project_id)
        self.changes += 1

    def add_time_entry(self, entry: TimeEntry) -> None:
        """Insert a time entry."""
        self.time_entries[entry.id] = entry
        self._index_entry(entry)
        self.changes += 1

    def add_attachment(self, attachment: Attachment) -> None:
        """Insert a file."""
        self.attachments[attachment.id] = attachment
        self.changes += 1

    def attachments_of(self, issue_id: int) -> list[Attachment]:
        """Return the files of an issue, oldest first."""
        return [one for one in self.attachments.values() if one.issue_id == issue_id]

    def delete_time_entry(self, entry_id: int) -> None:
        """Delete a time entry."""
        entry = self.time_entries.pop(entry_id)
        self.hours_of_day[entry.user_id, entry.spent_on] -= entry.hours
        if entry.issue_id is not None:
            self.entries_of_issue[entry.issue_id].remove(entry_id)
        self.changes += 1

    def delete_issue(self, issue_id: int) -> None:
        """Delete an issue, those below it, their time entries and their files."""
        for below in list(self.below_issue.pop(issue_id, ())):
            self.delete_issue(below)
        for entry_id in list(self.entries_of_issue.get(issue_id, ())):
            self.delete_time_entry(entry_id)
        for attachment in self.attachments_of(issue_id):
            del self.attachments[attachment.id]
        parent_id = self.issues.pop(issue_id).parent_id
        if parent_id in self.below_issue:
            self.below_issue[parent_id].discard(issue_id)
        self.changes += 1

    def supplant_issue(self, issue_id: int, author_id: int, subject: str) -> None:
        """Delete an issue, and add another one with its id, as after a restore."""
        before, now = self.issues[issue_id], self.now()
        self.delete_issue(issue_id)
        self.add_issue(
            Issue(
                issue_id,
                before.project_id,
                before.tracker_id,
                STATUS_NEW,
                before.priority_id,
                author_id,
                subject,
                start_date=before.start_date,
                created_on=now,
                updated_on=now,
            )
        )
        self.issues = dict(sorted(self.issues.items()))

    def give_to_anonymous(self, user_id: int) -> None:
        """Name the anonymous user as author of all that a deleted user has created, as the tracker does."""
        for row in (*self.issues.values(), *self.time_entries.values(), *self.attachments.values()):
            for name in ("author_id", "user_id"):
                if getattr(row, name, None) == user_id:
                    setattr(row, name, ANONYMOUS_ID)
        for journal in (one for issue in self.issues.values() for one in issue.journals):
            if journal["user_id"] == user_id:
                journal["user_id"] = ANONYMOUS_ID

    def forget_work(self) -> None:
        """Delete every issue, time entry and file; their ids are not reused."""
        for table in ("issues", "time_entries", "attachments"):
            self.last_ids[table] = max(self.last_ids.get(table, 0), next(reversed(getattr(self, table)), 0))
            getattr(self, table).clear()
        self.reindex()
        self.changes += 1

    def delete_membership(self, membership_id: int) -> None:
        """Delete a membership."""
        row = self.memberships.pop(membership_id)
        self.members.pop((row.project_id, row.user_id), None)
        self.member_projects[row.user_id].discard(row.project_id)
        self.changes += 1

    def descendants(self, project: Project) -> list[Project]:
        """Return the project itself and every project below it."""
        found = [project]
        for parent in found:
            found += [p for p in self.projects.values() if p.parent_id == parent.id]
        return found

    def begin_deletion(self, project: Project) -> None:
        """Mark a project, and those below it, as being deleted: `finish_deletions` deletes them later."""
        for doomed in self.descendants(project):
            doomed.status, doomed.ends = DELETING, time.time() + self.settings.deletion_s
        self.changes += 1

    def finish_deletions(self) -> None:
        """Delete the marked projects whose time has come."""
        for project in [p for p in self.projects.values() if p.ends is not None and p.ends <= time.time()]:
            if project.id in self.projects:
                self.delete_project(project)

    def delete_project(self, project: Project) -> None:
        """Delete a project, those below it, and everything in them."""
        for gone in self.descendants(project):
            for issue_id in [i.id for i in self.issues.values() if i.project_id == gone.id]:
                self.delete_issue(issue_id)
            for entry_id in [e.id for e in self.time_entries.values() if e.project_id == gone.id]:
                self.delete_time_entry(entry_id)
            for row_id in [m.id for m in self.memberships.values() if m.project_id == gone.id]:
                self.delete_membership(row_id)
            del self.projects[gone.id]
        self.changes += 1

    def _index_issue(self, issue: Issue) -> None:
        if issue.parent_id is not None:
            self.below_issue[issue.parent_id].add(issue.id)

    def _index_entry(self, entry: TimeEntry) -> None:
        self.hours_of_day[entry.user_id, entry.spent_on] += entry.hours
        if entry.issue_id is not None:
            self.entries_of_issue[entry.issue_id].append(entry.id)
