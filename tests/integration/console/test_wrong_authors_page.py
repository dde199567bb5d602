"""Work under another name is listed by person; once a person is mapped, one button gives them all their hours."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.queries.outcome import ticket_outcome
from producer.admin.records.rights import Right
from tests.integration.console.conftest import ComeIn, Console
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket
from tests.support.ledger import entries, ours

STRANGER = {"id": 99, "email": "stranger@example.test"}
OTHER = {"id": 98, "email": "other@example.test"}
BACK = "/console/people/99?back=%2Fconsole%2Fauthors"


@pytest.fixture
def visitor(come_in: ComeIn) -> Visitor:
    """An operator."""
    return come_in(Right.OPERATOR)


@pytest.fixture
def strangers_work(bridge: Bridge) -> Bridge:
    """A bridge with a stranger's issue and three time entries under another name, and one entry of someone else."""
    for number, seconds in ((601, 5400), (602, 3600), (603, 900)):
        work = task(number, user=STRANGER, actiontime=seconds)
        bridge.forward(task_event(of_ticket=ticket(technician=STRANGER), of_task=work))
    bridge.forward(task_event(of_task=task(604, user=OTHER)))
    assert len(entries_as_admin(bridge)) == 4
    return bridge


def entries_as_admin(bridge: Bridge) -> list[int]:
    with bridge.store.transaction() as tx:
        return [one.key for one, _ in tx.misattributed.find() if one.kind == "ticket-task"]


def authors(stand_in: StandIn) -> dict[int, int]:
    return {one["id"]: one["user_id"] for one in entries(stand_in)}


def give(visitor: Visitor, whose: str = "person:99") -> str:
    visitor.open("/console/authors")
    return visitor.do("/console/authors", {"whose": whose})


def test_the_page_counts_each_persons_issues_and_hours(visitor: Visitor, strangers_work: Bridge) -> None:
    page = visitor.open("/console/authors")
    assert "stranger@example.test 1 issue, 2.75 h since" in page
    assert "other@example.test 1.5 h since" in page
    only = visitor.open("/console/authors?whose=person%3A98")
    assert "other@example.test" in only
    assert "stranger@example.test" not in only
    assert only.count("GLPI user 98 (other@example.test) has no mapping") == 1


def test_a_ticket_says_which_of_its_time_entries_are_under_another_user(
    visitor: Visitor, bridge: Bridge
) -> None:
    bridge.forward(task_event(of_task=task(512)))
    bridge.forward(task_event(1, of_task=task(604, user=OTHER)))
    page = visitor.open("/console/tickets/4711")
    assert "In Redmine, under another user" in page
    assert page.count(", under another user") == 2, "the headline, and the entry of the other person"
    shown = ticket_outcome(bridge.store, 4711)
    assert [(one.id, one.has_wrong_author) for one in shown.tasks] == [(512, False), (604, True)]


def test_the_title_of_a_ticket_s_page_has_no_markup(visitor: Visitor, bridge: Bridge) -> None:
    bridge.forward(task_event())
    visitor.open("/console/tickets/4711")
    (title,) = re.findall(r"<title>(.*?)</title>", visitor.page, re.DOTALL)
    assert title == "Ticket #4711: Printer 4711 on fire · deskbridge"


def test_a_person_who_is_mapped_there_gets_all_their_time_entries_and_no_one_elses(
    visitor: Visitor, strangers_work: Bridge, stand_in: StandIn
) -> None:
    strangers_work.configure(correct_authors=True)
    assert "Give the 3 time entries" not in visitor.open("/console/authors"), "no one is known yet"
    assert visitor.do(BACK, {"act": "map", "tracker_user_id": "5"}).startswith("/console/authors?did=mapped")
    assert "Give the 3 time entries to Alice Archer" in visitor.open("/console/authors")
    assert give(visitor) == "/console/authors?did=corrected"
    assert authors(stand_in) == {1: 5, 2: 5, 3: 5, 4: 1}
    after = visitor.open("/console/authors")
    assert "stranger@example.test 1 issue since" in after, "an issue keeps its author"
    assert "other@example.test 1.5 h since" in after
    assert entries_as_admin(strangers_work) == [604]


