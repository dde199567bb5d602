"""changes: the audit log at the command line."""

from __future__ import annotations

from producer.admin.queries.changes import SUBJECTS
from tests.unit.cli.conftest import Shell


def test_changes_are_listed_filtered_and_exported(shell: Shell) -> None:
    shell.do("account", "add", "claire", "--role", "administrator", "--no-password")
    (found,) = shell.ask("changes", "--what", "accounts")
    assert list(found) == ["id", "at", "who", "code", "params", "what", "before", "after"]
    assert (found["code"], found["params"]) == (
        "account_added",
        {"account": "claire", "right": "administrator"},
    )
    assert "added the account claire" in shell.do("changes", "--what", "account_added")
    assert "No such change." in shell.do("changes", "--what", "links")
    assert shell.do("changes", "--csv").splitlines()[0] == "id,at,who,code,what,before,after"


def test_an_unknown_subject_is_wrong_usage_and_told_with_those_that_exist(shell: Shell) -> None:
    result = shell.type("changes", "--what", "nonsense")
    assert result.exit_code == 2
    assert "nonsense" in result.output
    told = [result.output, shell.do("changes", "--help")]
    assert [(one, text) for one in SUBJECTS for text in told if one not in text] == []
