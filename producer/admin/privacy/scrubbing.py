"""Removes a person from texts and JSON data. Pure: what to look for is passed in."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

FORGOTTEN = "(forgotten)"
ROLES = ("technician", "requester", "user")
MAIL_BEFORE, MAIL_AFTER = r"(?<![\w.+-])", r"(?![\w-]|\.\w)"


@dataclass(frozen=True, slots=True)
class Person:
    """Everything that identifies one person.

    Attributes:
        helpdesk_ids: ids in the help desk.
        mails: e-mail addresses, case-folded.
        tracker_ids: ids on the tracker.
        names: logins and full names on the tracker, and names in the help desk.
    """

    helpdesk_ids: frozenset[int] = frozenset()
    mails: frozenset[str] = frozenset()
    tracker_ids: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()

    def is_meant(self, value: object, role: str | None = None) -> bool:
        """Return whether a JSON value names this person: in a person's role, or with an e-mail."""
        if not isinstance(value, dict) or not (role in ROLES or "email" in value):
            return False
        mail = value.get("email")
        known = isinstance(mail, str) and mail.strip().casefold() in self.mails
        return known or value.get("id") in self.helpdesk_ids


class Scrubber:
    """Replaces what identifies a person.

    Args:
        person: the person.
        with_names: also replace logins and full names, as in our own sentences; in a ticket they may mean someone else.
    """

    def __init__(self, person: Person, *, with_names: bool) -> None:
        self._person = person
        words = [rf"{MAIL_BEFORE}{re.escape(mail)}{MAIL_AFTER}" for mail in _longest_first(person.mails)]
        if with_names:
            words += [_named(name) for name in _longest_first(person.names)]
        self._pattern = re.compile("|".join(words), re.IGNORECASE) if words else None

    def text(self, text: str) -> str:
        """Return a text without the person."""
        return self._pattern.sub(FORGOTTEN, text) if self._pattern else text

    def data(self, value: Any, role: str | None = None) -> Any:
        """Return JSON data without the person; objects and ids that name them become None."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.data(item, role) for item in value]
        if not isinstance(value, dict):
            return None if role == "user_id" and value in self._person.tracker_ids else value
        if self._person.is_meant(value, role):
            return None
        return {self.text(name): self.data(item, name) for name, item in value.items()}


def _named(name: str) -> str:
    """Return a pattern for a name; a full name also matches in a file name such as Sam_Stranger."""
    words = name.split()
    if len(words) < 2:
        return rf"(?<!\w){re.escape(name)}(?!\w)"
    return r"(?<![^\W_])" + r"[\W_]+".join(map(re.escape, words)) + r"(?![^\W_])"


def _longest_first(words: Collection[str]) -> list[str]:
    return sorted((word for word in words if word.strip()), key=len, reverse=True)
