"""A process loads only what it needs, and without garbage collection: both save time and memory at every start."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.process.loading import LOOK_AFTER, loading

ROOT = Path(__file__).resolve().parents[2]
NOBODYS = {
    "alembic",
    "argon2",
    "babel",
    "celery.bin",
    "greenlet",
    "jinja2",
    "markdown_it",
    "opentelemetry.sdk",
    "prompt_toolkit",
    "psutil",
    "pybars",
    "pygments",
    "requests",
    "rich",
    "sqlite3",
    "yaml",
}
"""Modules that only commands, the console, optional features or one kind of database need."""

HTTP = {"fastapi", "starlette", "uvicorn"}
LOADED_BY = {
    "worker": ("worker.start, worker.process", NOBODYS | HTTP | {"typer", "producer"}),
    "beat": (
        "worker.start, worker.beat",
        NOBODYS | HTTP | {"typer", "producer", "sqlalchemy", "cryptography.fernet", "lxml"},
    ),
    "producer": (
        "producer.cli.main, producer.intake.app, producer.http.connections, shared.telemetry.reporting, uvicorn",
        NOBODYS
        | {"worker", "producer.console", "producer.admin.records", "cryptography.fernet", "lxml"}
        | {"shared.store.configuration", "shared.store.transaction", "shared.connection", "shared.tracker"},
    ),
}
"""For each process, the modules that it imports to start, and those that it must not load."""


@pytest.mark.slow
@pytest.mark.parametrize("process", LOADED_BY)
def test_a_process_loads_nothing_that_it_does_not_need(process: str) -> None:
    modules, needless = LOADED_BY[process]
    program = f"from shared.process.loading import loading\nwith loading(): import sys, {modules}\nprint(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(ended.stdout.split())
    assert "kombu.transport.redis" in loaded
    assert loaded & needless == set()


@pytest.mark.slow
def test_a_producer_that_begins_anew_without_a_secret_has_loaded_no_settings_before(
    tmp_path: Path,
) -> None:
    """It runs in an empty folder, because `make run` leaves an installation in the source folder."""
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "producer.cli.main", "producer"],
        cwd=tmp_path,
        env={"DESKBRIDGE_SECRET_KEYS": "secret"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Load your environment file" in ended.stderr, "the second one found nothing"
    loaded = {
        line.rpartition("|")[2].strip()
        for line in ended.stderr.splitlines()
        if line.startswith("import time")
    }
    assert "structlog" in loaded
    assert loaded & {"pydantic_settings", "shared.process.settings", "celery", "sqlalchemy"} == set()


@pytest.fixture
def _as_before() -> Iterator[None]:
    """Restore the thresholds of garbage collection after the test."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("_as_before")
def test_garbage_is_looked_for_again_after_loading_seldom_and_not_in_what_was_loaded() -> None:
    before = gc.get_freeze_count()
    with loading():
        assert not gc.isenabled()
        kept: list[list[int]] = [[] for _ in range(1000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() >= before + len(kept)
    assert gc.get_threshold()[0] == LOOK_AFTER


@pytest.mark.usefixtures("_as_before")
def test_a_module_that_cannot_be_loaded_leaves_it_on() -> None:
    with pytest.raises(ImportError), loading():
        raise ImportError
    assert gc.isenabled()
