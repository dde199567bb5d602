"""GLPI's webhooks over HTTP: which deliveries are kept, which are refused, and how fast."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests
import structlog
from pydantic import SecretStr
from redis import Redis
from sqlalchemy import text

from producer.admin.backfill.replay import replay_state
from producer.http.buckets import Buckets
from producer.intake import app as app_module
from producer.intake.app import create_app
from shared.errors import SettingsError
from shared.notices.deliveries import Undelivered
from shared.notices.invalid import Invalid
from shared.notices.reasons import Reason
from shared.notices.system_refusals import SystemRefusal
from shared.process.settings import Settings
from shared.store.journal.due import LARGEST_PAYLOAD
from shared.store.tables.journal import EventState
from tests.helpdesks.conftest import OF_GLPI_ALONE, GlpiProducer
from tests.helpdesks.recorded_requests import SECRET, Recorded, challenge, recorded, signed
from tests.integration.producer.conftest import SECRET as EVENTS_SECRET
from tests.integration.producer.conftest import refused, running
from tests.support.events import task_event
from tests.support.refusals import says
from tests.support.serving import samples
from tests.support.waiting import until

OTHER = "another s3cret-for-glpi"


@pytest.mark.parametrize(
    ("item", "name", "key"),
    [
        ("ticket", "ticket-new", "ticket:1"),
        ("ticket", "ticket-update-solved", "ticket:1"),
        ("ticket-task", "task-new", "ticket-task:1"),
        ("ticket-task", "task-update-done", "ticket-task:1"),
        ("followup", "followup-new", "followup:1"),
        ("solution", "solution-new", "solution:1"),
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


def edited(name: str, **changes: Any) -> Recorded:
    """Return a recorded delivery with another item or ticket, signed again."""
    data = json.loads(recorded(name).body)
    for part, fields in changes.items():
        data[part] |= fields
    return signed(json.dumps(data).encode(), int(time.time()), SECRET)


PICTURE = "<p>See</p><img src='data:image/png;base64,{}'><p>there</p>"


@pytest.mark.promise("OPS-29")
@pytest.mark.parametrize("part", ["item", "parent_item"])
def test_hours_are_not_lost_for_a_picture_in_a_text(glpi: GlpiProducer, part: str) -> None:
    """GLPI sends the ticket's whole description with every ticket task."""
    content = PICTURE.format("iVBORw0KGgo/" * 250_000)
    answer = glpi.post("ticket-task", edited("task-update-done", **{part: {"content": content}}))
    assert answer.status_code == 202
    (kept,) = glpi.producer.journal()
    holder = json.loads(kept.payload)["task" if part == "item" else "ticket"]
    assert holder["content"] == "<p>See</p><img src='data:'><p>there</p>"
    assert (kept.key, kept.state) == ("ticket-task:1", EventState.PENDING)


@pytest.mark.promise("OPS-29")
def test_a_delivery_of_megabytes_of_text_is_kept_with_the_beginning_of_the_text(glpi: GlpiProducer) -> None:
    content = "<p>" + "\U0001f600" * 1_000_000 + "</p>"
    answer = glpi.post("ticket-task", edited("task-update-done", parent_item={"content": content}))
    assert answer.status_code == 202
    (kept,) = glpi.producer.journal()
    assert len(kept.payload) < LARGEST_PAYLOAD


@pytest.mark.promise("SEC-08")
def test_a_delivery_over_16_mib_is_refused_and_a_large_one_that_cannot_be_kept_too(
    glpi: GlpiProducer,
) -> None:
    huge = signed(b" " * (16 * 1024 * 1024 + 1), int(time.time()), SECRET)
    assert refused(glpi.post("ticket-task", huge), 413)["params"] == {"most": 16 * 1024 * 1024}
    unreadable = signed(b"[" + b" " * 2**20 + b"]", int(time.time()), SECRET)
    refused(glpi.post("ticket-task", unreadable), 413)
    refused(glpi.post("ticket", edited("ticket-new", item={"name": "x" * 5_000_000})), 413)
    assert glpi.producer.journal() == []


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
    token = challenge()
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


