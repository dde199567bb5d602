"""The commands of the guides work as a newcomer types them, from an empty machine to a synced ticket and beyond."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from sqlalchemy import make_url

from deploy.embedded.child import Child
from deploy.embedded.pginstall import find_programs
from deploy.embedded.ports import HOST, free_port
from deploy.embedded.processes import ProcessGroup
from deploy.sandbox.tracker.control import StandIn
from tests.support.documents import documented, example_event, instead
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PATIENCE_S = 150
PASSWORD = "a long password\n"


class Reader:
    """A person at a shell with their own database, Redis and tracker.

    Args:
        directory: the working directory.
        database_url: SQLAlchemy URL of an empty database.
        redis_url: URL of an empty Redis.
        stand_in: the tracker.
        quick: directory of a `deskbridge` that is forked instead of started from nothing, or None.
    """

    def __init__(
        self, directory: Path, database_url: str, redis_url: str, stand_in: StandIn, quick: Path | None
    ) -> None:
        self.directory, self.stand_in, self.port = directory, stand_in, free_port()
        self.database_url, self.redis_url = database_url, redis_url
        url = make_url(database_url)
        self.database = str(url.database)
        self.database_address = url.set(drivername="postgresql").render_as_string(hide_password=False)
        path = (Path(sys.executable).parent, find_programs(None), os.environ["PATH"])
        self._env = {
            "PATH": ":".join(map(str, path)),
            "HOME": str(directory),
            "EDITOR": "true",
            "PGHOST": str(url.host),
            "PGPORT": str(url.port),
            "PGUSER": str(url.username),
            "PGPASSWORD": str(url.password or ""),
        }
        self._quick = self._env | ({"PATH": f"{quick}:{self._env['PATH']}"} if quick else {})
        self.processes = ProcessGroup(stop_timeout=10)

    def types(self, commands: str, given: str = "", *, from_nothing: bool = False) -> str:
        """Run commands, which must succeed; return their output.

        Args:
            commands: commands as printed on a page.
            given: standard input.
            from_nothing: use the wheel's own `deskbridge`, as `starts` always does.
        """
        ended = subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", self._at_home(commands)],
            input=given,
            cwd=self.directory,
            env=self._env if from_nothing else self._quick,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert ended.returncode == 0, f"{commands}\n{ended.stdout[-3000:]}\n{ended.stderr[-3000:]}"
        return ended.stdout

    def starts(self, commands: str) -> None:
        """Start each line as a separate process, as a supervisor does."""
        for number, line in enumerate(commands.splitlines()):
            command = ["/bin/bash", "-euc", self._at_home(f"exec {line}")]
            child = Child(
                line, command, log=self.directory / f"{number}.log", env=self._env, cwd=self.directory
            )
            self.processes.start(child)

    def _at_home(self, commands: str) -> str:
        env = self.directory / "deskbridge.env"
        return f". {env}\n{commands}" if env.exists() else commands


@pytest.fixture
def reader(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str, redis_url: str
) -> Iterator[Reader]:
    """A reader who has `deskbridge` on their PATH."""
    quick = request.getfixturevalue("shim").directory if sys.platform == "linux" else None
    with StandIn() as stand_in:
        one = Reader(tmp_path, postgres_url, redis_url, stand_in, quick)
        try:
            yield one
        finally:
            one.processes.stop()


@pytest.fixture
def installed(reader: Reader) -> Reader:
    """A reader who has followed `install-by-hand.md` and `connect-redmine.md` up to the running processes."""
    reader.types(
        instead(
            documented("how-to/install-by-hand.md#settings"),
            ('export PATH="/opt/deskbridge/bin:\\$PATH"\n', ""),
            ("postgresql+psycopg2://deskbridge:PASSWORD@db/deskbridge", reader.database_url),
            ("redis://redis:6379/0", reader.redis_url),
        ),
        from_nothing=True,
    )
    reader.types(documented("how-to/install-by-hand.md#tables"), from_nothing=True)
    (reader.directory / "key.txt").write_text(reader.stand_in.api_key, encoding="utf-8")
    reader.types(
        instead(
            documented("how-to/connect-redmine.md#address-and-key")
            + documented("how-to/connect-redmine.md#defaults")
            + documented("how-to/connect-redmine.md#map-entities-and-projects")
            + documented("how-to/connect-redmine.md#more-mappings"),
            ("https://redmine.example.org", reader.stand_in.base_url),
            ("entity 3 12", "entity 3 1"),
        )
    )
    reader.starts(
        instead(
            documented("how-to/install-by-hand.md#processes"),
            ("deskbridge producer", f"deskbridge producer --host {HOST} --port {reader.port}"),
            ("deskbridge console", f"deskbridge console --port {free_port()}"),
        )
    )
    ready = f"http://{HOST}:{reader.port}/readyz"

    def answers() -> bool:
        try:
            return requests.get(ready, timeout=5).ok
        except requests.RequestException:
            return False

    until(answers, "the producer does not answer", PATIENCE_S)
    doctor = "deskbridge doctor && echo ready || true"
    until(lambda: "ready" in reader.types(doctor), lambda: reader.types(doctor), PATIENCE_S, every=1)
    return reader


def test_by_hand_from_nothing_to_a_synced_ticket_and_on(installed: Reader) -> None:
    url = f"http://{HOST}:{installed.port}/events"
    held: dict[str, Any] = installed.stand_in.state()
    said = installed.types(
        instead(
            documented("how-to/send-test-event.md#send-a-test-event"),
            ("send --sample", f"send --sample --url {url}"),
        )
    )
    assert "As expected: issue #" in said
    assert installed.types("deskbridge event list --json").strip() == "[]", "the sample leaves nothing"
    now = installed.stand_in.state()
    assert (len(now["issues"]), now["time_entries"]) == (len(held["issues"]), [])
    (installed.directory / "event.json").write_text(example_event(), encoding="utf-8")
    signed = instead(
        documented("how-to/connect-other.md#sign-in-a-shell"), ("http://127.0.0.1:8080/events", url)
    )
    assert "202 Accepted" in installed.types(signed)

    def states() -> list[str]:
        return [one["state"] for one in json.loads(installed.types("deskbridge event list --json"))]

    until(
        lambda: states() == ["done"],
        lambda: installed.types("deskbridge ticket history 4711"),
        PATIENCE_S,
        every=0.5,
    )
    event_id = json.loads(installed.types("deskbridge event list --json"))[0]["id"]
    held = installed.stand_in.state()
    assert [entry["hours"] for entry in held["time_entries"]] == [1.5]

    installed.types(documented("how-to/connect-glpi-plugin.md#verify"))

    said = installed.types(documented("how-to/console-accounts.md#accounts"), PASSWORD)
    assert "/console/" in said
    installed.types(
        instead(
            documented("how-to/templates.md#from-a-draft-to-production"),
            ("--event 17", f"--event {event_id}"),
        )
    )
    assert len(installed.stand_in.state()["issues"]) == len(held["issues"]), "a dry run cleans up"


@pytest.fixture
def with_tables(reader: Reader) -> Reader:
    """A reader whose database has its tables; nothing else is set up."""
    (reader.directory / "deskbridge.env").write_text(
        f"export DESKBRIDGE_DATABASE_URL={reader.database_url}\n", encoding="utf-8"
    )
    reader.types("deskbridge migrate")
    return reader


def test_a_backup_is_restored(with_tables: Reader) -> None:
    reader, address = with_tables, ("postgresql://deskbridge@db/deskbridge", with_tables.database_address)
    reader.types("deskbridge mapping add entity 9 1")
    reader.types(instead(documented("how-to/backup.md#back-up"), address))
    reader.types("deskbridge mapping remove entity 9")
    named = (
        "dropdb deskbridge && createdb deskbridge",
        f"dropdb {reader.database} && createdb {reader.database}",
    )
    owner = ("--owner=deskbridge", f"--owner={make_url(reader.database_url).username}")
    reader.types(instead(documented("how-to/backup.md#restore"), named, owner, address))
    assert [link["id"] for link in json.loads(reader.types("deskbridge mapping list --json"))] == [9]


def test_the_producer_gets_a_role_of_its_own(with_tables: Reader) -> None:
    reader, role = with_tables, f"producer_{with_tables.port}"
    psql = f"psql -v ON_ERROR_STOP=1 {reader.database}"
    own = instead(
        documented("explanation/security.md#how-to-run-it-so"),
        ("psql deskbridge", psql),
        ("deskbridge_producer", role),
    )
    try:
        reader.types(own)
        assert f"{role}=a" in reader.types(f"{psql} -c '\\dp'"), "it may append"
    finally:
        reader.types(f"{psql} -qc 'DROP OWNED BY {role}' -c 'DROP ROLE {role}'")


def test_tables_of_the_plugin_before_are_imported(with_tables: Reader) -> None:
    reader = with_tables
    for name, text in {
        "tickets": "tickets_id,issue_id\n4711,12\n",
        "times": "tickettasks_id,tickets_id,time_entry_id\n512,4711,3\n",
        "entities": "entities_id,project_id\n3,1\n",
        "projects": "projects_id,project_id\n40,4\n",
        "users": "users_id,tracker_user_id\n7,5\n",
    }.items():
        (reader.directory / f"{name}.csv").write_text(text, encoding="utf-8")
    reader.types(documented("how-to/import-history.md#take-over-the-tables-of-plugin-1x"))
    links = json.loads(reader.types("deskbridge mapping list --json"))
    assert len(links) == 2
