"""The doctor says whether notifications can reach people."""

from __future__ import annotations

from typing import Any

from producer.admin.configuration import notifications
from producer.admin.doctor import notifications as check
from producer.admin.doctor.finding import CheckResult, Status
from producer.admin.services import Services
from shared.notices.doctor_service import ServiceFinding
from tests.integration.test_doctor import installation
from tests.support.bridge import Bridge
from tests.support.receiver import Receiver


def found(bridge: Bridge) -> CheckResult:
    """Return the result of the check."""
    (result,) = check.notifications(installation(bridge))
    return result


def test_without_addresses_nothing_is_wrong(bridge: Bridge) -> None:
    result = found(bridge)
    assert (result.status, result.found.code) == (Status.OK, ServiceFinding.NOBODY_NOTIFIED)


def test_addresses_that_work_are_named_by_their_services(bridge: Bridge, receiver: Receiver) -> None:
    notifications.save(Services(bridge.settings, bridge.store), f"{receiver.url}\n{receiver.url}")
    result = found(bridge)
    assert result.status is Status.OK
    assert result.what == "2 addresses, by json"


def test_without_the_extra_it_warns(bridge: Bridge, receiver: Receiver, monkeypatch: Any) -> None:
    notifications.save(Services(bridge.settings, bridge.store), receiver.url)
    monkeypatch.setattr(check, "is_installed", lambda: False)
    result = found(bridge)
    assert (result.status, result.found.code) == (Status.WARNING, ServiceFinding.NOTIFICATIONS_NOT_INSTALLED)
    assert "[notify]" in result.todo


def test_a_message_that_was_not_taken_is_a_warning_until_one_is(bridge: Bridge, receiver: Receiver) -> None:
    services = Services(bridge.settings, bridge.store)
    notifications.save(services, receiver.url)
    receiver.status = 403
    notifications.send_test(services)
    result = found(bridge)
    assert (result.status, result.found.code) == (Status.WARNING, ServiceFinding.NOTIFICATION_NOT_TAKEN)
    assert "JSON answered 403" in result.what
    receiver.status = 200
    notifications.send_test(services)
    assert found(bridge).status is Status.OK
