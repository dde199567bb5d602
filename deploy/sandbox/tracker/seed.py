"""The initial data of a stand-in: the same ids and names as in the seeded Redmine of the contract tests."""

from __future__ import annotations

import hashlib

from deploy.sandbox.tracker import permissions as may
from deploy.sandbox.tracker.records import (
    ADMIN_ID,
    ANONYMOUS_ID,
    ANONYMOUS_ROLE,
    ARCHIVED,
    CLOSED,
    NON_MEMBER_ROLE,
    STATUS_NEW,
    USER_LOCKED,
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
    User,
)
from deploy.sandbox.tracker.state import Tracker

DEFAULT_KEY = "f00dfeed" * 5
A_YEAR_S = 365 * 86_400.0
MANAGER, DEVELOPER, REPORTER = 3, 4, 5
STATUS_NAMES = ("New", "In Progress", "Resolved", "Feedback", "Closed", "Rejected")
ISSUE_AND_TIME = ["issue_tracking", "time_tracking"]
PEOPLE = (
    (5, "alice", "Alice", "Archer"),
    (6, "bob", "Bob", "Baker"),
    (7, "carol", "Carol", "Clark"),
    (8, "erin", "Erin", "Evans"),
    (9, "mallory", "Mallory", "Moss"),
    (10, "dave", "Dave", "Dunn"),
)


def user_key(login: str) -> str:
    """Return the API key of a seeded user: 40 hexadecimal characters derived from the login."""
    return hashlib.sha1(f"key of {login}".encode(), usedforsecurity=False).hexdigest()


def seeded(
    *,
    key: str = DEFAULT_KEY,
    extra_users: int = 0,
    extra_projects: int = 0,
    extra_categories: int = 0,
    settings: Settings | None = None,
) -> Tracker:
    """Return a tracker with the seed data.

    Args:
        key: The administrator's API key.
        extra_users: How many users `tech0000`, `tech0001`, … to add.
        extra_projects: How many private projects `extra-0000`, … to add.
        extra_categories: How many issue categories to add to each of these.
        settings: The switches to start with.
    """
    tracker = Tracker(settings)
    now = tracker.now()
    _definitions(tracker)
    _users(tracker, key, extra_users, now)
    _projects(tracker, extra_projects, now)
    for project_id in range(8, 8 + extra_projects):
        for number in range(extra_categories):
            category_id = len(tracker.categories) + 1
            tracker.categories[category_id] = Category(category_id, project_id, f"Category {number}")
    _issues(tracker, now - A_YEAR_S)
    tracker.reindex()
    tracker.changes = 0
    return tracker


def _definitions(tracker: Tracker) -> None:
    for role in (
        Role(NON_MEMBER_ROLE, "Non member", sorted(may.NON_MEMBER), builtin=True),
        Role(ANONYMOUS_ROLE, "Anonymous", sorted(may.ANONYMOUS), builtin=True),
        Role(MANAGER, "Manager", sorted(may.MANAGER)),
        Role(DEVELOPER, "Developer", sorted(may.DEVELOPER)),
        Role(REPORTER, "Reporter", sorted(may.REPORTER)),
    ):
        tracker.roles[role.id] = role
    for number, name in enumerate(("Bug", "Feature", "Support"), 1):
        tracker.issue_types[number] = IssueType(number, name)
    for number, name in enumerate(STATUS_NAMES, 1):
        tracker.statuses[number] = Status(number, name, is_closed=name in ("Closed", "Rejected"))
    for number, name in enumerate(("Low", "Normal", "High", "Urgent", "Immediate"), 1):
        tracker.priorities[number] = Enumeration(number, name, is_default=name == "Normal")
    for activity in (
        Enumeration(8, "Design"),
        Enumeration(9, "Development"),
        Enumeration(10, "Onsite"),
        Enumeration(11, "Helpdesk", is_default=True),
        Enumeration(12, "Legacy", active=False),
        Enumeration(13, "Onsite", active=False, project_id=1, parent_id=10),
    ):
        tracker.activities[activity.id] = activity
    for custom_field in (
        CustomField(1, "Contract number", "project"),
        CustomField(2, "Cost centre", "project"),
        CustomField(3, "Helpdesk ticket", "issue", is_filter=True, searchable=True),
        CustomField(
            4,
            "Channel",
            "issue",
            "list",
            is_filter=True,
            possible_values=["Phone", "Mail", "Portal"],
        ),
        CustomField(5, "Helpdesk task", "time_entry", is_filter=True),
    ):
        tracker.custom_fields[custom_field.id] = custom_field
    for category in (
        Category(1, 1, "Hardware"),
        Category(2, 1, "Software"),
        Category(3, 4, "Other category"),
    ):
        tracker.categories[category.id] = category


def _users(tracker: Tracker, key: str, extra: int, now: float) -> None:
    admin = User(
        ADMIN_ID,
        "admin",
        "Redmine",
        "Admin",
        "admin@example.net",
        admin=True,
        language="",
    )
    admin.api_key = key
    people = [admin, User(ANONYMOUS_ID, "", "", "Anonymous", "", language="")]
    for number, login, first, last in PEOPLE:
        people.append(
            User(
                number,
                login,
                first,
                last,
                f"{login}@example.test",
                api_key=user_key(login),
            )
        )
    people[-1].status, people[-1].api_key = USER_LOCKED, ""
    for number in range(extra):
        login = f"tech{number:04d}"
        people.append(User(11 + number, login, "Tech", f"No{number:04d}", f"{login}@example.test"))
    for user in people:
        user.created_on = now
        tracker.users[user.id] = user


def _projects(tracker: Tracker, extra: int, now: float) -> None:
    rows = [
        Project(1, "Support", "support", tracker_ids=[1, 3]),
        Project(2, "Support public", "support-public", is_public=True),
        Project(3, "Support child", "support-child", parent_id=1),
        Project(4, "Other team", "other"),
        Project(5, "No time tracking", "notime", modules=["issue_tracking"]),
        Project(6, "Closed project", "closedone", status=CLOSED),
        Project(7, "Archived project", "archivedone", status=ARCHIVED),
    ]
    rows += [Project(8 + n, f"Extra {n:04d}", f"extra-{n:04d}") for n in range(extra)]
    for project in rows:
        project.modules = project.modules or list(ISSUE_AND_TIME)
        project.tracker_ids = project.tracker_ids or [1, 2, 3]
        project.created_on = project.updated_on = now
        tracker.projects[project.id] = project
    pairs = [(p, u, DEVELOPER) for p in (1, 2, 6, 7) for u in (5, 6)] + [
        (1, 8, REPORTER),
        (4, 9, MANAGER),
    ]
    for number, (project_id, user_id, role_id) in enumerate(pairs, 1):
        tracker.memberships[number] = Membership(number, project_id, user_id, [role_id])


def _issues(tracker: Tracker, now: float) -> None:
    rows = (
        (1, 1, "Seed issue"),
        (2, 6, "Issue in closed project"),
        (3, 7, "Issue in archived project"),
        (4, 4, "Issue in other"),
        (5, 5, "Issue in notime"),
    )
    for number, project_id, subject in rows:
        tracker.issues[number] = Issue(
            id=number,
            project_id=project_id,
            tracker_id=1,
            status_id=STATUS_NEW,
            priority_id=2,
            author_id=ADMIN_ID,
            subject=subject,
            created_on=now,
            updated_on=now,
        )
