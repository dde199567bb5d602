"""Errors of the database, and so the logs, show none of the values that were to be written."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from shared.store import Store


def test_an_error_of_the_database_shows_no_values(store: Store) -> None:
    with pytest.raises(DBAPIError) as failure, store.database.transaction() as session:
        session.execute(text("INSERT INTO no_such_table VALUES (:title)"), {"title": "hidden-word"})
    assert "hidden-word" not in f"{failure.value} {failure.value!r}"
