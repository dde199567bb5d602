"""A worker's exit code lets a supervisor distinguish a failure from a requested stop."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import celery.apps.worker
import pytest
from celery import Celery
from celery.signals import worker_shutting_down
from cryptography.fernet import Fernet
from pydantic import SecretStr

from shared.notices.system_refusals import SystemRefusal
from shared.process.settings import Settings
from worker.app import _give_up, bootstrap
from worker.health import EXIT_CODE, ProgressCheck
from worker.process import _work_until_it_ends, run_celery, work
from worker.runtime.service import SyncService

ROOT = Path(__file__).resolve().parents[2]


class Ending:
    """A stand-in for a Celery application whose worker ends in the given way."""

    def __init__(self, exitcode: int | None, signal: str | None) -> None:
        self._exitcode, self._signal = exitcode, signal

    def Worker(self) -> Any:  # noqa: N802 (Celery names it)
        """Return a stand-in for Celery's worker."""
        return SimpleNamespace(start=self._start, exitcode=self._exitcode)

    def _start(self) -> None:
        if self._signal:
            worker_shutting_down.send(sender="host", sig=self._signal, how="Warm", exitcode=0)


@pytest.mark.parametrize(("exitcode", "told"), [(None, 0), (0, 0), (1, 1)])
def test_a_worker_that_was_asked_to_end_says_whether_it_did_so_well(exitcode: int | None, told: int) -> None:
    assert run_celery(cast(Celery, Ending(exitcode, "SIGTERM"))) == told


@pytest.mark.parametrize("exitcode", [None, 0, 1])
def test_a_worker_that_ends_without_being_asked_is_a_failure(exitcode: int | None) -> None:
    assert run_celery(cast(Celery, Ending(exitcode, None))) == 1


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        database_url=SecretStr(f"sqlite:///{tmp_path}/desk.sqlite3"),
        secret_keys=(SecretStr(Fernet.generate_key().decode()),),
    )


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The codes of the errors that a worker logs."""
    codes: list[str] = []
    log = SimpleNamespace(error=lambda _text, **fields: codes.append(fields["code"]))
    monkeypatch.setattr("worker.process.log", log)
    return codes


def test_a_worker_refuses_a_database_without_tables(settings: Settings, said: list[str]) -> None:
    assert work(settings, 1) == 1
    assert said == [SystemRefusal.DATABASE_MISSING]


def test_a_worker_refuses_to_start_without_keys(settings: Settings, said: list[str]) -> None:
    assert work(settings.model_copy(update={"secret_keys": ()}), 1) == 2
    assert said == [SystemRefusal.SECRET_KEYS_NOT_SET]


def test_a_worker_that_celery_ends_with_an_error_notifies_what_it_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told, notified = list[str](), list[int]()

    def fail(*_: object, **__: object) -> int:
        raise KeyError

    def close() -> list[int]:
        told.append("close")
        return [7]

    worker: Any = SimpleNamespace(
        app=None,
        stopping=threading.Event(),
        scheduler=SimpleNamespace(stop=lambda: told.append("stop"), close=close, running={}),
        publisher=SimpleNamespace(notify=notified.extend),
    )
    monkeypatch.setattr("worker.process.run_celery", fail)
    with pytest.raises(KeyError):
        _work_until_it_ends(worker)
    assert (told, notified, worker.stopping.is_set()) == (["stop", "close"], [7], True)


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """An event that is set when this process ends itself at once."""
    told = threading.Event()

    def end(code: int) -> None:
        assert code == EXIT_CODE
        told.set()

    monkeypatch.setattr("os._exit", end)
    monkeypatch.setattr("worker.health.LOOK_S", 0.01)
    return told


def test_a_worker_looks_whether_it_is_stuck(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, ends: threading.Event
) -> None:
    worker = MagicMock()
    worker.scheduler = SimpleNamespace(
        start=list, stop=list, close=list, running={}, stuck_since=1.0, is_at_work=False
    )
    worker.progress = ProgressCheck(worker.scheduler, int)
    monkeypatch.setattr("worker.process.bootstrap", lambda *_, **__: worker)
    for beside in ("drop_strange_keys", "monitored", "report_calls"):
        monkeypatch.setattr(f"worker.process.{beside}", lambda *_: None)
    monkeypatch.setattr("worker.process._jobs", lambda _worker: {})
    monkeypatch.setattr("worker.process._installation", lambda _settings: "5ac1")
    monkeypatch.setattr("celery.apps.worker.safe_say", celery.apps.worker.safe_say)  # restored at the end
    monkeypatch.setattr("worker.process.run_celery", lambda *_, **__: 0 if ends.wait(60) else 1)
    assert work(settings, 1) == 0


def test_a_worker_whose_scheduler_fails_ends(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, ends: threading.Event
) -> None:
    def fail(_service: SyncService, _ticket_id: int) -> None:
        raise ValueError

    monkeypatch.setattr(SyncService, "sync_ticket", fail)
    worker = bootstrap(settings, "5ac1", concurrency=1)
    worker.scheduler.start()
    worker.scheduler.take([1])
    assert ends.wait(60)


HANGING = """
import sys, threading
from functools import partial
from types import SimpleNamespace
from worker import process
from worker.runtime.scheduler import Scheduler
from worker.ticket.steps import Blocking, Pool

