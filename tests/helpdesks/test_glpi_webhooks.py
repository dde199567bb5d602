"""GLPI's webhooks over HTTP: what is kept, what is refused, and how fast (CONTRACT "HTTP: producer")."""

from __future__ import annotations

import hashlib
import hmac
import time
from pathlib import Path

import pytest
import requests
import structlog
from pydantic import SecretStr
from redis import Redis
from sqlalchemy import text

from producer.admin.catching_up.replay import replay_state
from shared.codes.invalid import Invalid
from shared.codes.reasons import Reason
from shared.store.tables.models import EventState
from tests.helpdesks.conftest import OF_GLPI_ALONE, GlpiProducer
from tests.helpdesks.recorded_requests import SECRET, recorded, signed
from tests.integration.producer.conftest import SECRET as EVENTS_SECRET
from tests.integration.producer.conftest import refused, running
from tests.support.events import task_event
from tests.support.serving import samples
from tests.support.waiting import until


@pytest.mark.parametrize(
    ("item", "name", "key"),
    [
        ("ticket", "ticket-new", "ticket:1"),
        ("ticket", "ticket-update-solved", "ticket:1"),
        ("ticket-task", "task-new", "ticket-task:1"),
        ("ticket-task", "task-update-done", "ticket-task:1"),
    ],
)
def test_a_real_delivery_is_in_the_journal(glpi: GlpiProducer, item: str, name: str, key: str) -> None:
    answer = glpi.send(item, recorded(name))
    assert answer.status_code == 202
    assert [(one["key"], one["duplicate"]) for one in answer.json()["accepted"]] == [(key, False)]
    assert [one.key for one in glpi.producer.journal()] == [key]


def test_a_repeat_changes_nothing(glpi: GlpiProducer) -> None:
    one = recorded("task-new").stamped(int(time.time()) - 180)
    assert [glpi.post("ticket-task", one).json()["accepted"][0]["duplicate"] for _ in range(4)] == [
        False,
        True,
        True,
        True,
    ]
    assert len(glpi.producer.journal()) == 1


def test_a_byte_order_mark_is_accepted_and_a_compressed_body_is_refused_as_such(glpi: GlpiProducer) -> None:
    marked = signed(b"\xef\xbb\xbf" + recorded("task-new").body, int(time.time()), SECRET)
    assert glpi.post("ticket-task", marked).status_code == 202
    assert [one.key for one in glpi.producer.journal()] == ["ticket-task:1"]
    problem = refused(glpi.post("ticket-task", marked, **{"content-encoding": "gzip"}), 415)
    assert problem["title"] == "Content-Encoding is not supported"


def test_a_forged_delivery_is_refused_and_not_kept(glpi: GlpiProducer) -> None:
    one = signed(recorded("task-new").body, int(time.time()), secret="a guess")
    refused(glpi.post("ticket-task", one), 401)
    refused(glpi.post("ticket-task", recorded("task-new").stamped(1)), 401)
    refused(glpi.post("ticket-task", one, **{"x-glpi-signature": ""}), 401)
    assert glpi.producer.journal() == []


def test_the_challenge_is_answered_with_the_bare_hex(glpi: GlpiProducer) -> None:
    target = recorded("cra-challenge").target
    token = target.partition("crc_token=")[2]
    answer = glpi.producer.get(f"/webhooks/glpi/ticket?crc_token={token}")
    assert answer.status_code == 200
    assert answer.text == hmac.new(SECRET.encode(), token.encode(), hashlib.sha256).hexdigest()
    refused(glpi.producer.get("/webhooks/glpi/ticket?crc_token=anything"), 401)


def test_without_secrets_there_are_no_such_addresses(tmp_path: Path) -> None:
    with running(tmp_path) as producer:
        one = recorded("ticket-new").stamped(int(time.time()))
        answer = requests.post(
            f"{producer.base_url}/webhooks/glpi/ticket", data=one.body, headers=one.headers, timeout=30
        )
        refused(answer, 404)
        refused(producer.get("/webhooks/glpi/ticket?crc_token=x"), 404)


