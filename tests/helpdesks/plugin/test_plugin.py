"""The GLPI plugin (deploy/glpi-plugin): what it notices, keeps and sends, over small stand-ins of GLPI."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from producer.hooks.signatures import Verifier
from shared.errors import BadSignature
from shared.events.event import parse_event
from tests.helpdesks.plugin.conftest import (
    ALICE,
    BOB,
    LOGGED,
    ROWS,
    SEND,
    TASK,
    TICKET,
    Play,
    Scripted,
    act,
    add,
    add_task,
    events,
    named,
    settings,
    store,
    update_task,
    update_ticket,
)
from tests.integration.producer.conftest import SECRET, RunningProducer, secret
from tests.support.serving import samples

PLUGIN = Path(__file__).parents[3] / "deploy" / "glpi-plugin" / "deskbridge"
REFUSED = '{"title": "Not a valid event", "status": 422, "errors": [{"path": "ticket.id"}]}'
SENT = {
    "Ticket": {
        *("name", "content", "status", "entities_id", "urgency", "impact", "priority", "type"),
        *("itilcategories_id", "locations_id", "time_to_resolve", "externalid"),
    },
    "TicketTask": {
        *("content", "state", "actiontime", "users_id", "date", "begin", "tickets_id", "is_private"),
    },
}
WAIT = {"do": "wait"}
TROUBLE = {"do": "trouble"}


@pytest.mark.parametrize("file", sorted(PLUGIN.rglob("*.php")), ids=lambda file: file.name)
def test_each_file_is_valid_php(php: str, file: Path) -> None:
    lint = subprocess.run([php, "-l", str(file)], capture_output=True, text=True, timeout=20, check=False)
    assert lint.returncode == 0, lint.stdout


# what is noticed


def test_a_new_task_is_an_event_with_everything_that_the_contract_names(play: Play) -> None:
    assigned = {"2": [{"id": 31, "users_id": 8}, {"id": 30, "users_id": 0}, {"id": 32, "users_id": 9}]}
    more = {"itilcategories_id": 5, "locations_id": 6, "externalid": "X-1"}
    ticket = {**TICKET, **more, "time_to_resolve": "2026-12-01 10:00:00", "_users": assigned}
    tables = store(
        Ticket=[ticket],
        ITILCategory=[{"id": 5, "name": "Printers", "completename": "Hardware > Printers"}],
        Location=[{"id": 6, "name": "Paris", "completename": "Paris"}],
        Group=[{"id": 4, "name": "First line", "completename": "Support > First line"}],
        Group_Ticket=[{"id": 1, "tickets_id": 4711, "groups_id": 4, "type": 2}],
        Ticket_User=[{"id": 40, "tickets_id": 4711, "users_id": 7, "type": 1}],
        Project=[{"id": 9, "name": "Move"}],
        glpi_itils_projects=[{"id": 1, "itemtype": "Ticket", "items_id": 4711, "projects_id": 9}],
    )
    (event,) = events(play(tables, add_task(), ROWS)[-1])
    assert event == {
        "event": "ticket_task.added",
        "content_format": "html",
        "helpdesk_url": "https://glpi.example.org",
        "ticket": {
            "id": 4711,
            "url": "https://glpi.example.org/front/ticket.form.php?id=4711",
            "title": "Printer on fire",
            "content": "<p>It burns / ü</p>",
            "status": 2,
            "urgency": 3,
            "impact": 2,
            "priority": 4,
            "type": 1,
            "category": {"id": 5, "name": "Hardware > Printers"},
            "location": {"id": 6, "name": "Paris"},
            "entity_id": 3,
            "entity_name": "Root entity > Customers > Acme",
            "project_id": 9,
            "project_name": "Move",
            "other_project_ids": [],
            "technician": BOB,
            "requester": ALICE,
            "groups": [{"id": 4, "name": "Support > First line"}],
            "time_to_resolve": "2026-12-01T10:00:00+00:00",
            "external_id": "X-1",
        },
        "task": {
            "id": 512,
            "content": "<p>Extinguished</p>",
            "state": 2,
            "actiontime": 5400,
            "is_private": False,
            "user": ALICE,
            "date": "2026-11-20",
        },
    }


def test_the_day_of_a_planned_task_is_the_one_that_it_is_planned_for(play: Play) -> None:
    (event,) = events(play(add_task(begin="2026-11-17 09:00:00"), ROWS)[-1])
    assert event["task"]["date"] == "2026-11-17"


@pytest.mark.parametrize(
    ("content", "kept", "end"),
    [
        ("<p>" + "ü" * 400_000 + "</p>", "<p>üü", "ü"),
        ('<p>before</p><img src="data:' + "x" * 400_000 + '">', "<p>before</p>", "<p>before</p>"),
        ("<p>" + "x" * 299_994 + "&amp;" + "y" * 100, "<p>xx", "x"),
    ],
)
def test_a_text_over_300_kb_is_cut_where_it_stays_readable_and_says_so(
    play: Play, content: str, kept: str, end: str
) -> None:
    tickets = store(Ticket=[{**TICKET, "content": content, "_users": {"2": []}}])
    (event,) = events(play(tickets, add_task(content=content), ROWS)[-1])
    for text in (event["ticket"]["content"], event["task"]["content"]):
        cut, _, note = text.partition("<p>[Cut off here: ")
        assert cut.startswith(kept)
        assert cut.endswith(end)
        assert note.endswith("The whole text is in GLPI.]</p>")
        assert len(text.encode()) < 301_000


def test_an_entity_that_is_gone_has_no_name(play: Play) -> None:
    (event,) = events(play(store(Entity=[]), update_ticket("status"), ROWS)[-1])
    assert (event["ticket"]["entity_id"], event["ticket"]["entity_name"]) == (3, None)


def test_nobody_and_no_email_are_null(play: Play) -> None:
    rows = play(add_task(users_id=0), add_task(513, users_id=99), ROWS)[-1]
    assert [event["task"]["user"] for event in events(rows)] == [
        None,
        {"id": 99, "email": None, "name": None},
    ]
    assert events(rows)[0]["ticket"]["technician"] is None


def test_a_ticket_that_is_created_gives_complete_events_in_whatever_order_its_hooks_come(play: Play) -> None:
    add = {"do": "add", "type": "Ticket", "id": 4711}
    rows = play(update_ticket("status"), add, ROWS)[-1]
    assert [event["event"] for event in events(rows)] == ["ticket.updated", "ticket.updated"]
    for event in events(rows):
        assert parse_event({**event, "occurred_at": "2026-11-21T09:30:00Z"}).ticket.title == "Printer on fire"


@pytest.mark.parametrize("column", sorted(SENT["TicketTask"]))
def test_a_changed_task_is_an_event(play: Play, column: str) -> None:
    (event,) = events(play(update_task("date_mod", column), ROWS)[-1])
    assert event["event"] == "ticket_task.updated"


@pytest.mark.parametrize("column", sorted(SENT["Ticket"]))
def test_a_changed_ticket_is_an_event(play: Play, column: str) -> None:
    assert len(play(update_ticket("date_mod", column), ROWS)[-1]) == 1


@pytest.mark.parametrize(
    "save",
    [
        update_ticket("date_mod", "takeintoaccountdate", "actiontime"),
        update_ticket(),
        update_task("date_mod", "users_id_tech", "sourceof_items_id"),
        update_task(),
    ],
)
def test_a_save_that_changes_nothing_that_is_sent_is_no_event(play: Play, save: dict[str, Any]) -> None:
    assert play(save, ROWS)[-1] == []


def test_private_tasks_are_sent_unless_the_setting_says_otherwise(play: Play) -> None:
    assert len(play(add_task(is_private=1), ROWS)[-1]) == 1
    unsent = settings(private_tasks="0")
    assert play(unsent, add_task(is_private=1), update_task("state", is_private=1), ROWS)[-1] == []
    assert len(play(unsent, update_task("is_private", is_private=0), ROWS)[-1]) == 1


def test_the_project_is_that_of_a_project_task_before_that_of_the_ticket_and_the_lowest_of_several(
    play: Play,
) -> None:
    by_task = [{"id": n, "tickets_id": 4711, "projects_id": project} for n, project in enumerate((9, 5, 9))]
    by_ticket = [
        {"id": n, "itemtype": "Ticket", "items_id": 4711, "projects_id": project}
        for n, project in enumerate((2, 5))
    ]
    elsewhere = [{"id": 9, "itemtype": "Problem", "items_id": 4711, "projects_id": 1}]
    links = store(glpi_projecttasks_tickets=by_task, glpi_itils_projects=by_ticket + elsewhere)
    (both,) = events(play(links, update_ticket("status"), ROWS)[-1])
    assert (both["ticket"]["project_id"], both["ticket"]["other_project_ids"]) == (5, [9, 2])
    (one,) = events(play(store(glpi_itils_projects=by_ticket[:1]), update_ticket("status"), ROWS)[-1])
    assert (one["ticket"]["project_id"], one["ticket"]["other_project_ids"]) == (2, [])


OF_TICKET = {"tickets_id": 4711}
LINKS = [
    add("Itil_Project", id=1, itemtype="Ticket", items_id=4711, projects_id=9),
    add("ProjectTask_Ticket", id=1, projects_id=9, **OF_TICKET),
    add("Ticket_User", id=1, users_id=8, type=2, **OF_TICKET),
    add("Ticket_User", id=1, users_id=8, type=1, **OF_TICKET),
    add("Group_Ticket", id=1, groups_id=4, type=2, **OF_TICKET),
]


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link["type"])
def test_a_project_a_person_or_a_group_that_comes_or_goes_sends_the_ticket_again(
    play: Play, link: dict[str, Any]
) -> None:
    groups = store(Group=[{"id": 4, "name": "First line"}])
    after_add, *_, after_purge = [
        rows
        for rows in play(groups, link, ROWS, act("purge", link["type"], 1), ROWS)
        if isinstance(rows, list)
    ]
    assert named(after_add) == [("ticket.updated", 4711, None)]
    assert set(named(after_purge)) == {("ticket.updated", 4711, None)}
    assert len(after_purge) > 1


def test_who_watches_and_links_of_problems_send_nothing(play: Play) -> None:
    observer = add("Ticket_User", id=1, users_id=8, type=3, **OF_TICKET)
    problem = add("Itil_Project", id=1, itemtype="Problem", items_id=4711, projects_id=9)
    assert play(observer, problem, ROWS)[-1] == []


# what goes, and comes back


WITH_EVERYTHING = store(
    TicketTask=[TASK],
    Ticket_User=[{"id": 1, "users_id": 8, "type": 2, **OF_TICKET}],
    Itil_Project=[{"id": 1, "itemtype": "Ticket", "items_id": 4711, "projects_id": 9}],
    ProjectTask_Ticket=[{"id": 1, "projects_id": 9, **OF_TICKET}],
)


def test_a_purged_ticket_is_one_deletion_whatever_glpi_drops_before(play: Play) -> None:
    rows = play(WITH_EVERYTHING, act("purge"), ROWS)[-1]
    assert events(rows) == [{"event": "ticket.deleted", "ticket": {"id": 4711}}]


def test_a_purged_task_is_its_deletion(play: Play) -> None:
    rows = play(WITH_EVERYTHING, act("purge", "TicketTask", 512), ROWS)[-1]
    assert events(rows) == [{"event": "ticket_task.deleted", "ticket": {"id": 4711}, "task": {"id": 512}}]


def test_another_ticket_is_sent_after_a_purge_and_so_is_one_whose_purge_was_called_off(play: Play) -> None:
    tickets = store(Ticket=[{**TICKET, "_users": {"2": []}}, {**TICKET, "id": 13, "_users": {"2": []}}])
    called_off = {"do": "call off", "id": 4711}
    rows = play(tickets, act("purge", item_id=13), called_off, update_ticket("status"), ROWS)[-1]
    assert named(rows) == [("ticket.deleted", 13, None), ("ticket.updated", 4711, None)]


def test_of_a_ticket_in_the_bin_nothing_is_sent_but_deletions(play: Play) -> None:
    saves = [update_ticket("status"), add_task(513), LINKS[0], act("purge", "TicketTask", 513)]
    rows = play(act("bin"), *saves, ROWS)[-1]
    assert named(rows) == [("ticket.deleted", 4711, None), ("ticket_task.deleted", 4711, 513)]


def test_a_ticket_out_of_the_bin_is_sent_with_the_tasks_that_changed_in_there(play: Play) -> None:
    put_in = {"do": "database", "values": {"now": 1795265199}}
    changed = add_task(513, date_mod="2027-01-01 00:00:00")
    rows = play(store(TicketTask=[TASK]), put_in, act("bin"), changed, act("restore"), ROWS)[-1]
    assert named(rows) == [
        ("ticket.deleted", 4711, None),
        ("ticket.restored", 4711, None),
        ("ticket.updated", 4711, None),
        ("ticket_task.updated", 4711, 513),
    ]
    assert events(rows)[1] == {"event": "ticket.restored", "ticket": {"id": 4711}}


def test_the_copies_of_a_merge_name_their_originals_however_much_alike_they_are(play: Play) -> None:
    alike = [{**TASK, "id": number, "tickets_id": 13} for number in (20, 21)]
    other = {**TASK, "id": 22, "tickets_id": 13, "users_id": 8}
    tickets = store(
        Ticket=[{**TICKET, "id": number, "_users": {"2": []}} for number in (4711, 13, 14)],
        TicketTask=[*alike, other],
    )
    rows = play(tickets, act("merge", other=13), act("merge", item_id=14, other=4711), ROWS)[-1]
    copies = [one for one in events(rows) if "task" in one]
    assert [one["task"]["copy_of"] for one in copies] == [20, 21, 22] * 2
    assert [one["task"]["id"] for one in copies] == [23, 24, 25, 26, 27, 28]
    assert named(rows)[3] == ("ticket.deleted", 13, None)


MERGED = store(
    Ticket=[{**TICKET, "id": number, "_users": {"2": []}} for number in (4711, 13)],
    TicketTask=[{**TASK, "id": 20, "tickets_id": 13}, {**TASK, "id": 21, "tickets_id": 13, "state": 1}],
)


def last_of(rows: list[dict[str, Any]], task_id: int) -> dict[str, Any]:
    """Return a task as the spool's newest event of it has it."""
    of_task = [one["task"] for one in events(rows) if one.get("task", {}).get("id") == task_id]
    return dict(of_task[-1])


