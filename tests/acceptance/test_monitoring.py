"""Each process reports its health to a monitor: over its port, by the age of a file, and to systemd."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
import requests

from deploy.embedded.ports import HOST, free_port
from deploy.embedded.redis import RedisServer
from tests.support.events import task_event
from tests.support.fleet import Fleet
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

STARTED_WITHIN_S = 90


def ask(port: int, path: str) -> requests.Response | None:
    try:
        return requests.get(f"http://{HOST}:{port}{path}", timeout=20)
    except requests.RequestException:
        return None


def status(port: int, path: str) -> int | None:
    answer = ask(port, path)
    return answer.status_code if answer is not None else None


def is_stopped(pid: int) -> bool:
    """Return whether SIGSTOP has already stopped a process."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest.fixture
def fleet(lasting_fleet: Fleet, redis_url: str) -> Iterator[Fleet]:
    """A fleet without workers and with an empty broker."""
    yield lasting_fleet
    lasting_fleet.kill_workers()


def test_a_worker_shows_what_it_did_and_whether_it_is_ready(fleet: Fleet, redis_server: RedisServer) -> None:
    port = free_port()
    fleet.add_worker(2, DESKBRIDGE_MONITOR_LISTEN=f"{HOST}:{port}")
    until(lambda: status(port, "/readyz") == 200, fleet.logs, STARTED_WITHIN_S)
    fleet.send([("one", task_event())])
    fleet.wait_until_synced(90)
    shown = ask(port, "/metrics")
    assert shown is not None
    assert 'deskbridge_events_ended_total{code="time_logged",outcome="done"} 1.0' in shown.text
    assert 'deskbridge_build_info{process="worker"' in shown.text
    assert "deskbridge_rings_waiting 0.0" in shown.text
    assert status(port, "/nothing") == 404
    redis_server.kill()
    until(lambda: status(port, "/readyz") == 503, "Redis is away", 60)
    assert status(port, "/livez") == 200, "that is no reason to kill it"
    assert fleet.workers[0].alive


def test_a_client_that_says_nothing_keeps_nobody_else_waiting(fleet: Fleet) -> None:
    port = free_port()
    fleet.add_worker(2, DESKBRIDGE_MONITOR_LISTEN=f"{HOST}:{port}")
    until(lambda: status(port, "/livez") == 200, fleet.logs, STARTED_WITHIN_S)
    with socket.create_connection((HOST, port)) as silent:
        assert status(port, "/livez") == 200
        silent.settimeout(60)
        assert silent.recv(1) == b"", "it is cut off"


def test_the_file_of_a_worker_that_stands_still_grows_old(fleet: Fleet, tmp_path: Path) -> None:
    beat = tmp_path / "worker-beat"
    worker = fleet.add_worker(2, DESKBRIDGE_HEARTBEAT_PATH=str(beat))
    until(beat.exists, fleet.logs, STARTED_WITHIN_S)
    first = beat.stat().st_mtime
    until(lambda: beat.stat().st_mtime > first, "it lives", 60)
    worker.send_signal(signal.SIGSTOP)
    try:
        until(lambda: is_stopped(worker.pid))
        stopped = beat.stat().st_mtime
        time.sleep(6)
        assert beat.stat().st_mtime == stopped
    finally:
        worker.send_signal(signal.SIGCONT)
    until(lambda: beat.stat().st_mtime > stopped, "it goes on", 60)


@pytest.mark.parametrize("process", ["worker", "beat"])
def test_systemd_is_told_that_a_process_is_ready_and_then_that_it_lives(
    fleet: Fleet, tmp_path: Path, process: str
) -> None:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(STARTED_WITHIN_S)
        child = fleet.processes.start(
            fleet.child("supervised", process, NOTIFY_SOCKET=str(tmp_path / "notify"))
        )
        assert {systemd.recv(100), systemd.recv(100)} == {b"READY=1", b"WATCHDOG=1"}
        assert systemd.recv(100) == b"WATCHDOG=1"
        child.send_signal(signal.SIGSTOP)
        try:
            until(lambda: is_stopped(child.pid))
            systemd.setblocking(False)
            with suppress(BlockingIOError):
                while systemd.recv(100):
                    pass
            systemd.settimeout(7)
            with pytest.raises(TimeoutError):
                systemd.recv(100)
        finally:
            child.send_signal(signal.SIGCONT)
        systemd.settimeout(STARTED_WITHIN_S)
        assert systemd.recv(100) == b"WATCHDOG=1", "it goes on"


def test_a_beat_is_asked_likewise(fleet: Fleet) -> None:
    port = free_port()
    fleet.processes.start(fleet.child("another", "beat", DESKBRIDGE_MONITOR_LISTEN=f"{HOST}:{port}"))
    until(lambda: status(port, "/readyz") == 200, fleet.logs, STARTED_WITHIN_S)
    shown = ask(port, "/metrics")
    assert shown is not None
    assert 'deskbridge_build_info{process="beat"' in shown.text


def test_no_process_gives_who_asks_how_it_is_a_cookie(fleet: Fleet) -> None:
    worker, beat, console = free_port(), free_port(), free_port()
    fleet.add_worker(2, DESKBRIDGE_MONITOR_LISTEN=f"{HOST}:{worker}")
    fleet.processes.start(fleet.child("another", "beat", DESKBRIDGE_MONITOR_LISTEN=f"{HOST}:{beat}"))
    fleet.processes.start(fleet.child("console", "console", "--port", str(console)))
    for port in (fleet.port, worker, beat, console):
        for path in ("/livez", "/readyz", "/metrics"):
            until(lambda port=port, path=path: status(port, path) == 200, fleet.logs, STARTED_WITHIN_S)  # type: ignore[misc]
            answer = ask(port, path)
            assert answer is not None
            assert "Set-Cookie" not in answer.headers, (port, path)


def test_a_port_that_is_taken_is_said_at_the_start(fleet: Fleet) -> None:
    with socket.create_server((HOST, 0)) as taken:
        at = f"{HOST}:{taken.getsockname()[1]}"
        ended = fleet.run("worker", DESKBRIDGE_MONITOR_LISTEN=at)
    assert ended.returncode == 2
    assert at in ended.stdout + ended.stderr
