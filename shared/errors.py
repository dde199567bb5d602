"""The error tree. Each class states what happened, whether anything was sent, and whether to try again.

    BridgeError
    ├ SettingsError · InvalidEvent · BadSignature · NotFound · LeaseExpired · Outdated · NotYet
    ├ LockBusy ─ NotStarted
    ├ TemplateError (problem, line, column)
    └ TrackerError (method, path, status, errors)
      ├ TrackerOutage
      │ ├ TrackerUnreachable  never sent: connection refused, DNS, connect time-out
      │ ├ TrackerBusy         429, or 503 with Retry-After
      │ ├ TrackerAway         something other than the tracker's API answers in its place
      │ ├ TrackerFailing      several tickets in a row got no clear answer
      │ └ TrackerClosed       401, or 403 on /users.json: the key is refused or the REST API is off
      ├ OutcomeUnknown        sent, but no clear answer
      ├ ImpersonationRefused  403, 404, 412, 422 while impersonating
      └ TrackerRejected       any other 3xx or 4xx as the API user; 422 of a person who may create it
        └ AnswerTooLong       an issue has more notes than are read

"Nothing to send" is a result (`worker.ticket.results`), never an error.
"""

from __future__ import annotations

from collections.abc import Sequence

from shared.notices.faults import Fault
from shared.notices.invalid import Faults, faults_in, faulty
from shared.notices.notice import Code, Notice
from shared.notices.refusals import Refusal
from shared.notices.render import sentence


class BridgeError(Exception):
    """Base of every error that deskbridge raises on purpose; its text can be shown to people.

    Args:
        notice: what happened.
    """

    def __init__(self, notice: Notice) -> None:
        self.notice = notice
        super().__init__(notice)

    @property
    def faults(self) -> Faults:
        """Each faulty field with its fault; empty if the error is not about fields."""
        return faults_in(self.notice)

    def __str__(self) -> str:
        return sentence(self.notice)


class SettingsError(BridgeError):
    """A setting or a configuration value is missing or wrong; the text names it and what was expected."""

    @property
    def problems(self) -> Faults:
        """Each faulty field with its fault; if it names no field, the error itself under an empty name."""
        return self.faults or [("", self.notice)]


class InvalidEvent(BridgeError):
    """An inbound event does not have the agreed shape.

    Args:
        faults: one entry per fault: (path such as `ticket.id`, what was expected).
    """

    def __init__(self, faults: Faults) -> None:
        super().__init__(faulty(Refusal.EVENT_NOT_VALID, faults))


class BadSignature(BridgeError):
    """An inbound request is unsigned, signed with another secret, or its timestamp is outside the allowed window."""


class NotFound(BridgeError):
    """The named object (an event, a row on hold, a link) does not exist."""


class TemplateError(BridgeError):
    """A payload template is faulty, or could not be rendered: the 1.x body is sent instead (SPEC section 7).

    Args:
        problem: the fault and what was expected; never contains text of a ticket.
        line: line in the template as the person typed it, from 1.
        column: character in that line, from 1.
    """

    def __init__(self, problem: Notice, line: int, column: int) -> None:
        self.problem, self.line, self.column = problem, line, column
        super().__init__(Fault.TEMPLATE_FAULTY(line=line, column=column, message=problem))

    @property
    def message(self) -> str:
        """The fault as a sentence, without line and column."""
        return sentence(self.problem)


class LockBusy(BridgeError):
    """Another worker holds the lock. This is no fault: the holder checks for new events after it releases the lock."""


class NotStarted(LockBusy):
    """The step may not start: the process is stopping, or the circuit breaker has opened. Nothing was sent."""


class LeaseExpired(BridgeError):
    """A claim's lease ran out before the send; this call sent nothing."""


class Outdated(BridgeError):
    """The request was built from settings that have changed since; nothing was sent."""


class NotYet(BridgeError):
    """Something needed is not available or not known yet: nothing was created, and an attempt is used up."""