def save(task_id: int, *updates: str, **fields: Any) -> dict[str, Any]:
    """Save a task that GLPI has."""
    return {"do": "update", "type": "TicketTask", "id": task_id, "fields": fields, "updates": list(updates)}


def test_a_copy_names_its_original_also_when_that_is_gone(play: Play) -> None:
    edit = save(22, "content", content="<p>Typed again</p>")
    rows = play(MERGED, act("merge", other=13), act("purge", item_id=13), edit, ROWS)[-1]
    assert (last_of(rows, 22)["content"], last_of(rows, 22)["copy_of"]) == ("<p>Typed again</p>", 20)


def test_a_copy_that_is_finished_after_it_was_made_is_work_of_its_own(play: Play) -> None:
    merge, finish = act("merge", other=13), save(23, "state", state=2)
    rows = play(MERGED, merge, finish, act("purge", item_id=13), ROWS)[-1]
    assert (last_of(rows, 23)["state"], "copy_of" in last_of(rows, 23)) == (2, False)
    assert last_of(rows, 22)["copy_of"] == 20
    again = store(Ticket=[{**TICKET, "id": number, "_users": {"2": []}} for number in (4711, 14)])
    rows = play(MERGED, merge, finish, again, act("merge", item_id=14, other=4711), ROWS)[-1]
    assert last_of(rows, 25)["copy_of"] == 23, "the one whose time was logged"


