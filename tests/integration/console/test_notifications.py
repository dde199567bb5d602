"""The page of notifications never shows saved addresses, and a test message says whether they work."""

from __future__ import annotations

import time
from typing import Any

import pytest

from producer.admin.configuration import notifications
from producer.admin.records.rights import Right
from producer.console.pages import notifications as page
from shared.notifications import delivery
from shared.store.tables.notifications import NotificationCause
from shared.store.tables.types import clock
from tests.integration.console.conftest import ComeIn, Console
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge
from tests.support.receiver import Receiver

PATH = "/console/settings/notifications"


@pytest.fixture
def administrator(come_in: ComeIn) -> Visitor:
    visitor = come_in(Right.ADMINISTRATOR)
    visitor.open(PATH)
    return visitor


def test_saved_addresses_are_named_by_their_service_and_never_shown(
    administrator: Visitor, receiver: Receiver
) -> None:
    assert "No one is notified yet" in administrator.open(PATH)
    assert administrator.do(PATH, {"urls": receiver.url}).startswith(f"{PATH}?did=saved")
    text = administrator.open(PATH)
    assert "json://…" in text
    assert receiver.SECRET not in administrator.page
    assert "chose where notifications go: json" in administrator.open("/console/changes")


def test_typed_addresses_are_tested_before_they_are_saved(administrator: Visitor, receiver: Receiver) -> None:
    answer = administrator.send(f"{PATH}/test", {"urls": receiver.url})
    assert "The test message was taken" in answer.text
    (message,) = receiver.taken
    assert "this is a test" in message["title"]
    assert f"{administrator.base_url}{PATH}" in message["message"]
    assert "No one is notified yet" in administrator.open(PATH), "nothing was saved"


def test_the_stored_addresses_are_tested_if_none_is_typed(administrator: Visitor, receiver: Receiver) -> None:
    administrator.do(PATH, {"urls": receiver.url})
    receiver.status = 401
    answer = administrator.send(f"{PATH}/test", {"urls": ""})
    assert "JSON answered 401" in answer.text
    assert receiver.SECRET not in answer.text
    assert "JSON answered 401" in administrator.open(PATH), "it is kept for whoever looks next"


def test_a_wrong_address_is_named_by_its_line_and_not_repeated(administrator: Visitor) -> None:
    answer = administrator.send(PATH, {"urls": "mailto://USER:p4ssword@example.test\nnonsense-s3cret"})
    assert answer.status_code == 422
    assert "line 2 is no address" in answer.text
    assert "s3cret" not in answer.text
    assert "p4ssword" not in answer.text


def test_without_any_address_a_test_says_what_is_missing(administrator: Visitor) -> None:
    answer = administrator.send(f"{PATH}/test", {"urls": ""})
    assert answer.status_code == 422
    assert "no address for notifications is stored" in answer.text


def test_removed_addresses_are_gone(administrator: Visitor, receiver: Receiver) -> None:
    administrator.do(PATH, {"urls": receiver.url})
    administrator.do(f"{PATH}/remove")
    assert "No one is notified yet" in administrator.open(PATH)


def test_without_apprise_the_page_says_so(administrator: Visitor, monkeypatch: Any) -> None:
    monkeypatch.setattr(delivery, "is_installed", lambda: False)
    assert "Apprise is not installed" in administrator.open(PATH)
    answer = administrator.send(PATH, {"urls": "json://127.0.0.1/"})
    assert answer.status_code == 422
    assert "add the extra [notify]" in answer.text


@pytest.mark.parametrize("action", ["", "/test", "/remove"])
def test_only_an_administrator_changes_or_tests_them(come_in: ComeIn, action: str) -> None:
    operator = come_in(Right.OPERATOR)
    operator.open(PATH)
    assert operator.send(f"{PATH}{action}", {"urls": "json://127.0.0.1/"}).status_code == 403


def test_a_running_console_sends_by_itself(
    monkeypatch: Any, request: pytest.FixtureRequest, bridge: Bridge, receiver: Receiver
) -> None:
    monkeypatch.setattr(page, "CHECKED_EVERY_S", 0.05)
    console: Console = request.getfixturevalue("console")
    notifications.save(console.app.state.services, receiver.url)
    with bridge.store.database.transaction() as session:
        session.add(NotificationCause(key="worker", since=clock(-120), count=0))
    until = time.monotonic() + 10
    while not receiver.taken and time.monotonic() < until:
        time.sleep(0.05)
    assert "no worker is running" in receiver.taken[0]["title"]
