"""Registration of the doctor's checks: their parts, articles, groups, and when the console's first page runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

from producer.admin.doctor.finding import RECORDS, CheckResult
from shared.notices.notice import Code

if TYPE_CHECKING:
    from producer.admin.doctor.installation import Installation

Check = Callable[["Installation"], Iterator[CheckResult]]


class Group(IntEnum):
    """Groups of checks, in the order in which the report lists the parts that were not checked."""

    SERVICES = 1
    KEY = 2
    CONNECTION = 3
    TRACKER = 4
    SETTINGS = 5
    CACHE = 6
    TEMPLATES = 7
    WORK = 8
    HELPDESK = 9


class QuickCheckMode(StrEnum):
    """When the console's first page checks a part itself.

    ALWAYS, IN_REDIS: at each request, the latter only if Redis answers.
    NOTED: if `what_is_noted` (`producer/admin/queries/overview.py`) marks the part.
    OWN_WORDS: never, because the page reports it in its own words.
    """

    ALWAYS = "always"
    IN_REDIS = "in Redis"
    NOTED = "noted"
    OWN_WORDS = "own words"


@dataclass(frozen=True, slots=True)
class Registered:
    """A check, or the short form of one.

    Attributes:
        parts: the parts of the report that it covers.
        glance: when the first page runs it, too; None if never.
        only: the codes that the first page finds itself; empty for all of the check's.
        is_short: whether only the first page runs it.
    """

    function: Check
    group: Group
    parts: tuple[str, ...]
    glance: QuickCheckMode | None
    only: tuple[Code, ...]
    is_short: bool


_REGISTERED: list[Registered] = []


def check(
    group: Group,
    records: Mapping[str, str] | None = None,
    *,
    glance: QuickCheckMode | None = None,
    only: tuple[Code, ...] = (),
) -> Callable[[Check], Check]:
    """Register a check.

    Args:
        group: its group, whose checks run in the order in which they are defined.
        records: each part that it registers, and the part's article.
        glance: when the first page runs it, too.
        only: the codes that the first page finds itself; empty for all of the check's.

    Raises:
        ValueError: if another check has registered one of its parts.
    """
    parts = records or {}
    if twice := RECORDS.keys() & parts.keys():
        raise ValueError(f"stated twice: {', '.join(sorted(twice))}")
    RECORDS.update(parts)
    return _register(group, tuple(parts), glance, only, is_short=False)


def quick_check(
    group: Group, part: str, glance: QuickCheckMode, *, only: tuple[Code, ...] = ()
) -> Callable[[Check], Check]:
    """Register the short form of a check, which the first page runs instead.

    Args:
        group: the group of its check.
        part: the part that it covers.
        glance: when the first page runs it.
        only: the codes that it finds; empty for all of the check's.
    """
    return _register(group, (part,), glance, only, is_short=True)


def _register(
    group: Group,
    parts: tuple[str, ...],
    glance: QuickCheckMode | None,
    only: tuple[Code, ...],
    *,
    is_short: bool,
) -> Callable[[Check], Check]:
    def register(function: Check) -> Check:
        _REGISTERED.append(Registered(function, group, parts, glance, only, is_short))
        return function

    return register


def registered() -> list[Registered]:
    """Return the registered checks, sorted by group."""
    return sorted(_REGISTERED, key=lambda one: one.group)


def checks(*groups: Group) -> list[Check]:
    """Return the checks of some groups, in the order of the groups."""
    return [
        one.function for group in groups for one in _REGISTERED if one.group is group and not one.is_short
    ]


def parts_of(check: Check) -> tuple[str, ...]:
    """Return the parts that a check covers."""
    return next((one.parts for one in _REGISTERED if one.function is check), ())


def parts() -> list[str]:
    """Return every part of the report."""
    return [part for one in registered() if not one.is_short for part in one.parts]


def is_fresher(part: str, code: str) -> bool:
    """Return whether the first page itself checks for a code of a part."""
    return any(one.glance and (code in one.only if one.only else part in one.parts) for one in _REGISTERED)