def test_what_glpi_copies_into_a_ticket_in_the_bin_is_a_copy_when_that_is_restored(play: Play) -> None:
    now = {"date_creation": "2026-11-22 10:00:00", "date_mod": "2027-01-01 00:00:00"}
    new, copied = add_task(29, **now), add_task(30, tickets_id=13, sourceitems_id=4711, **now)
    rows = play(MERGED, act("merge", other=13), new, copied, act("restore", item_id=13), ROWS)[-1]
    assert last_of(rows, 30)["copy_of"] == 29


def test_a_task_that_is_no_copy_names_none(play: Play) -> None:
    rows = play(add_task(sourceitems_id=13), add_task(513), ROWS)[-1]
    assert [one["task"].get("copy_of") for one in events(rows)] == [None, None]


def test_the_event_has_what_another_request_saved_meanwhile(play: Play) -> None:
    save = {**update_task("content"), "meanwhile": {"actiontime": 60}}
    (of_ticket, of_task) = events(play(update_ticket("name", meanwhile={"status": 6}), save, ROWS)[-1])
    assert of_ticket["ticket"]["status"] == 6
    assert of_task["task"]["actiontime"] == 60


def test_a_save_goes_on_and_the_fault_is_logged_when_the_spool_cannot_be_written(play: Play) -> None:
    broken = {"do": "database", "values": {"is_broken": True}}
    _, saved, logged = play(broken, add_task(), LOGGED)
    assert saved is None
    assert logged == ["the table is full"]


