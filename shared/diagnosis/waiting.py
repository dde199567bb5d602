"""Whether what waits does so for a cause, or only for its turn."""

from __future__ import annotations

from datetime import datetime, timedelta

from shared.notices.notice import Notice
from shared.store.tables.journal import JournalEvent

SLOW = timedelta(minutes=2)
SERVER_ERROR = 500


def is_delayed(oldest: JournalEvent, now: datetime) -> bool:
    """Return whether the oldest pending event waits after an error, or for longer than usual."""
    return bool(oldest.attempts) or now - oldest.received_at > SLOW


def server_error(reason: Notice | None) -> int | None:
    """Return the status of a server error within a reason, whose cause only the server's log has; else None."""
    if reason is None:
        return None
    status = reason.params.get("status")
    if isinstance(status, int) and status >= SERVER_ERROR:
        return status
    within = (one for one in reason.params.values() if isinstance(one, Notice))
    return next((status for one in within if (status := server_error(one))), None)
