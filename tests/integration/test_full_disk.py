"""A database with a full disk still answers queries but stores nothing: what people see, and how work resumes."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from deploy.embedded.postgres import PostgresServer
from deploy.sandbox.tracker.control import StandIn
from producer.admin.doctor.examination import examine
from producer.admin.doctor.finding import Status
from shared.notices.doctor_service import ServiceFinding
from tests.integration.test_doctor import installation
from tests.support.bridge import Bridge
from tests.support.events import task, task_event

pytestmark = [pytest.mark.slow, pytest.mark.stand_in]
SIZE = "120m"


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A small disk that PostgreSQL's account can access. Only root can create it."""
    disk = Path(tempfile.mkdtemp(prefix="deskbridge-disk-"))
    made = run("mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "tmpfs", str(disk))
    try:
        if made.returncode:
            assert not os.environ.get("CI"), made.stderr
            pytest.skip(f"no small disk can be made: {made.stderr.strip()}")
        yield disk
        assert run("umount", str(disk)).returncode == 0
    finally:
        disk.rmdir()


def run(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program."""
    return subprocess.run(
        [shutil.which(command) or command, *arguments], capture_output=True, text=True, check=False
    )


def fill(disk: Path) -> Path:
    """Fill a disk to the last byte."""
    filling = disk / "filling"
    with filling.open("wb", buffering=0) as out:
        for size in (65536, 4096):
            while shutil.disk_usage(disk).free >= size:
                out.write(bytes(size))
    return filling


@pytest.fixture
def bridge_on_small_disk(
    small_disk: Path, tmp_path: Path, stand_in: StandIn, redis_url: str
) -> Iterator[Bridge]:
    """A deskbridge whose PostgreSQL server is on a small disk."""
    server = PostgresServer(tmp_path / "server", homes=[small_disk])
    server.start()
    made = Bridge(server.create_database("deskbridge"), redis_url, stand_in.base_url, stand_in.api_key)
    try:
        yield made
    finally:
        made.close()
        server.stop()


def test_a_full_disk_is_named_and_when_there_is_room_again_it_goes_on(
    bridge_on_small_disk: Bridge, small_disk: Path, stand_in: StandIn
) -> None:
    bridge = bridge_on_small_disk
    assert next(examine(installation(bridge))).status is Status.OK
    filling = fill(small_disk)
    long = [task_event(number, of_task=task(number, content="x" * 20_000)) for number in range(1, 30)]
    with pytest.raises(OperationalError, match="No space left on device"):
        for one in long:
            bridge.receive(one)
    first = next(examine(installation(bridge)))
    assert (first.status, first.found.code) == (Status.FAILURE, ServiceFinding.DATABASE_FULL)
    assert "No space left on device" in first.what
    assert "free disk space on the database server; GLPI sends rejected events again" in first.todo
    filling.unlink()
    assert next(examine(installation(bridge))).status is Status.OK
    assert bridge.forward(task_event(40, of_task=task(40))) == ["done"]
