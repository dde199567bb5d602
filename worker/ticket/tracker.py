"""The tracker as the workflow of a ticket sees it: calls that are awaited, and what is read in several of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from shared.errors import NotStarted, NotYet, OutcomeUnknown, TrackerRejected
from shared.notices.faults import Detail, Fault
from shared.notices.kinds import Kind
from shared.tracker.answers import Answer
from shared.tracker.client import USERS, CallRecord, Request, TrackerClient
from shared.tracker.lists import MOST_PAGES, Listed, PageSearch, Params
from shared.tracker.uploads import UPLOADS, Upload
from worker.ticket.steps import BlockingCall, Pool, TrackerCall

FORBIDDEN = 403
ENOUGH_ROWS = Callable[[list[Listed], Answer], Awaitable[bool]]


@dataclass(frozen=True)
class TicketTracker:
    """Makes the calls of one ticket.

    Attributes:
        client: makes the calls.
        observe: is given each call once it has ended.
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
            NotBegun: nothing new starts any more, or trial mode is on and the call is no GET; nothing was sent.
            TrackerError: as `TrackerClient.send`.
        """
        if self.reads_only and method != "GET":
            raise NotStarted(Fault.TRIAL_SENDS_NOTHING(method=method, path=path))
        return TrackerCall(
            self.client,
            Request(method, path, body, params, login, before_send, self.observe, expected, has_waited),
        )

    async def upload(self, file: Upload, name: str, login: str | None) -> Answer:
        """Upload a file that is attached later; without that the tracker drops it.

        Args:
            file: the file; the rate limit was waited for.
            name: its name on the tracker.
            login: the person on whose behalf it is made; None: the API user, as by `call_as_api_user`.

        Raises:
            NotBegun: as `call`.
            NotYet, TrackerClosed: as `call_as_api_user`.
            TrackerError: as `TrackerClient.send`.
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
        """Make a call that needs a right of the API user: a 403 counts only if it comes again while the API is on.

        A REST API that is switched off answers 403, too, and may be on again by the time that anyone asks.

        Raises:
            NotYet: refused, and whether the API was on is not known.
            TrackerClosed: the key is refused, or the API is off.
            TrackerError: as any call.
        """

        def made(has_waited: bool) -> TrackerCall:
            return self.call(
                method, path, body=body, before_send=before_send, expected=expected, has_waited=has_waited
            )

        return await self._as_api_user(made, has_waited)

    async def _as_api_user(self, made: Callable[[bool], TrackerCall], has_waited: bool) -> Answer:
        """Do what `call_as_api_user` does with a call that is made of whether the rate limit was waited for."""
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
        """Wait for the rate limit, for the next call: a claim's lease does not wait for it.

        Raises:
            LockBusy: the ticket's lock was lost in the meantime.
        """
        if self.client.is_limited:
            await BlockingCall(Pool.TRACKER, self.client.wait_for_rate_limit)
        self.check_lock()

    def get(self, path: str, params: Params | None = None) -> TrackerCall:
        """Read something as the API user.

        Raises:
            TrackerError: as any call.
        """
        return self.call("GET", path, params=params)

    async def check_access(self) -> None:
        """Make sure that the tracker accepts the key.

        Raises:
            TrackerClosed: it refuses the key, or its REST API is off.
            TrackerError: as any call.
        """
        await self.get(USERS, {"limit": 1})

    async def search(
        self, path: str, name: str, params: Params, *, enough: ENOUGH_ROWS, most_pages: int = MOST_PAGES
    ) -> list[Listed]:
        """Read a list page by page until a page is enough, or to its end.

        Args:
            path: where it is.
            name: its name in the answer.
            params: query parameters; new rows must come where they only push older ones further on.
            enough: is given the rows of each page, and its answer; True: what is looked for is on no later page.
            most_pages: how many pages are read at most.

        Raises:
            ListChanged: it became shorter in the meantime.
            OutcomeUnknown: it is too long.
            TrackerError: as any call.
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
        """Return the row of an id in a list; None: the list does not have it.

        Raises:
            TrackerError: as `search`.
        """

        async def is_there(rows: list[Listed], _: Answer) -> bool:
            return any(row.get("id") == tracker_id for row in rows)

        rows = await self.search(path, name, params, enough=is_there)
        return next((row for row in rows if row.get("id") == tracker_id), None)

    async def issue(self, issue_id: int, include: str | None = None) -> dict[str, Any]:
        """Return an issue as it is now.

        Args:
            issue_id: the issue.
            include: what more of it than its fields.

        Raises:
            OutcomeUnknown: the answer has no issue.
            TrackerError: as any call.
        """
        path = f"/issues/{issue_id}.json"
        found = (await self.get(path, {"include": include} if include else None)).data
        issue = found.get("issue") if isinstance(found, dict) else None
        if not isinstance(issue, dict):
            raise OutcomeUnknown("GET", path, detail=Detail.NO_OBJECT(kind=Kind.TICKET))
        return issue
