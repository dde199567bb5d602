"""A process reports to systemd that it is ready and alive."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from shared.process.supervisor import LIVES, READY, notify
from worker import health
from worker.health import Health

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="systemd is Linux's")


@pytest.fixture(params=["file", "abstract"])
def systemd(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[socket.socket]:
    """The socket of a supervisor that started this process."""
    address = str(tmp_path / "notify") if request.param == "file" else f"@deskbridge-{tmp_path.name}"
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as listening:
        listening.bind(address.replace("@", "\0", 1) if request.param == "abstract" else address)
        listening.settimeout(10)
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        yield listening


def test_the_supervisor_gets_each_state(systemd: socket.socket) -> None:
    notify(READY)
    notify(LIVES)
    assert [systemd.recv(100), systemd.recv(100)] == [b"READY=1", b"WATCHDOG=1"]


@pytest.mark.parametrize("address", ["", "/nowhere/notify"])
def test_without_a_supervisor_that_listens_nothing_happens(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    notify(LIVES)


def test_a_process_whose_work_stands_still_does_not_say_that_it_lives(
    systemd: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "LOOK_S", 0.01)
    looks, path = [True, False, False], tmp_path / "heartbeat"
    may_end = threading.Event()

    def lives() -> bool:
        if looks:
            return looks.pop(0)
        may_end.set()
        threading.Event().wait()  # the daemon thread blocks here
        return False

    made = Health(str(path))
    made.look = lives
    made.start()
    assert may_end.wait(10)
    assert {systemd.recv(100), systemd.recv(100)} == {b"READY=1", b"WATCHDOG=1"}
    systemd.setblocking(False)
    with pytest.raises(BlockingIOError):
        systemd.recv(100)
    assert path.exists()
