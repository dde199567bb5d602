"""Listens to what a database is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event


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