# what is sent


def address_of(server: Scripted | RunningProducer) -> dict[str, Any]:
    """Connect the plugin to a server."""
    address = server.address if isinstance(server, Scripted) else server.base_url
    return settings(address=address + "/", secret=SECRET)


def test_what_the_plugin_sends_is_accepted_by_the_producer(play: Play, producer: RunningProducer) -> None:
    saves = [add_task(), update_ticket("status"), update_task("state")]
    *_, sent, left = play(address_of(producer), *saves, SEND, ROWS)
    assert (sent, left) == (3, [])
    kept = producer.journal()
    assert [row.key for row in kept] == ["ticket-task:512", "ticket:4711", "ticket-task:512"]
    assert [row.sequence for row in kept] == [1, 2, 3]
    assert [row.occurred_at.microsecond for row in kept] == [1, 2, 3]


def test_the_times_are_those_of_the_database_in_utc(play: Play) -> None:
    request = {"do": "request", "now": 1795265200}
    *_, (_, body) = play(settings(address="http://127.0.0.1:9", secret=SECRET), add_task(), request)
    assert '"occurred_at":"2026-11-21T12:46:39.000001Z"' in body


def test_after_the_answer_everything_is_sent_without_being_asked(
    play: Play, producer: RunningProducer
) -> None:
    play(address_of(producer), add_task(), update_ticket("status"))
    assert len(producer.journal()) == 2


def test_after_the_answer_there_is_one_try_only(play: Play, scripted: Scripted) -> None:
    scripted.answers = [(422, REFUSED)]
    play(address_of(scripted), add_task(), add_task(513))
    assert len(scripted.received) == 1


def test_a_repeat_has_the_same_ids_and_bodies_so_that_the_journal_keeps_one(
    play: Play, producer: RunningProducer
) -> None:
    """As after an answer that got lost: the rows are there still, and their first sending was committed."""
    now = int(time.time())
    *_, (headers, body), sent = play(
        address_of(producer), add_task(), add_task(513), {"do": "request", "now": now}, SEND
    )
    again = dict(header.split(": ", 1) for header in headers)
    answer = producer.post(body.encode(), **again)
    assert sent == 2
    assert [one["duplicate"] for one in answer.json()["accepted"]] == [True, True]
    assert len(producer.journal()) == 2


def test_the_signature_is_the_one_that_the_producer_verifies(play: Play) -> None:
    now = int(time.time())
    *_, (headers, body) = play(
        settings(address="http://127.0.0.1:9", secret=SECRET), add_task(), {"do": "request", "now": now}
    )
    given = dict(header.split(": ", 1) for header in headers)
    assert Verifier([SecretStr(SECRET)]).verify(body, given) == 0
    with pytest.raises(BadSignature):
        Verifier([SecretStr(secret("another"))]).verify(body, given)
    with pytest.raises(BadSignature):
        Verifier([SecretStr(SECRET)]).verify(body + " ", given)


def test_a_request_is_named_after_its_first_row_and_holds_fifty_at_most(
    play: Play, scripted: Scripted
) -> None:
    saves = [add_task(number) for number in range(1, 61)]
    *_, rows, sent = play(address_of(scripted), *saves, ROWS, SEND)
    (first, headers), (second, _) = scripted.received
    assert (sent, len(first), len(second)) == (60, 50, 10)
    assert headers["webhook-id"] == first[0]["delivery_id"] == rows[0]["uuid"]
    assert [event["task"]["id"] for event in first + second] == list(range(1, 61))


def test_each_sending_tells_what_is_kept_beside_it(play: Play, scripted: Scripted) -> None:
    scripted.answers = [(422, REFUSED), (202, "{}")]
    play(address_of(scripted), *[add_task(number) for number in range(1, 52)], SEND, add_task(60), SEND)
    told = [headers["deskbridge-spool"] for _, headers in scripted.received]
    assert (told[0], told[-1]) == ("waiting=1, parked=0", "waiting=0, parked=0")


