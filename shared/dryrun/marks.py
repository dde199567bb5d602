"""The marks that distinguish the objects of dry runs from everything else; every mark is unique."""

from __future__ import annotations

import secrets
from copy import deepcopy
from enum import StrEnum
from typing import Any

from shared.events.payloads import LONGEST_NAME, LONGEST_SUBJECT
from shared.events.text import cut


class ObjectKind(StrEnum):
    """The kinds of objects that are created and deleted; deleting one also deletes everything in it."""

    ISSUE = "issue"
    PROJECT = "project"

    @property
    def path(self) -> str:
        """The path for creating one."""
        return f"/{self}s.json"


def new_mark(kind: ObjectKind) -> str:
    """Return a new mark: text for an issue's subject, or a project's identifier."""
    token = secrets.token_hex(8)
    return f"[deskbridge dry run {token}]" if kind is ObjectKind.ISSUE else f"deskbridge-dry-run-{token}"


def marked(kind: ObjectKind, payload: dict[str, Any], mark: str) -> dict[str, Any]:
    """Return a copy of a payload that carries a mark and is otherwise unchanged.

    Args:
        kind: the kind of object that it creates.
        payload: the request body, with the kind as its top-level key.
        mark: appended to an issue's subject, or to a project's name; also replaces a project's identifier.
    """
    made = deepcopy(payload)
    fields = made[kind]
    if kind is ObjectKind.ISSUE:
        fields["subject"] = _with(fields.get("subject"), mark, LONGEST_SUBJECT)
    else:
        fields["name"] = _with(fields.get("name"), mark, LONGEST_NAME)
        fields["identifier"] = mark
    return made


def _with(text: Any, mark: str, longest: int) -> str:
    """Return a text with a mark appended; an empty text stays empty, so that the tracker refuses it."""
    given = "" if text is None else str(text)
    if not given.strip():
        return given
    return f"{cut(given, longest - len(mark) - 1, '').rstrip()} {mark}"
