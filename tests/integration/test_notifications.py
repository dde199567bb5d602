"""People are notified once by the service of their choice, whichever process does it."""

from __future__ import annotations

import json
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from redis.exceptions import ConnectionError as RedisConnectionError

from deploy.sandbox.tracker.control import StandIn
from producer.admin.configuration import notifications
from producer.admin.services import Services
from shared.connection.vault import Vault
from shared.errors import SettingsError
from shared.notices.notifications import NotTaken
from shared.notifications import delivery
from shared.notifications.notifier import Notifier
from shared.redis.heartbeat import CONSOLE, WORKER, Heartbeats
from shared.store.tables.journal import JournalEvent
from shared.store.tables.notifications import NotificationCause, NotificationRecord
from shared.telemetry import metrics
from tests.support.bridge import Bridge
from tests.support.events import task_event
from tests.support.receiver import Receiver
from worker.notifications import notify_people

URL = "https://deskbridge.example.test"


@pytest.fixture
def services(bridge: Bridge) -> Services:
    """The console's collaborators."""
    return Services(bridge.settings.model_copy(update={"console_url": URL}), bridge.store)


@pytest.fixture
def console(services: Services, bridge: Bridge, receiver: Receiver) -> Notifier:
    """A console's notifier with an address to send to; a worker is running, too."""
    notifications.save(services, receiver.url)
    Heartbeats(bridge.redis).mark(WORKER)
    return Notifier(services.store, services.redis, services.vault, services.settings)


@pytest.fixture
def pass_time(bridge: Bridge) -> Callable[[float], None]:
    """Make the stored state of notifications that many minutes older."""

    def older(minutes: float) -> None:
        by = timedelta(minutes=minutes)
        with bridge.store.database.transaction() as session:
            for row in session.query(NotificationRecord):
                for name in ("looked_at", "sent_at", "failed_at"):
                    if getattr(row, name):
                        setattr(row, name, getattr(row, name) - by)
            for cause in session.query(NotificationCause):
                cause.since = cause.since and cause.since - by
                cause.sent_at = cause.sent_at and cause.sent_at - by

    return older


def fail(bridge: Bridge, stand_in: StandIn) -> None:
    """Let an event fail: Redmine refuses its issue."""
    bridge.configure(default_priority_id=99)
    assert bridge.forward(task_event()) is not None
    with bridge.store.transaction() as tx:
        assert tx.journal.failed_by_code()


def test_a_new_cause_of_failures_reaches_people_with_the_address_of_its_page(
    bridge: Bridge, stand_in: StandIn, console: Notifier, receiver: Receiver, services: Services
) -> None:
    console.run()
    assert receiver.taken == [], "all is well"
    fail(bridge, stand_in)
    console_again(console, bridge)
    (message,) = receiver.taken
    assert "1 event failed" in message["title"]
    with services.store.transaction() as tx:
        (group,) = tx.events.groups()
    assert f"{URL}/console/events?state=failed&cause={group.cause}" in message["message"]


def console_again(console: Notifier, bridge: Bridge) -> None:
    """Run the notifier although another process has just checked."""
    with bridge.store.database.transaction() as session:
        for row in session.query(NotificationRecord):
            row.looked_at = None
    console.run()


def test_a_restart_repeats_nothing(
    bridge: Bridge, stand_in: StandIn, console: Notifier, receiver: Receiver, services: Services
) -> None:
    fail(bridge, stand_in)
    console.run()
    again = Notifier(services.store, services.redis, services.vault, services.settings)
    console_again(again, bridge)
    assert len(receiver.taken) == 1


def test_several_processes_send_it_once(
    bridge: Bridge, stand_in: StandIn, console: Notifier, receiver: Receiver
) -> None:
    fail(bridge, stand_in)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: console.run(), range(4)))
    assert len(receiver.taken) == 1


def test_of_two_processes_that_check_at_the_same_moment_one_sends(
    bridge_on_postgresql: Bridge, receiver: Receiver
) -> None:
    store = bridge_on_postgresql.store
    notifications.save(Services(bridge_on_postgresql.settings, store), receiver.url)

    def claim() -> bool:
        with store.transaction() as tx:
            return tx.notifications.claim(29, 300)

    with ThreadPoolExecutor(1) as pool:
        with store.transaction() as first:
            assert first.notifications.claim(29, 300)
            second = pool.submit(claim)
            time.sleep(0.5)  # it has checked, and waits for the row
        assert second.result() is False


