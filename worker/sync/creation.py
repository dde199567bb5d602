"""What is to be created on the tracker: an issue or a time entry, for whom, and what is committed with its link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shared.bodies.precedence import Chosen
from shared.codes.authors import Misattribution
from shared.codes.coded import Coded
from shared.events import Event
from shared.kinds import Kind
from shared.payloads import Body
from shared.store import Transaction
from shared.store.ledger import Claim, Row
from worker.sync.attribution import Sender
from worker.sync.matching import fingerprint

MOST_TURNS = 4
IGNORED = Misattribution.SWITCH_IGNORED


@dataclass(frozen=True)
class Creation:
    """What is to be created, for whom, and what is committed together with its link.

    Attributes:
        kind: issue or time entry.
        key: ticket id or ticket-task id.
        event_id: the journal event that asks for it.
        chosen: the request body, and where it came from.
        sender: on whose behalf.
        on_linked: called in the linking transaction with the tracker's object, and why its author is a wrong one.
        as_of: the same as an earlier event of the journal would have asked for it.
    """

    kind: Kind
    key: int
    event_id: int
    issue_id: int | None
    chosen: Chosen
    sender: Sender
    on_linked: Callable[[Transaction, dict[str, Any], Coded | None], None]
    as_of: Callable[[Event], Creation]

    @property
    def body(self) -> Body:
        """The request body."""
        return self.chosen.body

    @property
    def named(self) -> list[int]:
        """Whom the body itself names as the author: a template may, where nobody is known."""
        user_id = self.body[self.kind.wire_name].get("user_id")
        return [user_id] if isinstance(user_id, int) else []

    def claim(self, ticket_id: int, row: Row | None = None) -> Claim:
        """Return what is stored before it is sent.

        Args:
            ticket_id: the ticket.
            row: the ledger row as it is; what its attempts sent without a clear answer is kept.
        """
        sent = [*(row.earlier or []), row.body] if row is not None and row.unclear else []
        person, administrators = self.sender.person, self.sender.administrators
        possible = {*administrators, *([person.tracker_user_id] if person else []), *self.named}
        return Claim(
            key=self.key,
            ticket_id=ticket_id,
            event_id=self.event_id,
            tracker_project_id=self.sender.project_id,
            issue_id=self.issue_id,
            body=self.body,
            authors=sorted(possible) if administrators else [],  # whoever has the key may end as the author
            fingerprint=fingerprint(self.kind, self.body),
            earlier=_distinct([one for one in sent if one is not None and one != self.body]),
        )


def _distinct(bodies: list[Body]) -> list[Body] | None:
    return [one for number, one in enumerate(bodies) if one not in bodies[:number]] or None
