"""Issues and time entries that have another author than was meant (SPEC section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from producer.admin.records.transaction import Store
from producer.admin.showing.shapes import Shape, reason_json
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.render import because, sentence
from shared.store.ledger.misattributed import Place


@dataclass(frozen=True, slots=True)
class WrongAuthor:
    """One of them.

    Attributes:
        kind: issue or time entry.
        key: ticket id or ticket-task id.
        tracker_id: its number on the tracker.
        author_id: the tracker user who has it, as far as it is known.
        since: when it was noticed.
        why: a `Misattribution`.
    """

    kind: Kind
    key: int
    ticket_id: int
    tracker_id: int
    author_id: int | None
    since: datetime
    why: Notice

    @property
    def reason(self) -> str:
        """Why, in English."""
        return sentence(self.why)

    @property
    def todo(self) -> str:
        """What would keep it from happening again."""
        return because(self.why)


def misattributed(store: Store, *, limit: int | None = None, below: Place | None = None) -> list[WrongAuthor]:
    """Return what has another author on the tracker than was meant, the newest first.

    Args:
        store: where it is noted.
        limit: how many; None: all.
        below: where the page before ended.
    """
    with store.transaction() as tx:
        return [
            WrongAuthor(
                Kind(one.kind),
                one.key,
                one.ticket_id,
                one.tracker_id,
                author_id,
                one.at,
                one.notice or Reason.CAUSE_NOT_KNOWN(),
            )
            for one, author_id in tx.misattributed.find(limit=limit, below=below)
        ]


def wrong_author_json(one: WrongAuthor) -> Shape:
    """Return what has another author on the tracker than was meant."""
    return {
        "kind": str(one.kind),
        "id": one.key,
        "ticket_id": one.ticket_id,
        "tracker_id": one.tracker_id,
        "author_id": one.author_id,
        "since": one.since,
        **reason_json(one.why),
        "todo": one.todo,
    }