def test_with_glpi_secrets_alone_nobody_can_send_events(glpi: GlpiProducer) -> None:
    refused(glpi.producer.send(task_event(), with_secret=EVENTS_SECRET), 401)


def test_an_item_that_nobody_asked_for_is_not_there(glpi: GlpiProducer) -> None:
    assert glpi.send("change", recorded("ticket-new")).status_code in (404, 422)
    assert glpi.producer.journal() == []


def test_a_body_that_a_custom_payload_has_broken_is_kept_and_counted(glpi: GlpiProducer) -> None:
    before = samples(glpi.producer.get("/metrics").text)
    broken = signed(b'{"text": "Ticket 7 \xff changed"}', int(time.time()))
    with structlog.testing.capture_logs() as logged:
        assert glpi.post("ticket", broken).status_code == 202
        assert glpi.post("ticket", broken).status_code == 202
    (row,) = glpi.producer.journal()
    assert [line["delivery_ids"] for line in logged if "cannot be read" in line["event"]] == [
        [row.delivery_id]
    ] * 2
    assert (row.event, row.state) == ("unreadable", "failed")
    counted = samples(glpi.producer.get("/metrics").text) - before
    assert counted['deskbridge_deliveries_unreadable_total{source="glpi/ticket"}'] == 2


def test_what_could_not_be_read_is_read_once_more_by_a_replay(glpi: GlpiProducer) -> None:
    """A version that knows the payload has been installed since: the kept body becomes an event."""
    store, one = glpi.producer.store, recorded("task-new")
    with store.transaction() as tx:
        tx.journal.park("a-delivery", "glpi/ticket-task", one.body, [("item", Invalid.FIELD_UNKNOWN())])
        tx.journal.park("another", "glpi/ticket", b"{}", [("item", Invalid.FIELD_REQUIRED())])
    parked, hopeless = glpi.producer.journal()
    assert parked.coded == Reason.DELIVERY_UNREADABLE(
        source="glpi/ticket-task",
        faults=[Invalid.FAULT_OF_FIELD(field="item", problem=Invalid.FIELD_UNKNOWN())],
    )
    replayed = replay_state(store, EventState.FAILED)
    assert (replayed.events, replayed.tickets) == (1, [1])
    left, read = glpi.producer.journal()
    assert (left.id, left.state) == (hopeless.id, EventState.FAILED)
    assert (read.key, read.state, read.delivery_id) == ("ticket-task:1", EventState.PENDING, "a-delivery")


def test_a_slow_journal_is_answered_within_a_second_and_the_repeat_changes_nothing(
    glpi: GlpiProducer,
) -> None:
    one = recorded("task-new").stamped(int(time.time()))
    engine = glpi.producer.store.database.engine
    with engine.connect() as connection:
        connection.execute(text("DELETE FROM journal"))  # until it ends, nobody else writes
        began = time.monotonic()
        refused(glpi.post("ticket-task", one), 503)
        assert time.monotonic() - began < 20, "the database has whoever writes wait for half a minute"
        connection.rollback()
    assert glpi.post("ticket-task", one).status_code == 202
    assert len(glpi.producer.journal()) == 1


def test_what_is_kept_after_its_answer_is_rung_all_the_same(tmp_path: Path, redis_url: str) -> None:
    """The journal was slow, so GLPI was told to send it again; whoever commits rings."""
    with running(tmp_path, redis_url=SecretStr(redis_url), **OF_GLPI_ALONE) as producer:
        with producer.store.database.engine.connect() as connection:
            connection.execute(text("DELETE FROM journal"))
            refused(GlpiProducer(producer).send("ticket", recorded("ticket-new")), 503)
            connection.rollback()
        with Redis.from_url(redis_url) as redis:
            until(lambda: redis.llen("deskbridge:deskbridge") == 1)
        assert len(producer.journal()) == 1