def test_what_went_wrong_is_shown_once_for_each_reason_and_the_rest_is_done(
    visitor: Visitor, strangers_work: Bridge, stand_in: StandIn
) -> None:
    strangers_work.configure(correct_authors=True)
    with strangers_work.store.transaction() as tx:
        tx.people.put_override(99, 5)
    stand_in.fault("status_before", method="PUT", path="/time_entries/2.json", status=422, count=1)
    where = give(visitor)
    assert where == "/console/authors?did=not-corrected"
    page = visitor.open(where)
    assert "Ticket task 602: Redmine rejected alice" in page
    assert authors(stand_in) == {1: 5, 2: 1, 3: 5, 4: 1}
    assert "Ticket task 602:" not in visitor.open("/console/authors"), "loaded again it is gone"
    assert "Give the time entry to Alice Archer" in visitor.page


def test_when_redmine_is_away_the_rest_is_not_tried(
    visitor: Visitor, strangers_work: Bridge, stand_in: StandIn
) -> None:
    strangers_work.configure(correct_authors=True)
    with strangers_work.store.transaction() as tx:
        tx.people.put_override(99, 5)
    stand_in.fault("status_before", method="PUT", path="/time_entries/1.json", status=503)
    page = visitor.open(give(visitor))
    assert "2 time entries were not tried" in page
    assert set(authors(stand_in).values()) == {1}


def test_as_long_as_the_settings_do_not_allow_it_nothing_is_changed(
    visitor: Visitor, strangers_work: Bridge, stand_in: StandIn
) -> None:
    with strangers_work.store.transaction() as tx:
        tx.people.put_override(99, 5)
    page = visitor.open("/console/authors")
    assert "The settings do not allow that time entries are corrected" in page
    assert "Give the" not in page
    assert visitor.send("/console/authors", {"whose": "person:99"}).status_code == 403
    assert set(authors(stand_in).values()) == {1}


def test_an_administrator_allows_it_in_the_settings(
    strangers_work: Bridge, come_in: ComeIn, console: Console
) -> None:
    console.do("PATCH", "/api/config", {"correct_authors": True})
    administrator = come_in(Right.ADMINISTRATOR, "ada")
    administrator.open("/console/settings/behaviour")
    assert 'name="correct_authors" checked' in administrator.page


def test_an_unknown_person_changes_nothing(
    visitor: Visitor, strangers_work: Bridge, stand_in: StandIn
) -> None:
    strangers_work.configure(correct_authors=True)
    assert give(visitor, "person:5") == "/console/authors?did=corrected"
    assert "Nothing matches" in visitor.open("/console/authors?whose=login%3Anobody")
    assert set(authors(stand_in).values()) == {1}


def test_a_person_whom_redmine_refused_is_found_by_their_login(
    visitor: Visitor, bridge: Bridge, stand_in: StandIn
) -> None:
    bridge.configure(correct_authors=True)
    bridge.forward(task_event())
    stand_in.patch("roles", 4, permissions=["view_issues", "add_issues", "edit_issues", "view_time_entries"])
    bridge.forward(task_event(of_task=task(605)))
    page = visitor.open("/console/authors")
    assert "alice@example.test 1.5 h since" in page, "the match by e-mail says who it is in GLPI"
    assert len(ours(stand_in)) == 1


def test_the_api_names_who_was_meant_and_the_hours(console: Console, strangers_work: Bridge) -> None:
    found: list[dict[str, Any]] = console.get("/api/misattributed")
    meant = {(one["kind"], one["id"]): (one["helpdesk_user_id"], one["hours"]) for one in found}
    assert meant[("ticket-task", 601)] == (99, 1.5)
    assert meant[("ticket", 4711)] == (99, None)
    assert json.dumps(found)
