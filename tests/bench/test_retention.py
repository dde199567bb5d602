"""No frequent query reads a large table in full; `make bench-long` tests a million rows and the ratios."""

from __future__ import annotations

import pytest

from shared.store.tables.database import Database
from tests.bench.retention import measure

pytestmark = pytest.mark.promise("OPS-09")


@pytest.mark.slow
def test_no_question_of_every_day_reads_a_whole_table(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.bench.retention.BATCH", 100)  # a smaller batch, since there are fewer rows
    database = Database(postgres_url)
    figures = measure(database, 60_000)
    database.close()
    assert {one.question: one.scans for one in figures if one.scans} == {}
