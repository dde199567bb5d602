"""The ids with which every tracker of the contract tests starts.

deploy/redmine/seed.rb creates the objects in a real Redmine; the mock Redmine starts with the same ones.
"""

from __future__ import annotations

import hashlib
from enum import IntEnum

ADMIN_KEY = "f00dfeedf00dfeedf00dfeedf00dfeedf00dfeed"


def key_of(login: str) -> str:
    """Return the API key of a seeded user who is not an administrator."""
    # not a secret: the seed derives the keys of test users in this way
    return hashlib.sha1(f"key of {login}".encode(), usedforsecurity=False).hexdigest()


class User(IntEnum):
    """Seeded users; alice and bob are Developers in SUPPORT, PUBLIC, CLOSED and ARCHIVED."""

    ADMIN = 1
    ALICE = 5
    BOB = 6
    CAROL = 7
    """Not a member of any project."""
    ERIN = 8
    """Reporter in SUPPORT."""
    MALLORY = 9
    """Manager in OTHER, member of nothing else."""
    DAVE = 10
    """Locked."""


class Project(IntEnum):
    """Seeded projects."""

    SUPPORT = 1
    """Private; has the issue types BUG and SUPPORT, not FEATURE."""
    PUBLIC = 2
    CHILD = 3
    """Private, a subproject of SUPPORT, without members."""
    OTHER = 4
    NO_TIME = 5
    """Without the module time_tracking."""
    CLOSED = 6
    ARCHIVED = 7


class Issue(IntEnum):
    """Seeded issues, named after their projects."""

    SUPPORT = 1
    CLOSED = 2
    ARCHIVED = 3
    OTHER = 4
    NO_TIME = 5


class Role(IntEnum):
    """Roles of Redmine's default data."""

    MANAGER = 3
    DEVELOPER = 4
    REPORTER = 5


class IssueType(IntEnum):
    """Issue types, which Redmine calls trackers."""

    BUG = 1
    FEATURE = 2
    SUPPORT = 3


class Status(IntEnum):
    """Issue statuses of Redmine's default data."""

    NEW = 1
    IN_PROGRESS = 2
    RESOLVED = 3
    FEEDBACK = 4
    CLOSED = 5
    REJECTED = 6


class Priority(IntEnum):
    """Issue priorities of Redmine's default data (the two used)."""

    NORMAL = 2
    HIGH = 3


class Activity(IntEnum):
    """Time-entry activities."""

    DESIGN = 8
    DEVELOPMENT = 9
    ONSITE = 10
    """Disabled in SUPPORT, by the override ONSITE_OVERRIDE."""
    HELPDESK = 11
    """The default activity."""
    LEGACY = 12
    """Inactive everywhere."""
    ONSITE_OVERRIDE = 13


class Category(IntEnum):
    """Issue categories: HARDWARE and SOFTWARE belong to SUPPORT, OTHER to OTHER."""

    HARDWARE = 1
    SOFTWARE = 2
    OTHER = 3


class CustomField(IntEnum):
    """Custom fields."""

    CONTRACT_NUMBER = 1
    COST_CENTRE = 2
    ISSUE_TICKET = 3
    ISSUE_CHANNEL = 4
    """A list field: Phone, Mail, Portal."""
    TIME_TASK = 5


UNKNOWN = 999_999
"""An id that no object has."""
