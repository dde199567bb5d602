"""A creation on hold is adopted only after a comparison; an adoption can be undone until something is sent to it."""

from __future__ import annotations

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.review.undo import NotTakenBack, take_back
from producer.admin.services import Services
from shared.metadata.synchronisation import synchronise
from shared.notices.kinds import Kind
from shared.notices.reasons import Reason
from shared.store.tables.ledger import LedgerState
from tests.integration.console.conftest import ComeIn
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket

PATH = "/console/held/ticket/4711"


@pytest.fixture
def operator(come_in: ComeIn) -> Visitor:
    return come_in("operator")


def hold_by_policy(bridge: Bridge, stand_in: StandIn, *, is_created: bool = True) -> None:
    """Put an issue whose answer was lost on hold, under the policy `hold`."""
    bridge.configure(in_doubt_policy="hold")
    stand_in.fault(
        "close_after" if is_created else "close_before", method="POST", path="/issues.json", count=1
    )
    bridge.forward(task_event())
    with bridge.store.transaction() as tx:
        row = tx.issues.get(4711)
    assert row is not None
    assert row.state == LedgerState.ON_HOLD, row.state
    assert not row.candidates, "the policy looks for none"


def test_the_page_looks_for_candidates_also_under_policy_hold(
    operator: Visitor, bridge: Bridge, stand_in: StandIn
) -> None:
    hold_by_policy(bridge, stand_in)
    services = Services(bridge.settings, bridge.store)
    assert synchronise(services.store, services.locks, services.connector.connect)
    made = stand_in.state()["issues"][-1]["id"]
    shown = operator.open(PATH)
    assert f"It is #{made}: adopt it" in shown
    assert "found just now" in shown
    assert "Support (1)" in shown, "names in place of ids"
    operator.do(PATH, {"verdict": "adopt", "adopt": str(made), "seen": str(made)})
    with bridge.store.transaction() as tx:
        row = tx.issues.get(4711)
    assert row is not None
    assert row.tracker_id == made


def test_a_typed_number_is_compared_before_it_can_be_adopted(
    operator: Visitor, bridge: Bridge, stand_in: StandIn
) -> None:
    hold_by_policy(bridge, stand_in, is_created=False)
    stand_in.patch("issues", 1, created_on=1577836800.0)
    operator.open(PATH)
    assert operator.do(PATH, {"verdict": "adopt", "adopt": "1"}) == f"{PATH}?number=1"
    with bridge.store.transaction() as tx:
        row = tx.issues.get(4711)
    assert row is not None
    assert row.state == LedgerState.ON_HOLD, "a number alone changes nothing"
    shown = operator.open(f"{PATH}?number=1")
    assert "Seed issue" in shown
    assert "differs" in shown
    assert "older than the request" in shown
    assert "422" not in shown
    assert "Enter the Redmine id" in operator.open(f"{PATH}?number=abc", status=422)
    assert "missing" in operator.open(f"{PATH}?number=99999")


def test_what_is_older_than_the_send_is_asked_about_once_more(
    operator: Visitor, bridge: Bridge, stand_in: StandIn
) -> None:
    hold_by_policy(bridge, stand_in, is_created=False)
    stand_in.patch("issues", 1, created_on=1577836800.0)
    operator.open(f"{PATH}?number=1")
    compared = {"verdict": "adopt", "adopt": "1", "seen": "1"}
    answer = operator.send(PATH, compared)
    assert answer.status_code == 409
    assert "was created before deskbridge sent anything" in answer.text
    operator.open(f"{PATH}?number=1")
    assert operator.do(PATH, {**compared, "sure": "on"}) == "/console/tickets/4711?did=adopted"


def test_the_issue_of_another_ticket_cannot_be_adopted_and_the_page_names_that_ticket(
    operator: Visitor, bridge: Bridge, stand_in: StandIn
) -> None:
    bridge.forward(task_event(of_ticket=ticket(4712), of_task=task(513)), ticket_id=4712)
    theirs = stand_in.state()["issues"][-1]["id"]
    hold_by_policy(bridge, stand_in, is_created=False)
    shown = operator.open(f"{PATH}?number={theirs}")
    assert "It is the issue of another ticket: #4712" in shown
    assert f"It is #{theirs}: adopt it" not in shown
    answer = operator.send(PATH, {"verdict": "adopt", "adopt": theirs, "seen": theirs, "sure": "on"})
    assert answer.status_code == 409
    assert "already belongs to ticket 4712" in answer.text


def test_an_adoption_is_taken_back_while_nothing_was_sent_after_it(
    operator: Visitor, bridge: Bridge, stand_in: StandIn
) -> None:
    hold_by_policy(bridge, stand_in)
    made = stand_in.state()["issues"][-1]["id"]
    operator.open(PATH)
    operator.do(PATH, {"verdict": "adopt", "adopt": str(made), "seen": str(made)})
    assert f"An operator linked it to issue #{made}" in operator.open("/console/tickets/4711")
    assert operator.do("/console/tickets/4711/take-back", {"kind": "ticket", "key": "4711"}).startswith(PATH)
    with bridge.store.transaction() as tx:
        row = tx.issues.get(4711)
    assert row is not None
    assert (row.state, row.tracker_id, row.candidates) == (LedgerState.ON_HOLD, None, [made])
    assert f"undid the adoption of issue #{made} by ticket 4711" in operator.open("/console/changes")
    bridge.sync()
    assert stand_in.state()["time_entries"] == [], "nothing was logged on it"
    assert "Undo" not in operator.open("/console/tickets/4711")


def test_an_adoption_to_which_something_was_sent_is_not_taken_back(
    operator: Visitor, bridge: Bridge, stand_in: StandIn
) -> None:
    hold_by_policy(bridge, stand_in)
    made = stand_in.state()["issues"][-1]["id"]
    operator.open(PATH)
    operator.do(PATH, {"verdict": "adopt", "adopt": str(made), "seen": str(made)})
    bridge.hurry()
    bridge.sync()
    assert stand_in.state()["time_entries"]
    assert "Undo" not in operator.open("/console/tickets/4711")
    answer = operator.send("/console/tickets/4711/take-back", {"kind": "ticket", "key": "4711"})
    assert answer.status_code == 409
    services = Services(bridge.settings, bridge.store)
    with pytest.raises(NotTakenBack):
        take_back(services, Kind.TICKET, 4711)


def test_while_a_worker_is_at_the_ticket_nothing_is_taken_back(
    operator: Visitor, bridge: Bridge, stand_in: StandIn
) -> None:
    hold_by_policy(bridge, stand_in)
    made = stand_in.state()["issues"][-1]["id"]
    operator.open(PATH)
    operator.do(PATH, {"verdict": "adopt", "adopt": str(made), "seen": str(made)})
    services = Services(bridge.settings, bridge.store)
    with (
        services.locks.hold("ticket:4711"),
        pytest.raises(NotTakenBack, match="a worker is processing ticket 4711: try again in a moment"),
    ):
        take_back(services, Kind.TICKET, 4711)


def test_what_a_lookup_found_is_no_person_s_to_take_back(operator: Visitor, bridge: Bridge) -> None:
    bridge.forward(task_event())
    operator.open("/console/account")
    assert operator.do("/console/tickets/4711/take-back", {"kind": "ticket", "key": "4711"}).endswith(
        "did=unchanged"
    )
    with bridge.store.transaction() as tx:
        row = tx.issues.get(4711)
        assert row is not None
        tx.issues.gone(4711, row.tracker_id or 0, Reason.ISSUE_GONE(issue_id=row.tracker_id))
