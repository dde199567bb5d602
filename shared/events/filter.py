"""The filter of SPEC section 3: a ticket task logs time only while it is Done and has time.

A copy logs no time, since its time belongs to the original. The settings decide whether private ticket tasks log time,
and whether follow-ups, solutions and documents are sent.
"""

from __future__ import annotations

import mimetypes
import re
import unicodedata
from collections.abc import Collection
from pathlib import PurePath

from shared.events.attachments import attachment_name
from shared.events.config import PluginConfig
from shared.events.event import Event
from shared.events.snapshots import Document, TicketTask
from shared.notices.notice import Notice
from shared.notices.reasons import Reason

_NOT_PLAIN = re.compile(r"[^!-~]+")
"""Characters that no file extension has; some of them are invisible."""


def why_filtered(event: Event, config: PluginConfig) -> Notice | None:
    """Return why an event of a ticket task logs no time, or None if it does (Done, actiontime above 0)."""
    task = event.task
    if task is not None and task.copy_of is not None:
        return Reason.COPY_OF_ANOTHER(original=task.copy_of)
    if task is not None and task.copied_from_ticket is not None:
        return Reason.COPIED_FROM_TICKET(ticket=task.copied_from_ticket)
    if task is not None and task.is_private and config.private_tasks == "skip":
        return Reason.PRIVATE_TASK()
    if task is None or task.state != config.done_state:
        return Reason.NOT_DONE(state=task.state if task else None, done_state=config.done_state)
    if task.actiontime <= 0:
        return Reason.NO_TIME()
    return None


def why_addition_filtered(event: Event, config: PluginConfig) -> Notice | None:
    """Return why an event of a follow-up, a solution or a document adds nothing to the issue, or None if it does."""
    if event.document is not None:
        return _closed_to_document(event.document, config)
    if event.followup is None:
        return Reason.SOLUTIONS_OFF() if config.sync_solutions == "off" else None
    if config.sync_followups == "off":
        return Reason.FOLLOWUPS_OFF()
    if event.followup.is_private and not config.sends_private_followups:
        return Reason.PRIVATE_FOLLOWUP()
    return None


def _closed_to_document(document: Document, config: PluginConfig) -> Notice | None:
    if not config.sends_documents:
        return Reason.DOCUMENTS_OFF()
    if document.is_private:
        return Reason.PRIVATE_DOCUMENT()
    if refused := _refused_type(document, config.document_refused_types):
        return Reason.DOCUMENT_TYPE_REFUSED(type=refused)
    if document.size is not None and document.size > config.document_most:
        return Reason.DOCUMENT_TOO_LARGE(most=config.document_max_mb)
    return None


def _refused_type(document: Document, refused: Collection[str]) -> str | None:
    """Return the refused type that matches a document's MIME type or its attachment's name, or None."""
    name = attachment_name(document)
    names = (name, _NOT_PLAIN.sub("", unicodedata.normalize("NFKC", name)).rstrip("."))
    types = [one for one in (document.mime_type, *(mimetypes.guess_type(one)[0] for one in names)) if one]
    endings = (PurePath(one).suffix.lower() for one in names)
    has = {*types, *(f"{one.partition('/')[0]}/*" for one in types), *endings}
    return next((one for one in refused if one in has), None)


def why_nothing_is_sent(event: Event, config: PluginConfig) -> Notice | None:
    """Return why an event of a ticket task or an addition creates nothing, or None if it creates something."""
    return why_filtered(event, config) if event.addition is None else why_addition_filtered(event, config)


def shown(task: TicketTask, config: PluginConfig) -> TicketTask:
    """Return a ticket task as it is sent: without its text if it is private, unless the settings allow it."""
    return task if config.sends_private_text else task.public
