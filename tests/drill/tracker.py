"""Switches the mock Redmine's faults on and off, and counts the calls that each fault hits."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import requests

from deploy.sandbox.tracker.control import StandIn
from tests.drill.oracle import ticket_named

if TYPE_CHECKING:
    from tests.drill.inject import Tally

Later = Callable[[float, Callable[[], None]], None]
MOVABLE = 10
MALLORY, SUPPLANTS = 9, "Payroll of the board"
"""Somebody for whom deskbridge sends nothing, since an issue by the same person may be one that it has sent."""

QUIET_S = 45.0
"""How long no request may have been about an issue before its id is given away: then no request is under way, and no
stopped worker has read the issue so lately that it would not read it again."""

MOVED_TO = (4, "other")
PATIENCE_S = 15.0
"""How long a fault waits for calls to hit."""


def _about(request: dict[str, Any]) -> set[Any]:
    """Return the issues that a request to the stand-in was about."""
    body = request["body"] if isinstance(request["body"], dict) else {}
    of_path = re.findall(r"/issues/(\d+)", request["path"])
    return {*map(int, of_path), (body.get("time_entry") or {}).get("issue_id")}


class Board:
    """Controls the stand-in.

    Args:
        stand_in: the tracker.
        tally: where faults are counted after they end.
        mortal: tickets whose issue may be deleted.

    Attributes:
        deleted: the ids of deleted issues, by ticket id.
        moved: tickets whose issue was moved to another tracker project.
        supplanted: the ids that were given to another issue.
    """

    def __init__(self, stand_in: StandIn, tally: Tally, mortal: set[int]) -> None:
        self.deleted: dict[int, int] = {}
        self.moved: set[int] = set()
        self.supplanted: set[int] = set()
        self._stand_in = stand_in
        self._tally = tally
        self._mortal = mortal
        self._active: dict[int, str] = {}
        self._seen: dict[int, float] = {}
        self._settings: dict[str, Any] = {}

    def fault(self, name: str, options: dict[str, Any], later: Later) -> None:
        """Switch a fault on, and off again later; it is counted when it ends."""
        options = dict(options)
        lasts = options.pop("lasts", PATIENCE_S)
        number = self._stand_in.fault(options.pop("kind"), **options)
        self._active[number] = name
        later(lasts, lambda: self._over(number))

    def setting(self, later: Later, *, name: str, value: Any, restored: Any, lasts: float) -> int:
        """Change a setting for some seconds."""
        self._stand_in.settings(**{name: value})
        self._settings[name] = restored
        later(lasts, lambda: self._restore(name, restored))
        return 1

    def clock(self, offset: float) -> int:
        """Set how many seconds the tracker's clock is ahead."""
        before = self._stand_in.settings()["clock_offset"]
        self._stand_in.settings(clock_offset=float(offset))
        return int(before != offset)

    def delete_issue(self, share: float) -> int:
        """Delete one of the issues that may be deleted, as a person does on the tracker."""
        found = self._mortal_issues()
        if not found:
            return 0
        ticket_id = sorted(found)[int(share * len(found))]
        self._ask("DELETE", found[ticket_id])
        if self._mortal_issues().get(ticket_id) == found[ticket_id]:
            return 0
        self.deleted[ticket_id] = found[ticket_id]
        return 1

    def supplant_issue(self, share: float) -> int:
        """Delete one of the issues that may be deleted, and give its id to another issue, as after a restore."""
        since = time.monotonic() - QUIET_S
        busy = {
            issue_id for one in self._stand_in.requests() if one["at"] > since for issue_id in _about(one)
        }
        # the request that created an issue does not name it
        mortal = self._mortal_issues()
        seen = {one: self._seen.setdefault(one, time.monotonic()) for one in mortal.values()}
        found = {ticket: one for ticket, one in mortal.items() if one not in busy and seen[one] < since}
        if not found:
            return 0
        ticket_id = sorted(found)[int(share * len(found))]
        self.deleted[ticket_id] = found[ticket_id]
        self.supplanted.add(found[ticket_id])
        self._stand_in.supplant(found[ticket_id], MALLORY, SUPPLANTS)
        return 1

    def move_issue(self, share: float) -> int:
        """Move an issue to another tracker project, of which its people are not members, as in triage."""
        found = {
            ticket_id: row["id"]
            for row in self._stand_in.state()["issues"]
            if (ticket_id := ticket_named(row["subject"])) is not None
            and ticket_id % MOVABLE == 3
            and row["project"] != MOVED_TO[1]
        }
        if not found:
            return 0
        ticket_id = sorted(found)[int(share * len(found))]
        self.moved.add(ticket_id)
        self._ask("PUT", found[ticket_id], {"issue": {"project_id": MOVED_TO[0]}})
        return 1

    def _ask(self, method: str, issue_id: int, body: Any = None) -> None:
        with suppress(requests.RequestException):  # a fault may hit this call too
            requests.request(
                method,
                f"{self._stand_in.base_url}/issues/{issue_id}.json",
                headers={"X-Redmine-API-Key": self._stand_in.api_key},
                json=body,
                timeout=3,
            )

    def _mortal_issues(self) -> dict[int, int]:
        """Return the issues that may be deleted, by ticket."""
        return {
            ticket_id: row["id"]
            for row in self._stand_in.state()["issues"]
            if (ticket_id := ticket_named(row["subject"])) in self._mortal and ticket_id not in self.deleted
        }

    def clear(self) -> None:
        """End every fault and restore every setting; the clock stays as it is."""
        for number in list(self._active):
            self._over(number)
        for name, restored in list(self._settings.items()):
            self._restore(name, restored)

    def _over(self, number: int) -> None:
        name = self._active.pop(number, None)
        if name is None:
            return
        hits = {fault["id"]: fault["hits"] for fault in self._stand_in.faults()}
        self._stand_in.clear_faults(number)
        self._tally.add(name, hits.get(number, 0))

    def _restore(self, name: str, value: Any) -> None:
        self._stand_in.settings(**{name: value})
        self._settings.pop(name, None)
