"""`base_url` changes under existing links only if the Redmine at the new address has the same issues."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests

from deploy.sandbox.tracker.control import StandIn
from producer.admin.configuration.configuration import current, save
from producer.admin.services import Services
from shared.errors import SettingsError
from shared.notices.kinds import Kind
from shared.notices.refusals import Refusal
from tests.support.bridge import Bridge
from tests.support.events import on_ticket, task_event
from tests.support.ledger import change, row
from tests.support.refusals import says

pytestmark = pytest.mark.promise("OPS-07")
TICKETS = range(1, 9)
NEWEST = 13


@pytest.fixture
def other() -> Iterator[StandIn]:
    """Another Redmine, with the same key."""
    with StandIn(in_process=True) as started:
        yield started


@pytest.fixture
def linked(bridge: Bridge) -> Bridge:
    """A bridge with eight issues."""
    for number in TICKETS:
        bridge.forward(on_ticket(task_event(), number, 500 + number), ticket_id=number)
    assert row(bridge, Kind.TICKET, TICKETS[-1]).tracker_id == NEWEST
    return bridge


def move(bridge: Bridge, base_url: str) -> None:
    save(Services(bridge.settings, bridge.store), {"base_url": base_url}, moved=True, knows_key=True)


def of_same(stand_in: StandIn) -> str:
    """Return another address of the Redmine."""
    return stand_in.base_url.replace("127.0.0.1", "localhost")


def create_issue(stand_in: StandIn) -> None:
    headers = {"X-Redmine-API-Key": stand_in.api_key}
    body = {"issue": {"project_id": 1, "subject": "Payroll of the board"}}
    requests.post(
        f"{stand_in.base_url}/issues.json", json=body, headers=headers, timeout=5
    ).raise_for_status()


def issues_read(stand_in: StandIn) -> list[str]:
    paths = [str(one["path"]) for one in stand_in.requests() if one["method"] == "GET"]
    return [path for path in paths if path.startswith("/issues/")]


def test_a_new_address_of_the_same_redmine_is_accepted_after_a_few_issues_were_compared(
    linked: Bridge, stand_in: StandIn
) -> None:
    before = len(issues_read(stand_in))
    move(linked, of_same(stand_in))
    assert current(linked.store).base_url == of_same(stand_in)
    assert issues_read(stand_in)[before:] == [f"/issues/{one}.json" for one in (6, 7, 9, 11, 13)]


@pytest.mark.parametrize("has_issues", [True, False])
def test_another_redmine_is_refused(
    linked: Bridge, stand_in: StandIn, other: StandIn, has_issues: bool
) -> None:
    refusal = says(Refusal.ISSUES_NOT_THERE, issue_ids=[6, 7, 9, 11, 13])
    if has_issues:
        other.settings(clock_offset=60.0)
        for _ in TICKETS:
            create_issue(other)
        refusal = says(Refusal.ISSUE_IS_ANOTHER, issue_id=6)
    with pytest.raises(SettingsError, check=refusal):
        move(linked, other.base_url)
    assert current(linked.store).base_url == stand_in.base_url


def test_without_an_answer_the_address_stays(linked: Bridge, stand_in: StandIn) -> None:
    with pytest.raises(SettingsError, check=says(Refusal.ISSUE_NOT_READ, issue_id=6)):
        move(linked, "http://127.0.0.1:9")
    assert current(linked.store).base_url == stand_in.base_url


def test_issues_that_were_deleted_do_not_hinder_a_move(linked: Bridge, stand_in: StandIn) -> None:
    stand_in.fault("status_before", method="GET", path="/issues/(6|13).json", status=404)
    move(linked, of_same(stand_in))
    assert current(linked.store).base_url == of_same(stand_in)


def test_an_issue_of_a_deleted_user_does_not_hinder_a_move(linked: Bridge, stand_in: StandIn) -> None:
    stand_in.patch("issues", 6, author_id=7)
    move(linked, of_same(stand_in))
    assert current(linked.store).base_url == of_same(stand_in)


def test_of_an_issue_of_an_earlier_version_the_author_is_compared(linked: Bridge, stand_in: StandIn) -> None:
    change(linked, Kind.TICKET, 1, created_on=None)
    stand_in.patch("issues", 6, author_id=7)
    with pytest.raises(SettingsError, check=says(Refusal.ISSUE_IS_ANOTHER, issue_id=6)):
        move(linked, of_same(stand_in))


def test_without_a_link_any_address_is_accepted(bridge: Bridge) -> None:
    move(bridge, "http://127.0.0.1:9")
    assert current(bridge.store).base_url == "http://127.0.0.1:9"
