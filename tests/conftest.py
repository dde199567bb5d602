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
"""A test's runner makes the program's hundred commands anew for each that is typed: a twentieth of a second."""

structlog.get_config()["processors"][-1].exception_formatter = structlog.dev.plain_traceback
"""Coloured, with every variable, a traceback takes half a second; some tests log hundreds."""

gc.disable()
"""Until all tests are collected: what is loaded and collected stays to the end."""

_configure = structlog.configure


def _configure_without_cache(**options: Any) -> None:
    """Configure logs for one test, such as a command's, without what the next one captures being kept from it."""
    _configure(**options | {"cache_logger_on_first_use": False})


structlog.configure = _configure_without_cache  # type: ignore[assignment]

search.register_profile("patient", search(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
search.load_profile("patient")
"""A busy machine may take longer than hypothesis expects of an example, here as in CI."""

pytest_plugins = [
    f"tests.support.{name}" for name in ("databases", "made_codes", "quick_tls", "receiver", "servers")
]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Look for garbage from here on, a tenth as often, and in nothing that was collected: a tenth of the time else."""
    gc.freeze()
    gc.set_threshold(7_000, 10, 10)
    gc.enable()


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Leave logging as it was: a command points it at a standard error that is closed with its test."""
    root, ours = logging.getLogger(), logging.getLogger("deskbridge")
    before, configured = (root.handlers[:], root.level, ours.level), structlog.get_config()
    yield
    root.handlers[:], root.level, ours.level = before
    structlog.configure(**configured)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register which tracker the contract tests run over."""
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
