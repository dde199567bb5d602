"""`python -m tests.bench.metadata`: the metadata synchronisation compared with a plain serial reader.

The peer reads as python-redmine does: one call after the other on one kept-alive session, a hundred rows per page. It
uses plain requests here, so that the comparison needs no further dependency. Like the library, it keeps what it reads
in memory and checks nothing. Ours also compares with its cache and writes to its database.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import requests
from pydantic import SecretStr

from deploy.sandbox.tracker.control import StandIn
from producer.admin.migrations.upgrading import upgrade
from producer.admin.records.transaction import Store
from shared.metadata.synchronisation import sync_metadata
from shared.store.tables.database import Database
from shared.tracker.client import Target, TrackerClient

LATENCY_MS = 20
LISTS = (
    "/trackers.json",
    "/issue_statuses.json",
    "/enumerations/issue_priorities.json",
    "/enumerations/time_entry_activities.json",
    "/roles.json",
    "/custom_fields.json",
)


class PlainReader:
    """Reads everything in serial calls."""

    def __init__(self, stand_in: StandIn) -> None:
        self._session = requests.Session()
        self._session.headers["X-Redmine-API-Key"] = stand_in.api_key
        self._base_url = stand_in.base_url

    def read(self) -> dict[str, int]:
        """Return the number of rows of each kind."""
        users = self._paged("/users.json", "users")
        projects = self._paged("/projects.json", "projects")
        lists = [self._get(path) for path in LISTS]
        categories = [
            row
            for project in projects
            for row in self._get(f"/projects/{project['id']}/issue_categories.json")["issue_categories"]
        ]
        self._session.close()
        assert all(lists)
        return {"users": len(users), "projects": len(projects), "categories": len(categories)}

    def _paged(self, path: str, name: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        while True:
            answer = self._get(path, limit=100, offset=len(rows))
            rows += answer[name]
            if len(rows) >= answer["total_count"]:
                return rows

    def _get(self, path: str, **params: int) -> dict[str, Any]:
        response = self._session.get(self._base_url + path, params=params, timeout=30)
        response.raise_for_status()
        found: dict[str, Any] = response.json()
        return found


def ours(stand_in: StandIn, store: Store) -> tuple[float, dict[str, int]]:
    """Return the seconds that a synchronisation takes, and the number of rows that it read."""
    client = TrackerClient(Target(stand_in.base_url, SecretStr(stand_in.api_key)))
    started = time.monotonic()
    result = sync_metadata(store, client)
    took = time.monotonic() - started
    return took, {name: result.parts[name].total for name in ("users", "projects", "categories")}


def main() -> int:
    """Measure and print; return 1 if the two did not read the same."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.metadata", description=__doc__)
    parser.add_argument("--users", type=int, default=10_000)
    parser.add_argument("--projects", type=int, default=1_000)
    parser.add_argument("--categories", type=int, default=5, help="of each project")
    size = parser.parse_args()
    arguments = ["--extra-users", str(size.users), "--extra-projects", str(size.projects)]
    arguments += ["--extra-categories", str(size.categories), "--latency-ms", str(LATENCY_MS)]
    with tempfile.TemporaryDirectory() as directory, StandIn(arguments=arguments) as stand_in:
        store = Store(Database(f"sqlite:///{Path(directory)}/bench.sqlite3"))
        upgrade(store.database)
        before = _memory_mb()
        first, read = ours(stand_in, store)
        again, _ = ours(stand_in, store)
        used = _memory_mb() - before
        store.database.close()
        started = time.monotonic()
        read_by_peer = PlainReader(stand_in).read()
        peer = time.monotonic() - started
    if read != read_by_peer:
        print(f"bench: broken run, no figures: {read} and {read_by_peer}", file=sys.stderr)
        return 1
    rows = ", ".join(f"{count} {name}" for name, count in read.items())
    print(
        f"metadata, {rows}, {LATENCY_MS} ms a call: {first:.1f} s into an empty cache, {again:.1f} s into a full one; "
        f"a serial reader {peer:.1f} s ({peer / first:.1f} times); {used:.0f} MB"
    )
    return 0


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
