"""A worker whose SECRET_KEYS differ from the others' takes no tickets, says so, and stops no other worker."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr
from structlog.testing import capture_logs

from deploy.sandbox.tracker.control import StandIn
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.errors import SettingsError
from shared.notices.refusals import Refusal
from shared.redis.heartbeat import WORKER, Heartbeats
from tests.support.bridge import Bridge
from tests.support.events import task_event
from worker import ability
from worker.ability import Ability


@pytest.fixture
def stranger(bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bridge]:
    """Another worker of the same installation, with different keys."""
    monkeypatch.setattr("tests.support.bridge.KEY", Fernet.generate_key().decode())
    settings = bridge.settings
    made = Bridge(
        settings.database_url.get_secret_value(),
        settings.redis_url.get_secret_value(),
        stand_in.base_url,
        stand_in.api_key,
    )
    with bridge.store.transaction() as tx:  # the other worker stored it with its own keys
        tx.configs.put_api_key(Vault(settings.secret_keys).encrypt(SecretStr(stand_in.api_key)))
    yield made
    made.close()


def test_it_pauses_nobody_and_another_worker_does_the_work(bridge: Bridge, stranger: Bridge) -> None:
    (event_id,) = bridge.receive(task_event())
    stranger.sync()
    row = bridge.event(event_id)
    assert (row.state, row.notice and row.notice.code) == ("pending", Refusal.API_KEY_NOT_OPENED)
    assert bridge.breaker.current() is None
    bridge.hurry()
    bridge.sync()
    assert bridge.event(event_id).state == "done"
    assert len(Heartbeats(bridge.redis).unable(WORKER)) == 1


def test_it_takes_tickets_again_once_it_can_open_the_key(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ability, "LOOKED_AT_EVERY_S", 0.01)
    opens, heartbeats = threading.Event(), Heartbeats(bridge.redis)
    connect = Connector(bridge.store, Vault(bridge.settings.secret_keys)).connect

    def look() -> None:
        if not opens.is_set():
            raise SettingsError(Refusal.API_KEY_NOT_OPENED())
        connect()

    mine = Ability(heartbeats, look, threading.Event())
    assert mine.is_able
    with capture_logs() as lines:
        for _ in range(3):
            mine.lose(Refusal.API_KEY_NOT_OPENED())
        assert not mine.is_able
        opens.set()
        assert mine.wait()
    assert [one["log_level"] for one in lines][:1] == ["error"], "it is said once"
    assert heartbeats.unable(WORKER) == []


def test_one_that_is_to_end_waits_no_longer(bridge: Bridge) -> None:
    def look() -> None:
        raise SettingsError(Refusal.API_KEY_NOT_OPENED())

    stopping = threading.Event()
    mine = Ability(Heartbeats(bridge.redis), look, stopping)
    mine.lose(Refusal.API_KEY_NOT_OPENED())
    stopping.set()
    mine.wait()
