"""`mapping import` takes over the tables of plugin 1.x, so that nothing is created again."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from producer.admin.backfill.version_one import Table
from producer.cli.commands.mapping_files import Table1x
from tests.unit.cli.conftest import Shell
from tests.unit.cli.test_backfill import linked


@pytest.fixture
def tickets(tmp_path: Path) -> str:
    """A ticket-issue table as MariaDB exports it."""
    path = tmp_path / "tickets.csv"
    path.write_text('"id";"tickets_id";"issue_id";"project"\n1;4711;6;1\n2;4712;7;NULL\n')
    return str(path)


IMPORT = (
    "mapping",
    "import",
    "--table=ticket-issue",
    "--delimiter=;",
    "--columns=id=tickets_id, tracker_id=issue_id, tracker_project_id=project",
)


def test_the_issues_of_tickets_are_taken_over(shell: Shell, tickets: str) -> None:
    assert "2 rows added" in shell.do(*IMPORT, tickets)
    assert linked(shell) == {"ticket 4711": 6, "ticket 4712": 7}
    assert shell.ask(*IMPORT, tickets) == {"added": 0, "unchanged": 2}


def test_time_entries_projects_entities_and_people_are_taken_over(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("a,b,c\n512,9,4711\n")
    shell.do("mapping", "import", "--table=task-time", "--columns=id=a,tracker_id=b,ticket_id=c", str(file))
    assert linked(shell) == {"ticket-task 512": 9}
    for table in ("project", "entity"):
        shell.do("mapping", "import", f"--table={table}", "--columns=id=a,tracker_project_id=b", str(file))
    shell.do("mapping", "import", "--table=user-map", "--columns=id=a,tracker_id=b", str(file))
    with shell.store.transaction() as tx:
        assert [(str(one), one.tracker_project_id) for one in tx.mappings.all()] == [
            ("project 512", 9),
            ("entity 512", 9),
        ]
        assert tx.people.overrides() == {512: 9}


def test_a_preview_shows_how_it_is_read_and_changes_nothing(shell: Shell, tickets: str) -> None:
    shown = shell.do(*IMPORT, "--preview", tickets)
    assert "ticket,4711,,6,1" in shown
    assert linked(shell) == {}


def test_a_column_that_the_file_does_not_have_is_named_with_those_it_has(shell: Shell, tickets: str) -> None:
    said = shell.fail(
        "mapping", "import", "--table=ticket-issue", "--delimiter=;", "--columns=id=ticket", tickets
    )
    assert "no column ticket" in said
    assert "tickets_id" in said
    assert "tracker_id" in said


def test_one_issue_for_two_tickets_is_refused_whole(shell: Shell, tickets: str) -> None:
    Path(tickets).write_text("tickets_id;issue_id;project\n1;6;\n2;6;\n")
    assert "is also in line 2" in shell.fail(*IMPORT, tickets)
    assert linked(shell) == {}


def test_the_tables_that_can_be_typed_are_those_there_are() -> None:
    assert get_args(Table1x) == tuple(Table)
