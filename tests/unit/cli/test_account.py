"""The commands of `account`: who may sign in, and who owns which token."""

from __future__ import annotations

import pytest

from tests.unit.cli.conftest import Shell

pytestmark = pytest.mark.promise("OPS-07")


@pytest.mark.promise("SEC-73")
def test_whoever_disables_an_account_is_told_which_tokens_end_with_it(shell: Shell) -> None:
    for name in ("claire", "hugo"):
        shell.do("account", "add", name, "--role", "administrator", "--no-password")
    shell.do("account", "token", "scripts", "--scope", "operator", "--owner", "hugo")
    shell.do("account", "token", "glpi", "--scope", "links")
    assert [(one["name"], one["owner"]) for one in shell.ask("account", "tokens")] == [
        ("glpi", None),
        ("scripts", "hugo"),
    ]
    listed = shell.do("account", "tokens")
    assert "no account" in listed
    assert "hugo" in listed
    told = shell.do("account", "disable", "hugo")
    assert "hugo can no longer sign in" in told
    assert "1 API token of hugo was revoked" in told
    assert "revoked" not in shell.do("account", "disable", "hugo", "--enable")
    glpi, scripts = shell.ask("account", "tokens")
    assert (glpi["revoked_at"], scripts["revoked_at"] is None) == (None, False)


def test_a_token_of_nobody_s_account_is_not_made(shell: Shell) -> None:
    refused = shell.type("account", "token", "scripts", "--owner", "nobody")
    assert refused.exit_code == 1
    assert shell.ask("account", "tokens") == []


def test_a_sign_in_link_says_that_it_guesses_the_console_s_address(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.do("account", "add", "hugo", "--no-password")
    assert "CONSOLE_URL is not set" in " ".join(shell.type("account", "link", "hugo").stderr.split())
    monkeypatch.setenv("DESKBRIDGE_CONSOLE_URL", "https://desk.example.org")
    linked = shell.type("account", "link", "hugo")
    assert linked.stdout.startswith("https://desk.example.org/console/sign-in?code=")
    assert linked.stderr == ""
