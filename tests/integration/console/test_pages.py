"""The pages over a real deskbridge: what they show of events, tickets and creations on hold, and what buttons do."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fastapi.routing import APIRoute
from sqlalchemy import event, update
from starlette.routing import Mount, Route

from deploy.sandbox.tracker.control import StandIn
from producer.admin.access.accounts import AccountStore
from producer.admin.knowledge.shipped import RECORDS, shipped
from producer.admin.records.rights import Right
from shared.notices.invalid import Invalid
from shared.notices.reasons import Reason
from shared.store.configuration.mappings import MappingKind
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerState, TaskTimeLink
from tests.helpdesks.recorded_requests import recorded
from tests.integration.console.conftest import ComeIn, Console
from tests.integration.console.pages import PASSWORD, SAME_ORIGIN, Visitor
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket, ticket_event
from tests.support.ledger import entries, ours

NASTY = "<script>alert(1)</script>\u202e\"'&"


@pytest.fixture
def visitor(come_in: ComeIn) -> Visitor:
    return come_in(Right.OPERATOR)


PAGES = [
    "",
    "/events",
    "/events?state=failed",
    "/held",
    "/doctor",
    "/changes",
    "/account",
    "/knowledge/KB-TRACKER-002",
]


@pytest.mark.parametrize("path", PAGES)
def test_every_page_opens_on_an_empty_installation(visitor: Visitor, path: str) -> None:
    visitor.open(f"/console{path}")
    assert "<script>" not in visitor.page


@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_page_of_every_article_opens_and_its_links_lead_somewhere(
    visitor: Visitor, language: str
) -> None:
    visitor.open("/console")
    visitor.do("/console/language", {"language": language})
    names = sorted(one.name.removesuffix(".md") for one in RECORDS.iterdir() if one.name.startswith("KB-"))
    assert len(names) > 60
    for name in names:
        page = visitor.open(f"/console/knowledge/{name}")
        assert name in page
        related = shipped(name).metadata.get("related_records", [])
        assert all(f'href="/console/knowledge/{one}"' in visitor.page for one in related)
        assert set(related) <= set(names)


def test_a_ticket_tells_its_story(visitor: Visitor, bridge: Bridge) -> None:
    assert bridge.forward(task_event()) == ["done"]
    page = visitor.open("/console/tickets/4711")
    for part in (
        "Everything is in Redmine",
        "Current state",
        "time entry #",
        "POST /issues.json",
        "Event 1 arrived",
    ):
        assert part in page, page
    assert "Done" in visitor.open("/console/events?ticket=4711")


def test_a_ticket_shows_what_the_helpdesk_has_named_and_leads_to_its_page_there(
    visitor: Visitor, bridge: Bridge
) -> None:
    address = "https://glpi.example.org/front/ticket.form.php?id=4711"
    one = task_event(
        of_ticket=ticket(url=address, entity_name="Acme", requester={"id": 9, "name": "Bert Brown"})
    )
    assert bridge.forward(one) == ["done"]
    visitor.open("/console/tickets/4711")
    page = visitor.page
    for part in (f'href="{address}"', "Acme (3)", "Bert Brown (9)"):
        assert part in page, page


def test_a_template_with_the_tickets_number_is_offered(visitor: Visitor) -> None:
    visitor.open("/console/templates")
    assert "operation=issue.create&amp;with_ticket=true" in visitor.page
    visitor.open("/console/templates/new?operation=issue.create&with_ticket=true")
    assert "[GLPI {{ticket.id}}]" in visitor.page


def test_what_comes_from_outside_is_text_and_what_is_invisible_is_marked(
    visitor: Visitor, bridge: Bridge
) -> None:
    one = task_event()
    one["ticket"]["title"] = NASTY
    bridge.forward(one)
    for path in ("/console/tickets/4711", "/console/events", "/console"):
        visitor.open(path)
        assert "<script>alert" not in visitor.page
        assert "\u202e" not in visitor.page
    visitor.open("/console/tickets/4711")
    assert "&lt;U+202E&gt;" in visitor.page


def refused(bridge: Bridge, count: int = 1) -> list[int]:
    """Receive events that fail because their activity does not exist in the tracker."""
    bridge.configure(default_activity_id=77)
    ids = []
    for number in range(count):
        one = task_event()
        one["ticket"]["id"] = 4711 + number
        one["task"]["id"] = 512 + number
        ids += bridge.receive(one)
        bridge.sync(4711 + number)
    return ids


def test_a_failure_says_its_cause_and_what_fixes_it_and_is_replayed_there(
    visitor: Visitor, bridge: Bridge
) -> None:
    refused(bridge)
    page = visitor.open("/console/tickets/4711")
    assert "1 time entry is missing in Redmine" in page
    assert "422" in page
    assert "/console/settings/defaults?back=%2Fconsole%2Ftickets%2F4711#default_activity_id" in visitor.page
    visitor.open("/console/events")
    assert 'href="/console/knowledge/KB-HINT-002"' in visitor.page
    bridge.configure(default_activity_id=9)
    visitor.do("/console/tickets/4711/replay")
    bridge.sync()
    assert "Everything is in Redmine" in visitor.open("/console/tickets/4711")


def test_failures_are_grouped_by_cause_and_each_count_leads_to_its_list(
    visitor: Visitor, bridge: Bridge
) -> None:
    refused(bridge, 3)
    assert "3 events: " in visitor.open("/console")
    address = visitor.page.split('href="/console/events?state=failed&amp;cause=')[1].split('"')[0]
    assert "3 events match" in visitor.open(f"/console/events?state=failed&cause={address}")


def test_replaying_what_matches_stops_at_the_highest_id_that_was_seen(
    visitor: Visitor, bridge: Bridge
) -> None:
    first, second, third = refused(bridge, 3)
    visitor.open("/console/events?state=failed")
    where = visitor.do("/console/events/replay", {"state": "failed", "upto": str(second)})
    with bridge.store.transaction() as tx:
        states = [row.state for one in (first, second, third) if (row := tx.journal.get(one))]
    assert states == [EventState.PENDING, EventState.PENDING, EventState.FAILED]
    assert "replayed 2 events" in visitor.open(where)
    bridge.configure(default_activity_id=9)
    bridge.sync(4711)
    bridge.sync(4712)
    assert "Done2" in visitor.open(where)


def test_parked_deliveries_are_found_from_the_doctor_read_again_and_what_is_left_is_said(
    visitor: Visitor, bridge: Bridge
) -> None:
    with bridge.store.transaction() as tx:
        for name, body in (("a", b"\xff"), ("b", recorded("task-update-done").body)):
            tx.journal.park(name, "glpi/ticket-task", body, [("item.state", Invalid.FIELD_REQUIRED())])
    visitor.open("/console/doctor")
    assert 'href="/console/events?state=failed&amp;kind=unreadable"' in visitor.page
    page = visitor.open("/console/events?state=failed&kind=unreadable")
    assert "item.state: required" in page
    upto = re.findall(r'name="upto" value="(\d+)"', visitor.page)[0]
    asked = {"state": "failed", "kind": "unreadable", "upto": upto}
    where = visitor.do("/console/events/replay", asked)
    assert "did=unreadable" in where
    assert "Some events still cannot be read" in visitor.open(where)
    with bridge.store.transaction() as tx:
        found = {row.event: row.state for row in tx.journal.find()}
    assert found == {"unreadable": EventState.FAILED, "ticket_task.updated": EventState.PENDING}


def test_a_filter_that_matches_nothing_replays_nothing(visitor: Visitor, bridge: Bridge) -> None:
    refused(bridge)
    visitor.open("/console/events")
    assert "did=nothing" in visitor.do("/console/events/replay", {"state": "failed", "upto": "0"})
    answer = visitor.send("/console/events/replay", {"state": "done", "upto": "99"})
    assert answer.status_code == 422


def test_pages_go_by_key_there_and_back(visitor: Visitor, bridge: Bridge) -> None:
    events: list[dict[str, Any]] = []
    for number in range(120):
        one = task_event()
        one["ticket"]["id"], one["task"]["id"] = 1000 + number, 5000 + number
        events.append(one)
    bridge.receive(*events)
    seen: list[int] = []
    path = "/console/events"
    for _ in range(3):
        visitor.open(path)
        seen += [int(one.split('"')[0]) for one in visitor.page.split('href="/console/tickets/')[1:]]
        if 'rel="next"' not in visitor.page:
            break
        path = visitor.page.split('rel="next"')[0].rsplit('href="', 1)[1].split('"')[0].replace("&amp;", "&")
    assert seen == list(reversed(range(1000, 1120)))
    newer = visitor.page.split('rel="prev"')[0].rsplit('href="', 1)[1].split('"')[0].replace("&amp;", "&")
    visitor.open(newer)
    assert 'href="/console/tickets/1069"' in visitor.page


def test_a_page_that_has_not_changed_is_not_sent_again(visitor: Visitor, bridge: Bridge) -> None:
    answer = visitor.http.get(visitor.base_url + "/console/held", timeout=10)
    again = visitor.http.get(
        visitor.base_url + "/console/held", headers={"If-None-Match": answer.headers["ETag"]}, timeout=10
    )
    assert (again.status_code, again.content) == (304, b"")


def test_a_held_issue_is_compared_and_created_again(visitor: Visitor, bridge: Bridge) -> None:
    bridge.forward(task_event())
    with bridge.store.transaction() as tx:
        row = tx.issues.get(4711)
        assert row is not None
        tx.issues.gone(4711, row.tracker_id or 0, Reason.ISSUE_GONE(issue_id=row.tracker_id))
    page = visitor.open("/console/held/ticket/4711")
    assert "subject" in page
    assert "same" in page
    where = visitor.do("/console/held/ticket/4711", {"verdict": "adopt", "adopt": str(row.tracker_id)})
    assert where == "/console/tickets/4711?did=adopted"
    assert "Nothing is on hold" in visitor.open("/console/held")
    assert "resolved ticket 4711" in visitor.open("/console/changes")


def test_a_link_is_forgotten_from_the_ticket_s_page(visitor: Visitor, bridge: Bridge) -> None:
    bridge.forward(task_event())
    path = "/console/tickets/4711"
    assert "Remove link to issue #6" in visitor.open(path)
    assert visitor.do(f"{path}/forget-link", {"task_id": "512"}) == f"{path}?did=forgotten"
    assert "Remove link to time entry" not in visitor.open(path)
    assert visitor.do(f"{path}/forget-link") == f"{path}?did=forgotten"
    assert visitor.do(f"{path}/forget-link") == f"{path}?did=unchanged"
    page = visitor.open(path)
    assert "An operator removed the link to issue #6" in page
    assert "the link between ticket 4711 and issue #6" in visitor.open("/console/changes")
    with bridge.store.transaction() as tx:
        rows = [tx.issues.get(4711), tx.times.get(512)]
    assert [one.tracker_id for one in rows if one] == [None, None]


def test_what_is_under_way_is_not_forgotten_and_the_page_says_so(visitor: Visitor, bridge: Bridge) -> None:
    bridge.forward(task_event())
    visitor.open("/console/tickets/4711")
    with bridge.store.database.transaction() as session:
        session.execute(update(TaskTimeLink).values(state=LedgerState.IN_DOUBT))
    answer = visitor.send("/console/tickets/4711/forget-link")
    assert answer.status_code == 409
    assert "so its link cannot be removed now" in answer.text


@pytest.mark.parametrize("reachable", [True, False])
def test_an_issue_that_was_moved_is_adopted_in_the_project_where_it_is(
    visitor: Visitor, bridge: Bridge, stand_in: StandIn, reachable: bool
) -> None:
    bridge.forward(task_event())
    with bridge.store.transaction() as tx:
        before = tx.issues.get(4711)
        assert before is not None
        assert before.tracker_id
        tx.issues.gone(4711, before.tracker_id, Reason.ISSUE_GONE(issue_id=before.tracker_id))
    stand_in.patch("issues", before.tracker_id, project_id=2)
    if not reachable:
        stand_in.fault("status_before", method="GET", path="/issues.json", status=500)
    visitor.open("/console/held/ticket/4711")
    where = visitor.do("/console/held/ticket/4711", {"verdict": "adopt", "adopt": str(before.tracker_id)})
    assert where == f"/console/tickets/4711?did={'adopted' if reachable else 'unchecked'}"
    with bridge.store.transaction() as tx:
        after = tx.issues.get(4711)
    assert after is not None
    assert after.tracker_project_id == (2 if reachable else before.tracker_project_id)


def test_hours_in_another_name_are_listed_and_given_to_the_right_person(
    visitor: Visitor, bridge: Bridge, stand_in: StandIn
) -> None:
    assert "has the intended author" in visitor.open("/console/authors")
    bridge.forward(task_event(of_task=task(user={"id": 99, "email": "nobody@example.test"})))
    page = visitor.open("/console/authors")
    for part in (
        "time entry #1",
        "GLPI user 99",
        "no active Redmine user has this e-mail address",
        "Map the user",
        "Allow it in the settings",
    ):
        assert part in page
    visitor.open("/console/account")
    assert visitor.send("/console/authors/512").status_code == 403
    bridge.configure(correct_authors=True)
    visitor.open("/console/authors")
    assert visitor.send("/console/authors/512").status_code == 409
    french = visitor.send("/console/authors/512", headers={**SAME_ORIGIN, "Accept-Language": "fr"})
    assert "l’utilisateur GLPI 99 a fait le travail" in french.text
    assert visitor.do("/console/people/99", {"act": "map", "tracker_user_id": "5"})
    visitor.open("/console/authors")
    assert visitor.do("/console/authors/512") == "/console/authors?did=corrected"
    assert [one["user_id"] for one in entries(stand_in)] == [5]
    assert "assigned time entry #1 to alice" in visitor.open("/console/changes")


def test_a_changed_status_map_is_offered_for_what_was_given_before(
    visitor: Visitor, bridge: Bridge, stand_in: StandIn
) -> None:
    AccountStore(bridge.store).add("ada", PASSWORD, Right.ADMINISTRATOR)
    visitor.sign_in("ada")
    bridge.forward(task_event(of_ticket=ticket(status=5)))
    visitor.open("/console/settings")
    seen = re.search(r'name="seen" value="(\w+)"', visitor.page)
    assert seen
    typed = {
        "seen": seen[1],
        "verify_tls": "on",
        "match_administrators": "on",
        "status.2": "2",
        "status.5": "2",
    }
    where = visitor.do("/console/settings", typed)
    assert where == "/console/settings/statuses?did=saved"
    shown = visitor.open(where)
    assert "The status of 1 issue differs from the new status map" in shown
    assert "Printer 4711 on fire" in shown, "it is listed before anything is changed"
    assert visitor.do("/console/settings/statuses") == "/console/settings?did=given"
    bridge.sync()
    (issue,) = ours(stand_in)
    assert issue["status"] in (2, "In Progress")


def test_what_does_not_exist_is_said_as_a_page(visitor: Visitor) -> None:
    assert "No events received" in visitor.open("/console/tickets/99", status=404)
    nowhere = visitor.open("/console/nonsense", status=404)
    assert "There is nothing at this address" in nowhere
    assert "Try again" not in nowhere
    assert "Not found" in visitor.open("/console/knowledge/KB-NONE-001", status=404)


@pytest.mark.parametrize(
    "query",
    [
        "state=x&kind=y&ticket=z",
        "below=99999999999999999999",
        "from=never&to=2026-13-45T99:99",
        "cause=x",
        "offset=1e9&from=2026-01-01T00:00",
    ],
)
def test_nonsense_in_an_address_is_no_fault(visitor: Visitor, query: str) -> None:
    visitor.open(f"/console/events?{query}")


def test_the_journal_is_never_read_with_its_payloads(
    visitor: Visitor, bridge: Bridge, console: Console
) -> None:
    refused(bridge, 2)
    engine = console.app.state.services.store.database.engine
    told: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *given: told.append(given[2]))
    visitor.open("/console/events")
    whole = re.compile(r"(?<!\()journal\.payload( AS |, )")
    assert not any(whole.search(one) for one in told), "only the piece that names a person is read"


def walk(visitor: Visitor, path: str, row: str) -> list[int]:
    """Follow a list to its end; return the number of rows of each page."""
    rows = []
    while path:
        visitor.open(path)
        rows.append(visitor.page.count(row))
        _, further, _ = visitor.page.partition('rel="next"')
        before = visitor.page.split('rel="next"')[0]
        path = before.rsplit('href="', 1)[1].split('"')[0].replace("&amp;", "&") if further else ""
    return rows


def test_every_list_comes_in_pages(visitor: Visitor, bridge: Bridge, stand_in: StandIn) -> None:
    for number in range(1, 61):
        who = {"id": 1000 + number, "email": f"{number}@example.test"}
        event = task_event(of_ticket=ticket(number, technician=who), of_task=task(number, user=who))
        bridge.forward(event, ticket_id=number)
    assert walk(visitor, "/console/people", 'action="/console/people/1') == [50, 10]
    assert walk(visitor, "/console/people?find=2%40", 'action="/console/people/1') == [6]
    assert walk(visitor, "/console/authors", 'href="/console/tickets/') == [50, 50, 20]
    with bridge.store.transaction() as tx:
        for number in range(1, 61):
            row = tx.issues.get(number)
            assert row is not None
            tx.issues.gone(number, row.tracker_id or 0, Reason.ISSUE_GONE(issue_id=row.tracker_id))
    assert walk(visitor, "/console/held", 'href="/console/held/ticket/') == [50, 10]
    assert "each one needs your decision" in visitor.open("/console/held?after=5000").lower(), (
        "back at the first page"
    )


def test_a_thousand_links_come_in_pages(visitor: Visitor, bridge: Bridge) -> None:
    for number in range(120):
        bridge.link(MappingKind.ENTITY, 1000 + number, 1)
    path, seen = "/console/links", 0
    for _ in range(3):
        visitor.open(path)
        seen += visitor.page.count('href="/console/links/entity/')
        found = visitor.page.split('rel="next"')[0].rsplit('href="', 1)[1].split('"')[0]
        path = found.replace("&amp;", "&")
    assert seen == 121


def test_a_link_that_no_metadata_confirms_is_made_and_said(come_in: ComeIn) -> None:
    administrator = come_in(Right.ADMINISTRATOR, "ada")
    linked = [linked_by(administrator) for _ in range(2)]
    assert linked == ["unconfirmed", "linked"], "each reads the metadata afterwards"


def linked_by(somebody: Visitor) -> str:
    """Map entity 9 to a project; return the code of the confirmation."""
    somebody.open("/console/links/entity/9")
    where = somebody.do("/console/links/entity/9", {"how": "existing", "tracker_project_id": "1"})
    return str(re.findall(r"[?&]did=(\w+)", where)[0])


def test_a_form_with_digits_that_are_no_number_is_none(come_in: ComeIn) -> None:
    administrator = come_in(Right.ADMINISTRATOR, "ada")
    administrator.open("/console/settings")
    (seen,) = re.findall(r'name="seen" value="(\w+)"', administrator.page)
    strange = {
        "template_role_ids": "\u00b2",
        "status.\u00b2": "1",
        "status.1": "\u00b2",
        "default_watcher_ids": "\u00b9",
    }
    answer = administrator.send(
        "/console/settings", {"seen": seen, "verify_tls": "on", **strange}, follow=True
    )
    assert answer.status_code == 200
    assert "Saved" in answer.text


def test_the_routes_are_there_before_the_first_request(console: Console) -> None:
    """An included router creates its routes at the first request, and every other request waits for that."""
    assert {type(one) for one in console.app.routes} <= {APIRoute, Route, Mount}


def test_the_settings_ask_for_the_text_formatting_until_it_is_chosen(come_in: ComeIn, bridge: Bridge) -> None:
    administrator, asking = (
        come_in(Right.ADMINISTRATOR, "ada"),
        "Until then, Redmine may show ticket texts as lists",
    )
    bridge.configure(text_formatting=None)
    assert asking in administrator.open("/console/settings")
    (seen,) = re.findall(r'name="seen" value="(\w+)"', administrator.page)
    chosen = {"seen": seen, "verify_tls": "on", "text_formatting": "plain"}
    assert administrator.send("/console/settings", chosen, follow=True).status_code == 200
    with bridge.store.transaction() as tx:
        assert tx.configs.get()[0].text_formatting == "plain"
    assert asking not in administrator.open("/console/settings")


@pytest.mark.parametrize("with_event", [True, False])
def test_a_status_that_the_tracker_did_not_take_is_said_on_the_ticket_s_page_and_given_by_its_button(
    bridge: Bridge, stand_in: StandIn, visitor: Visitor, with_event: bool
) -> None:
    stand_in.settings(closed_moves=[[2, 3]] if with_event else [[1, 2]])
    assert bridge.forward(task_event()) == ["done"]
    if with_event:
        assert bridge.forward(ticket_event(1, of_ticket=ticket(status=5))) == ["failed"]
    page = visitor.open("/console/tickets/4711")
    assert "Everything is in Redmine" not in page
    assert "then replay" in page
    assert "#status_map" in visitor.page, "one of the two ways out is a setting"
    assert visitor.page.count("/tickets/4711/replay") == 1
    stand_in.settings(closed_moves=[])
    visitor.do("/console/tickets/4711/replay")
    bridge.sync()
    assert "Everything is in Redmine" in visitor.open("/console/tickets/4711")
    assert ours(stand_in)[0]["status"] in ((3, "Resolved") if with_event else (2, "In Progress"))
