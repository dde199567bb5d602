"""`make run` forwards the sample events, shows the result of each, and leaves no process behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from redis import Redis
from redis.exceptions import AuthenticationError

from deploy.embedded.ports import is_free
from deploy.embedded.workplace import ROOT
from deploy.sandbox.samples import load_samples
from deploy.sandbox.tracker.seed import DEFAULT_KEY
from producer.helpdesks.glpi.events import Item, read
from shared.events.event import Deletion, Event
from shared.events.parsing import parse_event
from tests.support.documents import documented, instead
from tests.support.make_run import UP, Start, running

pytestmark = pytest.mark.slow

SAMPLES = load_samples()
PROCESSES = 6  # Redis, mock Redmine, producer, worker, beat, console


def assert_gone(children: dict[int, str]) -> None:
    """Wait until the processes have ended; the kernel ends some of them shortly after their parent."""
    assert len(children) in (PROCESSES, PROCESSES - 1), children  # the console starts last
    deadline = time.monotonic() + 30
    while left := [pid for pid, _, command in running() if children.get(pid) == command]:
        assert time.monotonic() < deadline, [children[pid] for pid in left]
        time.sleep(0.05)


@pytest.fixture
def starts(directory: Path) -> Iterator[list[Start]]:
    """A list for the test's starts, each of which is killed at the end of the test."""
    begun: list[Start] = []
    yield begun
    for start in begun:
        start.kill()


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Start:
    """The finished first start in a fresh directory, typed as in the README but without the checkout."""
    fetch, line = documented("README.md#see-it-work").splitlines()
    assert fetch == "git clone … deskbridge && cd deskbridge"
    run = line.partition("#")[0].strip()
    directory = tmp_path_factory.mktemp("run") / "var"
    once = instead(run, ("make run", f'make run RUN_FLAGS="--once --dir {directory}"'))
    start = Start(directory, typed=once)
    assert start.end() == 0, start.output
    return start


@pytest.fixture(scope="module")
def directory(first: Start) -> Path:
    """The directory of an installation that has forwarded everything."""
    return first.directory


def table(output: str) -> list[str]:
    """Return the lines of the result table."""
    lines = output.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("Ticket "))
    end = next(number for number, line in enumerate(lines) if "events ended as expected" in line)
    return lines[begin:end]


def test_the_first_start_forwards_every_sample_and_shows_what_became_of_it(first: Start) -> None:
    total = len(SAMPLES.deliveries)
    assert f"✓ All {total} events ended as expected" in first.output
    rows = [line for line in table(first.output) if line.startswith("✓")]
    assert [sample.what for sample in SAMPLES.deliveries] == [line[6:37].strip() for line in rows]
    assert "512 → #" in first.output
    assert "Ticket 4712 → issue #" in first.output


def test_the_output_is_plain_text_of_110_columns_where_it_is_no_terminal(first: Start) -> None:
    assert "\x1b" not in first.output
    assert max(map(len, table(first.output))) <= 110


@pytest.fixture(scope="module")
def up(first: Start) -> Iterator[Start]:
    """A second start, which is up."""
    yield from staying_up(first.directory)


def staying_up(directory: Path) -> Iterator[Start]:
    """Start it and wait until it is up; it runs until a test stops it or the module's tests are over."""
    start = Start(directory)
    try:
        start.wait_for(UP)
        yield start
    finally:
        start.kill()


def test_a_second_start_finds_the_first_ones_data_and_changes_nothing(first: Start, up: Start) -> None:
    assert "sending them again changed nothing" in up.output
    assert table(up.output) == table(first.output)


def test_secrets_are_readable_by_their_owner_only(directory: Path) -> None:
    for name in ("fernet-key", "webhook-secret", "tracker.json"):
        assert (directory / name).stat().st_mode & 0o077 == 0, name
    assert (directory / "webhook-secret").read_text() not in (directory / "env").read_text()


@pytest.mark.promise("SEC-85")
def test_other_users_of_the_machine_can_neither_read_its_files_nor_use_its_redis(up: Start) -> None:
    files = [up.directory, *up.directory.rglob("*")]
    assert [path.name for path in files if path.stat().st_mode & 0o077] == []
    port = json.loads((up.directory / "ports.json").read_text())["redis"]
    with Redis(port=port) as stranger, pytest.raises(AuthenticationError):
        stranger.info()


@pytest.mark.promise("SEC-85")
def test_other_users_of_the_machine_can_neither_sign_in_to_its_mock_redmine_nor_control_it(up: Start) -> None:
    port = json.loads((up.directory / "ports.json").read_text())["tracker"]
    own = (up.directory / "redmine-key").read_text().strip()
    for path in ("/users/current.json", "/_control/state"):
        statuses = [
            requests.get(
                f"http://127.0.0.1:{port}{path}", headers={"X-Redmine-API-Key": key}, timeout=10
            ).status_code
            for key in (own, DEFAULT_KEY, "")
        ]
        assert statuses == [200, 401, 401], path
    assert own not in str(up.children()), "every user can read arguments"


