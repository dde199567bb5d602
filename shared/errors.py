"""The error tree. Each class says what happened, whether anything was sent, and whether it may be repeated.

    BridgeError
    ├ SettingsError · InvalidEvent · BadSignature · NotFound · LeaseOver · NotYet
    ├ LockBusy ─ NotBegun
    ├ TemplateError (problem, line, column)
    └ TrackerError (method, path, status, body)
      ├ TrackerUnreachable    never sent: connection refused, DNS, connect time-out
      ├ TrackerBusy           429, or 503 with Retry-After
      ├ TrackerAway           something that is not the tracker's API answers in its place
      ├ TrackerFailing        several tickets in a row got no clear answer
      ├ OutcomeUnknown        sent, and no clear answer
      ├ TrackerClosed         401, or 403 on /users.json: the key or the REST API is off
      ├ ImpersonationRefused  403, 404, 412, 422 while impersonating
      └ TrackerRejected       any other 3xx or 4xx as the administrator; 422 of a person who may create it

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
    """Base of everything deskbridge raises on purpose; its text is fit to be shown to a person.

    Args:
        notice: what happened.
    """

    def __init__(self, notice: Notice) -> None:
        self.notice = notice
        super().__init__(notice)

    @property
    def faults(self) -> Faults:
        """What is wrong with which field, if it is about fields."""
        return faults_in(self.notice)

    def __str__(self) -> str:
        return sentence(self.notice)


class SettingsError(BridgeError):
    """A setting or a configuration value is missing or wrong; the text names it and what was expected."""

    @property
    def problems(self) -> Faults:
        """Each faulty field with what is wrong with it; the error itself if it names no field."""
        return self.faults or [("", self.notice)]


class InvalidEvent(BridgeError):
    """An inbound event does not have the agreed shape.

    Args:
        faults: one entry per fault: (path such as `ticket.id`, what was expected).
    """

    def __init__(self, faults: Faults) -> None:
        super().__init__(faulty(Refusal.EVENT_NOT_VALID, faults))


class BadSignature(BridgeError):
    """An inbound request is unsigned, signed with another secret, or its time-stamp is out of the window."""


class NotFound(BridgeError):
    """What a person named (an event, a row on hold, a link) does not exist."""


class TemplateError(BridgeError):
    """A payload template is faulty, or could not be rendered: the 1.x body is sent instead (SPEC section 7).

    Args:
        problem: what is wrong and what was expected; never holds text of a ticket.
        line: line in the template as the person typed it, from 1.
        column: character in that line, from 1.
    """

    def __init__(self, problem: Notice, line: int, column: int) -> None:
        self.problem, self.line, self.column = problem, line, column
        super().__init__(Fault.TEMPLATE_FAULTY(line=line, column=column, message=problem))

    @property
    def message(self) -> str:
        """What is wrong, as a sentence without its place."""
        return sentence(self.problem)


class LockBusy(BridgeError):
    """Another worker holds the lock; not a fault: the holder looks again after its release."""


class NotBegun(LockBusy):
    """What was to begin may not any more: the process is to end, or a pause has begun. Nothing was sent."""


class LeaseOver(BridgeError):
    """A claim's lease ran out before a send; nothing was sent by this call."""


class Outdated(BridgeError):
    """What was to be sent was built from settings that were changed in the meantime; nothing was sent."""


class NotYet(BridgeError):
    """Nothing was done, and whether it may be done is not known yet: it is tried again later, as an attempt."""


class TrackerError(BridgeError):
    """A call to the tracker did not succeed.

    Args:
        method: HTTP method.
        path: path below base_url, without the query.
        status: HTTP status, None if there was no answer.
        errors: the tracker's own messages (localised: for people only, never to be matched on).
        detail: what was the matter, if the status does not tell.

    Attributes:
        foreign: whether the answer is none that the tracker's API gives, so that another process may have given it.
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
    """Everything waits, and what asked is asked again.

    Attributes:
        is_adding: whether the call was a PUT that adds something each time.
    """

    is_adding = False

    @property
    def may_have_acted(self) -> bool:
        """Whether what was asked for may be there all the same, and would be there twice if it were asked for again."""
        return False


def creates(method: str, path: str) -> bool:
    """Return whether a POST makes another object each time: a membership asked for twice is one, and an upload none."""
    return method == "POST" and not path.endswith(("/memberships.json", "/uploads.json"))


class TrackerUnreachable(TrackerOutage):
    """Never sent: everything waits, and no attempt is used up."""

    code = Fault.TRACKER_UNREACHABLE


class TrackerBusy(TrackerOutage):
    """The tracker, or what stands in front of it, asks to be called later (429, or 503 with Retry-After).

    Args:
        retry_after: seconds to wait, None if none were named.
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
        """The answer is unclear: a proxy may send it after the tracker has acted."""
        return (self.is_adding or creates(self.method, self.path)) and not self.limited


class TrackerAway(TrackerOutage):
    """A maintenance page or the like answers in the tracker's place; everything waits until its API is back."""

    code = Fault.TRACKER_AWAY

    @property
    def may_have_acted(self) -> bool:
        """What answers in its place does not say what became of the call."""
        return self.is_adding or creates(self.method, self.path)


class TrackerFailing(TrackerOutage):
    """Several tickets in a row got no clear answer; everything waits until the tracker gives one."""

    code = Fault.TRACKER_FAILING

    @property
    def may_have_acted(self) -> bool:
        """No answer says what became of the call."""
        return self.is_adding or creates(self.method, self.path)


class TrackerClosed(TrackerOutage):
    """The API key is refused or the REST API is switched off: everything waits until a person fixes it."""

    code = Fault.TRACKER_CLOSED


class OutcomeUnknown(TrackerError):
    """Sent without a clear answer: a creation is in doubt, a read or a PUT may be repeated."""

    code = Fault.OUTCOME_UNKNOWN


class ImpersonationRefused(TrackerError):
    """Refused while acting as a person; the administrator may still be allowed (SPEC section 7).

    What a 422 is about, the person's rights or the content, `worker.ticket.rights` finds out.
    """

    code = Fault.IMPERSONATION_REFUSED


class TrackerRejected(TrackerError):
    """Refused for good, to the administrator or for its content; a person fixes the cause and replays."""

    code = Fault.TRACKER_REJECTED


def first_line(error: BaseException) -> str:
    """Return the first line of what someone else's error says; where it says nothing, what it is."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
