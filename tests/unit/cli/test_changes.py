"""`audit list` shows, filters and exports the audit log."""

from __future__ import annotations

from producer.admin.queries.changes import SUBJECTS
from tests.unit.cli.conftest import Shell


def test_changes_are_listed_filtered_and_exported(shell: Shell) -> None:
    shell.do("account", "add", "claire", "--role", "administrator", "--no-password")
    (found,) = shell.ask("audit", "list", "--what", "accounts")
    assert list(found) == ["id", "at", "who", "code", "params", "what", "before", "after"]
    assert (found["code"], found["params"]) == (
        "account_added",
        {"account": "claire", "right": "administrator"},
    )
    assert "added account claire" in shell.do("audit", "list", "--what", "account_added")
    assert "No change matches." in shell.do("audit", "list", "--what", "links")
    assert shell.do("audit", "list", "--csv").splitlines()[0] == "id,at,who,code,what,before,after"


def test_an_unknown_subject_is_wrong_usage_and_told_with_those_that_exist(shell: Shell) -> None:
    result = shell.type("audit", "list", "--what", "nonsense")
    assert result.exit_code == 2
    assert "nonsense" in result.output
    told = [result.output, shell.do("audit", "list", "--help")]
    assert [(one, text) for one in SUBJECTS for text in told if one not in text] == []