def test_another_start_at_once_says_that_one_is_running(up: Start, starts: list[Start]) -> None:
    second = Start(up.directory, "--once")
    starts.append(second)
    assert second.end() == 1
    assert "already running" in second.output
    assert "Traceback" not in second.output


def test_the_env_file_makes_the_command_line_work(up: Start) -> None:
    command = '. "$0" && exec "$1" -m producer.cli.main event list --json'
    shown = subprocess.run(
        ["/bin/sh", "-c", command, up.directory / "env", sys.executable],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={"PATH": os.defpath},
    )
    assert {row["ticket_id"] for row in json.loads(shown.stdout)} == set(SAMPLES.by_ticket)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with a killed parent")
def test_killing_it_leaves_no_process(up: Start) -> None:
    children = up.children()
    up.kill()
    assert_gone(children)


@pytest.fixture(scope="module")
def third(directory: Path, up: Start) -> Iterator[Start]:
    """A start after the previous one was killed."""
    up.kill()
    yield from staying_up(directory)


def test_the_start_after_one_that_was_killed_finds_everything(first: Start, third: Start) -> None:
    assert "sending them again changed nothing" in third.output
    assert table(third.output) == table(first.output)


def test_it_stays_up_until_ctrl_c_and_then_leaves_no_process(third: Start) -> None:
    children = third.children()
    assert "/events" in third.output
    assert "/api/openapi.json" in third.output
    third.send(signal.SIGINT)
    assert third.end() == 0, third.output
    assert_gone(children)
    ports = json.loads((third.directory / "ports.json").read_text())
    assert all(is_free(port) for port in ports.values())


def test_a_process_that_dies_ends_all_with_its_last_words(directory: Path, starts: list[Start]) -> None:
    start = Start(directory)
    starts.append(start)
    start.wait_for(UP)
    while "worker worker" not in str(start.children()):  # at UP it may still be the CLI, before its exec
        time.sleep(0.01)
    children = start.children()
    os.kill(next(pid for pid, command in children.items() if "worker worker" in command), signal.SIGKILL)
    assert start.end() == 1
    assert "has ended (SIGKILL)" in start.output
    assert "Traceback" not in start.output.split(UP)[1].split("has ended")[0]
    assert_gone(children)


def test_ctrl_c_while_it_starts_leaves_no_process(tmp_path: Path, starts: list[Start]) -> None:
    start = Start(tmp_path / "var")
    starts.append(start)
    while "worker beat" not in str(start.children()):
        time.sleep(0.01)
    children = start.children()
    start.send(signal.SIGINT)
    assert start.end() == 128 + signal.SIGINT
    assert_gone(children)
    assert "Traceback" not in start.output


def test_a_tracker_that_holds_something_else_is_told(directory: Path, starts: list[Start]) -> None:
    file = directory / "tracker.json"
    held = file.read_text(encoding="utf-8")
    change_hours(file, 3.0, 4.0)
    changed = Start(directory, "--once")
    starts.append(changed)
    assert changed.end() == 1
    file.write_text(held, encoding="utf-8")
    assert "✗ 1 of 23 events did not end as expected" in changed.output
    assert "hours is 4.0, not 3.0" in " ".join(changed.output.split())


def change_hours(file: Path, before: float, after: float) -> None:
    """Change the hours of a time entry in the tracker's state file, unnoticed by deskbridge."""
    state = json.loads(file.read_text(encoding="utf-8"))
    (entry,) = [row for row in state["tables"]["time_entries"] if row["hours"] == before]
    entry["hours"] = after
    file.write_text(json.dumps(state), encoding="utf-8")


def test_every_sample_is_a_valid_event() -> None:
    for sample in SAMPLES.deliveries:
        event = parse_event(sample.event) if sample.glpi is None else of_glpi(*sample.glpi)
        assert (event.ticket.id, event.task and event.task.id) == (sample.ticket_id, sample.task_id)
        assert event.ticket.id in SAMPLES.tickets


def of_glpi(item: str, body: str) -> Event | Deletion:
    """Return the event that the producer makes from the body of a GLPI webhook."""
    delivery = read(Item(item), body.encode(), "a-delivery")
    assert delivery is not None
    return delivery.event


def test_the_samples_show_every_end_that_needs_no_person() -> None:
    assert {sample.state for sample in SAMPLES.deliveries} == {"done", "skipped", "superseded"}
    assert any(sample.duplicate for sample in SAMPLES.deliveries)
    assert any(sample.fault for sample in SAMPLES.deliveries)
