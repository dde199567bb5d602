"""Words that pages have for states, rights and times."""

from __future__ import annotations

from datetime import UTC, datetime

from shared.sentences.language import counted, said

MINUTE, HOUR, DAY = 60, 3600, 86400


def N_(text: str) -> str:  # noqa: N802 (as gettext calls it)
    """Mark a text for translation where it is only kept."""
    return text


STATES = {
    "pending": N_("Waiting"),
    "held": N_("Held"),
    "done": N_("Done"),
    "skipped": N_("Nothing to send"),
    "superseded": N_("Replaced"),
    "failed": N_("Failed"),
    "linked": N_("Done"),
    "claimed": N_("Being created"),
    "in_doubt": N_("In doubt"),
    "gone": N_("Gone"),
    "free": N_("Not created"),
    "ok": N_("Well"),
    "warning": N_("Warning"),
    "failure": N_("Failure"),
    "unknown": N_("Not known"),
}
TONES = {
    "done": ("good", "✓"),
    "linked": ("good", "✓"),
    "ok": ("good", "✓"),
    "failed": ("bad", "✕"),
    "failure": ("bad", "✕"),
    "held": ("decide", "?"),
    "gone": ("decide", "?"),
    "warning": ("decide", "!"),
    "pending": ("busy", "…"),
    "claimed": ("busy", "…"),
    "in_doubt": ("busy", "…"),
    "skipped": ("calm", "–"),
    "superseded": ("calm", "–"),
    "free": ("calm", "–"),
}
LABELS = {
    **STATES,
    "ticket_task.added": N_("task added"),
    "ticket_task.updated": N_("task updated"),
    "ticket.updated": N_("ticket updated"),
    "unreadable": N_("unreadable"),
    "links": N_("read links only"),
    "viewer": N_("viewer"),
    "operator": N_("operator"),
    "administrator": N_("administrator"),
    "project": N_("project"),
    "entity": N_("entity"),
    "ticket": N_("issue"),
    "ticket-task": N_("time entry"),
    "issue.create": N_("new issue"),
    "issue.update_status": N_("status of an issue"),
    "time_entry.create": N_("time entry"),
    "project.create": N_("new project"),
    "membership.create": N_("new member"),
}


def label(word: str) -> str:
    """Return what people call something that programs have a word for."""
    return said(LABELS.get(word, word.replace("_", " ")))


def in_words(moment: datetime, now: datetime | None = None) -> str:
    """Return a time as a person would say it: `2 minutes ago`, `in 5 seconds`, or its date in UTC."""
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    distance = int(abs(seconds))
    if distance < 1:
        return said("now")
    if distance >= 7 * DAY:
        return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"
    if distance < MINUTE:
        long = counted("%(n)d second", "%(n)d seconds", distance) % {"n": distance}
    elif distance < HOUR:
        n = distance // MINUTE
        long = counted("%(n)d minute", "%(n)d minutes", n) % {"n": n}
    elif distance < DAY:
        n = distance // HOUR
        long = counted("%(n)d hour", "%(n)d hours", n) % {"n": n}
    else:
        n = distance // DAY
        long = counted("%(n)d day", "%(n)d days", n) % {"n": n}
    return (said("%(time)s ago") if seconds > 0 else said("in %(time)s")) % {"time": long}


def lasting(seconds: float) -> str:
    """Return how long something takes or took."""
    if seconds < MINUTE:
        return said("%(n)d s") % {"n": round(seconds)}
    if seconds < HOUR:
        return said("%(n)d min") % {"n": seconds // MINUTE}
    return said("%(n)d h") % {"n": seconds // HOUR}
