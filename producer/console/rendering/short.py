"""An event's result in at most six words; the full sentence has the rest."""

from __future__ import annotations

from producer.console.rendering.fixing import without_command
from shared.notices.language import N_, said
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.render import sentence

MOST_WORDS = 6
SHORT: dict[str, str] = {
    Reason.NO_LINK: N_("entity and project not mapped"),
    Reason.NOT_DONE: N_("task is not Done"),
    Reason.NO_TIME: N_("task has no time"),
    Reason.PRIVATE_TASK: N_("task is private"),
    Reason.COPY_OF_ANOTHER: N_("copy of another task"),
    Reason.DELETED_THERE: N_("deleted in GLPI"),
    Reason.TICKET_DELETED: N_("ticket deleted in GLPI"),
    Reason.NO_ISSUE: N_("ticket has no issue yet"),
    Reason.LOGGED_BEFORE: N_("hours were logged before"),
    Reason.LOGGED_BY_EVENT: N_("hours logged by another event"),
    Reason.NEWER_TASK_EVENT: N_("replaced by a newer event"),
    Reason.NEWER_TICKET_EVENT: N_("replaced by a newer event"),
    Reason.TIME_LOGGED: N_("hours logged"),
    Reason.TIME_LOGGED_AS_ANOTHER: N_("hours logged, with a wrong author"),
    Reason.STATUS_SET: N_("status set"),
    Reason.ISSUE_UPDATED: N_("issue updated"),
    Reason.STATUS_AS_IT_IS: N_("status was already correct"),
    Reason.STATUS_NOT_MAPPED: N_("status is not mapped"),
    Reason.STATUS_REFUSED: N_("status rejected"),
    Reason.GAVE_UP: N_("gave up after several attempts"),
    Reason.DELIVERY_UNREADABLE: N_("delivery cannot be read"),
    Reason.EVENT_UNREADABLE: N_("event cannot be read"),
    Reason.CREATION_IN_DOUBT: N_("creation in doubt"),
    Reason.WAITS_FOR_PERSON: N_("on hold, needs your decision"),
    Reason.HELPDESK_AWAITED: N_("waiting for an answer from GLPI"),
    Reason.WORKER_AWAITED: N_("no worker is running"),
}


def in_short(notice: Notice | None) -> str:
    """Return what happened in at most six words."""
    if notice is None:
        return said(N_("a worker will process it soon"))
    because = notice.params.get("because")
    if notice.code == Reason.GAVE_UP and isinstance(because, Notice):
        return in_short(because)
    return short_of(str(notice.code)) or _cut(without_command(sentence(notice)))


def short_of(code: str) -> str:
    """Return a code's meaning in at most six words; empty if it has no short form."""
    return said(SHORT[code]) if code in SHORT else ""


def _cut(text: str) -> str:
    words = text.split()
    shown = " ".join(words[:MOST_WORDS]).rstrip(",;:(")
    return f"{shown} …" if len(words) > MOST_WORDS else shown
