"""The 1.x request bodies (SPEC 2.3 and 2.4). Pure: no clock, no database, no network.

An active template replaces the body of its operation (SPEC section 9). These bodies are sent if there is no
template, or if it fails.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from shared.events.attachments import text_with_pictures
from shared.events.config import PluginConfig
from shared.events.filter import shown
from shared.events.snapshots import Note, Ticket, TicketTask
from shared.events.text import cut, hours, normalised, one_line, plain_text
from shared.values.ids import id_in, read_id

LONGEST_SUBJECT = 255
LONGEST_COMMENT = 1024
LONGEST_NAME = 255
LONGEST_IDENTIFIER = 100
IDENTIFIER = re.compile(r"(?![0-9]+\Z)[a-z0-9_-]+")
"""A tracker project's identifier, as the tracker accepts it."""
RESERVED = ("new",)
"""Identifiers that the tracker reserves."""

Body = dict[str, Any]
NO_NAMES: Mapping[int, str] = {}


def issue_body(
    ticket: Ticket,
    project_id: int,
    category_id: int | None,
    config: PluginConfig,
    status: int | None = None,
    names: Mapping[int, str] = NO_NAMES,
) -> Body:
    """Return the body that creates a ticket's issue.

    Args:
        ticket: the ticket's newest snapshot.
        project_id: the tracker project that the project mapping selects.
        category_id: default category of that mapping.
        config: the Redmine settings.
        status: the help desk status of the new issue; None: the snapshot's.
        names: document number to attachment file name, for pictures that the text shows.
    """
    description = text_with_pictures(
        ticket.content, ticket.content_format, ticket.helpdesk_url, config.text_formatting or "plain", names
    )
    return {
        "issue": _without_nulls(
            project_id=project_id,
            subject=one_line(ticket.title, LONGEST_SUBJECT) or f"Ticket #{ticket.id}",
            description=description or None,
            tracker_id=config.default_tracker_id,
            priority_id=config.default_priority_id,
            status_id=config.status_map.get(ticket.status if status is None else status),
            category_id=category_id,
            watcher_user_ids=list(config.default_watcher_ids) or None,
        )
    }


def time_entry_body(ticket_id: int, task: TicketTask, issue_id: int, config: PluginConfig) -> Body:
    """Return the body that logs a ticket task's time.

    Args:
        ticket_id: the help desk ticket, for the fallback comment.
        task: the ticket task; its text is left out if it is private, unless the settings allow it.
        issue_id: tracker issue linked to the ticket.
        config: the Redmine settings.
    """
    said = plain_text(shown(task, config).content, task.content_format, task.helpdesk_url)
    comment = said or f"Work on helpdesk ticket #{ticket_id}"
    return {
        "time_entry": _without_nulls(
            issue_id=issue_id,
            hours=hours(task.actiontime),
            comments=cut(comment, LONGEST_COMMENT),
            activity_id=config.default_activity_id,
            spent_on=task.date if config.spent_on == "task_date" else None,
        )
    }


def note_body(
    note: Note,
    config: PluginConfig,
    names: Mapping[int, str] = NO_NAMES,
    *,
    is_authors: bool = True,
    is_late: bool = False,
) -> Body:
    """Return the body that adds a note to an issue.

    Args:
        note: the follow-up or solution.
        config: the Redmine settings.
        names: document number to attachment file name, for pictures that the text shows.
        is_authors: whether the tracker will show the author of the note; if not, the text starts with the name.
        is_late: whether the tracker will show another time than that of the note; then the text starts with its time.
    """
    # in the offset of the help desk, since workers in different time zones must write the same text
    time = f"{note.written_at:%Y-%m-%d %H:%M (%Z)}" if note.written_at and is_late else ""
    name = one_line(note.user.name or "", LONGEST_NAME) if note.user and not is_authors else ""
    begin = ", ".join(filter(None, (time, name)))
    notes = text_with_pictures(
        note.content,
        note.content_format,
        note.helpdesk_url,
        config.text_formatting or "plain",
        names if config.sends_documents else NO_NAMES,
        begin=f"{begin}:\n\n" if begin else "",
    )
    private = True if note.is_private else None
    return {"issue": {"notes": notes, **_without_nulls(private_notes=private)}}


def not_taken(body: Body, issue: Mapping[str, Any]) -> list[str]:
    """Return the fields of a request that the tracker dropped or replaced, among those for which it may do that.

    Args:
        body: the request.
        issue: the issue as returned; without `description` or `priority` it is partial, and its fields count as taken.
    """
    sent = body["issue"]
    found = []
    if sent.get("description") is not None and "description" in issue:
        has = str(issue["description"] or "")
        if normalised(has) != normalised(str(sent["description"])):
            found.append("description")
    for name in ("tracker_id", "priority_id", "category_id"):
        wanted, has_id = read_id(str(sent.get(name)).strip()), id_in(issue.get(name.removesuffix("_id")))
        if wanted is not None and wanted != has_id and "priority" in issue:
            found.append(name)
    return found


def watchers_of(body: Body) -> frozenset[int]:
    """Return the ids of a new issue's watchers."""
    sent = body["issue"].get("watcher_user_ids")
    named = [read_id(str(one).strip()) for one in sent] if isinstance(sent, (list, tuple)) else []
    return frozenset(one for one in named if one is not None)


def status_body(status_id: int) -> Body:
    """Return the body that sets an issue's status."""
    return {"issue": {"status_id": status_id}}


def membership_body(tracker_user_id: int, role_id: int) -> Body:
    """Return the body that makes a person a member."""
    return {"membership": {"user_id": tracker_user_id, "role_ids": [role_id]}}


def roles_beyond(body: Body, config: PluginConfig) -> list[Any]:
    """Return the roles in a template's membership body that templates may not assign."""
    allowed = {config.default_role_id, *config.template_role_ids}
    return [
        role
        for role in body["membership"].get("role_ids") or ()
        if type(role) is not int or role not in allowed
    ]


def _without_nulls(**fields: Any) -> Body:
    return {name: value for name, value in fields.items() if value is not None}
