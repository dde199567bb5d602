"""The fields of a ticket's desired state have the order of its columns, by which they are read."""

from __future__ import annotations

from shared.store.journal.ticket_queries import TICKETS, Desired


def test_every_field_stands_where_its_column_does() -> None:
    columns = [column.name for column in TICKETS.columns]
    assert list(Desired._fields) == columns
