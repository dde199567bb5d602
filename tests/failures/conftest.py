"""A working deskbridge, in which a test then makes one thing fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.records.rights import Right
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.metadata.synchronisation import sync_metadata
from shared.process.itself import Process
from shared.redis.heartbeat import BEAT, WORKER, Heartbeats
from tests.failures.redmine import RealRedmine
from tests.failures.stage import Stage
from tests.integration.conftest import bridge, stand_in_process
from tests.integration.console.conftest import ComeIn, cheap_hashes, come_in, console
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge
from tests.support.redmine import real_redmine
from tests.unit.cli.conftest import Shell

__all__ = ["bridge", "cheap_hashes", "come_in", "console", "stand_in_process"]


@pytest.fixture(scope="session")
def real(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealRedmine | None]:
    """Provide a real Redmine with --tracker=redmine, else None."""
    if pytestconfig.getoption("--tracker") != "redmine":
        yield None
        return
    with real_redmine(pytestconfig.getoption("--redmine") or "5.0") as ready:
        snapshot = tmp_path_factory.mktemp("redmine") / "snapshot.sqlite3"
        yield RealRedmine(ready["base_url"], ready["api_key"], Path(ready["dir"]), snapshot)


@pytest.fixture
def stand_in(request: pytest.FixtureRequest, real: RealRedmine | None) -> Iterator[StandIn | RealRedmine]:
    """Provide the tracker with only its seed data."""
    if real is None:
        tracker: StandIn = request.getfixturevalue("stand_in_process")
        tracker.reset()
        yield tracker
    else:
        yield real
        real.reset()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests that need the stand-in if the tracker is a real Redmine."""
    if config.getoption("--tracker") != "standin":
        items[:] = [item for item in items if not item.get_closest_marker("stand_in")]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Summarise how many commands and seconds it took to name the causes; with -v, list each staged failure."""
    found = [
        value
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if name == "staged" and report.when == "call"
    ]
    if not found:
        return
    terminalreporter.section("staged failures")
    if terminalreporter.verbosity > 0:
        for sentence, command, commands, seconds in found:
            terminalreporter.write_line(f"{seconds:6.2f} s  {commands} × {command:7} {sentence}")
    slowest, most = max(row[3] for row in found), max(row[2] for row in found)
    failures = {row[0] for row in found}
    terminalreporter.write_line(
        f"{len(failures)} failures, named {len(found)} times: at most {most} command, {slowest:.2f} s after the event"
    )


@pytest.fixture
def stage(
    bridge: Bridge, stand_in: StandIn | RealRedmine, record_property: Callable[[str, object], None]
) -> Iterator[Stage]:
    """Provide a stage whose metadata was just synchronised, so that staged changes are newer than the cache."""
    sync_metadata(bridge.store, Connector(bridge.store, Vault(bridge.settings.secret_keys)).connect()[1])
    bridge.configure(membership_for="nobody")
    heartbeats = Heartbeats(bridge.redis)
    heartbeats.mark(WORKER)
    heartbeats.mark(BEAT)
    with bridge.store.transaction() as tx:
        tx.producers.mark("here:8080", Process.here(), [])
    yield Stage(bridge, stand_in, record_property)
    stand_in.clear_faults()


@pytest.fixture
def shell(stage: Stage, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Provide the command line of the stage's installation."""
    settings = stage.bridge.settings
    monkeypatch.setenv("DESKBRIDGE_DATABASE_URL", settings.database_url.get_secret_value())
    monkeypatch.setenv("DESKBRIDGE_REDIS_URL", redis_url)
    monkeypatch.setenv("DESKBRIDGE_SECRET_KEYS", settings.secret_keys[0].get_secret_value())
    return Shell(stage.bridge.store, [])


@pytest.fixture
def pages(stage: Stage, come_in: ComeIn) -> Visitor:
    """Provide the console pages of the stage's installation."""
    return come_in(Right.VIEWER)
