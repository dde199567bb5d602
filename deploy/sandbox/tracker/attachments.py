"""Uploads, and the issues that they are attached to."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from deploy.sandbox.tracker import answers, fields, texts, views
from deploy.sandbox.tracker import permissions as may
from deploy.sandbox.tracker.answers import Answer, RefusedError
from deploy.sandbox.tracker.calls import Call
from deploy.sandbox.tracker.records import Attachment

RIGHTS = ("add_issues", "edit_issues", "add_issue_notes")
"""A user with one of these permissions, in any project, may upload."""
FILE = "application/octet-stream"
TOKEN = re.compile(r"(\d+)\.([0-9a-f]+)")
LONGEST_NAME = 255
_FOLDERS = re.compile(r"\A.*(\\|/)", re.DOTALL)
_REPLACED = re.compile(r"[/?%*:|\"'<>\n\r]+")


def upload(call: Call) -> Answer:
    """POST /uploads.json: keep a file until an update names its token; 406 for other content types than a file's."""
    tracker, settings = call.tracker, call.tracker.settings
    if not any(may.allowed_anywhere(tracker, call.user, right) for right in RIGHTS):
        raise call.forbidden()
    if call.media_type != FILE:
        raise RefusedError(Answer(406, content_type=None))
    number = tracker.next_id("attachments")
    name = _file_name(call.query.get("filename") or f"{number:032x}")
    errors = _name_faults(call, name)
    if len(call.content) > settings.attachment_max_kb * 1024:
        errors.append(texts.file_too_large(call.language, settings.attachment_max_kb))
    if errors:
        raise RefusedError(answers.invalid(errors))
    made = Attachment(
        id=number,
        author_id=call.user.id,
        filename=name,
        content_type=call.query.get("content_type"),
        filesize=len(call.content),
        digest=hashlib.sha256(call.content).hexdigest(),
        created_on=tracker.now(),
    )
    tracker.add_attachment(made)
    return Answer(201, answers.encode({"upload": {"id": number, "token": made.token}}))


def show(call: Call) -> Answer:
    """GET /attachments/:id.json: only its author sees an upload that is not attached."""
    tracker = call.tracker
    row = tracker.attachments.get(int(call.ids[0]))
    if row is None:
        raise RefusedError(answers.empty(404))
    issue = tracker.issues.get(row.issue_id or 0)
    is_visible = may.sees(tracker, call.user, issue) if issue else row.author_id == call.user.id
    if not is_visible:
        raise call.forbidden()
    return answers.ok({"attachment": views.attachment(tracker, row, call.host)})


def named(call: Call, attributes: dict[str, Any]) -> list[Attachment]:
    """Return the uploads that an update of an issue attaches; one without a token is silently ignored.

    Raises:
        RefusedError: if a token is unknown or was already used.
    """
    found, missing = [], 0
    for one in attributes.get("uploads") or ():
        given = fields.text(one.get("token")) if isinstance(one, dict) else None
        if not given:
            continue
        token = TOKEN.fullmatch(given)
        row = call.tracker.attachments.get(int(token[1])) if token else None
        if row is None or token is None or row.digest != token[2] or row.issue_id is not None:
            missing += 1
            continue
        name = _file_name(fields.text(one.get("filename")) or row.filename)
        if _name_faults(call, name):
            continue
        row.filename, row.content_type = name, fields.text(one.get("content_type")) or row.content_type
        row.description = (fields.text(one.get("description")) or "").strip()
        found.append(row)
    if missing:
        raise RefusedError(answers.invalid([texts.files_not_saved(call.language, missing)]))
    return found


def _file_name(given: str) -> str:
    return _REPLACED.sub("_", _FOLDERS.sub("", given))


def _name_faults(call: Call, name: str) -> list[str]:
    ending = name.rpartition(".")[2].lower() if "." in name else ""
    errors = []
    if ending and ending in call.tracker.settings.refused_extensions:
        errors.append(texts.file_refused(call.language, ending))
    if len(name) > LONGEST_NAME:
        errors.append(call.fault("file", "too_long", LONGEST_NAME))
    return errors