def test_the_same_cause_is_reported_an_hour_later_if_there_is_more_of_it(
    bridge: Bridge,
    stand_in: StandIn,
    console: Notifier,
    receiver: Receiver,
    pass_time: Callable[[float], None],
) -> None:
    fail(bridge, stand_in)
    console.run()
    bridge.forward(task_event(ticket_id=78, task_id=91))
    pass_time(30)
    console.run()
    assert len(receiver.taken) == 1
    pass_time(31)
    console.run()
    assert "2 events failed" in receiver.taken[1]["title"]


def test_a_worker_that_is_gone_and_a_helpdesk_that_is_quiet_are_reported(
    bridge: Bridge, console: Notifier, receiver: Receiver, pass_time: Callable[[float], None]
) -> None:
    bridge.forward(task_event())
    with bridge.store.database.transaction() as session:
        for event in session.query(JournalEvent):
            event.received_at -= timedelta(hours=25)
    console.run()
    assert "no event has come in for 24 h" in receiver.taken[0]["title"]
    for key in bridge.redis.keys("*alive*"):
        bridge.redis.delete(key)
    pass_time(6)
    console.run()
    assert len(receiver.taken) == 1, "it may be a restart"
    pass_time(6)
    console.run()
    assert "no worker is running" in receiver.taken[1]["title"]


def test_redis_that_does_not_answer_is_reported_after_five_minutes(
    services: Services,
    console: Notifier,
    receiver: Receiver,
    pass_time: Callable[[float], None],
    monkeypatch: Any,
) -> None:
    def away(*_: object) -> None:
        raise RedisConnectionError

    monkeypatch.setattr(Heartbeats, "seen", away)
    console.run()
    assert receiver.taken == []
    pass_time(5.1)
    console.run()
    assert "Redis cannot be reached" in receiver.taken[0]["title"]


def test_what_no_service_took_is_sent_again_after_five_minutes(
    bridge: Bridge,
    stand_in: StandIn,
    console: Notifier,
    receiver: Receiver,
    services: Services,
    pass_time: Callable[[float], None],
) -> None:
    fail(bridge, stand_in)
    receiver.status = 503
    with structlog.testing.capture_logs() as lines:
        console.run()
    assert receiver.SECRET not in str(lines)
    found = notifications.show(services)
    assert found.failure
    assert found.failure.params["status"] == 503
    receiver.status = 200
    pass_time(4)
    console.run()
    assert len(receiver.taken) == 1
    pass_time(1.1)
    console.run()
    assert len(receiver.taken) == 2
    assert notifications.show(services).failure is None


def test_one_service_that_is_down_keeps_no_message_from_the_others_and_repeats_none(
    bridge: Bridge,
    stand_in: StandIn,
    console: Notifier,
    receiver: Receiver,
    services: Services,
    pass_time: Callable[[float], None],
) -> None:
    notifications.save(services, f"json://127.0.0.1:9/nobody\n{receiver.url}")
    fail(bridge, stand_in)
    console.run()
    assert len(receiver.taken) == 1
    assert notifications.show(services).failure
    pass_time(6)
    console.run()
    assert len(receiver.taken) == 1


def test_a_worker_takes_the_consoles_place_only_while_none_runs(
    bridge: Bridge, stand_in: StandIn, console: Notifier, receiver: Receiver
) -> None:
    worker: Any = SimpleNamespace(
        settings=bridge.settings, store=bridge.store, redis=bridge.redis, heartbeats=Heartbeats(bridge.redis)
    )
    fail(bridge, stand_in)
    Heartbeats(bridge.redis).mark(CONSOLE)
    assert not notify_people(worker)
    assert receiver.taken == []
    for key in bridge.redis.keys("*alive:console*"):
        bridge.redis.delete(key)
    assert notify_people(worker)
    assert len(receiver.taken) == 1
    assert f"{URL}/console/events" in receiver.taken[0]["message"], "as it was known when they were stored"


def test_without_apprise_nothing_is_checked_and_nothing_is_taken_for_sent(
    bridge: Bridge, stand_in: StandIn, console: Notifier, receiver: Receiver, monkeypatch: Any
) -> None:
    fail(bridge, stand_in)
    with monkeypatch.context() as without:
        without.setattr(delivery, "is_installed", lambda: False)
        console.run()
    assert receiver.taken == []
    console.run()
    assert len(receiver.taken) == 1


