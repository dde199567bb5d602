"""Where in Redmine the cause of a refusal is: its message is localised, so only the call tells it."""

from __future__ import annotations

from shared.notices.doctor_work import InRedmine
from shared.notices.faults import Fault
from shared.notices.notice import Notice, within

REFUSED = 422
PLACES = {
    "/issues": InRedmine.OF_ISSUES,
    "/time_entries": InRedmine.OF_TIME_ENTRIES,
    "/uploads": InRedmine.OF_FILES,
}


def where_to_look(cause: Notice | None) -> Notice | None:
    """Return where in Redmine to look for the cause of a refusal; None if it is another failure, or explained."""
    for one in within(cause):
        if one.code == Fault.TRACKER_REJECTED and one.params.get("status") == REFUSED:
            path = str(one.params.get("path"))
            return next((place() for start, place in PLACES.items() if path.startswith(start)), None)
    return None
