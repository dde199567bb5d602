"""The drill's supervisor, its shifted clock, its help desk and its deadline work as intended."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.embedded.child import Child
from tests.drill.day import Posting
from tests.drill.load import Helpdesk
from tests.drill.stand import SKEWED
from tests.drill.supervisor import Supervised, Supervisor
from tests.support.events import ticket_event
from tests.support.fleet import ROOT, SECRET

CLOCKS = """
import datetime, json, time
from shared.store.tables.journal import JournalEvent
from shared.events.parsing import parse_event
event = parse_event(json.loads(input()))
dates = [datetime.datetime.now(datetime.UTC), datetime.datetime.now()]
print(json.dumps([
    time.time(), time.time_ns() / 1e9, *(date.timestamp() for date in dates),
    isinstance(event.occurred_at, datetime.datetime), time.monotonic(),
]))
"""


@pytest.mark.parametrize("offset", [-60, 60])
def test_one_process_lives_a_minute_off_and_its_monotonic_clock_does_not(offset: int) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SKEWED), "DRILL_CLOCK_OFFSET": str(offset)}
    run = subprocess.run(
        [sys.executable, "-c", CLOCKS],
        input=json.dumps(ticket_event()),
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    *wall, is_date, monotonic = json.loads(run.stdout)
    assert all(abs(clock - offset - time.time()) < 10 for clock in wall), wall
    assert is_date
    assert abs(monotonic - time.monotonic()) < 10


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    made = Supervisor()
    made.start()
    yield made
    made.stop()


def until(member: Supervised, restarts: int) -> None:
    deadline = time.monotonic() + 60
    while member.restarts < restarts or not member.child.alive:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_process_is_started_again_and_its_own_ends_are_told(supervisor: Supervisor, tmp_path: Path) -> None:
    member = supervisor.add(Child("one", ["/bin/sleep", "60"], log=tmp_path / "log"))
    assert member.send(signal.SIGKILL)
    until(member, 1)
    assert member.own_ends == []
    os.kill(
        member.child.pid, signal.SIGUSR1
    )  # not sent by the drill; SIGINT may be ignored in the background
    until(member, 2)
    assert member.own_ends == [-signal.SIGUSR1]


def test_the_supervisor_leaves_nothing_running(tmp_path: Path) -> None:
    supervisor = Supervisor()
    member = supervisor.add(Child("one", ["/bin/sleep", "60"], log=tmp_path / "log"))
    supervisor.start()
    member.send(signal.SIGSTOP)
    supervisor.stop()
    assert not member.child.alive


class Moody(http.server.BaseHTTPRequestHandler):
    """Answers like a failing producer: no answer, 503, then 202."""

    def do_POST(self) -> None:
        """Answer one posting."""
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.tries += 1  # type: ignore[attr-defined]
        if self.server.tries == 1:  # type: ignore[attr-defined]
            self.connection.close()
            return
        status = 503 if self.server.tries == 2 else 202  # type: ignore[attr-defined]
        answer = json.dumps({"accepted": [{"event_id": 1} for _ in json.loads(body)]}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def test_the_helpdesk_sends_until_it_is_answered_202() -> None:
    server = http.server.HTTPServer(("127.0.0.1", 0), Moody)
    server.tries = 0  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    posting = Posting(0.0, "posting-1", ({**ticket_event(), "delivery_id": "d1"},))
    helpdesk = Helpdesk(f"http://127.0.0.1:{server.server_port}/events", SECRET, [posting])
    helpdesk.start()
    assert helpdesk.wait(60)
    server.shutdown()
    server.server_close()
    assert list(helpdesk.receipts.accepted) == ["d1"]
    assert (helpdesk.receipts.repeated, helpdesk.receipts.problems) == (2, [])


ENDLESS = """
import sys, time
from dataclasses import replace
from tests.drill import __main__ as program
program.drill = lambda *_: (print("under way"), time.sleep(100))
program.PROFILES = {"short": replace(program.PROFILES["short"], patience=float(sys.argv[1]))}
sys.argv = ["drill", "--seed", "5"]
sys.exit(program.main())
"""


@pytest.mark.parametrize(
    ("patience", "number", "code", "words"),
    [(4, None, 1, "out of time"), (90, signal.SIGINT, 130, "interrupted")],
)
def test_a_drill_ends_at_its_deadline_and_on_ctrl_c(
    patience: int, number: signal.Signals | None, code: int, words: str
) -> None:
    started = subprocess.Popen(
        [sys.executable, "-u", "-c", ENDLESS, str(patience)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with started:
        assert started.stdout is not None
        assert started.stdout.readline().startswith("drill: seed 5, profile short")
        assert started.stdout.readline() == "under way\n"
        if number:
            started.send_signal(number)
        told = started.stdout.read()
    assert (started.returncode, words in told) == (code, True), told
