"""The tracker as a ticket's workflow sees it: calls to await, and reads that take several calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from shared.errors import NotStarted, NotYet, OutcomeUnknown, TrackerRejected
from shared.notices.faults import Detail, Fault
from shared.notices.kinds import Kind
from shared.tracker.answers import Answer
from shared.tracker.body import LARGEST_ISSUE
from shared.tracker.client import USERS, CallRecord, Request, TrackerClient
from shared.tracker.lists import MOST_PAGES, Listed, PageSearch, Params
from shared.tracker.uploads import UPLOADS, Upload
from worker.ticket.steps import BlockingCall, Pool, TrackerCall

FORBIDDEN = 403
ENOUGH_ROWS = Callable[[list[Listed], Answer], Awaitable[bool]]


@dataclass(frozen=True)
class TicketTracker:
    """Makes the tracker calls of one ticket.

    Attributes:
        client: the tracker client.
        observe: receives each call once it has ended.
        check_lock: raises `LockBusy` if the ticket's lock was lost.
        reads_only: whether trial mode is on.
    """

    client: TrackerClient
    observe: Callable[[CallRecord], None]
    check_lock: Callable[[], None]
    reads_only: bool

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        params: Params | None = None,
        login: str | None = None,
        before_send: Callable[[], None] | None = None,
        expected: Collection[int] = (),
        has_waited: bool = False,
    ) -> TrackerCall:
        """Make one call; the arguments are those of `Request`.

        Raises:
            NotStarted: if nothing new may start, or trial mode is on and the call is not a GET; nothing was sent.
            TrackerError: as for `TrackerClient.send`.
        """
        if self.reads_only and method != "GET":
            raise NotStarted(Fault.TRIAL_SENDS_NOTHING(method=method, path=path))
        return TrackerCall(
            self.client,
            Request(method, path, body, params, login, before_send, self.observe, expected, has_waited),
        )

    async def upload(self, file: Upload, name: str, login: str | None) -> Answer:
        """Upload a file to attach later; the tracker drops files that are not attached.

        Args:
            file: the file; the caller has already waited for the rate limiter.
            name: its name on the tracker.
            login: the login of the person to act as; None: the API user, as in `call_as_api_user`.

        Raises:
            NotStarted: as for `call`.
            NotYet, TrackerClosed: as for `call_as_api_user`.
            TrackerError: as for `TrackerClient.send`.
        """
        if self.reads_only:
            raise NotStarted(Fault.TRIAL_SENDS_NOTHING(method="POST", path=UPLOADS))
        request = Request(
            "POST",
            UPLOADS,
            params={"filename": name},
            login=login,
            before_send=self.check_lock,
            observe=self.observe,
            upload=file,
        )

        def made(has_waited: bool) -> TrackerCall:
            return TrackerCall(self.client, replace(request, has_waited=has_waited))

        return await (self._as_api_user(made, True) if login is None else made(True))

    async def call_as_api_user(
        self,
        method: str,
        path: str,
        body: Any,
        before_send: Callable[[], None] | None = None,
        *,
        expected: Collection[int] = (),
        has_waited: bool = False,
    ) -> Answer:
        """Make a call that needs a right of the API user; a 403 counts only if it repeats while the API is on.

        A REST API that is switched off also answers 403, and may be on again when that is checked.

        Raises:
            NotYet: if the call was refused, and it is unknown whether the API was on.
            TrackerClosed: if the key is refused, or the API is off.
            TrackerError: as for any call.
        """

        def made(has_waited: bool) -> TrackerCall:
            return self.call(
                method, path, body=body, before_send=before_send, expected=expected, has_waited=has_waited
            )

        return await self._as_api_user(made, has_waited)

    async def _as_api_user(self, made: Callable[[bool], TrackerCall], has_waited: bool) -> Answer:
        """Do what `call_as_api_user` does; `made` returns the call, given whether the rate limiter was waited for."""
        try:
            return await made(has_waited)
        except TrackerRejected as rejection:
            if rejection.status != FORBIDDEN:
                raise
            refusal = rejection
        try:
            await self.check_access()
        except OutcomeUnknown as unclear:
            raise NotYet(Fault.OPENNESS_UNKNOWN(refusal=refusal.notice, because=unclear.notice)) from None
        return await made(False)

    async def wait_for_rate_limit(self) -> None:
        """Wait for the rate limiter before the next call, so that a claim's lease does not run meanwhile.

        Raises:
            LockBusy: if the ticket's lock was lost meanwhile.
        """
        if self.client.is_limited:
            await BlockingCall(Pool.TRACKER, self.client.wait_for_rate_limit)
        self.check_lock()

    def get(self, path: str, params: Params | None = None, *, largest: int | None = None) -> TrackerCall:
        """Read something as the API user.

        Args:
            path: path below base_url.
            params: query parameters.
            largest: as for `Request`.

        Raises:
            AnswerTooLong: if the answer is larger.
            TrackerError: as for any call.
        """
        made = self.call("GET", path, params=params)
        return TrackerCall(self.client, replace(made.request, largest=largest))

    async def check_access(self) -> None:
        """Make sure that the tracker accepts the key.

        Raises:
            TrackerClosed: if it refuses the key, or its REST API is off.
            TrackerError: as for any call.
        """
        await self.get(USERS, {"limit": 1})

    async def search(
        self, path: str, name: str, params: Params, *, enough: ENOUGH_ROWS, most_pages: int = MOST_PAGES
    ) -> list[Listed]:
        """Read a list page by page, until a page is enough or the list ends.

        Args:
            path: the path of the list.
            name: its name in the answer.
            params: query parameters; they must sort the list so that new rows only push older ones back.
            enough: receives the rows of each page, and its answer; returns True if no later page has the wanted rows.
            most_pages: how many pages are read at most.

        Raises:
            ListChanged: if the list became shorter meanwhile.
            OutcomeUnknown: if the list is too long.
            TrackerError: as for any call.
        """
        await self.check_access()
        search = PageSearch(path, name, params, most_pages)
        while not search.is_over:
            answer = await self.get(path, search.page())
            if await enough(search.take(answer), answer):
                search.is_over = True
        await self.check_access()
        return search.found

    async def find(self, path: str, name: str, tracker_id: int, params: Params) -> Listed | None:
        """Return the row of an id in a list, or None if the list does not have it.

        Raises:
            TrackerError: as for `search`.
        """

        async def is_there(rows: list[Listed], _: Answer) -> bool:
            return any(row.get("id") == tracker_id for row in rows)

        rows = await self.search(path, name, params, enough=is_there)
        return next((row for row in rows if row.get("id") == tracker_id), None)

    async def issue(self, issue_id: int, include: str | None = None) -> dict[str, Any]:
        """Return an issue as it is now.

        Args:
            issue_id: the issue.
            include: the associated data to read besides its fields.

        Raises:
            OutcomeUnknown: if the answer has no issue.
            TrackerError: as for any call.
        """
        path, params = f"/issues/{issue_id}.json", {"include": include} if include else None
        found = (await self.get(path, params, largest=LARGEST_ISSUE if include else None)).data
        issue = found.get("issue") if isinstance(found, dict) else None
        if not isinstance(issue, dict):
            raise OutcomeUnknown("GET", path, detail=Detail.NO_OBJECT(kind=Kind.TICKET))
        return issue