@pytest.mark.promise("SEC-06")
@pytest.mark.parametrize("short", ["a", "s3cret-for-glpi", "é" * 7])
def test_a_secret_that_could_be_guessed_is_refused_at_start_without_being_shown(short: str) -> None:
    with pytest.raises(SettingsError, check=says(SystemRefusal.GLPI_SECRET_TOO_SHORT, least=16)) as failure:
        create_app(Settings(glpi_webhook_secrets=(SecretStr(SECRET), SecretStr(short))))
    assert short == "a" or short not in str(failure.value)


@pytest.mark.promise("SEC-04")
@pytest.mark.parametrize(
    "body", [*(recorded(name).body for name in ("ticket-new", "task-new", "followup-new")), b"unreadable"]
)
def test_a_delivery_that_was_overheard_changes_nothing_at_either_address(
    glpi: GlpiProducer, body: bytes
) -> None:
    one = signed(body, int(time.time()))
    kept: list[tuple[int, str]] = []
    for item in ("ticket", "ticket-task", "followup", "solution", "ticket"):
        assert glpi.post(item, one).status_code == 202
        kept = kept or [(row.id, row.event) for row in glpi.producer.journal()]
        assert [(row.id, row.event) for row in glpi.producer.journal()] == kept
    assert len(kept) == 1


@pytest.mark.promise("SEC-19")
@pytest.mark.parametrize("body", [recorded("task-new").body, b"unreadable"])
def test_a_flood_under_one_secret_is_told_to_wait_and_nothing_of_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    monkeypatch.setattr(app_module, "Buckets", partial(Buckets, clock=lambda: 1000.0))
    secrets = (SecretStr(SECRET), SecretStr(OTHER))
    with running(tmp_path, **OF_GLPI_ALONE | {"glpi_webhook_secrets": secrets}, event_limit=0.5) as producer:
        glpi, now = GlpiProducer(producer), int(time.time())
        answers = [glpi.post("ticket-task", signed(body, now - age)) for age in range(10)]
        assert [one.status_code for one in answers] == [202] * 5 + [429] * 5
        assert refused(answers[-1], 429)["code"] == Undelivered.EVENT_LIMIT_REACHED
        assert answers[-1].headers["Retry-After"] == "2"
        assert len(producer.journal()) == 5
        assert glpi.post("ticket-task", signed(body, now, OTHER)).status_code == 202, (
            "another secret has a limit of its own"
        )


@pytest.mark.promise("SEC-19")
def test_a_large_delivery_counts_as_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "Buckets", partial(Buckets, clock=lambda: 1000.0))
    with running(tmp_path, **OF_GLPI_ALONE, event_limit=10) as producer:
        glpi, now = GlpiProducer(producer), int(time.time())
        large = b"unreadable" * 90_000
        answers = [glpi.post("ticket", signed(large, now - age)).status_code for age in range(3)]
        assert answers == [202, 202, 429]
        assert len(producer.journal()) == 2


def test_an_item_that_nobody_asked_for_is_not_there(glpi: GlpiProducer) -> None:
    assert glpi.send("change", recorded("ticket-new")).status_code in (404, 422)
    assert glpi.producer.journal() == []


@pytest.mark.parametrize(
    ("item", "one"),
    [
        ("followup", recorded("followup-of-change")),
        ("followup", recorded("followup-of-change").changed(event="update")),
        ("solution", recorded("solution-new").changed(event="delete", itemtype="Problem")),
    ],
)
def test_what_asks_for_nothing_is_answered_so_that_glpi_does_not_repeat_it_and_is_not_kept(
    glpi: GlpiProducer, item: str, one: Recorded
) -> None:
    answer = glpi.send(item, one)
    assert (answer.status_code, answer.json()) == (202, {"accepted": []})
    assert glpi.producer.journal() == []


def test_a_kept_delivery_that_asks_for_nothing_is_gone_after_a_replay(glpi: GlpiProducer) -> None:
    store, one = glpi.producer.store, recorded("followup-of-change")
    with store.transaction() as tx:
        tx.journal.park("a-delivery", "glpi/followup", one.body, [("item", Invalid.FIELD_UNKNOWN())])
    assert replay_state(store, EventState.FAILED).tickets == []
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
    """As after an upgrade to a version that can read the payload: the kept body becomes an event."""
    store, one = glpi.producer.store, recorded("task-new")
    with store.transaction() as tx:
        tx.journal.park("a-delivery", "glpi/ticket-task", one.body, [("item", Invalid.FIELD_UNKNOWN())])
        tx.journal.park("another", "glpi/ticket", b"{}", [("item", Invalid.FIELD_REQUIRED())])
    parked, hopeless = glpi.producer.journal()
    assert parked.notice == Reason.DELIVERY_UNREADABLE(
        source="glpi/ticket-task",
        faults=[Invalid.FAULT_OF_FIELD(field="item", problem=Invalid.FIELD_UNKNOWN())],
    )
    replayed = replay_state(store, EventState.FAILED)
    assert (replayed.events, replayed.tickets) == (1, [1])
    left, read = glpi.producer.journal()
    assert (left.id, left.state) == (hopeless.id, EventState.FAILED)
    assert (read.key, read.state, read.delivery_id) == ("ticket-task:1", EventState.PENDING, "a-delivery")


