"""Objects that dry runs create on the tracker: recorded before they are created, deleted afterwards.

Only objects created here are ever deleted. The first deletion trusts the id that the tracker has just returned. Every
later one looks up the mark first, and only when an earlier deletion without an answer must have taken effect. A row is
forgotten only when it is known that nothing carries its mark.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from shared.dryrun.lookup import look_up
from shared.dryrun.marks import ObjectKind
from shared.errors import (
    BridgeError,
    LeaseExpired,
    OutcomeUnknown,
    TrackerError,
    TrackerRejected,
    TrackerUnreachable,
)
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.store.ledger.send_window import SendWindow
from shared.store.tables.ledger import DryRunObject
from shared.store.transaction import Store
from shared.telemetry.logs import get_logger, reason_fields
from shared.tracker.answers import RawAnswer
from shared.tracker.client import TIMEOUT_S, TrackerClient
from shared.values.ids import is_id

log = get_logger("dryrun")
SEND_S = 20.0
"""The creation is sent within this time, or never."""
OWN_S = 60.0
"""Time in which the creator of an object deletes it; afterwards the sweep does."""
FRESH_S = 15.0
"""How long an id that the tracker has just returned is trusted to mean the same object."""
FIRST_DELAY_S = 30.0
LONGEST_DELAY_S = 3600.0


@dataclass
class DryRunItem:
    """One object whose creation was requested.

    Attributes:
        row: its row in our own table.
        window: the time in which its creator may work on it.
        fresh: the time in which its id is trusted.
        answer: the tracker's answer to its creation, or None if no answer came.
        failure: why no answer came, or None.
        tracker_id: the tracker's id, or None if it is not known or nothing was created.
        refused: whether the tracker refused it, so that there is nothing to delete.
    """

    row: DryRunObject
    window: SendWindow
    fresh: SendWindow
    answer: RawAnswer | None = None
    failure: OutcomeUnknown | None = None
    tracker_id: int | None = None
    refused: bool = False


@dataclass
class DryRunSession:
    """Creates objects on one tracker, and deletes them.

    Attributes:
        settling: seconds to wait after a lost answer before its outcome is final.
        things: all objects whose creation was requested.
    """

    store: Store
    client: TrackerClient
    settling: float
    things: list[DryRunItem] = field(default_factory=list)

    def make(
        self, kind: ObjectKind, mark: str, body: dict[str, Any], tracker_project_id: int | None
    ) -> DryRunItem:
        """Create an object.

        Args:
            kind: issue or project.
            mark: the mark that the body carries.
            body: the request body.
            tracker_project_id: the project of an issue.

        Raises:
            TrackerUnreachable, LeaseExpired: if nothing was sent.
        """
        window, sending = SendWindow(OWN_S), SendWindow(SEND_S)
        with self.store.transaction() as tx:
            row = tx.dry_runs.begin(str(kind), mark, tracker_project_id, lease=lease(self.settling))
        thing = DryRunItem(row, window, sending)
        try:
            thing.answer = self.client.raw("POST", kind.path, body=body, before_send=sending.check)
        except (TrackerUnreachable, LeaseExpired):
            self._forget(row)
            raise
        except OutcomeUnknown as lost:
            thing.failure = lost
        thing.fresh = SendWindow(FRESH_S)
        self.things.append(thing)
        self._read(thing, kind)
        return thing

    def _read(self, thing: DryRunItem, kind: ObjectKind) -> None:
        """Record the result of a creation: the answer's id, a refusal, or else the object that carries the mark."""
        answer = thing.answer
        if answer is not None and 300 <= answer.status < 500 and answer.is_trackers:
            thing.refused = True
            self._forget(thing.row)
            return
        thing.tracker_id = id_in(answer, str(kind))
        if thing.tracker_id is None:
            with suppress(TrackerError):
                thing.tracker_id = look_up(self.client, thing.row)
        if thing.tracker_id is not None:
            with self.store.transaction() as tx:
                tx.dry_runs.created(thing.row.id, thing.tracker_id)
            thing.row.tracker_id = thing.tracker_id

    def remove(self, thing: DryRunItem) -> None:
        """Delete an object that was just created; if that fails, leave its row for the sweep."""
        if thing.refused:
            return
        if thing.tracker_id is None:
            because = thing.failure.notice if thing.failure else Reason.NO_ID_IN_ANSWER()
            self.reschedule(thing.row, settled_after(self.settling), Reason.CREATION_UNKNOWN(because=because))
            return
        try:
            self.delete(thing.row, thing.tracker_id, thing.window, thing.fresh)
        except BridgeError as failure:
            self._after_failure(thing.row, failure)

    def delete(self, row: DryRunObject, tracker_id: int, *windows: SendWindow) -> None:
        """Delete an object, and forget its row.

        Args:
            row: its row in our own table, owned by the caller.
            tracker_id: an id that the tracker has just returned, or whose object carries the mark.
            windows: the times in which the caller owns the row, and in which the id is trusted.

        Raises:
            LeaseExpired: if one of them is over; nothing was sent.
            TrackerError: if it was not deleted, or the outcome is unknown.
        """

        def in_time() -> None:
            for window in windows:
                window.check()

        # an identifier is used only once, so for a project it is safer than the id
        name = row.mark if row.kind == ObjectKind.PROJECT else tracker_id
        self.client.call("DELETE", f"/{row.kind}s/{name}.json", before_send=in_time)
        self._forget(row)

    def reschedule(self, row: DryRunObject, seconds: float, reason: Notice) -> None:
        """Leave an object to a later sweep, and log it."""
        log.warning(
            "a dry run left something on the tracker; it is tried again",
            kind=row.kind, tracker_id=row.tracker_id, mark=row.mark, seconds=round(seconds), **reason_fields(reason),
        )  # fmt: skip
        with self.store.transaction() as tx:
            tx.dry_runs.reschedule(row.id, row.attempts, seconds, reason)

    def _after_failure(self, row: DryRunObject, failure: BridgeError) -> None:
        """Forget the row if the deletion worked after all, so that nothing carries the mark; otherwise put it off."""
        try:
            if isinstance(failure, (OutcomeUnknown, TrackerRejected)) and look_up(self.client, row) is None:
                self._forget(row)
                return
        except TrackerError as silence:
            log.info("could not look a dry run's object up", mark=row.mark, **reason_fields(silence.notice))
        self.reschedule(row, delay(row.attempts, self.settling), failure.notice)

    def _forget(self, row: DryRunObject) -> None:
        with self.store.transaction() as tx:
            tx.dry_runs.gone(row.id)


def lease(settling: float) -> float:
    """Return for how many seconds a row is owned: its last call may start at the end of OWN_S and take effect later."""
    return OWN_S + TIMEOUT_S + settling


def settled_after(settling: float) -> float:
    """Return the seconds after which a creation has taken effect or never will."""
    return SEND_S + TIMEOUT_S + settling


def delay(attempts: int, settling: float) -> float:
    """Return the seconds until a deletion is retried, which is never before an earlier one must have taken effect."""
    doubling = FIRST_DELAY_S * 2.0 ** min(attempts, 20)
    return float(max(TIMEOUT_S + settling, min(LONGEST_DELAY_S, doubling)))


def id_in(answer: RawAnswer | None, name: str) -> int | None:
    """Return the id of the object in an answer, or None."""
    if answer is None or not 200 <= answer.status < 300:
        return None
    found = json_in(answer)
    made = found.get(name) if isinstance(found, dict) else None
    tracker_id = made.get("id") if isinstance(made, dict) else None
    return tracker_id if is_id(tracker_id) else None


def json_in(answer: RawAnswer) -> Any:
    """Return an answer's JSON, or None if the body is not JSON."""
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