def test_addresses_that_no_key_opens_are_told_and_stop_nothing_else(
    bridge: Bridge, console: Notifier, services: Services, receiver: Receiver
) -> None:
    with bridge.store.database.transaction() as session:
        for row in session.query(NotificationRecord):
            row.urls_encrypted = "gAAAAA"
    console.run()
    failure = notifications.show(services).failure
    assert failure
    assert failure.code == "notify_urls_not_opened"


def test_the_addresses_are_stored_encrypted(
    services: Services, console: Notifier, receiver: Receiver
) -> None:
    with services.store.transaction() as tx:
        found = tx.notifications.get()
        noted = [one.params for one in tx.changes.find(limit=10)]
    assert found
    assert receiver.SECRET not in f"{found.urls_encrypted}{found.services}{noted}"
    assert found.services == ["json"]
    assert services.vault.decrypt(found.urls_encrypted).get_secret_value() == receiver.url


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("", "notify_url_needed"),
        ("nonsense", "notify_url_unknown"),
        ("syslog://", "notify_url_unknown"),
        ("json://169.254.169.254/latest", "notify_url_forbidden"),
        ("json:///169.254.169.254/", "notify_url_forbidden"),
        ("json://u@2852039166/", "notify_url_forbidden"),
        ("mailto://u:p@example.org?smtp=169.254.169.254", "notify_url_forbidden"),
        ("fcm://project@apikey/dev?keyfile=http://169.254.169.254/x", "notify_url_forbidden"),
        ("\n".join(["json://127.0.0.1/"] * 21), "notify_too_many"),
    ],
)
def test_an_address_that_is_none_is_refused(services: Services, typed: str, code: str) -> None:
    with pytest.raises(SettingsError) as refused:
        notifications.save(services, typed)
    assert [problem.code for _, problem in refused.value.faults] == [code]
    assert notifications.show(services).services == ()


def test_nothing_is_stored_without_a_key_to_encrypt_it_with(services: Services, receiver: Receiver) -> None:
    keyless = Services(services.settings.model_copy(update={"secret_keys": ()}), services.store)
    assert isinstance(keyless.vault, Vault)
    with pytest.raises(SettingsError):
        notifications.save(keyless, receiver.url)


def test_a_failed_sending_is_counted(
    bridge: Bridge, stand_in: StandIn, console: Notifier, receiver: Receiver
) -> None:
    fail(bridge, stand_in)
    receiver.status = 500
    before = metrics.NOT_NOTIFIED._value.get()
    console.run()
    assert metrics.NOT_NOTIFIED._value.get() == before + 1


@pytest.mark.promise("SEC-87")
def test_an_answer_that_is_too_large_takes_no_memory_of_the_console(receiver: Receiver) -> None:
    receiver.megabytes = 1500
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    largest_child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # of an earlier test
    (result,) = delivery.deliver([receiver.url], "title", "body", allow_link_local=False)
    assert result.failure
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000, "kB"
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss <= max(largest_child, 600_000), "kB"


@pytest.mark.promise("SEC-87")
def test_a_service_that_does_not_answer_is_given_up_and_its_process_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(delivery, "PATIENCE_S", 4.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"json://127.0.0.1:{silent.getsockname()[1]}/"
        begun = time.monotonic()
        (result,) = delivery.deliver([url], "title", "body", allow_link_local=False)
        assert time.monotonic() - begun < 8
        assert result.failure == NotTaken.TOO_LATE(service="json", seconds=4.0)
        connection, _ = silent.accept()
        with connection:
            connection.settimeout(5)
            while connection.recv(65536):
                pass  # the last byte: nothing holds the connection any more


LOOPBACK_IS_FORBIDDEN = """
from ipaddress import ip_network
from shared.notices.invalid import Invalid
from shared.values.addresses import NETWORKS
NETWORKS[ip_network("127.0.0.0/8")] = Invalid.LINK_LOCAL_ADDRESS
from shared.notifications import sender
sender.main()
"""


@pytest.mark.promise("SEC-88")
@pytest.mark.parametrize("allowed", [False, True])
def test_a_name_leads_no_message_to_a_forbidden_address(receiver: Receiver, allowed: bool) -> None:
    url = receiver.url.replace("127.0.0.1", "localhost")
    delivery.check([url], allow_link_local=False)
    wanted = {"url": url, "title": "title", "body": "body", "allow_link_local": allowed}
    ended = subprocess.run(
        [sys.executable, "-c", LOOPBACK_IS_FORBIDDEN],
        input=json.dumps(wanted),
        capture_output=True,
        text=True,
    )
    (result,) = json.loads(ended.stdout)
    assert ("failure" in result, bool(receiver.taken)) == (not allowed, allowed)