def test_what_is_parked_is_told_with_the_next_sending(play: Play, producer: RunningProducer) -> None:
    wrong = store(Ticket=[{**TICKET, "id": 13, "entities_id": -1}, {**TICKET, "_users": {"2": []}}])
    play(address_of(producer), wrong, add_task(1, tickets_id=13), SEND, add_task(2), SEND)
    shown = samples(producer.get("/metrics").text)
    assert shown['deskbridge_helpdesk_spool_events{secret="0",state="parked"}'] == 1
    assert shown['deskbridge_helpdesk_spool_events{secret="0",state="waiting"}'] == 0


def test_large_events_go_in_smaller_requests(play: Play, scripted: Scripted) -> None:
    saves = [add_task(number, content="x" * 300_000) for number in range(1, 4)]
    *_, sent = play(address_of(scripted), *saves, SEND)
    assert (sent, [len(body) for body, _ in scripted.received]) == (3, [1, 1, 1])


@pytest.mark.parametrize("status", [200, 201, 301, 401, 403, 404, 408, 415, 429, 500, 502, 503])
def test_without_a_202_every_row_stays_and_waits(play: Play, scripted: Scripted, status: int) -> None:
    scripted.answers = [(status, '{"title": "Not now", "detail": "please"}')]
    *_, sent, rows, again = play(address_of(scripted), add_task(), add_task(513), SEND, ROWS, SEND)
    assert (sent, again) == (0, 0)
    assert [row["is_parked"] for row in rows] == [0, 0]
    assert [row["attempts"] for row in rows] == [1, 0]
    assert rows[0]["answer"] == f"HTTP {status}: Not now · please"
    assert len(scripted.received) == 1


def test_the_next_try_is_never_more_than_a_minute_away(play: Play, scripted: Scripted) -> None:
    scripted.answers = [(503, "")]
    tries = [WAIT, SEND, ROWS] * 8
    started = time.time()
    rows = play(address_of(scripted), add_task(), *tries)[4::3]
    assert len(rows) == 8
    assert all(30 < row["next_try"] - started < 60 for (row,) in rows)


def test_a_test_that_succeeds_ends_the_waiting_and_one_that_fails_does_not(
    play: Play, scripted: Scripted
) -> None:
    scripted.answers = [(503, ""), (503, ""), (202, '{"accepted": []}'), (202, "{}")]
    test = {"do": "test"}
    *_, failed, none, succeeded, sent = play(address_of(scripted), add_task(), SEND, test, SEND, test, SEND)
    assert (failed["status"], none, succeeded["status"], sent) == (503, 0, 202, 1)


def test_a_test_leaves_what_is_parked_where_it_is(play: Play, scripted: Scripted) -> None:
    scripted.answers = [(422, REFUSED), (202, '{"accepted": []}')]
    *_, rows = play(address_of(scripted), add_task(), SEND, {"do": "test"}, ROWS)
    assert [row["is_parked"] for row in rows] == [1]


def test_each_sending_names_the_tickets_of_which_something_is_parked(play: Play, scripted: Scripted) -> None:
    scripted.answers = [(422, REFUSED), (202, "{}")]
    tickets = store(Ticket=[{**TICKET, "id": 13, "_users": {"2": []}}, {**TICKET, "_users": {"2": []}}])
    play(address_of(scripted), tickets, add_task(1, tickets_id=13), SEND, add_task(2), SEND)
    assert scripted.received[-1][1]["deskbridge-spool"] == "waiting=0, parked=1, parked-tickets=13"


def test_a_refused_event_is_parked_with_the_answer_and_the_others_go(
    play: Play, producer: RunningProducer
) -> None:
    """Entity -1 is what no helpdesk has; the producer answers 422 to the whole array."""
    wrong = [{**TICKET, "id": 13, "entities_id": -1}]
    tickets = store(Ticket=[{**TICKET, "_users": {"2": []}}, *wrong])
    saves = [add_task(number, tickets_id=13 if number == 5 else 4711) for number in range(1, 9)]
    *_, sent, rows, again = play(address_of(producer), tickets, *saves, SEND, ROWS, SEND)
    assert (sent, again) == (7, 0)
    (parked,) = rows
    assert (parked["tickets_id"], parked["is_parked"]) == (13, 1)
    assert "[0].ticket.entity_id: " in parked["answer"]
    assert [row.task_id for row in producer.journal()] == [1, 2, 3, 4, 6, 7, 8]


def test_parked_events_are_sent_again_when_a_person_says_so(play: Play, scripted: Scripted) -> None:
    scripted.answers = [(422, REFUSED), (202, "{}")]
    *_, first, _, second, rows = play(address_of(scripted), add_task(), SEND, {"do": "retry"}, SEND, ROWS)
    assert (first, second, rows) == (0, 1, [])


def test_an_outage_in_the_middle_of_a_refused_array_parks_nothing_else(
    play: Play, scripted: Scripted
) -> None:
    scripted.answers = [(422, REFUSED), (202, "{}"), (503, "")]
    saves = [add_task(number) for number in range(1, 5)]
    *_, sent, rows = play(address_of(scripted), *saves, SEND, ROWS)
    assert sent == 2
    assert [(row["is_parked"], row["attempts"]) for row in rows] == [(0, 1), (0, 0)]


