"""The people at the drill's help desk, and their users on the tracker."""

from __future__ import annotations

from typing import Any

from shared.store.configuration.matching import TrackerPerson
from tests.support.bridge import PEOPLE
from tests.support.events import ALICE, BOB

ADMIN = "admin"
FIRST_EXTRA_USER = 11
EXTRA_USERS = 3

CAROL = {"id": 9, "email": "carol@example.test"}
STRANGER = {"id": 30, "email": "nobody@elsewhere.test"}
NEWCOMERS = [{"id": 20 + n, "email": f"tech{n:04d}@example.test"} for n in range(EXTRA_USERS)]

HELPDESK: list[dict[str, Any] | None] = [ALICE, BOB, ALICE, BOB, CAROL, *NEWCOMERS, STRANGER, None]
"""Project members, people who must become members, a person whom the tracker does not know, and no user."""

ON_TRACKER = [
    *PEOPLE,
    *(
        TrackerPerson(FIRST_EXTRA_USER + n, f"tech{n:04d}", f"Tech No{n:04d}", f"tech{n:04d}@example.test")
        for n in range(EXTRA_USERS)
    ),
]
MEMBER_PROJECTS = ("support", "support-public")
"""The tracker projects of which Alice and Bob are members from the start."""

LOGINS = {person.mail: person.login for person in ON_TRACKER}


def login_of(user: dict[str, Any] | None) -> str:
    """Return a help desk user's login on the tracker: the user with the same e-mail, else the administrator."""
    return LOGINS.get(user["email"].lower(), ADMIN) if user else ADMIN


def is_member_from_start(login: str, project: str) -> bool:
    """Return whether a user is a member of a tracker project before anything is sent."""
    return project in MEMBER_PROJECTS and login in (login_of(ALICE), login_of(BOB))