@pytest.mark.parametrize("name", ["task-new", "task-update-done"])
def test_the_text_of_a_private_task_is_not_stored(glpi: GlpiProducer, name: str) -> None:
    private = recorded(name).changed(is_private=True)
    assert glpi.send("ticket-task", private).status_code == 202
    (row,) = glpi.producer.journal()
    assert "fuser" not in row.payload
    assert json.loads(row.payload)["task"]["actiontime"] == 1800


def test_the_text_of_a_private_follow_up_is_not_stored_unless_the_settings_send_it(
    glpi: GlpiProducer,
) -> None:
    assert glpi.send("followup", recorded("followup-private")).status_code == 202
    (row,) = glpi.producer.journal()
    assert (row.key, "difficult" in row.payload) == ("followup:2", False)


def test_a_private_follow_up_that_cannot_be_read_is_kept_without_its_text(glpi: GlpiProducer) -> None:
    assert glpi.send("followup", recorded("followup-private").changed(id="two")).status_code == 202
    (row,) = glpi.producer.journal()
    assert (row.event, "difficult" in row.payload) == ("unreadable", False)


@pytest.mark.parametrize("item", ["ticket-task", "ticket"])
def test_what_cannot_be_read_is_kept_without_the_text_of_a_private_task_at_either_address(
    glpi: GlpiProducer, item: str
) -> None:
    broken = recorded("task-new").changed(is_private=True, duration="half an hour")
    assert glpi.send(item, broken).status_code == 202
    (kept,) = glpi.producer.journal()
    assert (kept.event, "fuser" in kept.payload) == ("unreadable", False)
    assert json.loads(json.loads(kept.payload)["body"])["item"]["duration"] == "half an hour"


def test_what_is_read_once_more_is_kept_without_the_text_of_a_private_task(glpi: GlpiProducer) -> None:
    store, one = glpi.producer.store, recorded("task-new").changed(is_private=True)
    with store.transaction() as tx:
        tx.journal.park("a-delivery", "glpi/ticket-task", one.body, [("item", Invalid.FIELD_UNKNOWN())])
    replay_state(store, EventState.FAILED)
    (read,) = glpi.producer.journal()
    assert (read.key, "fuser" in read.payload) == ("ticket-task:1", False)


def test_a_slow_journal_is_answered_within_a_second_and_the_repeat_changes_nothing(
    glpi: GlpiProducer,
) -> None:
    one = recorded("task-new").stamped(int(time.time()))
    engine = glpi.producer.store.database.engine
    with engine.connect() as connection:
        connection.execute(text("DELETE FROM journal"))  # until this transaction ends, no other one can write
        began = time.monotonic()
        refused(glpi.post("ticket-task", one), 503)
        assert time.monotonic() - began < 20, "the database has whoever writes wait for half a minute"
        connection.rollback()
    assert glpi.post("ticket-task", one).status_code == 202
    assert len(glpi.producer.journal()) == 1


def test_what_is_kept_after_its_answer_is_rung_all_the_same(tmp_path: Path, redis_url: str) -> None:
    """The journal was slow, so GLPI was asked to send it again; the delayed commit notifies all the same."""
    with running(tmp_path, redis_url=SecretStr(redis_url), **OF_GLPI_ALONE) as producer:
        with producer.store.database.engine.connect() as connection:
            connection.execute(text("DELETE FROM journal"))
            refused(GlpiProducer(producer).send("ticket", recorded("ticket-new")), 503)
            connection.rollback()
        with Redis.from_url(redis_url) as redis:
            until(lambda: sum(map(redis.llen, redis.scan_iter("deskbridge:deskbridge.*"))) == 1)
        assert len(producer.journal()) == 1
