"""If the database answers queries but accepts no writes, every surface reports that and names the cause."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client import generate_latest
from pydantic import SecretStr
from sqlalchemy import event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from producer.admin.doctor.examination import at_a_glance, examine
from producer.admin.doctor.finding import CheckResult
from producer.admin.services import Services
from producer.console.monitoring import Monitoring
from producer.intake.app import Producer
from shared.monitoring.state_metrics import StateMetricsCollector
from shared.notices.doctor_service import ServiceFinding
from shared.notices.notice import Code
from shared.store.tables import database as module
from shared.telemetry import metrics
from tests.integration.conftest import bridge, bridge_on_postgresql, stand_in_process
from tests.integration.test_doctor import installation
from tests.support.bridge import Bridge
from tests.support.events import task, task_event

__all__ = ["bridge", "bridge_on_postgresql", "stand_in_process"]
pytestmark = pytest.mark.stand_in
Heal = Callable[[], None]


@pytest.fixture(autouse=True)
def _tried_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TRIED_EVERY_S", -1.0)


def connections_that(bridge: Bridge, statement: str) -> Heal:
    """Run a statement on every new connection to a SQLite file; return a function that ends this."""

    def begin(connection: Any, _record: Any) -> None:
        connection.execute(statement)

    engine = bridge.store.database.engine
    event.listen(engine, "connect", begin)
    engine.dispose()

    def heal() -> None:
        event.remove(engine, "connect", begin)
        engine.dispose()

    return heal


def read_only_file(bridge: Bridge) -> Heal:
    """Simulate a file that the account must not write."""
    return connections_that(bridge, "PRAGMA query_only = ON")


def full_file(bridge: Bridge) -> Heal:
    """Simulate a file on a full disk."""
    with bridge.store.database.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    return connections_that(bridge, f"PRAGMA max_page_count = {pages}")


def read_only_server(bridge: Bridge) -> Heal:
    """Set a PostgreSQL database to read-only, as an administrator does."""
    engine = bridge.store.database.engine
    alter = f"ALTER DATABASE {make_url(engine.url).database}"

    def say(statement: str) -> None:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("SET transaction_read_only = off"))
            connection.execute(text("SET default_transaction_read_only = off"))
            connection.exec_driver_sql(statement)
        engine.dispose()

    say(f"{alter} SET default_transaction_read_only = on")
    return lambda: say(f"{alter} RESET default_transaction_read_only")


CASES = [
    pytest.param("bridge", read_only_file, ServiceFinding.DATABASE_FILE_READ_ONLY, "readonly database",
                 "give the account that runs the processes write access to", id="SQLite's file is read only"),
    pytest.param("bridge", full_file, ServiceFinding.DATABASE_FULL, "is full", "free disk", id="SQLite's disk is full"),
    pytest.param("bridge_on_postgresql", read_only_server, ServiceFinding.DATABASE_READ_ONLY, "read-only transaction",
                 "default_transaction_read_only to off", id="PostgreSQL was set to read only"),
]  # fmt: skip


@pytest.fixture
def on(request: pytest.FixtureRequest, kind: str) -> Bridge:
    """Provide a deskbridge on a kind of database."""
    made: Bridge = request.getfixturevalue(kind)
    return made


@pytest.mark.parametrize(("kind", "stage", "code", "words", "step"), CASES)
def test_no_surface_says_that_all_is_well(
    on: Bridge, stage: Callable[[Bridge], Heal], code: Code, words: str, step: str
) -> None:
    assert found(on, code) is None
    assert (ready(on), reachable(on), glanced(on)) == ((200, 200), 1.0, False)
    heal = stage(on)
    try:
        named = found(on, code)
        assert named is not None
        assert words in named.what
        assert step in named.todo
        assert named.record == "KB-SERVICE-001"
        assert (ready(on), reachable(on), glanced(on)) == ((503, 503), 0.0, True)
        with pytest.raises(DBAPIError):
            on.receive(
                *(task_event(number, of_task=task(number, content="x" * 20_000)) for number in range(1, 30))
            )
    finally:
        heal()
    assert (ready(on), reachable(on), glanced(on)) == ((200, 200), 1.0, False)
    assert on.forward(task_event()) == ["done"], "sent again, it is done once"


def found(on: Bridge, code: Code) -> CheckResult | None:
    """Return the doctor's check result with a code, or None."""
    return next((one for one in examine(installation(on)) if one.found.code == code), None)


def glanced(on: Bridge) -> bool:
    """Tell whether the console's first page reports a problem with the database."""
    return any(one.check == "database" for one in at_a_glance(installation(on)))


def reachable(on: Bridge) -> float:
    """Return the metric that shows a monitor whether the database is reachable."""
    shown = generate_latest(metrics.registry("console", StateMetricsCollector(on.redis, on.store))).decode()
    (line,) = [
        one for one in shown.splitlines() if one.startswith('deskbridge_reachable{service="database"}')
    ]
    return float(line.split()[-1])


def ready(on: Bridge) -> tuple[int, int]:
    """Return the status with which producer and console answer a load balancer."""
    secret = SecretStr("whsec_" + "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0")
    producer = Producer(on.settings.model_copy(update={"webhook_secrets": (secret,)}), "127.0.0.1", 8080)
    producer._store.database.close()
    producer._store.database = on.store.database  # the database that the test has staged
    answers = [
        asyncio.run(producer.readyz()),
        asyncio.run(Monitoring(Services(on.settings, on.store)).readyz()),
    ]
    taken_in, shown = (one.status_code for one in answers)
    return taken_in, shown
