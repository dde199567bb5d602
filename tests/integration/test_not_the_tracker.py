"""If a limiter, proxy or maintenance page answers for the tracker, nothing fails and nothing is created twice."""

from __future__ import annotations

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.errors import TrackerAway
from shared.notices.faults import Detail, Fault
from shared.notices.notice import Code, Notice
from shared.notices.render import article
from shared.tracker.answers import QUOTA_EXCEEDED, is_limiters
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket, ticket_event
from tests.support.refusals import says

CREATIONS = pytest.mark.parametrize("path", ["/issues.json", "/time_entries.json"])
PAGES = pytest.mark.parametrize("status", [200, 302, 403, 404, 405])


def made(stand_in: StandIn) -> tuple[int, int]:
    """Return the number of our issues and of all time entries in the tracker."""
    state = stand_in.state()
    return sum(one["id"] > 5 for one in state["issues"]), len(state["time_entries"])


def sent(stand_in: StandIn, method: str, path: str) -> int:
    """Return how many times a call arrived."""
    return sum(one["method"] == method and one["path"] == path for one in stand_in.requests())


def leads_to(notice: Notice | None, code: Code) -> bool:
    """Tell whether a reason has a code, itself or in its parameters."""
    if notice is None:
        return False
    within = [one for one in notice.params.values() if isinstance(one, Notice)]
    return notice.code == code or any(leads_to(one, code) for one in within)


def go_on(bridge: Bridge, event_id: int, rounds: int = 8) -> str:
    """Let time pass until an event has ended; return its state."""
    for _ in range(rounds):
        if bridge.event(event_id).state != "pending":
            break
        bridge.breaker.end()
        bridge.hurry()
        bridge.sync()
    return bridge.event(event_id).state


@CREATIONS
@pytest.mark.parametrize("status", [429, 503])
def test_a_proxy_that_asks_to_wait_after_the_tracker_has_acted_doubles_nothing(
    bridge: Bridge, stand_in: StandIn, path: str, status: int
) -> None:
    stand_in.fault("status_after", method="POST", path=path, status=status, retry_after=7, count=1)
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    paused = bridge.breaker.current()
    assert paused is not None
    assert 5 < bridge.breaker.left(paused) <= 7
    assert go_on(bridge, event_id) == "done"
    assert made(stand_in) == (1, 1)
    assert sent(stand_in, "POST", path) == 1


@CREATIONS
def test_a_limiter_that_says_no_word_of_itself_is_looked_up_and_the_creation_sent_again(
    bridge: Bridge, stand_in: StandIn, path: str
) -> None:
    stand_in.fault("status_before", method="POST", path=path, status=429, retry_after=0, count=1)
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    assert bridge.event(event_id).attempts == 1, "a creation that is asked to wait for ever ends some day"
    assert go_on(bridge, event_id) == "done"
    assert made(stand_in) == (1, 1)


