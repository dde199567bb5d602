"""The highest numbers of the help desk's items, above which a restored help desk must continue."""

from __future__ import annotations

from producer.admin.presenters.shapes import Answer
from producer.admin.records.transaction import Store
from shared.notices.kinds import Kind

TABLES = {
    Kind.TICKET: "glpi_tickets",
    Kind.TICKET_TASK: "glpi_tickettasks",
    Kind.FOLLOWUP: "glpi_itilfollowups",
    Kind.SOLUTION: "glpi_itilsolutions",
    Kind.DOCUMENT: "glpi_documents",
}
"""GLPI's table of each kind."""


class HighestNumber(Answer):
    """The highest number of one kind that deskbridge has seen."""

    kind: str
    highest: int
    table: str
    statement: str


def highest_numbers(store: Store) -> list[HighestNumber]:
    """Return the highest number of each kind, with the statement for MariaDB that lets GLPI continue above it."""
    with store.transaction() as tx:
        highest = tx.highest.get()
    return [
        HighestNumber(
            kind=str(kind),
            highest=number,
            table=TABLES[kind],
            statement=f"ALTER TABLE {TABLES[kind]} AUTO_INCREMENT = {number + 1};",
        )
        for kind, number in highest.items()
    ]