def test_one_sender_at_a_time(play: Play, scripted: Scripted) -> None:
    locked = {"do": "database", "values": {"is_locked_elsewhere": True}}
    *_, sent = play(address_of(scripted), add_task(), locked, SEND)
    assert (sent, scripted.received) == (0, [])


def test_nothing_is_sent_before_there_is_an_address(play: Play) -> None:
    *_, sent, rows, trouble = play(add_task(), SEND, ROWS, TROUBLE)
    assert (sent, len(rows)) == (0, 1)
    assert "not set" in trouble


@contextmanager
def silence() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_a_server_that_never_answers_is_given_up_in_time(play: Play) -> None:
    with silence() as address:
        *_, sent, rows = play(
            settings(address=address, secret=SECRET), add_task(), {**SEND, "patience": 0.3}, ROWS
        )
    assert sent == 0
    assert "timed out" in rows[0]["answer"]


# what an administrator sees


def test_a_test_tells_a_right_secret_from_a_wrong_one_and_leaves_nothing_behind(
    play: Play, producer: RunningProducer
) -> None:
    right = {"do": "test"}
    wrong = settings(secret=secret("another"))
    _, first, _, second = play(address_of(producer), right, wrong, right)
    assert (first["status"], second["status"]) == (202, 401)
    assert producer.journal() == []


def test_secrets_are_encrypted_and_an_empty_field_leaves_them(play: Play) -> None:
    first = settings(secret=SECRET, address="https://hub")
    _, _, kept = play(first, settings(secret="", address="https://hub/path"), {"do": "kept"})
    assert kept["secret"].startswith("encrypted:")
    assert kept["address"] == "https://hub/path"


HUB = settings(
    address="https://hub.example.org/a",
    secret=SECRET,
    console_address="https://hub.example.org",
    console_token="the-token",
)


@pytest.mark.parametrize(
    ("address", "is_new"),
    [
        ("https://hub.example.org/b", False),
        ("https://HUB.example.org:443", False),
        ("", False),
        ("http://hub.example.org/a", True),
        ("https://other.example.org/a", True),
        ("https://hub.example.org:8443/a", True),
    ],
)
def test_for_another_server_a_secret_is_asked_for_again_before_it_goes_there(
    play: Play, address: str, is_new: bool
) -> None:
    for name, needed in (("address", "secret"), ("console_address", "console_token")):
        typed = {name: address, needed: ""}
        _, faults, kept, _, again = play(
            HUB, settings(**typed), {"do": "kept"}, HUB, settings(**{**typed, needed: SECRET})
        )
        assert (len(faults), again) == (1 if is_new else 0, [])
        assert (kept[name] == address) != is_new


@pytest.mark.parametrize(
    "values",
    [
        {"address": "ftp://hub"},
        {"address": "https://user@hub"},
        {"address": "https://hub?x=1"},
        {"console_address": "hub"},
        {"secret": "not-a-secret"},
        {"secret": "whsec_c2hvcnQ="},
        {"console_token": "with\nbreak"},
    ],
)
def test_a_faulty_setting_is_refused_as_a_whole(play: Play, values: dict[str, str]) -> None:
    faults, kept = play(settings(**{"private_tasks": "0", **values}), {"do": "kept"})
    assert (len(faults), kept) == (1, [])


def saved_ago(seconds: float) -> dict[str, Any]:
    """Set the database's clock back."""
    return {"do": "database", "values": {"now": int(time.time() - seconds)}}


def test_the_cron_says_in_its_comment_what_is_stuck_and_takes_it_back(play: Play, scripted: Scripted) -> None:
    scripted.answers = [(503, ""), (202, "{}")]
    stuck, after = {"do": "cron"}, {"do": "cron", "comment": "deskbridge: Waiting: 1, ..."}
    *_, first, _, second = play(address_of(scripted), saved_ago(1000), add_task(), stuck, WAIT, after)
    assert first[0] == 0
    assert first[1].startswith("deskbridge: Waiting: 1, the oldest since ")
    assert second == [1, ""]


def test_what_waits_for_minutes_only_is_no_trouble(play: Play) -> None:
    connected = settings(address="http://127.0.0.1:9", secret=SECRET)
    assert play(connected, saved_ago(800), add_task(), TROUBLE)[-1] is None
    assert play(connected, saved_ago(1000), add_task(), TROUBLE)[-1] is not None


def test_the_cron_tells_of_parked_events_and_leaves_an_administrators_comment(
    play: Play, scripted: Scripted
) -> None:
    scripted.answers = [(422, REFUSED)]
    *_, (_, warned), (_, kept) = play(
        address_of(scripted), add_task(), {"do": "cron"}, {"do": "cron", "comment": "ask Bob"}
    )
    assert "parked: 1." in warned
    assert kept == "ask Bob"


def test_a_cron_that_was_killed_may_start_again_and_no_other(play: Play) -> None:
    ours = {"id": 40, "itemtype": "GlpiPlugin\\Deskbridge\\Cron"}
    other = {"id": 41, "itemtype": "MailCollector"}
    assert play({"do": "revive", "zombies": [other, ours]}) == [[{"id": 40, "state": 1}]]


