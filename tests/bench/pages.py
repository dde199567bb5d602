"""`python -m tests.bench.pages`: every page of the console over a million rows in each table, on PostgreSQL.

A page may take WORST_MS. Beside each stands how often that is what a page takes that shows nothing out of the database
but who is signed in: sessions, frame and HTTP.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import requests
from cryptography.fernet import Fernet
from pydantic import SecretStr
from sqlalchemy import text

from producer.admin.access.accounts import AccountStore
from producer.admin.migrations.upgrading import upgrade
from producer.admin.records.rights import Right
from producer.admin.records.transaction import Store
from producer.console.app import create_console
from shared.connection.vault import Vault
from shared.metadata.synchronisation import synchronise
from shared.process.settings import Settings
from shared.store.tables.database import Database
from tests.bench.retention import FEW, MANY, growing
from tests.bench.servers import Servers, servers
from tests.support.serving import Served

WORST_MS = 150.0
TIMES = 5
EMPTY = "/account"
Loaded = tuple[float, float, float]
PASSWORD = "correct horse battery staple"
PAGES = (
    EMPTY,
    "",
    "/events",
    "/events?state=failed",
    "/events?state=pending",
    "/events?kind=ticket_task.updated&below=500000",
    "/events?kind=ticket.updated",
    "/events?ticket=50",
    "/events?from=2026-01-01T00:00&to=2026-12-31T00:00",
    "/events?code=because&state=failed",
    "/tickets/50",
    "/held",
    "/held?after=150",
    "/links",
    "/links?find=77",
    "/links/entity/3",
    "/people",
    "/authors",
    "/authors?below=2026-06-01T00:00:00%2B00:00/ticket/1",
    "/people?find=77",
    "/templates",
    "/templates/new?operation=issue.create",
    "/settings",
    "/changes",
    "/access",
    "/search/projects?q=Project",
    "/search/users?q=user",
)
FILLINGS = (
    """INSERT INTO tracker_user (tracker_user_id, login, name, mail, mail_key, admin)
       SELECT 1000 + i, 'user' || i, 'User ' || i, i || '@example.test', i || '@example.test', false
       FROM generate_series(1, 5000) i""",
    """INSERT INTO helpdesk_user (helpdesk_user_id, email, seen_at)
       SELECT i, i || '@example.test', now() FROM generate_series(1, 5000) i""",
    """INSERT INTO user_pin (helpdesk_user_id, tracker_user_id, pinned_at, confirmed_at)
       SELECT i, 1000 + i, now(), CASE WHEN i % 2 = 0 THEN now() END FROM generate_series(1, 3000) i""",
    """INSERT INTO user_map (helpdesk_user_id, tracker_user_id)
       SELECT i, 1000 + i FROM generate_series(4000, 4500) i""",
    """INSERT INTO metadata_row (kind, tracker_id, name, tracker_project_id, details)
       SELECT 'project', 1000 + i, 'Project ' || i, NULL,
           json_build_object('identifier', 'project-' || i, 'parent_id', NULL, 'is_public', true)::json
       FROM generate_series(1, 1000) i""",
    """INSERT INTO entity_link (entity_id, tracker_project_id, default_category_id)
       SELECT i, 1000 + i, NULL FROM generate_series(1, 1000) i""",
    """INSERT INTO misattributed (kind, key, ticket_id, tracker_id, at, reason, code, params)
       SELECT 'ticket', i, i, i, timestamptz '2026-01-01' + i * interval '1 minute', 'switch_was_ignored',
           'switch_was_ignored', '{}'
       FROM generate_series(1, 400000) i""",
    """INSERT INTO change_record (at, who, code, params)
       SELECT now() - i * interval '1 minute', 'claire', 'metadata_read', '{}'
       FROM generate_series(1, 100000) i""",
)
"""A large organisation: thousands of people, a thousand projects with their entities, years of changes."""


@dataclass(frozen=True)
class Figure:
    """One page.

    Attributes:
        few_ms: over FEW rows.
        many_ms: over all of them: the median.
        worst_ms: the slowest of TIMES.
        kilobytes: how large it is.
        ratio: to the page with nothing on it.
    """

    page: str
    few_ms: float
    many_ms: float
    worst_ms: float
    kilobytes: float
    ratio: float

    @property
    def is_met(self) -> bool:
        """Whether it is quick enough."""
        return self.many_ms <= WORST_MS


def measure(started: Servers, many: int) -> list[Figure]:
    """Fill an empty database, and load every page over few and over many rows."""
    with large_console(started) as (database, load):
        return figures(*growing(database, many, load))


@contextmanager
def large_console(started: Servers) -> Iterator[tuple[Database, Callable[[], dict[str, Loaded]]]]:
    """Serve the console of a large organisation; its database, and what loads every page."""
    url = started.postgres.create_database("pages")
    database = Database(url)
    upgrade(database)
    settings = Settings(
        database_url=SecretStr(url),
        redis_url=SecretStr(started.redis.database_url(0)),
        secret_keys=(SecretStr(Fernet.generate_key().decode()),),
    )
    _set_up(Store(database), settings, started)
    console = Served(create_console(settings))
    console.start()
    desk = console.app.state.desk
    synchronise(desk.store, desk.locks, desk.connector.connect)
    with database.engine.begin() as connection:
        for filling in FILLINGS:
            connection.execute(text(filling))
    try:
        visitor = _signed_in(console)
        yield database, lambda: {page: _load(console, visitor, page) for page in PAGES}
    finally:
        console.stop()
        database.close()


def figures(few: dict[str, Loaded], many: dict[str, Loaded]) -> list[Figure]:
    """Return what the pages took over few rows and over many."""
    empty = many[EMPTY][0]
    return [
        Figure(page or "overview", few[page][0], median, worst, size, median / empty)
        for page, (median, worst, size) in many.items()
    ]


def _set_up(store: Store, settings: Settings, started: Servers) -> None:
    vault = Vault(settings.secret_keys)
    with store.transaction() as tx:
        tx.configs.put_api_key(vault.encrypt(SecretStr(started.stand_in.api_key)))
        config, _ = tx.configs.get()
        tx.configs.put(config.changed({"base_url": started.stand_in.base_url}))
    AccountStore(store).add("claire", PASSWORD, Right.ADMINISTRATOR)


def _signed_in(console: Served) -> requests.Session:
    answer = console.http.post(
        f"{console.base_url}/console/sign-in",
        data={"name": "claire", "password": PASSWORD},
        headers={"Sec-Fetch-Site": "same-origin"},
        allow_redirects=False,
        timeout=30,
    )
    assert answer.status_code == 303, answer.status_code
    return console.http


def _load(console: Served, visitor: requests.Session, page: str) -> Loaded:
    """Return the median and the worst in milliseconds, and the size in kilobytes."""
    took, size = [], 0
    for _ in range(TIMES + 1):
        started = time.perf_counter()
        answer = visitor.get(f"{console.base_url}/console{page}", timeout=60)
        took.append((time.perf_counter() - started) * 1000)
        assert answer.status_code == 200, (page, answer.status_code)
        size = len(answer.content)
    return statistics.median(took[1:]), max(took[1:]), size / 1024


def main() -> int:
    """Measure, print, and return 1 where a page takes too long."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.pages", description=__doc__)
    parser.add_argument("--rows", type=int, default=MANY, help="in each table")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with servers() as started:
        found = measure(started, arguments.rows)
    if arguments.json:
        print(json.dumps([{**asdict(one), "ok": one.is_met} for one in found], indent=2))
    else:
        print(f"{'':52} {FEW:>8,} {arguments.rows:>11,} rows     worst       KB   ratio to an empty page")
        for one in found:
            print(
                f"{one.page:50} {one.few_ms:7.1f} ms {one.many_ms:8.1f} ms {one.worst_ms:7.1f} ms"
                f" {one.kilobytes:8.1f} {one.ratio:7.1f}  {'yes' if one.is_met else 'NO'}"
            )
    return 0 if all(one.is_met for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
