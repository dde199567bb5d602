"""What is said of wrong authors, and what would fix each."""

from __future__ import annotations

from shared.codes.authors import Misattribution
from shared.sentences.template import Table

SENTENCES: Table = {
    Misattribution.NOBODY_NAMED: "sent as the administrator: the helpdesk names nobody",
    Misattribution.NOT_MATCHED: "sent as the administrator: {match}",
    Misattribution.PERSON_REFUSED: "sent as the administrator, since {login} was refused: {because}",
    Misattribution.PERSON_NOT_ACTIVE: "sent as the administrator, since {login} is no active user: {because}",
    Misattribution.PERSON_DELETED: "sent as the administrator, since {login} was deleted on the tracker: {because}",
    Misattribution.SWITCH_IGNORED: "the tracker ignored that {login} was named",
    Misattribution.FOUND_AS_ANOTHERS: "found after a lost answer, and not {login}'s",
}
WHY: Table = {
    Misattribution.NOBODY_NAMED: "assign the ticket, and each of its tasks, to somebody in GLPI; what was sent stays",
    Misattribution.NOT_MATCHED: "say who it is with `deskbridge map-user`",
    Misattribution.PERSON_REFUSED: (
        "[give {login} a role in tracker project {tracker_project_id} that may do it]"
        "[role {roles} lacks the right *{right}*: allow it (Administration, Roles and permissions)]"
    ),
    Misattribution.PERSON_NOT_ACTIVE: "unlock {login} on the tracker, or say who it is with `deskbridge map-user`",
    Misattribution.PERSON_DELETED: "say who it is with `deskbridge map-user`",
    Misattribution.SWITCH_IGNORED: "store an administrator's API key: `deskbridge config set-api-key`",
    Misattribution.FOUND_AS_ANOTHERS: "see why {login} was refused then: `deskbridge trace`",
}
