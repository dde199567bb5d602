"""Statuses are suggested by their names or as the only closed one, never guessed."""

from __future__ import annotations

import pytest

from producer.admin.queries.suggesting import suggested_map
from shared.store.configuration.metadata import Entry, MetadataKind


def statuses(*names: str, closed: tuple[str, ...] = ()) -> list[Entry]:
    return [
        Entry(MetadataKind.STATUS, number, name, details={"is_closed": name in closed})
        for number, name in enumerate(names, 1)
    ]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            ("New", "In Progress", "Resolved", "Feedback", "Closed", "Rejected"),
            {1: 1, 2: 2, 3: 2, 4: 4, 5: 3, 6: 5},
        ),
        (("Nouveau", "En cours", "Résolu", "Commentaire", "Fermé"), {1: 1, 2: 2, 3: 2, 4: 4, 5: 3, 6: 5}),
        (("Neu", "In Bearbeitung", "Gelöst", "Geschlossen"), {1: 1, 2: 2, 3: 2, 5: 3, 6: 4}),
        ((" new ", "PENDING"), {1: 1, 4: 2}),
        (("Triage", "Doing"), {}),
        ((), {}),
    ],
)
def test_a_status_is_suggested_by_its_name(names: tuple[str, ...], expected: dict[int, int]) -> None:
    assert suggested_map(statuses(*names)) == expected


def test_the_only_closed_status_is_suggested_for_closed_tickets_whatever_its_name() -> None:
    assert suggested_map(statuses("Open", "Archive", closed=("Archive",))) == {1: 1, 6: 2}
    assert suggested_map(statuses("Open", "A", "B", closed=("A", "B"))) == {1: 1}


def test_of_two_statuses_of_one_name_the_first_is_suggested() -> None:
    assert suggested_map(statuses("New", "new")) == {1: 1}