def test_uninstalling_is_refused_while_something_waits(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    uninstall = {"do": "uninstall"}
    assert play(settings(private_tasks="0"), uninstall, {"do": "kept"})[1:] == ["removed", []]
    *_, refusal, rows = play(add_task(), uninstall, ROWS)
    assert "1 event was not sent" in refusal
    assert len(rows) == 1
    monkeypatch.setenv("DESKBRIDGE_DISCARD", "1")
    assert play(add_task(), uninstall)[-1] == "removed"


# the tab


def tab(kind: str, item_id: int) -> dict[str, Any]:
    """Show the tab of an item."""
    return {"do": "link", "type": kind, "id": item_id}


def test_the_tab_reads_the_link_with_its_token_and_leads_to_the_form(play: Play, scripted: Scripted) -> None:
    scripted.answers = [
        (
            200,
            '{"kind": "project", "id": 7, "tracker_project_id": 12, "default_category_id": 3, '
            '"project": "Support", "url": "https://redmine/projects/12"}',
        )
    ]
    console = settings(console_address=scripted.address, console_token="the-token")
    *_, (form, link) = play(console, tab("Project", 7))
    assert form == scripted.address + "/console/links/project/7"
    assert link == {
        **{"project": 12, "name": "Support", "url": "https://redmine/projects/12"},
        **{"category": 3, "error": None},
    }
    ((path, headers),) = scripted.received
    assert (path, headers["authorization"]) == ("/api/links/projects/7", "Bearer the-token")


def test_the_tab_of_the_root_entity_that_is_not_linked(play: Play, scripted: Scripted) -> None:
    scripted.answers = [(404, '{"title": "Not found", "status": 404}')]
    *_, (form, link) = play(settings(console_address=scripted.address), tab("Entity", 0))
    assert form.endswith("/console/links/entity/0")
    assert set(link.values()) == {None}


@pytest.mark.parametrize("answer", [(404, "<h1>nginx</h1>"), (401, "{}"), (500, ""), (200, "<p>Hello</p>")])
def test_the_tab_says_so_when_it_cannot_tell(play: Play, scripted: Scripted, answer: tuple[int, str]) -> None:
    scripted.answers = [answer]
    *_, (_, link) = play(settings(console_address=scripted.address), tab("Project", 7))
    assert link["project"] is None
    assert link["error"].startswith(f"HTTP {answer[0]}")


def test_the_tab_does_not_hang(play: Play) -> None:
    with silence() as address:
        *_, (_, link) = play(settings(console_address=address), {**tab("Project", 7), "patience": 0.3})
    assert "timed out" in link["error"]


# the tab of a ticket, and rights


CONSOLE_TAB = "GlpiPlugin\\Deskbridge\\TicketTab"
LINK_TAB = "GlpiPlugin\\Deskbridge\\RedmineLink"
MAY_SEE_TICKETS = {"plugin_deskbridge_ticket": 1}


def outcome(play: Play, scripted: Scripted, answer: tuple[int, Any], *before: dict[str, Any]) -> Any:
    """Return what the ticket's tab shows after an answer of the console."""
    status, body = answer
    scripted.answers = [(status, body if isinstance(body, str) else json.dumps(body))]
    console = settings(console_address=scripted.address, console_token="the-token")
    return play(console, *before, {"do": "ticket", "id": 4711})[-1]


def task_of(task_id: int, **changes: Any) -> dict[str, Any]:
    """Return a task as the console tells of it."""
    known = {"id": task_id, "state": "linked", "hours": 1.5, "time_entry_id": 7, "code": None, "reason": None}
    return {**known, **changes}


ISSUE = {"id": 16, "url": "https://redmine/issues/16", "project": "Support", "status": "New"}
KNOWN = {"ticket_id": 4711, "state": "linked", "issue": ISSUE, "code": None, "reason": None}


def test_the_tab_shows_the_issue_and_what_became_of_each_task(play: Play, scripted: Scripted) -> None:
    tasks = [
        task_of(512),
        task_of(513, state="skipped", time_entry_id=None, code="not_done", reason="state 1"),
        task_of(514, state="failed", time_entry_id=None, code="rejected", reason="Hours are closed"),
    ]
    before = [add_task(), add_task(513), add_task(514)]
    shown = outcome(play, scripted, (200, {**KNOWN, "tasks": tasks}), *before)
    assert (shown["error"], shown["issue"], shown["notice"]) == (None, ISSUE, None)
    assert [(one["text"], one["hours"], one["is_logged"]) for one in shown["tasks"]] == [
        ("Extinguished", 1.5, True),
        ("Extinguished", 1.5, False),
        ("Extinguished", 1.5, False),
    ]
    assert "not done yet" in shown["tasks"][1]["sentence"]
    assert "(Hours are closed)" in shown["tasks"][2]["sentence"]
    ((path, headers),) = scripted.received
    assert (path, headers["authorization"]) == ("/api/tickets/4711", "Bearer the-token")
    assert headers["accept-language"] == "en-GB"


def test_a_task_that_the_one_who_looks_may_not_see_is_left_out(play: Play, scripted: Scripted) -> None:
    tasks = {**KNOWN, "tasks": [task_of(512), task_of(513)]}
    shown = outcome(play, scripted, (200, tasks), add_task(is_private=1), add_task(513))
    assert [one["id"] for one in shown["tasks"]] == [513]


@pytest.mark.parametrize(
    ("answer", "notice"),
    [
        ((404, {"status": 404}), "heard nothing"),
        (
            (200, {**KNOWN, "issue": None, "state": "skipped", "code": "no_link", "tasks": []}),
            "linked to a Redmine",
        ),
        ((200, {**KNOWN, "issue": None, "state": "pending", "tasks": []}), "on its way"),
        ((200, {**KNOWN, "issue": None, "state": "held", "reason": "two", "tasks": []}), "decide"),
    ],
)
def test_a_ticket_without_an_issue_has_a_sentence_for_the_technician(
    play: Play, scripted: Scripted, answer: tuple[int, Any], notice: str
) -> None:
    shown = outcome(play, scripted, answer)
    assert (shown["error"], shown["issue"]) == (None, None)
    assert notice in shown["notice"]


@pytest.mark.parametrize("answer", [(404, "<h1>nginx</h1>"), (403, "{}"), (500, ""), (200, "<p>Hello</p>")])
def test_the_ticket_s_tab_says_when_deskbridge_cannot_be_reached(
    play: Play, scripted: Scripted, answer: tuple[int, str]
) -> None:
    assert "cannot be reached" in outcome(play, scripted, answer)["error"]


def test_the_ticket_s_tab_waits_for_300_ms_at_most(play: Play) -> None:
    with silence() as address:
        started = time.monotonic()
        tab = act("tab", rights=MAY_SEE_TICKETS, tab=CONSOLE_TAB)
        *_, (_, is_shown, templates) = play(settings(console_address=address), tab)
        assert time.monotonic() - started < 1.0
    assert (is_shown, templates) == (True, ["@deskbridge/ticket.html.twig"])


@pytest.mark.parametrize(
    ("tab", "kind", "right"),
    [
        (CONSOLE_TAB, "Ticket", "plugin_deskbridge_ticket"),
        (LINK_TAB, "Project", "plugin_deskbridge_link"),
        (LINK_TAB, "Entity", "plugin_deskbridge_link"),
    ],
)
def test_without_its_right_a_tab_has_no_name_and_shows_nothing(
    play: Play, tab: str, kind: str, right: str
) -> None:
    tables = store(Project=[{"id": 4711, "name": "P"}], Entity=[{"id": 4711, "completename": "E"}])
    others = {"plugin_deskbridge_ticket": 1, "plugin_deskbridge_link": 1, "config": 31} | {right: 0}
    without, with_it = act("tab", kind, rights=others, tab=tab), act("tab", kind, rights={right: 1}, tab=tab)
    _, (name, is_shown, shown), (name_with, is_shown_with, _) = play(tables, without, with_it)
    assert (name, is_shown, shown) == ("", False, [])
    assert (bool(name_with), is_shown_with) == (True, True)


def test_each_tab_stands_on_its_type_and_rights_are_on_profiles(play: Play) -> None:
    (tabs,) = play({"do": "tabs"})
    assert tabs == {
        LINK_TAB: ["Project", "Entity"],
        CONSOLE_TAB: ["Ticket"],
        "GlpiPlugin\\Deskbridge\\Rights": ["Profile"],
    }


def test_rights_are_given_once_to_the_profiles_that_may_change_the_configuration(play: Play) -> None:
    profiles = store(
        Profile=[{"id": 4}, {"id": 6}],
        ProfileRight=[
            {"id": 1, "profiles_id": 4, "name": "config", "rights": 3},
            {"id": 2, "profiles_id": 6, "name": "config", "rights": 1},
        ],
    )
    install, granted = {"do": "install"}, {"do": "granted"}
    taken = {"do": "take rights"}
    *_, first, _, _, again = play(profiles, install, granted, taken, install, granted)
    assert [(one["profiles_id"], one["name"]) for one in first] == [
        (4, "plugin_deskbridge_ticket"),
        (4, "plugin_deskbridge_link"),
    ]
    assert again == [], "what an administrator has taken away stays away"


# versions


def test_what_waits_in_the_table_of_version_1_0_0_is_kept_and_sent(play: Play, scripted: Scripted) -> None:
    ticket = {"event": "ticket.updated", "ticket": {"id": 4711}}
    row = {
        **{"id": 3, "uuid": "u-3", "tickets_id": 4711, "event": json.dumps(ticket)},
        **{"occurred_at": "1795265199.000003", "is_parked": 0, "attempts": 2, "next_try": 0, "answer": None},
    }
    old = store(glpi_plugin_deskbridge_events=[row])
    *_, rows, sent = play(address_of(scripted), old, {"do": "install"}, ROWS, SEND)
    assert [(one["uuid"], one["kind"], one["tasks_id"]) for one in rows] == [("u-3", "", 0)]
    assert sent == 1


def test_the_automatic_action_says_whose_it_is(play: Play) -> None:
    assert play({"do": "actions"}) == [["deskbridgesend"]]


def test_the_version_the_changelog_and_the_catalogue_of_plug_ins_agree() -> None:
    version = re.search(r"PLUGIN_DESKBRIDGE_VERSION', '([\d.]+)'", (PLUGIN / "setup.php").read_text())
    assert version is not None
    assert f"## {version[1]}" in (PLUGIN / "CHANGELOG.md").read_text()
    assert f"<num>{version[1]}</num>" in (PLUGIN / "plugin.xml").read_text()


def test_another_glpi_than_the_one_it_was_tried_with_is_refused() -> None:
    setup = (PLUGIN / "setup.php").read_text()
    assert "PLUGIN_DESKBRIDGE_MIN_GLPI', '11.0.0'" in setup
    assert "PLUGIN_DESKBRIDGE_MAX_GLPI', '11.1.0'" in setup
