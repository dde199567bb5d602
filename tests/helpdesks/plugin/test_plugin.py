"""The GLPI plugin (deploy/glpi-plugin): what it notices, keeps and sends, over small stand-ins of GLPI."""

from __future__ import annotations

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
    LOGGED,
    ROWS,
    SEND,
    TICKET,
    Play,
    Scripted,
    add_task,
    events,
    settings,
    store,
    update_task,
    update_ticket,
)
from tests.integration.producer.conftest import SECRET, RunningProducer, secret
from tests.support.serving import samples

PLUGIN = Path(__file__).parents[3] / "deploy" / "glpi-plugin" / "deskbridge"
REFUSED = '{"title": "Not a valid event", "status": 422, "errors": [{"path": "ticket.id"}]}'
WAIT = {"do": "wait"}
TROUBLE = {"do": "trouble"}


@pytest.mark.parametrize("file", sorted(PLUGIN.rglob("*.php")), ids=lambda file: file.name)
def test_each_file_is_valid_php(php: str, file: Path) -> None:
    lint = subprocess.run([php, "-l", str(file)], capture_output=True, text=True, timeout=20, check=False)
    assert lint.returncode == 0, lint.stdout


# what is noticed


def test_a_new_task_is_an_event_with_everything_that_the_contract_names(play: Play) -> None:
    assigned = {"2": [{"id": 31, "users_id": 8}, {"id": 30, "users_id": 0}, {"id": 32, "users_id": 9}]}
    (event,) = events(play(store(Ticket=[{**TICKET, "_users": assigned}]), add_task(), ROWS)[-1])
    assert event == {
        "event": "ticket_task.added",
        "ticket": {
            "id": 4711,
            "title": "Printer on fire",
            "content": "<p>It burns / ü</p>",
            "status": 2,
            "entity_id": 3,
            "entity_name": "Root entity > Customers > Acme",
            "project_id": None,
            "technician": {"id": 8, "email": "bob@example.org"},
        },
        "task": {
            "id": 512,
            "content": "<p>Extinguished</p>",
            "state": 2,
            "actiontime": 5400,
            "user": {"id": 7, "email": "alice@example.org"},
            "date": "2026-11-20",
        },
    }


def test_an_entity_that_is_gone_has_no_name(play: Play) -> None:
    (event,) = events(play(store(Entity=[]), update_ticket("status"), ROWS)[-1])
    assert (event["ticket"]["entity_id"], event["ticket"]["entity_name"]) == (3, None)


def test_nobody_and_no_email_are_null(play: Play) -> None:
    rows = play(add_task(users_id=0), add_task(513, users_id=99), ROWS)[-1]
    assert [event["task"]["user"] for event in events(rows)] == [None, {"id": 99, "email": None}]
    assert events(rows)[0]["ticket"]["technician"] is None


def test_a_ticket_that_is_created_gives_complete_events_in_whatever_order_its_hooks_come(play: Play) -> None:
    add = {"do": "add", "type": "Ticket", "id": 4711}
    rows = play(update_ticket("status"), add, ROWS)[-1]
    assert [event["event"] for event in events(rows)] == ["ticket.updated", "ticket.updated"]
    for event in events(rows):
        assert parse_event({**event, "occurred_at": "2026-11-21T09:30:00Z"}).ticket.title == "Printer on fire"


@pytest.mark.parametrize("column", ["content", "state", "actiontime", "users_id", "date", "tickets_id"])
def test_a_changed_task_is_an_event(play: Play, column: str) -> None:
    (event,) = events(play(update_task("date_mod", column), ROWS)[-1])
    assert event["event"] == "ticket_task.updated"


@pytest.mark.parametrize("column", ["name", "content", "status", "entities_id"])
def test_a_changed_ticket_is_an_event(play: Play, column: str) -> None:
    assert len(play(update_ticket("date_mod", column), ROWS)[-1]) == 1


@pytest.mark.parametrize(
    "save",
    [
        update_ticket("date_mod", "urgency", "actiontime"),
        update_ticket(),
        update_task("date_mod", "users_id_tech", "is_private"),
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
    assert one["ticket"]["project_id"] == 2
    assert "other_project_ids" not in one["ticket"]


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


def test_the_waits_grow_to_ten_minutes_and_never_end(play: Play, scripted: Scripted) -> None:
    scripted.answers = [(503, "")]
    tries = [WAIT, SEND, ROWS] * 8
    started = time.time()
    rows = play(address_of(scripted), add_task(), *tries)[4::3]
    waits = [row["next_try"] - started for (row,) in rows]
    assert [round(wait / 60) for wait in waits] == [1, 2, 4, 8, 10, 10, 10, 10]


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
    assert "entity_id" in parked["answer"]
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
    assert (first["status"], second["status"]) == (422, 401)
    assert producer.journal() == []


def test_secrets_are_encrypted_and_an_empty_field_leaves_them(play: Play) -> None:
    _, _, kept = play(settings(secret=SECRET), settings(secret="", address="https://hub"), {"do": "kept"})
    assert kept["secret"].startswith("encrypted:")
    assert kept["address"] == "https://hub"


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
        (200, '{"kind": "project", "id": 7, "tracker_project_id": 12, "default_category_id": 3}')
    ]
    console = settings(console_address=scripted.address, console_token="the-token")
    *_, (form, link) = play(console, tab("Project", 7))
    assert form == scripted.address + "/console/links/project/7"
    assert link == {"project": 12, "category": 3, "error": None}
    ((path, headers),) = scripted.received
    assert (path, headers["authorization"]) == ("/api/links/projects/7", "Bearer the-token")


def test_the_tab_of_the_root_entity_that_is_not_linked(play: Play, scripted: Scripted) -> None:
    scripted.answers = [(404, '{"title": "Not found", "status": 404}')]
    *_, (form, link) = play(settings(console_address=scripted.address), tab("Entity", 0))
    assert form.endswith("/console/links/entity/0")
    assert link == {"project": None, "category": None, "error": None}


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
