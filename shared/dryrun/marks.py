"""The marks by which what a dry run made is told from everything else; no two are ever the same."""

from __future__ import annotations

import secrets
from copy import deepcopy
from enum import StrEnum
from typing import Any

from shared.events.payloads import LONGEST_NAME, LONGEST_SUBJECT
from shared.events.text import cut


class ObjectKind(StrEnum):
    """What is made and deleted: the two kinds that take everything in them along."""

    ISSUE = "issue"
    PROJECT = "project"

    @property
    def path(self) -> str:
        """Where one is created."""
        return f"/{self}s.json"


def new_mark(kind: ObjectKind) -> str:
    """Return a new mark: text for an issue's subject, or a project's identifier."""
    token = secrets.token_hex(8)
    return f"[deskbridge dry run {token}]" if kind is ObjectKind.ISSUE else f"deskbridge-dry-run-{token}"


def marked(kind: ObjectKind, payload: dict[str, Any], mark: str) -> dict[str, Any]:
    """Return a payload that carries a mark; nothing else of it is changed.

    Args:
        kind: what it creates.
        payload: with the kind as its top key.
        mark: appended to the subject, or put in the identifier's place and appended to the name.
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
    """Return a text with a mark behind it; an empty one stays empty, so that the tracker refuses it."""
    given = "" if text is None else str(text)
    if not given.strip():
        return given
    return f"{cut(given, longest - len(mark) - 1, '').rstrip()} {mark}"
