"""Codes of wrong authors: why an issue or a time entry does not have the intended author."""

from __future__ import annotations

from shared.notices.notice import Code, Message


class Misattribution(Code, article="KB-WORK-005"):
    """Why an issue or a time entry does not have the intended author."""

    NOBODY_NAMED = Message(
        "author_not_named",
        "sent as the API user, because GLPI names no technician",
        why=(
            "assign a technician to the ticket and to each of its tasks in GLPI; objects that were already "
            "sent do not change"
        ),
    )
    NOT_MATCHED = Message(
        "author_not_matched",
        "sent as the API user: {match}",
        why="map the GLPI user with `deskbridge user map`",
    )
    PERSON_REFUSED = Message(
        "person_was_refused",
        "sent as the API user, because Redmine rejected {login}: {because}",
        why=(
            "[give {login} a role with this right in Redmine project {tracker_project_id}][role {roles} "
            "lacks the right *{right}*: allow it (Administration, Roles and permissions)]"
        ),
    )
    NOT_MEMBER = Message(
        "author_not_member",
        "sent as the API user, because {login} is not a member of Redmine project {tracker_project_id}: {because}",
        why=(
            "if {login} may see the project, add them there in Redmine: deskbridge makes no one a member for a "
            "note or a document"
        ),
    )
    NOT_PRIVATE_AS_PERSON = Message(
        "author_not_private",
        "sent as the API user, because {login} may not make notes private[: {because}]",
        why="[role {roles} lacks the right *{right}*: allow it (Administration, Roles and permissions)]",
    )
    PERSON_NOT_ACTIVE = Message(
        "author_not_active",
        "sent as the API user, because {login} is not an active Redmine user: {because}",
        why=(
            "unlock {login} in Redmine, or map the GLPI user to another Redmine user with `deskbridge "
            "user map`"
        ),
    )
    PERSON_DELETED = Message(
        "author_deleted",
        "sent as the API user, because {login} was deleted in Redmine: {because}",
        why="map the GLPI user to another Redmine user with `deskbridge user map`",
    )
    SWITCH_IGNORED = Message(
        "switch_was_ignored",
        "Redmine did not act as {login}, although the request named this user",
        why=(
            "a proxy removes the header, header_prefix is wrong, or the API key is not an administrator's: "
            "`deskbridge doctor` says which (*impersonation*, *administrator*)"
        ),
    )
    FOUND_AS_ANOTHERS = Message(
        "found_as_anothers",
        "found after Redmine's response was lost, with another author than {login}",
        why="`deskbridge ticket history` shows why {login} was rejected",
    )
