"""A ticket's desired state is read by the places of its columns."""

from __future__ import annotations

from shared.store.journal.ticket_queries import TICKETS, Desired


def test_every_field_stands_where_its_column_does() -> None:
    columns = [column.name for column in TICKETS.columns]
    assert list(Desired._fields) == columns
