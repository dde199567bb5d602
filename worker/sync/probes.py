"""Questions to the tracker that change nothing."""

from __future__ import annotations

from shared.errors import TrackerRejected
from shared.kinds import Kind
from shared.tracker.client import rows_of
from worker.sync.run import Run


def ask_whether_open(run: Run) -> None:
    """Make sure that lists can be trusted: with a refused key a tracker answers them as for anybody, 200.

    Raises:
        TrackerClosed: the key or the REST API is off.
        TrackerError: as any call.
    """
    run.tracker.call("GET", "/users.json", params={"limit": 1}, observe=run.observe)


def is_gone(run: Run, issue_id: int) -> bool:
    """Tell whether an issue no longer exists: an empty PUT answers 404, and the list does not have it.

    An issue of an archived project is in no list either, but its PUT answers 403.

    Raises:
        TrackerError: an outage, or no clear answer.
    """
    path = f"/issues/{issue_id}.json"
    try:
        run.tracker.call("PUT", path, body={"issue": {}}, observe=run.observe)
    except TrackerRejected as rejection:
        if rejection.status != 404:
            return False
    else:
        return False
    ask_whether_open(run)
    params: dict[str, str | int] = {"issue_id": issue_id, "status_id": "*", "limit": 1}
    answer = run.tracker.call("GET", Kind.TICKET.path, params=params, observe=run.observe)
    ask_whether_open(run)  # it may have been closed in between, and the list one for anybody
    return not any(row.get("id") == issue_id for row in rows_of(answer, "issues", Kind.TICKET.path))
