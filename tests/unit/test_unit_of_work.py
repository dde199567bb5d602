"""A unit of work creates each repository once, on its first use."""

from __future__ import annotations

from typing import Any

from shared.store.opening import Repository, UnitOfWork

made: list[Any] = []


class Things:
    """A repository that records its creation."""

    def __init__(self, session: Any) -> None:
        made.append(session)


class Work(UnitOfWork):
    """A unit of work with one more repository."""

    things = Repository(Things)


def test_a_repository_is_made_over_the_session_when_it_is_first_used_and_once() -> None:
    session: Any = object()
    made.clear()
    tx = Work(session)
    assert made == [], "before its first use"
    assert tx.things is tx.things
    assert made == [session]


def test_each_unit_of_work_has_repositories_of_its_own() -> None:
    one: Any = object()
    other: Any = object()
    assert Work(one).things is not Work(other).things
