"""The docs show exactly the transitions of the ledger's table."""

from __future__ import annotations

from shared.store.ledger.transitions import ANY, ROWS, Transition
from tests.support.documents import ROOT


def in_the_documents(row: Transition) -> str:
    before = "any" if set(row.sources) == set(ANY) else ", ".join(state or "no row" for state in row.sources)
    return f"| {row.event} | {before} | {row.target} | {row.reason} |"


def test_the_page_shows_each_transition_of_the_ledger_and_no_other() -> None:
    text = (ROOT / "docs" / "contributing" / "ledger.md").read_text(encoding="utf-8")
    after = text.split("| event | before | after | why |\n|---|---|---|---|\n")[1]
    shown = after.split("\n\n")[0].splitlines()
    assert shown == [in_the_documents(row) for row in ROWS]
