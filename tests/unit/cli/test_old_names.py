"""The commands' names of the previous release still work, but are hidden."""

from __future__ import annotations

from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from producer.cli.main import app

NEW = {
    "links": "mapping list",
    "link": "mapping add",
    "unlink": "mapping remove",
    "export-links": "mapping export",
    "import-links": "mapping import",
    "create-project": "project create",
    "users": "user list",
    "map-user": "user map",
    "unmap-user": "user unmap",
    "forget": "user forget",
    "events": "event list",
    "replay": "event replay",
    "send": "event send",
    "trace": "ticket history",
    "forget-link": "ticket forget",
    "held": "hold list",
    "resolve": "hold resolve",
    "misattributed": "author list",
    "correct-author": "author correct",
    "sync-metadata": "metadata sync",
    "make-key": "secret key",
    "make-secret": "secret webhook",
    "make-token": "secret token",
    "changes": "audit list",
    "knowledge show": "article show",
    "knowledge validate": "article check",
    "install-units": "systemd install",
}
"""Maps old names to new ones; `recover` became two commands."""

PROGRAM: Any = typer.main.get_command(app)


def found(name: str) -> Any:
    one = PROGRAM
    for word in name.split():
        one = one.commands[word]
    return one


@pytest.mark.parametrize("old", NEW)
def test_an_old_name_is_the_new_command(old: str) -> None:
    was, now = found(old), found(NEW[old])
    assert was.callback.__wrapped__ is now.callback.__wrapped__
    assert [one.opts for one in was.params] == [one.opts for one in now.params]
    assert CliRunner().invoke(app, [*old.split(), "--help"]).exit_code == 0


def test_no_old_name_is_shown() -> None:
    hidden = {name for name, one in PROGRAM.commands.items() if one.hidden}
    assert hidden == {old.split()[0] for old in NEW} | {"recover"}
    assert not hidden & set(PROGRAM.list_commands(None))
