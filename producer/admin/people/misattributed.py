"""Issues and time entries that have another author than was meant (SPEC section 5)."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, AwareDatetime

from producer.admin.presenters.shapes import Reasoned, reason_json
from producer.admin.records.transaction import Store
from shared.notices.kinds import Kind
from shared.notices.notice import Notice, from_json
from shared.notices.reasons import Reason
from shared.notices.render import because
from shared.store.ledger.misattributed import Place
from shared.store.tables.ledger import Misattributed


class WrongAuthor(Reasoned):
    """An issue or a time entry that has another author on the tracker than was meant."""

    kind: Annotated[str, AfterValidator(Kind)]
    id: int
    ticket_id: int
    tracker_id: int
    author_id: int | None
    since: AwareDatetime
    reason: str
    todo: str

    @property
    def key(self) -> int:
        """The key in the ledger: ticket id or ticket-task id."""
        return self.id

    @property
    def why(self) -> Notice:
        """Why: a `Misattribution`."""
        return Notice(self.code or "", from_json(self.params))


def misattributed(store: Store, *, limit: int | None = None, below: Place | None = None) -> list[WrongAuthor]:
    """Return what has another author on the tracker than was meant, the newest first.

    Args:
        store: where it is noted.
        limit: how many; None: all.
        below: where the page before ended.
    """
    with store.transaction() as tx:
        return [_shown(one, author_id) for one, author_id in tx.misattributed.find(limit=limit, below=below)]


def _shown(one: Misattributed, author_id: int | None) -> WrongAuthor:
    why = one.notice or Reason.CAUSE_NOT_KNOWN()
    return WrongAuthor(
        kind=Kind(one.kind),
        id=one.key,
        ticket_id=one.ticket_id,
        tracker_id=one.tracker_id,
        author_id=author_id,
        since=one.at,
        todo=because(why),
        **reason_json(why),
    )
