"""How a worker's process ends: a supervisor must be able to tell a failure from a stop."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from celery import Celery
from celery.signals import celeryd_init

from worker.__main__ import _run_celery

ROOT = Path(__file__).resolve().parents[2]


class Ending:
    """Stands for a Celery application whose worker ends in a certain way."""

    def __init__(self, exitcode: int | None) -> None:
        self._exitcode = exitcode

    def worker_main(self, _arguments: list[str]) -> None:
        """Announce the worker as Celery does, and end."""
        celeryd_init.send(
            sender="host", instance=SimpleNamespace(exitcode=self._exitcode), conf=None, options={}
        )


@pytest.mark.parametrize(("exitcode", "told"), [(None, 0), (0, 0), (1, 1)])
def test_a_worker_that_ended_with_an_error_says_so(exitcode: int | None, told: int) -> None:
    assert _run_celery(cast(Celery, Ending(exitcode)), []) == told


def test_a_worker_that_never_started_is_a_failure() -> None:
    application: Any = SimpleNamespace(worker_main=lambda _: None)
    assert _run_celery(application, []) == 1


BROKEN = """
from celery import Celery
from celery.worker.consumer import Consumer
from worker.__main__ import _run_celery

def fail(*_, **__):
    raise AttributeError("hostname")

application = Celery("test", broker="memory://")
Consumer.start = fail
raise SystemExit(_run_celery(application, ["worker", "--pool", "solo", "--without-gossip", "--without-mingle"]))
"""


def test_a_real_worker_that_celery_gives_up_ends_with_an_error() -> None:
    """The whole way through Celery: an error that no worker expects."""
    ended = subprocess.run([sys.executable, "-c", BROKEN], cwd=ROOT, capture_output=True, check=False)
    assert ended.returncode == 1, ended.stderr
    assert b"Unrecoverable error" in ended.stderr + ended.stdout
