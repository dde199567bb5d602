"""An author in another person's place is always reported: in the event's code, in a list, and by the doctor."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.people.misattributed import misattributed
from shared.notices.authors import Misattribution
from shared.notices.faults import Fault
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.reasons import Matching, Reason
from shared.notices.render import sentence
from shared.store.configuration.metadata import Entry, MetadataKind
from tests.support.bridge import Bridge
from tests.support.events import ALICE, task, task_event, ticket
from tests.support.ledger import entries, ours, row, until_settled

STRANGER = {"id": 99, "email": "nobody@example.test"}


def ended(bridge: Bridge, event: dict[str, Any]) -> str:
    (event_id,) = bridge.receive(event)
    bridge.sync()
    until_settled(bridge)
    notice = bridge.event(event_id).notice
    assert notice
    return notice.code


def let_the_pause_be_over(bridge: Bridge, reason: Notice) -> None:
    bridge.breaker.end()
    bridge.breaker.begin(reason, 0)


def listed(bridge: Bridge) -> list[tuple[Kind, int, str]]:
    return [(Kind(one.kind), one.key, str(one.notice.code)) for one in misattributed(bridge.store)]


def test_nothing_is_listed_while_everybody_is_who_they_are(bridge: Bridge) -> None:
    assert ended(bridge, task_event()) == Reason.TIME_LOGGED
    assert listed(bridge) == []


def test_hours_of_somebody_whom_the_tracker_does_not_know_are_listed_with_what_would_fix_it(
    bridge: Bridge,
) -> None:
    (event_id,) = bridge.receive(task_event(of_task=task(user=STRANGER)))
    bridge.sync()
    because = Misattribution.NOT_MATCHED(match=Matching.EMAIL_UNKNOWN(helpdesk_user_id=99))
    found = bridge.event(event_id).notice
    assert found == Reason.TIME_LOGGED_AS_ANOTHER(time_entry_id=1, issue_id=6, because=because)
    (wrong,) = misattributed(bridge.store)
    assert (wrong.kind, wrong.key, wrong.tracker_id, wrong.author_id) == (Kind.TICKET_TASK, 512, 1, 1)
    assert "user map" in wrong.todo


def test_what_names_nobody_is_listed_as_sent_in_the_administrators_name(bridge: Bridge) -> None:
    event = task_event(of_ticket=ticket(technician=None), of_task=task(user=None))
    assert ended(bridge, event) == Reason.TIME_LOGGED_AS_ANOTHER
    assert listed(bridge) == [
        (Kind.TICKET_TASK, 512, Misattribution.NOBODY_NAMED),
        (Kind.TICKET, 4711, Misattribution.NOBODY_NAMED),
    ]
    assert all("GLPI" in one.todo for one in misattributed(bridge.store))


def test_somebody_who_is_refused_is_listed_for_issue_and_hours(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.patch("users", 5, status=3)
    assert ended(bridge, task_event()) == Reason.TIME_LOGGED_AS_ANOTHER
    assert listed(bridge) == [
        (Kind.TICKET_TASK, 512, Misattribution.NOT_MATCHED),
        (Kind.TICKET, 4711, Misattribution.PERSON_NOT_ACTIVE),
    ]


def test_an_event_says_that_its_new_issue_has_another_author(bridge: Bridge) -> None:
    event = task_event(of_ticket=ticket(technician=STRANGER))
    assert ended(bridge, event) == Reason.TIME_LOGGED_AS_ANOTHER
    assert listed(bridge) == [(Kind.TICKET, 4711, Misattribution.NOT_MATCHED)]


def test_an_event_tells_a_wrong_author_of_the_issue_from_one_of_the_time_entry(bridge: Bridge) -> None:
    first, second = bridge.receive(
        task_event(of_ticket=ticket(technician=None)),
        task_event(1, of_ticket=ticket(technician=None), of_task=task(513, user=STRANGER)),
    )
    bridge.sync()
    until_settled(bridge)
    nobody = "sent as the API user, because GLPI names no technician"
    of_the_issue, both = (sentence(notice) for one in (first, second) if (notice := bridge.event(one).notice))
    assert of_the_issue == f"time entry #1 on issue #6; the issue has a wrong author: {nobody}"
    assert both.startswith("time entry #2 on issue #6, with a wrong author: sent as the API user: ")
    assert both.endswith(f"; the issue has a wrong author: {nobody}")


def test_a_key_that_lost_its_rights_pauses_everything_as_a_refused_one_does(
    bridge: Bridge, stand_in: StandIn
) -> None:
    stand_in.patch("users", 1, admin=False, status=1)
    first, second = bridge.receive(task_event(), task_event(1, of_task=task(513)))
    bridge.sync()
    paused = bridge.breaker.current()
    assert paused
    assert paused.reason.code == Fault.TRACKER_CLOSED
    made = len(ours(stand_in)) + len(entries(stand_in))
    assert made <= 1, "nothing else is sent in the wrong name"
    for _ in range(3):
        let_the_pause_be_over(bridge, paused.reason)
        bridge.hurry()
        bridge.sync()
    assert len(ours(stand_in)) + len(entries(stand_in)) == made, "a probe asks first"
    stand_in.patch("users", 1, admin=True)
    let_the_pause_be_over(bridge, paused.reason)
    until_settled(bridge)
    assert {bridge.event(one).state for one in (first, second)} == {"done"}
    assert [one["user_id"] for one in entries(stand_in)] == [5, 5]


def test_what_was_found_after_a_lost_answer_in_another_name_is_listed(
    bridge: Bridge, stand_in: StandIn
) -> None:
    stand_in.fault("reset_after", method="POST", path="/time_entries.json", count=1)
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    stand_in.patch("time_entries", 1, user_id=1)
    until_settled(bridge)
    assert row(bridge, Kind.TICKET_TASK, 512).adopted
    assert listed(bridge) == [(Kind.TICKET_TASK, 512, Misattribution.FOUND_AS_ANOTHERS)]
    notice = bridge.event(event_id).notice
    assert notice
    assert notice.code == Reason.TIME_LOGGED_AS_ANOTHER


@pytest.mark.parametrize("known", [True, False])
def test_a_role_that_is_gone_is_noticed_before_the_administrator_steps_in(
    bridge: Bridge, stand_in: StandIn, known: bool
) -> None:
    bridge.configure(default_role_id=77)
    if known:
        with bridge.store.transaction() as tx:
            tx.metadata.put(
                [Entry(MetadataKind.ROLE, 77, "Helper"), Entry(MetadataKind.ROLE, 4, "Developer")]
            )
    carol = {"id": 70, "email": "carol@example.test"}
    for number in range(3):
        event = task_event(
            number, of_ticket=ticket(number + 1, technician=carol), of_task=task(number + 1, user=ALICE)
        )
        assert bridge.forward(event, ticket_id=number + 1) == ["done"]
    with bridge.store.transaction() as tx:
        assert tx.metadata.get(MetadataKind.ROLE, 77) is None
        assert tx.metadata.get(MetadataKind.ROLE, 4)
    read = [one for one in stand_in.requests() if one["path"] == "/roles.json"]
    assert len(read) == 1, "once; then the cache explains it"
