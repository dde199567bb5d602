"""`mapping export` and `mapping import`: each ticket keeps its one issue when an installation moves."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from shared.notices.kinds import Kind
from shared.notices.notice import written
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerState
from tests.support.events import task_event
from tests.unit.cli.conftest import Shell
from tests.unit.cli.test_held import claim

HEADER = "kind,id,ticket_id,tracker_id,tracker_project_id,issue_id,default_category_id,author_id,tracker"
TRACKER = "https://tracker.example"
FILE = f"""{HEADER}
project,12,,,4,,7,,{TRACKER}
entity,0,,,1,,,,{TRACKER}
ticket,4711,4711,6,1,,,5,{TRACKER}
ticket-task,512,4711,9,1,6,,5,{TRACKER}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with one link of each kind."""
    path = tmp_path / "links.csv"
    path.write_text(FILE)
    return path


def write(path: Path, *rows: str) -> str:
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return str(path)


def linked(shell: Shell) -> dict[str, int | None]:
    with shell.store.transaction() as tx:
        return {f"{kind} {row.key}": row.tracker_id for kind in Kind for row in tx.ledger(kind).linked()}


def test_what_is_imported_is_exported_alike(shell: Shell, file: Path) -> None:
    shell.do("config", "set", f"base_url={TRACKER}")
    assert "4 rows added" in shell.do("mapping", "import", str(file))
    assert shell.do("mapping", "export").replace("\r\n", "\n") == FILE
    shell.do("mapping", "export", str(file.with_name("out.csv")))
    assert file.with_name("out.csv").read_text() == FILE
    assert linked(shell) == {"ticket 4711": 6, "ticket-task 512": 9}
    assert shell.notified == [4711]


def test_the_time_of_an_imported_link_is_unknown_until_an_event_names_it(shell: Shell, file: Path) -> None:
    shell.do("mapping", "import", str(file))
    (task,) = shell.ask("ticket", "history", "4711")["ticket_tasks"]
    assert (task["state"], task["hours"]) == ("linked", None)
    shown = shell.do("ticket", "history", "4711")
    assert "0 h" not in shown
    assert "No history is stored" in shown


def test_an_import_may_be_repeated(shell: Shell, file: Path) -> None:
    shell.do("mapping", "import", str(file))
    assert shell.ask("mapping", "import", str(file)) == {"added": 0, "unchanged": 4}
    assert shell.ask_stdin("mapping", "import", "-", stdin=FILE) == {"added": 0, "unchanged": 4}
    marked = "\ufeff" + FILE
    assert shell.ask_stdin("mapping", "import", "-", stdin=marked) == {"added": 0, "unchanged": 4}


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("ticket,4711,4711,7,1,,,,", "ticket 4711 already has issue #6 here"),
        ("ticket,4712,4712,6,1,,,,", "issue #6 belongs to ticket 4711 here"),
        ("ticket-task,512,4711,8,1,6,,,", "ticket-task 512 already has time entry #9 here"),
        ("ticket-task,513,4711,9,1,6,,,", "time entry #9 belongs to ticket-task 512 here"),
        ("entity,0,,,2,,,,", "entity 0 is mapped to Redmine project 1 here: remove that mapping first"),
    ],
)
def test_what_would_link_something_a_second_time_is_refused_as_a_whole(
    shell: Shell, file: Path, row: str, complaint: str
) -> None:
    shell.do("mapping", "import", str(file))
    before = linked(shell)
    complaint_shown = shell.fail("mapping", "import", write(file, "ticket,9000,9000,90,1,,,,", row))
    assert f"line 3: {complaint}" in complaint_shown
    assert linked(shell) == before


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        (["ticket,1,1,5,1,,,,", "ticket,1,1,6,1,,,,"], "line 3: ticket with id 1 is also in line 2"),
        (["ticket,1,1,5,1,,,,", "ticket,2,2,5,1,,,,"], "line 3: ticket with tracker_id 5 is also in line 2"),
        (["team,1,,,1,,,,"], "line 2: kind"),
        (["ticket,x,1,5,1,,,,"], "line 2: id must be an id"),
        (["ticket,0,1,5,1,,,,"], "line 2: id must be an id"),
        (["ticket,-1,1,5,1,,,,"], "line 2: id"),
        ([f"ticket,{2**63},1,5,1,,,,"], "line 2: id"),
        (["ticket,1,1,,1,,,,"], "line 2: empty cells: tracker_id"),
        (["ticket-task,1,,5,1,,,,"], "line 2: empty cells: ticket_id"),
        (["entity,1,,,,,,,"], "line 2: empty cells: tracker_project_id"),
        (['ticket,"1'], "line 2: not valid CSV"),
    ],
)
def test_lines_that_cannot_be_read_are_named(
    shell: Shell, file: Path, rows: list[str], complaint: str
) -> None:
    assert complaint in shell.fail("mapping", "import", write(file, *rows))
    assert linked(shell) == {}


def test_a_file_without_its_columns_or_that_is_not_there_is_refused(shell: Shell, file: Path) -> None:
    file.write_text("1,2,3\n")
    assert "the first line must contain the column names; missing" in shell.fail(
        "mapping", "import", str(file)
    )
    file.write_bytes(HEADER.encode() + b"\nticket,\xff\n")
    assert "UTF-8" in shell.fail("mapping", "import", str(file))
    assert "nothing.csv" in shell.fail("mapping", "import", str(file.with_name("nothing.csv")))


@pytest.mark.parametrize("state", [LedgerState.CLAIMED, LedgerState.IN_DOUBT, LedgerState.ON_HOLD])
def test_what_is_undecided_is_neither_exported_nor_overwritten(
    shell: Shell, file: Path, state: LedgerState
) -> None:
    with shell.store.transaction() as tx:
        attempt = tx.issues.claim(claim(Kind.TICKET, 4711), 20)
        assert attempt
        if state is LedgerState.IN_DOUBT:
            tx.issues.doubt(4711, attempt, 15, written("a test"))
        if state is LedgerState.ON_HOLD:
            tx.issues.hold(4711, attempt, written("a test"))
    assert "needs a decision" in shell.fail("mapping", "import", str(file))
    result = shell.type("mapping", "export")
    assert list(csv.reader(io.StringIO(result.stdout))) == [HEADER.split(",")]
    assert "1 creation in doubt or on hold" in result.stderr


def test_a_free_row_takes_over_what_another_installation_created(shell: Shell, file: Path) -> None:
    with shell.store.transaction() as tx:
        attempt = tx.issues.claim(claim(Kind.TICKET, 4711), 20)
        tx.issues.free(4711, attempt or 0, written("refused"))
    shell.do("mapping", "import", str(file))
    assert linked(shell)["ticket 4711"] == 6


def test_links_of_another_tracker_are_refused_unless_it_is_the_same(shell: Shell, file: Path) -> None:
    shell.do("config", "set", "base_url=https://other.example")
    assert "another Redmine" in shell.fail("mapping", "import", str(file))
    shell.do("mapping", "import", str(file), "--same-tracker")
    with shell.store.transaction() as tx:
        assert tx.mappings.get(MappingKind.PROJECT, 12) == ProjectMapping(MappingKind.PROJECT, 12, 4, 7)


def test_an_export_names_what_another_installation_will_not_have(shell: Shell) -> None:
    shell.receive(*(task_event(number) for number in range(3)))
    with shell.store.transaction() as tx:
        failed = tx.journal.find(limit=1)[0].id
        tx.journal.end([failed], EventState.FAILED, written("refused"))
    told = shell.type("mapping", "export").stderr
    assert "2 events pending: another installation will not have them" in told
    assert "1 event failed" in told
