"""Every page of the console over a million rows in each table, on PostgreSQL."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

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
from tests.bench.servers import Servers
from tests.support.serving import Served

TIMES = 5
ANSWERS = (200, 303, 404)
EMPTY = "/account"
Loaded = tuple[float, float]
Load = Callable[[str], Loaded]
PASSWORD = "correct horse battery staple"
TOKEN = "the-token-of-the-benchmark"
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
    """INSERT INTO misattributed (kind, key, ticket_id, tracker_id, at, code, params)
       SELECT 'ticket', i, i, i, timestamptz '2026-01-01' + i * interval '1 minute', 'switch_was_ignored',
           '{}'
       FROM generate_series(1, 400000) i""",
    """INSERT INTO change_record (at, who, code, params)
       SELECT now() - i * interval '1 minute', 'claire', 'metadata_read', '{}'
       FROM generate_series(1, 100000) i""",
)
"""A large organisation: thousands of people, a thousand projects with their entities, years of changes."""


@contextmanager
def large_console(started: Servers, fillings: Sequence[str] = FILLINGS) -> Iterator[tuple[Database, Load]]:
    """Serve the console of a large organisation; yield its database, and a function that loads an address."""
    url = started.postgres.create_database("pages")
    database = Database(url)
    upgrade(database)
    settings = Settings(
        database_url=SecretStr(url),
        redis_url=SecretStr(started.redis.database_url(0)),
        secret_keys=(SecretStr(Fernet.generate_key().decode()),),
        console_tokens=(SecretStr(TOKEN),),
    )
    _set_up(Store(database), settings, started)
    console = Served(create_console(settings))
    console.start()
    services = console.app.state.services
    synchronise(services.store, services.locks, services.connector.connect)
    with database.engine.begin() as connection:
        for filling in fillings:
            connection.execute(text(filling))
    try:
        visitor = _signed_in(console)
        yield database, lambda address: _load(console, visitor, address)
    finally:
        console.stop()
        database.close()


def every_page(load: Load) -> dict[str, Loaded]:
    """Load every page."""
    return {page: load(f"/console{page}") for page in PAGES}


def figures(few: dict[str, Loaded], many: dict[str, Loaded]) -> dict[str, tuple[float, float, float]]:
    """Return, by page, its milliseconds over few rows and over many, and its kilobytes."""
    return {page: (few[page][0], took, kilobytes) for page, (took, kilobytes) in many.items()}


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


def _load(console: Served, visitor: requests.Session, address: str) -> Loaded:
    """Return the median in milliseconds, and the size in kilobytes; a search may find nothing, or redirect."""
    headers = {"Authorization": f"Bearer {TOKEN}"} if address.startswith("/api/") else {}
    took, size = [], 0
    for _ in range(TIMES + 1):
        started = time.perf_counter()
        answer = visitor.get(console.base_url + address, headers=headers, timeout=60, allow_redirects=False)
        took.append((time.perf_counter() - started) * 1000)
        assert answer.status_code in ANSWERS, (address, answer.status_code)
        size = len(answer.content)
    return statistics.median(took[1:]), size / 1024
