"""Adds names to the numbers in sentences, if names are known: `helpdesk user 99 (Claire Lefèvre)`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

KINDS: Mapping[str, tuple[str, str]] = {
    "helpdesk_user_id": ("person", ""),
    "other_id": ("person", ""),
    "people": ("person", ""),
    "entity_id": ("entity", ""),
    "tracker_user_id": ("user", ""),
    "user_id": ("user", "user"),
    "tracker_project_id": ("tracker_project", ""),
    "project_id": ("tracker_project", "project_name"),
    "tracker_status_id": ("status", ""),
    "status_id": ("status", ""),
    "activity_id": ("activity", ""),
    "priority_id": ("priority", ""),
    "issue_type_id": ("issue_type", ""),
    "role_id": ("role", ""),
    "category_id": ("category", "category"),
}
"""For each parameter with a number: the kind of object, and the parameter that already contains its name."""

PLACES = ("entity", "project")
"""Kinds whose `id` is a number in GLPI."""


class Naming(Protocol):
    """A source of names."""

    def name(self, kind: str, number: int) -> str | None:
        """Return the name of an object, or None if it is unknown."""


_known: ContextVar[Naming | None] = ContextVar("known", default=None)


@contextmanager
def naming(known: Naming) -> Iterator[None]:
    """Add names to the numbers in sentences within the block."""
    before = _known.set(known)
    try:
        yield
    finally:
        _known.reset(before)


def named(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters of a sentence, each number with its name if one is known."""
    known = _known.get()
    if known is None:
        return params
    found = {name: _named(known, name, value, params) for name, value in params.items() if name in KINDS}
    if params.get("kind") in PLACES and isinstance(params.get("id"), int):
        found["id"] = with_name(params["id"], known.name(str(params["kind"]), params["id"]))
    return {**params, **found}


def with_name(number: int, name: str | None) -> str | int:
    """Return a number followed by its name, or the number alone if it has no name."""
    return f"{number} ({name})" if name else number


def _named(known: Naming, name: str, value: Any, params: Mapping[str, Any]) -> Any:
    kind, called = KINDS[name]
    if called and params.get(called):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        found = known.name(kind, value)
        # a person without a name has an e-mail here, which some sentences already contain
        return value if found in params.values() else with_name(value, found)
    if isinstance(value, (list, tuple)) and all(isinstance(one, int) for one in value):
        return [with_name(one, known.name(kind, one)) for one in value]
    return value
