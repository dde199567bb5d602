"""Missing migrations, tokens of a person who left and a failing project are named with the step that fixes them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from producer.admin.access.accounts import AccountStore
from producer.admin.migrations.upgrading import upgrade
from producer.admin.records.rights import Right
from producer.admin.records.transaction import Store
from shared.errors import SettingsError
from shared.notices.doctor_setup import Named, SetupFinding
from shared.notices.steps import What
from shared.notices.system_refusals import SystemRefusal
from shared.store.tables.database import Database
from shared.store.tables.journal import EventState
from shared.store.tables.schema import is_current
from tests.failures.front import Front, page, passes
from tests.failures.stage import Stage
from tests.failures.test_a_status_that_is_not_taken import IN_PROGRESS, api, status
from tests.integration.console.conftest import Console
from tests.integration.console.pages import PASSWORD, Visitor
from tests.support.next_version import NEXT, TODAY, as_next_version
from tests.unit.cli.conftest import Shell

COMMAND = re.compile(r"`deskbridge (.+?)`")


@pytest.fixture
def old(stage: Stage, shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Database]:
    """Provide a database of today's version for commands of the next version."""
    url = f"sqlite:///{tmp_path}/old.sqlite3"
    database = Database(url)
    upgrade(database)
    monkeypatch.setenv("DESKBRIDGE_DATABASE_URL", url)
    assert shell.store is stage.bridge.store
    with as_next_version(tmp_path):
        yield database
    database.close()


def test_migrations_that_are_behind_are_named_by_every_command_and_process_and_migrate_heals(
    stage: Stage, shell: Shell, old: Database
) -> None:
    words = f"the database is at revision {TODAY}, but this version needs {NEXT}: run `deskbridge migrate`"
    done = shell.type("doctor")
    assert done.exit_code == 1
    assert words in done.stdout
    assert "start `deskbridge" not in done.stdout.partition(words)[0], "before it nothing starts"
    for typed in (
        ("event", "list"),
        ("ticket", "history", "4711"),
        ("hold", "list"),
        ("user", "list"),
        ("config", "show"),
        ("event", "replay", "1"),
    ):
        assert words in shell.fail(*typed)
    settings = stage.bridge.settings.model_copy(update={"database_url": SecretStr(str(old.engine.url))})
    with pytest.raises(SettingsError) as refused:
        is_current(settings)  # as each process does when it starts
    assert refused.value.notice == SystemRefusal.DATABASE_TOO_OLD(found=TODAY, newest=NEXT)
    (step,) = set(COMMAND.findall(words))
    shell.do(*shlex.split(step))
    assert words not in shell.type("doctor").stdout
    assert is_current(settings)


def test_a_status_that_no_issue_may_be_created_in_is_given_by_a_second_call(
    stage: Stage, pages: Visitor
) -> None:
    """This is not a failure, and no surface reports it as one."""
    stage.tracker.settings(closed_moves=[[0, IN_PROGRESS]])
    before = stage.doctor().codes
    assert stage.work(status=2) == EventState.DONE
    assert status(stage) == IN_PROGRESS
    assert What.STATUS_GIVEN in stage.trace().codes
    assert stage.doctor().codes - before <= {SetupFinding.MATCHES_NEW, Named.PERSON_MATCHED}
    assert "Everything is in Redmine" in pages.open("/console/tickets/4711")
    assert "All systems operational" in pages.open("/console")
    assert api(stage, "GET", "/users/current.json")[0] == 200


@pytest.fixture
def console_of(stage: Stage, console: Console) -> Console:
    """Provide the console whose API is used with tokens."""
    assert stage.goes_on()
    return console


def test_what_a_person_who_left_can_still_come_in_with_is_named_and_revoked(
    shell: Shell, console_of: Console
) -> None:
    store = AccountStore(Store(shell.store.database))
    store.add("boss", PASSWORD, Right.ADMINISTRATOR)
    store.add("hugo", PASSWORD, Right.OPERATOR)
    own = store.add_token("hugo-script", Right.VIEWER, "hugo")
    shared = store.add_token("scripts", Right.VIEWER)
    told = shell.do("account", "disable", "hugo")
    assert "1 API token of hugo was revoked" in told
    assert "These API tokens belong to no account and stay valid: scripts." in told
    (step,) = [one for one in COMMAND.findall(told) if one.startswith("account token NAME")]
    assert [console_of.ask("GET", "/api/events", token=one).status_code for one in (own, shared)] == [
        401,
        200,
    ]
    shell.do(*shlex.split(step.replace("NAME", "scripts")))
    assert console_of.ask("GET", "/api/events", token=shared).status_code == 401
    assert "still let in" not in shell.do("account", "disable", "hugo"), "nothing is left"


def test_a_project_that_the_tracker_fails_on_is_named_and_read_once_it_is_mended(
    stage: Stage, shell: Shell, pages: Visitor
) -> None:
    path = "/projects/2/issue_categories.json"
    with Front(stage.tracker.base_url).running() as front:
        stage.bridge.configure(base_url=front.address)
        front.rule = page(500, path=path)
        failed = shell.fail("metadata", "sync")
        assert f"GET {path} answered 500" in failed
        (found,) = [one for one in stage.findings() if one.check == "metadata"]
        assert (found.status, found.found.code) == ("warning", SetupFinding.METADATA_NOT_READ)
        assert f"GET {path} answered 500" in found.what
        assert found.todo.startswith("fix the cause (see Redmine's log)")
        overview = pages.open("/console")
        assert f"GET {path} answered 500" in overview
        assert "All systems operational" not in overview
        assert stage.work() == EventState.DONE, "other projects go on"
        front.rule = passes
        (step,) = COMMAND.findall(found.todo)
        shell.do(*shlex.split(step))
        (found,) = [one for one in stage.findings() if one.check == "metadata"]
        assert found.found.code == SetupFinding.METADATA_CURRENT
        assert "All systems operational" in pages.open("/console")
