"""Codes of wrong authors: why somebody else than was meant has an issue or a time entry."""

from __future__ import annotations

from shared.notices.notice import Code, Message


class Misattribution(Code, article="KB-WORK-005"):
    """Why the author is another than was meant; what would fix it is said beside."""

    NOBODY_NAMED = Message(
        "author_not_named",
        "sent as the administrator: the helpdesk names nobody",
        why="assign the ticket, and each of its tasks, to somebody in GLPI; what was sent stays",
    )
    NOT_MATCHED = Message(
        "author_not_matched",
        "sent as the administrator: {match}",
        why="say who it is with `deskbridge map-user`",
    )
    PERSON_REFUSED = Message(
        "person_was_refused",
        "sent as the administrator, since {login} was refused: {because}",
        why="[give {login} a role in tracker project {tracker_project_id} that may do it]"
        "[role {roles} lacks the right *{right}*: allow it (Administration, Roles and permissions)]",
    )
    PERSON_NOT_ACTIVE = Message(
        "author_not_active",
        "sent as the administrator, since {login} is no active user: {because}",
        why="unlock {login} on the tracker, or say who it is with `deskbridge map-user`",
    )
    PERSON_DELETED = Message(
        "author_deleted",
        "sent as the administrator, since {login} was deleted on the tracker: {because}",
        why="say who it is with `deskbridge map-user`",
    )
    SWITCH_IGNORED = Message(
        "switch_was_ignored",
        "the tracker ignored that {login} was named",
        why="store an administrator's API key: `deskbridge config set-api-key`",
    )
    FOUND_AS_ANOTHERS = Message(
        "found_as_anothers",
        "found after a lost answer, and not {login}'s",
        why="see why {login} was refused then: `deskbridge trace`",
    )
