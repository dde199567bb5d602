"""Observes the statements that a database gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, event

from shared.store.tables.prepared import HotStatement


@contextmanager
def listening(engine: Engine, **listeners: Callable[..., Any]) -> Iterator[None]:
    """Register listeners for events of SQLAlchemy, by event name, during the block."""
    for name, listener in listeners.items():
        event.listen(engine, name, listener)
    try:
        yield
    finally:
        for name, listener in listeners.items():
            event.remove(engine, name, listener)


@contextmanager
def hot_statements() -> Iterator[dict[str, HotStatement]]:
    """Record each hot statement that is executed during the block, by its text."""
    executed, execute = dict[str, HotStatement](), HotStatement.execute

    def note(statement: HotStatement, *arguments: Any) -> Any:
        executed[statement.text] = statement
        return execute(statement, *arguments)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(HotStatement, "execute", note)
        yield executed
