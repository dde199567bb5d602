"""The sweep's part of dry runs: deletes objects that they left on the tracker (SPEC 4.3)."""

from __future__ import annotations

from datetime import timedelta

from shared.dryrun.lookup import in_use, look_up
from shared.dryrun.marks import ObjectKind
from shared.dryrun.objects import FRESH_S, LONGEST_DELAY_S, OWN_S, DryRunSession, delay, lease, settled_after
from shared.errors import LeaseExpired, SettingsError, TrackerError, TrackerRejected
from shared.metadata.synchronisation import Connect
from shared.notices.reasons import Reason
from shared.store.ledger.send_window import SendWindow
from shared.store.tables.ledger import DryRunObject
from shared.store.transaction import Store
from shared.telemetry.logs import get_logger, reason_fields

log = get_logger("dryrun")
SETTLING_S = 15.0
AT_ONCE = 3


def clean_up(store: Store, connect: Connect, *, settling: float = SETTLING_S) -> int:
    """Delete a few of the objects that dry runs left; failures are logged and retried later.

    Args:
        store: the database with their rows.
        connect: returns the Redmine settings and the tracker.
        settling: seconds to wait after a lost answer before its outcome is final.

    Returns:
        The number of objects that are known to be gone.
    """
    gone = 0
    for _ in range(AT_ONCE):
        window = SendWindow(OWN_S)
        with store.transaction() as tx:
            taken = tx.dry_runs.take_over(1, lease=lease(settling))
        if not taken:
            break
        try:
            _, client = connect()
        except SettingsError as unconfigured:
            log.info("dry runs are not cleaned up", **reason_fields(unconfigured.notice))
            break
        bench, row = DryRunSession(store, client, settling), taken[0]
        try:
            gone += _settle(bench, row, window)
        except TrackerRejected as refusal:
            bench.reschedule(row, delay(row.attempts, settling), refusal.notice)
        except (TrackerError, LeaseExpired) as outage:
            bench.reschedule(row, delay(row.attempts, settling), outage.notice)
            break
    return gone


def _settle(bench: DryRunSession, row: DryRunObject, window: SendWindow) -> bool:
    """Delete the object that carries a row's mark; return whether it is known to be gone.

    Raises:
        BridgeError: if the tracker gave no clear answer, or did not delete it.
    """
    tracker_id = look_up(bench.client, row)
    fresh = SendWindow(FRESH_S)
    if tracker_id is None and row.kind == ObjectKind.ISSUE:
        return _absent(bench, row)
    if tracker_id is not None and (use := in_use(bench.client, row, tracker_id)):
        bench.reschedule(row, LONGEST_DELAY_S, Reason.IN_USE(because=use))
        return False
    try:
        # a closed project is not in the list, but its identifier is unique
        bench.delete(row, tracker_id or 0, window, fresh)
    except TrackerRejected as refusal:
        if refusal.status != 404:
            raise
        return _absent(bench, row)
    log.info("deleted what a dry run had left", kind=row.kind, tracker_id=tracker_id, mark=row.mark)
    return True


def _absent(bench: DryRunSession, row: DryRunObject) -> bool:
    """Forget a row without an object, once its creation can no longer take effect; return whether it was forgotten."""
    with bench.store.transaction() as tx:
        settled = tx.now() >= row.begun_at + timedelta(seconds=settled_after(bench.settling))
        if settled or row.tracker_id is not None:
            tx.dry_runs.gone(row.id)
            return True
    bench.reschedule(row, settled_after(bench.settling), row.notice or Reason.CREATION_UNKNOWN())
    return False
