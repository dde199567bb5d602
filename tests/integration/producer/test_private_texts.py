"""The text of a private ticket task is not even stored unless the settings send it; its hours always are."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from deploy.embedded.ports import free_port
from producer.admin.records.transaction import Store
from producer.intake.private_text import REMEMBERED_S, PrivateText
from shared.events.config import PluginConfig, PrivateTexts
from shared.events.delivery import parse_delivery
from shared.store.opening import Store as ProducersStore
from shared.store.tables.database import Database
from tests.integration.producer.conftest import Run, RunningProducer
from tests.support.databases import make_tables
from tests.support.events import followup, followup_event, task, task_event

SECRET_TEXT = "the spare key is below the mat"


def private_event(**of_task: Any) -> dict[str, Any]:
    return task_event(of_task=task(**{"content": SECRET_TEXT, "is_private": True, **of_task}))


def set_to(producer: RunningProducer, private_tasks: str) -> None:
    with producer.store.transaction() as tx:
        tx.configs.put(PluginConfig.model_validate({"private_tasks": private_tasks}))


def tasks_kept(producer: RunningProducer) -> list[dict[str, Any]]:
    return [json.loads(row.payload)["task"] for row in producer.journal()]


@pytest.mark.promise("SEC-79")
@pytest.mark.parametrize("private_tasks", [None, "hours_only", "skip"])
def test_the_text_of_a_private_task_is_left_out_before_the_journal(
    run: Run, private_tasks: str | None
) -> None:
    producer = run()
    if private_tasks:
        set_to(producer, private_tasks)
    assert producer.send(private_event()).status_code == 202
    (kept,) = tasks_kept(producer)
    assert kept == private_event(content=None)["task"]


def test_texts_are_kept_of_what_is_public_and_of_everything_if_the_settings_send_it(run: Run) -> None:
    producer = run()
    set_to(producer, "send")
    public = task_event(of_task=task(id=2, is_private=False))
    assert producer.send([private_event(), public]).status_code == 202
    assert tasks_kept(producer) == [private_event()["task"], public["task"]]


def test_a_repeat_is_a_duplicate_whatever_was_left_out(run: Run) -> None:
    producer = run()
    answers = [producer.send(private_event(), "one").json()["accepted"][0] for _ in range(2)]
    assert [one["duplicate"] for one in answers] == [False, True]


@pytest.mark.parametrize(
    "event",
    [private_event(), followup_event(of_followup=followup(content=SECRET_TEXT, is_private=True))],
    ids=["task", "follow-up"],
)
def test_a_repeat_is_a_duplicate_if_its_text_was_kept_before_and_is_not_now(
    producer: RunningProducer, event: dict[str, Any]
) -> None:
    delivery, now = parse_delivery(event, "one"), datetime.now(UTC)
    answers = []
    for kept in (PrivateTexts.TASKS | PrivateTexts.FOLLOWUPS, PrivateTexts.NONE):
        with producer.store.transaction() as tx:
            answers += tx.journal.append([delivery], now, private_text=kept)
    assert [one.duplicate for one in answers] == [False, True]
    (row,) = producer.journal()
    assert SECRET_TEXT in row.payload


def test_a_changed_setting_is_followed_after_some_seconds(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/producer.sqlite3")
    make_tables(database)
    store, now = Store(database), 0.0
    asked = PrivateText(ProducersStore(database), lambda: now)
    for private_tasks, is_kept in (("hours_only", False), ("send", True), ("skip", False)):
        before = asked.may_be_kept()
        with store.transaction() as tx:
            tx.configs.put(PluginConfig.model_validate({"private_tasks": private_tasks}))
        assert asked.may_be_kept() == before
        now += REMEMBERED_S
        assert bool(asked.may_be_kept()) == is_kept
    database.close()


def test_a_setting_that_cannot_be_read_keeps_no_text(tmp_path: Path) -> None:
    """As with a role that lacks the right: the hours are still accepted."""
    database = Database(f"sqlite:///{tmp_path}/empty.sqlite3")
    assert not PrivateText(ProducersStore(database)).may_be_kept()
    database.close()


def test_a_database_that_does_not_answer_is_no_setting(tmp_path: Path) -> None:
    """A follow-up has nothing but its text, so its sender has to repeat it."""
    database = Database(f"postgresql+psycopg2://postgres@127.0.0.1:{free_port()}/none")
    with pytest.raises(OperationalError):
        PrivateText(ProducersStore(database)).may_be_kept()
    database.close()
