"""What is said of wrong authors, and what would fix each."""

from __future__ import annotations

from shared.codes.authors import Misattribution
from shared.sentences.template import Table

SENTENCES: Table = {
    Misattribution.NOT_MATCHED: "sent as the administrator: {match}",
    Misattribution.PERSON_REFUSED: "sent as the administrator, since {login} was refused: {because}",
    Misattribution.SWITCH_IGNORED: "the tracker ignored that {login} was named",
    Misattribution.FOUND_AS_ANOTHERS: "found after a lost answer, and not {login}'s",
}
WHY: Table = {
    Misattribution.NOT_MATCHED: "say who it is with `deskbridge map-user`",
    Misattribution.PERSON_REFUSED: (
        "give {login} a role in tracker project {tracker_project_id} that may do it, and see that the account is active"
    ),
    Misattribution.SWITCH_IGNORED: "store an administrator's API key: `deskbridge config set-api-key`",
    Misattribution.FOUND_AS_ANOTHERS: "see why {login} was refused then: `deskbridge trace`",
}