hangs = threading.Event()

def hang():
    hangs.set()
    threading.Event().wait()

async def workflow(_ticket_id):
    await Blocking(Pool.OTHERS, hang)

scheduler = Scheduler(workflow, 1)
scheduler.start()
scheduler.take([1])
assert hangs.wait(20)
scheduler.close = partial(scheduler.close, patience=0.1)
process.run_celery = lambda *_, **__: 0
sys.exit(process._work_until_it_ends(SimpleNamespace(
    app=None,
    stopping=threading.Event(),
    scheduler=scheduler,
    publisher=SimpleNamespace(notify=lambda tickets: print("notified", tickets, file=sys.__stdout__, flush=True)),
)))
"""


@pytest.mark.slow
def test_a_worker_that_is_told_to_end_waits_for_no_thread_that_hangs() -> None:
    """Otherwise its supervisor would have to kill it; it also notifies the tickets that it leaves."""
    ending = subprocess.run(
        [sys.executable, "-c", HANGING], cwd=ROOT, capture_output=True, check=False, timeout=60
    )
    assert ending.returncode == 0, ending.stderr
    assert b"notified [1]" in ending.stdout


WORKER = """
import os, signal, sys, threading
from celery import Celery
from celery.exceptions import WorkerShutdown
from celery.signals import worker_ready
from celery.worker.consumer import Consumer
from worker.process import OPTIONS, run_celery

application = Celery("test", broker="memory://")

def fail(*_, **__):
    raise AttributeError("hostname")

def end(*_, **__):
    raise WorkerShutdown(0)

def signal_myself(**_):
    os.kill(os.getpid(), signal.SIGTERM)

{how}
code = run_celery(application, concurrency=1, **OPTIONS)
print("loaded:", *(name for name in sys.modules if name.startswith("celery.bin")), file=sys.__stdout__)
raise SystemExit(code)
"""


def ended(how: str) -> subprocess.CompletedProcess[bytes]:
    """Run a real worker through Celery until it ends."""
    program = WORKER.format(how=how)
    return subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=False)


@pytest.mark.slow
def test_a_real_worker_that_celery_gives_up_ends_with_an_error() -> None:
    worker = ended("Consumer.start = fail")
    assert worker.returncode == 1, worker.stderr
    assert b"Unrecoverable error" in worker.stderr + worker.stdout


@pytest.mark.slow
@pytest.mark.promise("SEC-48")
def test_a_real_worker_that_celery_ends_in_order_without_a_signal_ends_with_an_error() -> None:
    worker = ended("Consumer.start = end")
    assert worker.returncode == 1, worker.stderr


@pytest.mark.slow
def test_a_real_worker_that_a_signal_ends_has_done_well() -> None:
    worker = ended("worker_ready.connect(signal_myself)")
    assert worker.returncode == 0, worker.stderr
    assert b"loaded:\n" in worker.stdout, "nothing of Celery's command line"


@pytest.mark.parametrize(("rate_limit", "tickets"), [(0, 16), (1, 2)])
def test_with_a_rate_limit_a_worker_begins_no_more_tickets_than_it_has_callers(
    settings: Settings, rate_limit: float, tickets: int
) -> None:
    worker = bootstrap(settings.model_copy(update={"rate_limit": rate_limit}), "5ac1", concurrency=2)
    assert worker.scheduler.most == tickets
    worker.scheduler.close()


def test_a_worker_keeps_its_locks_and_ends_where_it_cannot_any_more(settings: Settings) -> None:
    worker = bootstrap(settings, "5ac1", concurrency=1)
    assert worker.locks._keeps
    assert worker.locks._give_up is _give_up
    worker.scheduler.close()
