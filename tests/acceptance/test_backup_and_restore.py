"""The steps of docs/how-to/backup.md work: pg_dump, more work, pg_restore, restore, and every event sent again."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from deploy.embedded.pginstall import find_programs
from deploy.embedded.postgres import PostgresServer
from tests.support.bridge import STATUS_MAP
from tests.support.events import ALICE, BOB, DONE, moment, task, ticket
from tests.support.fleet import Fleet
from tests.support.workload import Expected, Workload, generate

pytestmark = pytest.mark.promise("OPS-04")

SYNCED_WITHIN_S = 150
WATCHED_S = 15
"""Longer than the sweep and a pause: a worker that would send anything has done so."""


@pytest.fixture
def fleet(new_fleet: Fleet) -> Fleet:
    """A started installation with one worker."""
    return new_fleet.start(workers=1, threads=8)


def postgres(program: str, *arguments: str) -> None:
    """Run a PostgreSQL program of the same version as the server."""
    done = subprocess.run(
        [find_programs(None) / program, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def address(url: str) -> str:
    """Return a database's URL in the form that PostgreSQL's programs accept."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def more(workload: Workload) -> Workload:
    """Add what happens after the backup: edited titles, status changes, and tickets with equal texts."""
    deliveries, expected = [], dict(workload.expected)
    same = {"title": "Ticket 99 day", "content": "the same"}
    for number, ticket_id in enumerate((901, 902, 903)):
        event = {
            "event": "ticket_task.added",
            "occurred_at": moment(5000 + number),
            "ticket": ticket(ticket_id, **same, technician=ALICE),
            "task": task(ticket_id, user=BOB, state=DONE, content="Task equal"),
        }
        deliveries.append((f"equal-{ticket_id}", event))
    for ticket_id, one in workload.expected.items():
        edited = ticket(ticket_id, title=f"Ticket {ticket_id} edited day", status=6)
        event = {"event": "ticket.updated", "occurred_at": moment(6000 + ticket_id), "ticket": edited}
        deliveries.append((f"edited-{ticket_id}", event))
        expected[ticket_id] = Expected(6, one.tasks)
    return Workload([*workload.deliveries, *deliveries], expected)


def counted(fleet: Fleet) -> dict[str, Any]:
    state = fleet.stand_in.state()
    return {
        "issues": sorted(one["id"] for one in state["issues"]),
        "entries": sorted(one["id"] for one in state["time_entries"]),
        "statuses": {one["id"]: one["status_id"] for one in state["issues"]},
    }


@pytest.mark.slow
def test_yesterday_s_backup_is_restored_and_everything_sent_again_without_a_duplicate(
    fleet: Fleet, postgres_server: PostgresServer, postgres_url: str, tmp_path: Path
) -> None:
    workload = generate(6, tickets=15, events=60, copies=1)
    later = more(workload)
    third = len(workload.deliveries) // 3
    fleet.send(workload.deliveries[:third])
    fleet.wait_until_synced(SYNCED_WITHIN_S)
    fleet.send(workload.deliveries[third : 2 * third])  # some events are in flight when the backup is made
    backup = str(tmp_path / "deskbridge.dump")
    postgres("pg_dump", "--format=custom", f"--file={backup}", address(postgres_url))
    fleet.send(later.deliveries[2 * third :])
    fleet.wait_until_synced(SYNCED_WITHIN_S)
    before = counted(fleet)

    fleet.stop_processes()
    fleet.bridge.store.database.close()
    name = str(make_url(postgres_url).database)
    postgres_server.drop_database(name)
    postgres_server.create_database(name)
    postgres("pg_restore", "--exit-on-error", "--no-owner", f"--dbname={address(postgres_url)}", backup)
    recovered = fleet.run("restore", "begin")
    assert recovered.returncode == 0, recovered.stderr

    fleet.start(workers=1, threads=8)
    fleet.send(later.deliveries)
    fleet.wait_until_synced(SYNCED_WITHIN_S)
    assert counted(fleet) == before, fleet.logs()
    issues = fleet.stand_in.state()["issues"]
    assert {
        one["status_id"] for one in issues if one["subject"].endswith(" day") and " 99 " not in one["subject"]
    } == {STATUS_MAP[6]}
    assert sum(one["subject"] == "Ticket 99 day" for one in issues) == 3
    assert set(fleet.states()) <= {"done", "skipped", "superseded"}, fleet.states()
    ended = fleet.run("restore", "end")
    assert (ended.returncode, ended.stderr) == (0, "")


def restored(fleet: Fleet, server: PostgresServer, url: str, backup: str, how: str) -> None:
    """Restore a backup while every process goes on, as nobody should."""
    fleet.bridge.store.database.close()
    options = ["--exit-on-error", "--no-owner", "--no-acl", f"--dbname={address(url)}"]
    if how == "into a new database":
        name = str(make_url(url).database)
        server.drop_database(name)
        server.create_database(name)
    else:
        options += ["--clean", "--if-exists", "--single-transaction"]
    postgres("pg_restore", *options, backup)


@pytest.mark.slow
@pytest.mark.promise("OPS-33")
@pytest.mark.parametrize("how", ["into a new database", "over the old one"])
def test_a_restore_under_running_processes_sends_nothing_until_a_person_begins_it(
    fleet: Fleet, postgres_server: PostgresServer, postgres_url: str, tmp_path: Path, how: str
) -> None:
    workload = generate(7, tickets=12, events=40, copies=1)
    half = len(workload.deliveries) // 2
    fleet.send(workload.deliveries[:half])
    fleet.wait_until_synced(SYNCED_WITHIN_S)
    backup = str(tmp_path / "deskbridge.dump")
    postgres("pg_dump", "--format=custom", f"--file={backup}", address(postgres_url))
    fleet.send(workload.deliveries[half:])
    fleet.wait_until_synced(SYNCED_WITHIN_S)
    before = counted(fleet)

    restored(fleet, postgres_server, postgres_url, backup, how)
    fleet.send(workload.deliveries)
    assert is_refused(fleet), "the doctor names it"
    time.sleep(WATCHED_S)
    assert counted(fleet) == before
    assert fleet.states().get("pending"), "the producer has accepted them"
    ended = fleet.run("restore", "end")
    assert counted(fleet) == before, ended.stdout
    assert is_refused(fleet), "this command alone confirms nothing"

    for _ in range(2):
        begun = fleet.run("restore", "begin")
        assert (begun.returncode, "a worker was running" in begun.stderr) == (0, True)
    refused = fleet.run("restore", "end")
    assert "pending" in refused.stderr
    fleet.wait_until_synced(SYNCED_WITHIN_S)
    assert counted(fleet) == before, fleet.logs()
    for said in ("Recovery mode is off.", "Recovery mode was already off."):
        assert said in fleet.run("restore", "end").stdout


def is_refused(fleet: Fleet) -> bool:
    """Return whether the doctor fails on the database, within a few seconds."""
    found = json.loads(fleet.run("doctor", "--json").stdout)
    return any((one["check"], one["status"]) == ("recovery", "failure") for one in found)