class TrackerError(BridgeError):
    """A call to the tracker did not succeed.

    Args:
        method: HTTP method.
        path: path below base_url, without the query.
        status: HTTP status, None if there was no answer.
        errors: the tracker's own messages (localised: for people only, never to be matched on).
        detail: the cause, if the status does not tell it.

    Attributes:
        foreign: whether the tracker's API never gives such an answer, so that another process may have given it.
    """

    code: Code = Fault.TRACKER_FAILED
    foreign = False

    def __init__(
        self,
        method: str,
        path: str,
        *,
        status: int | None = None,
        errors: Sequence[str] = (),
        detail: Notice | None = None,
    ) -> None:
        self.method, self.path, self.status, self.errors = method, path, status, tuple(errors)
        super().__init__(
            self.code(method=method, path=path, status=status, detail=detail, errors=list(errors) or None)
        )


class TrackerOutage(TrackerError):
    """An outage of the tracker: everything waits, and the call is repeated later.

    Attributes:
        is_adding: whether the call was a PUT that adds something each time it is sent.
    """

    is_adding = False

    @property
    def may_have_acted(self) -> bool:
        """Whether the tracker may have created the object all the same, so that a repeated call would duplicate it."""
        return False


def creates(method: str, path: str) -> bool:
    """Return whether each such call creates another object; a repeated membership or an upload does not."""
    return method == "POST" and not path.endswith(("/memberships.json", "/uploads.json"))


class TrackerUnreachable(TrackerOutage):
    """Never sent: everything waits, and no attempt is used up."""

    code = Fault.TRACKER_UNREACHABLE


class TrackerBusy(TrackerOutage):
    """The tracker, or a proxy in front of it, asks for a later call (429, or 503 with Retry-After).

    Args:
        retry_after: seconds to wait, None if the answer names none.
        limited: whether the answer proves that a limiter kept the call from the tracker.
    """

    code = Fault.TRACKER_BUSY

    def __init__(
        self, method: str, path: str, *, status: int, retry_after: float | None, limited: bool = False
    ) -> None:
        self.retry_after, self.limited = retry_after, limited
        super().__init__(method, path, status=status)

    @property
    def may_have_acted(self) -> bool:
        """Whether the object may exist: a proxy can send such an answer after the tracker has acted."""
        return (self.is_adding or creates(self.method, self.path)) and not self.limited


class TrackerAway(TrackerOutage):
    """Something else, such as a maintenance page, answers; everything waits until the tracker's API is back."""

    code = Fault.TRACKER_AWAY

    @property
    def may_have_acted(self) -> bool:
        """Whether the object may exist: an answer in the tracker's place does not tell."""
        return self.is_adding or creates(self.method, self.path)


class TrackerFailing(TrackerOutage):
    """Several tickets in a row got no clear answer; everything waits until the tracker gives one."""

    code = Fault.TRACKER_FAILING

    @property
    def may_have_acted(self) -> bool:
        """Whether the object may exist: no answer tells what became of the call."""
        return self.is_adding or creates(self.method, self.path)


class TrackerClosed(TrackerOutage):
    """The API key is refused or the REST API is switched off: everything waits until a person fixes it."""

    code = Fault.TRACKER_CLOSED


class OutcomeUnknown(TrackerError):
    """Sent without a clear answer: a creation is in doubt, a read or a PUT may be repeated."""

    code = Fault.OUTCOME_UNKNOWN


class ImpersonationRefused(TrackerError):
    """Refused while acting as a person; the API user may still be allowed (SPEC section 7).

    `worker.ticket.rights` finds out whether a 422 is about the person's rights or the content.
    """

    code = Fault.IMPERSONATION_REFUSED


class TrackerRejected(TrackerError):
    """Refused permanently, to the API user or because of the content; a person fixes the cause and replays."""

    code = Fault.TRACKER_REJECTED


class AnswerTooLong(TrackerRejected):
    """Read, but longer than the caller's limit, so that a person must make it shorter."""

    code = Fault.ANSWER_TOO_LONG


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message; if it is empty, the name of the error's type."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