def test_a_membership_that_is_asked_to_wait_costs_no_attempt(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.fault("status_before", method="POST", path="/projects/1/memberships.json", status=429, count=1)
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    assert (bridge.event(event_id).state, bridge.event(event_id).attempts) == ("pending", 0)
    assert bridge.breaker.current() is not None


@pytest.mark.parametrize("status", [429, 503])
def test_an_update_that_is_asked_to_wait_costs_no_attempt(
    bridge: Bridge, stand_in: StandIn, status: int
) -> None:
    assert bridge.forward(task_event()) == ["done"]
    fault = stand_in.fault("status_before", method="PUT", status=status, retry_after=0)
    (event_id,) = bridge.receive(ticket_event(2, of_ticket=ticket(status=5)))
    for _ in range(3):
        bridge.breaker.end()
        bridge.hurry()
        bridge.sync()
    assert (bridge.event(event_id).state, bridge.event(event_id).attempts) == ("pending", 0)
    stand_in.clear_faults(fault)
    assert go_on(bridge, event_id) == "done"


def test_only_a_problem_document_of_the_limiters_own_type_proves_that_nothing_was_done() -> None:
    proof = b'{"type": "%s", "title": "quota"}' % QUOTA_EXCEEDED.encode()
    assert is_limiters(429, proof)
    assert not is_limiters(503, proof)
    for body in (b"", b"Too Many Requests", b"<html>429</html>", b'{"type": "about:blank"}', b"[]", b'"x"'):
        assert not is_limiters(429, body)


@PAGES
@pytest.mark.parametrize("when", ["before", "after"])
@CREATIONS
def test_during_maintenance_everything_waits_and_nothing_fails(
    bridge: Bridge, stand_in: StandIn, path: str, when: str, status: int
) -> None:
    stand_in.fault(f"page_{when}", method="POST", path=path, status=status, count=1)
    page = stand_in.fault("page_before", method="GET", path="/users.json", status=status)
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    paused = bridge.breaker.current()
    assert paused is not None
    assert bridge.event(event_id).state == "pending"
    stand_in.clear_faults(page)
    assert go_on(bridge, event_id) == "done"
    assert made(stand_in) == (1, 1)


@PAGES
def test_an_update_during_maintenance_waits_at_no_cost(
    bridge: Bridge, stand_in: StandIn, status: int
) -> None:
    assert bridge.forward(task_event()) == ["done"]
    page = stand_in.fault("page_before", status=status)
    (event_id,) = bridge.receive(ticket_event(2, of_ticket=ticket(status=5)))
    for _ in range(15):
        bridge.breaker.end()
        bridge.hurry()
        bridge.sync()
    assert (bridge.event(event_id).state, bridge.event(event_id).attempts) == ("pending", 0)
    stand_in.clear_faults(page)
    assert go_on(bridge, event_id) == "done"
    assert stand_in.state()["issues"][-1]["status_id"] == 3


@PAGES
@pytest.mark.parametrize("when", ["before", "after"])
@CREATIONS
def test_a_page_that_is_gone_when_the_tracker_is_asked_refuses_nothing(
    bridge: Bridge, stand_in: StandIn, path: str, when: str, status: int
) -> None:
    stand_in.fault(f"page_{when}", method="POST", path=path, status=status, count=1)
    (event_id,) = bridge.receive(task_event())
    assert go_on(bridge, event_id) == "done"
    assert made(stand_in) == (1, 1)
    assert sent(stand_in, "POST", path) == (1 if when == "after" else 2)


@PAGES
def test_an_update_that_met_a_page_is_sent_again(bridge: Bridge, stand_in: StandIn, status: int) -> None:
    assert bridge.forward(task_event()) == ["done"]
    stand_in.fault("page_before", method="PUT", status=status, count=1)
    (event_id,) = bridge.receive(ticket_event(2, of_ticket=ticket(status=5)))
    assert go_on(bridge, event_id) == "done"
    assert stand_in.state()["issues"][-1]["status_id"] == 3


def test_what_answers_one_path_alone_in_the_tracker_s_place_stops_that_path_only_and_is_held_at_last(
    bridge: Bridge, stand_in: StandIn
) -> None:
    stand_in.fault("page_before", method="POST", path="/issues.json", status=404)
    (event_id,) = bridge.receive(task_event())
    assert go_on(bridge, event_id, rounds=60) == "on_hold"
    assert bridge.breaker.current() is None
    assert sent(stand_in, "POST", "/issues.json") <= 12


EMOJI = "\N{FIRE}"
MADE_BY = {"page_before": 403, "status_before": 500}


def refuse_the_emoji(stand_in: StandIn, kind: str, status: int) -> None:
    """Let a proxy, or the tracker's database, refuse every text that has an emoji."""
    stand_in.fault(kind, text=EMOJI, status=status)


def fare(bridge: Bridge, event_id: int, others: range, rounds: int = 40) -> None:
    """Let time pass until an event has ended, while events of other tickets arrive."""
    for number in others:
        other = task_event(number, of_task=task(6000 + number), of_ticket=ticket(5000 + number))
        bridge.receive(other)
        bridge.sync(5000 + number)
    go_on(bridge, event_id, rounds)


@pytest.mark.parametrize(
    ("kind", "status", "detail", "step"),
    [
        ("page_before", 403, Detail.REFUSED_ON_THE_WAY, "firewall"),
        ("page_before", 200, Detail.REFUSED_ON_THE_WAY, "firewall"),
        ("page_before", 413, Detail.TOO_LARGE_ON_THE_WAY, "client_max_body_size"),
        ("status_before", 500, Detail.ONLY_THIS_TEXT, "utf8mb4"),
    ],
)
def test_a_text_that_is_refused_on_the_way_is_called_that_and_other_tickets_go_through(
    bridge: Bridge, stand_in: StandIn, kind: str, status: int, detail: Detail, step: str
) -> None:
    refuse_the_emoji(stand_in, kind, status)
    (event_id,) = bridge.receive(task_event(of_ticket=ticket(title=f"It burns {EMOJI}")))
    bridge.sync()
    fare(bridge, event_id, range(3))
    event = bridge.event(event_id)
    assert event.state == "on_hold"
    assert event.reason is not None
    assert step in event.reason
    assert "other tickets succeed (3 since the first attempt)" in event.reason
    assert "base_url" not in event.reason
    assert bridge.breaker.current() is None
    assert leads_to(event.notice, detail)
    assert article(detail) == "KB-TRACKER-012"


@pytest.mark.parametrize(("kind", "status"), MADE_BY.items())
def test_that_other_tickets_go_through_is_not_said_while_none_does(
    bridge: Bridge, stand_in: StandIn, kind: str, status: int
) -> None:
    refuse_the_emoji(stand_in, kind, status)
    (event_id,) = bridge.receive(task_event(of_ticket=ticket(title=f"It burns {EMOJI}")))
    assert go_on(bridge, event_id, 40) == "on_hold"
    reason = bridge.event(event_id).reason or ""
    assert "other tickets" not in reason
    assert "utf8mb4" not in reason


def test_a_tracker_that_fails_once_in_a_while_is_not_said_to_fail_on_a_text(
    bridge: Bridge, stand_in: StandIn
) -> None:
    stand_in.fault("status_before", method="POST", path="/issues.json", text="Printer", count=2)
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    fare(bridge, event_id, range(1), rounds=2)
    assert "utf8mb4" not in (bridge.event(event_id).reason or "")


def test_what_the_tracker_itself_refuses_asks_for_nothing_more(bridge: Bridge, stand_in: StandIn) -> None:
    bridge.configure(default_priority_id=999)
    assert bridge.forward(task_event()) == ["failed"]
    assert sent(stand_in, "POST", "/issues.json") == 1, "what was sent is refused, not the person"
    assert bridge.breaker.current() is None


def test_a_login_page_in_front_of_the_tracker_is_told_as_such(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.fault("page_before", status=302)
    _, client = bridge.service.connect(None)  # type: ignore[arg-type]
    with pytest.raises(TrackerAway, check=says(Fault.TRACKER_AWAY, Detail.REDIRECT_NOT_FOLLOWED)):
        client.call("GET", "/projects.json")
