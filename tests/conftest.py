"""Options and fixtures of the whole test suite."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import structlog
import typer.main
import typer.testing
from hypothesis import HealthCheck
from hypothesis import settings as search

typer.testing._get_command = cache(typer.main.get_command)  # type: ignore[attr-defined]
"""Without the cache, typer's test runner would rebuild all hundred commands for each call, which takes 50 ms."""

structlog.get_config()["processors"][-1].exception_formatter = structlog.dev.plain_traceback
"""A coloured traceback with all variables takes half a second, and some tests log hundreds."""

gc.disable()
"""Off until all tests are collected, because everything loaded by then lives until the end."""

_configure = structlog.configure


def _configure_without_cache(**options: Any) -> None:
    """Configure logs without cached loggers, so that later tests can capture log lines."""
    _configure(**options | {"cache_logger_on_first_use": False})


structlog.configure = _configure_without_cache  # type: ignore[assignment]

search.register_profile("patient", search(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
search.load_profile("patient")
"""A busy machine may need more time for an example than hypothesis allows, here and in CI."""

pytest_plugins = [
    f"tests.support.{name}" for name in ("databases", "made_codes", "quick_tls", "receiver", "servers")
]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Turn garbage collection on, a tenth as often and without the objects so far; it would take a tenth of the run."""
    gc.freeze()
    gc.set_threshold(7_000, 10, 10)
    gc.enable()


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Restore logging after each test, because commands log to a standard error that is closed with the test."""
    root, ours = logging.getLogger(), logging.getLogger("deskbridge")
    before, configured = (root.handlers[:], root.level, ours.level), structlog.get_config()
    yield
    root.handlers[:], root.level, ours.level = before
    structlog.configure(**configured)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options that select the tracker of the contract tests."""
    parser.addoption(
        "--tracker",
        default="standin",
        metavar="standin|redmine|URL",
        help="tracker for tests/contract: the stand-in (default), a real Redmine, or http://[KEY@]HOST:PORT",
    )
    parser.addoption(
        "--redmine",
        metavar="5.0|6.0|6.1",
        help="its version (default 5.0; over the stand-in every one, where a test needs no deskbridge)",
    )
