"""Words that pages have for states and rights."""

from __future__ import annotations

from shared.sentences.language import said


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
    "ok": N_("OK"),
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
    "users": N_("users"),
    "projects": N_("projects"),
    "categories": N_("categories"),
    "issue_types": N_("issue types"),
    "priorities": N_("priorities"),
    "activities": N_("activities"),
    "roles": N_("roles"),
    "custom_fields": N_("custom fields"),
    "trackers": N_("issue types"),
    "issue_statuses": N_("statuses"),
    "issue_priorities": N_("priorities"),
    "time_entry_activities": N_("activities"),
    "categories of projects": N_("categories of projects"),
    "issue_tracking": N_("issue tracking"),
    "time_tracking": N_("time tracking"),
    "news": N_("news"),
    "documents": N_("documents"),
    "files": N_("files"),
    "wiki": N_("wiki"),
    "repository": N_("repository"),
    "boards": N_("boards"),
    "calendar": N_("calendar"),
    "gantt": N_("gantt"),
    "low": N_("low"),
    "medium": N_("medium"),
    "high": N_("high"),
    "critical": N_("critical"),
}
IN_SENTENCES = (
    N_("ticket"),
    N_("ticket-task"),
    N_("added"),
    N_("updated"),
    N_("deleted"),
    N_("pending"),
    N_("held"),
    N_("done"),
    N_("skipped"),
    N_("superseded"),
    N_("failed"),
)
"""Words of programs that stand in sentences as they are, and are other words in other languages."""


def label(word: str) -> str:
    """Return what people call something that programs have a word for."""
    return said(LABELS.get(word, word.replace("_", " ")))


REFUSALS = (
    N_("there is nothing at this address"),
    N_("Not a form"),
    N_("Not from this page"),
    N_("This form is of an earlier session"),
    N_("The database cannot be used"),
    N_("Redis cannot be reached"),
    N_("Internal error"),
    N_("The template is faulty"),
    N_("Not possible"),
    N_("No clear answer from the tracker"),
    N_("Conflict: another run is in progress"),
    N_("The tracker failed"),
    N_("Not set up"),
    N_("try again"),
    N_("send it again"),
    N_("say what to do"),
    N_("say what to do with it"),
    N_("say what it is to be"),
    N_("fix the named fields"),
    N_("no such operation"),
    N_("please report it; the log has the details"),
    N_("the form was sent by another site; open the page and try again"),
    N_("you have signed in anew since it was opened: open the page again; nothing was changed"),
    N_("only failed and skipped events are replayed together"),
    N_("the API key is empty"),
    N_("the API key must be one line of printable ASCII characters without blanks"),
    N_("the tracker refused it without a reason"),
    N_("another template was activated at the same moment; try again"),
    N_("Method Not Allowed"),
    N_("Request body too large"),
)
"""What refusals of pages say; the API says it in English."""
