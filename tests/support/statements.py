"""Listens to what a database is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, event

from shared.store.tables.prepared import HotStatement


@contextmanager
def listening(engine: Engine, **listeners: Callable[..., Any]) -> Iterator[None]:
    """Have each event of SQLAlchemy's, by its name, told to a listener for the length of a `with`."""
    for name, listener in listeners.items():
        event.listen(engine, name, listener)
    try:
        yield
    finally:
        for name, listener in listeners.items():
            event.remove(engine, name, listener)


@contextmanager
def hot_statements() -> Iterator[dict[str, HotStatement]]:
    """Note each hot statement that is executed on PostgreSQL during a block, by its text."""
    executed, execute = dict[str, HotStatement](), HotStatement.execute

    def note(statement: HotStatement, *arguments: Any) -> Any:
        executed[statement.text] = statement
        return execute(statement, *arguments)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(HotStatement, "execute", note)
        yield executed
