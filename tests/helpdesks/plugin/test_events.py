"""Which changes of tickets and tasks GLPI's plugin sends, and the content of their events, on stand-ins for GLPI."""

from __future__ import annotations

from typing import Any

import pytest

from shared.events.parsing import parse_event
from tests.helpdesks.plugin.conftest import (
    ALICE,
    BOB,
    LOGGED,
    ROWS,
    TASK,
    TICKET,
    Play,
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

SENT = {
    "Ticket": {
        *("name", "content", "status", "entities_id", "urgency", "impact", "priority", "type"),
        *("itilcategories_id", "locations_id", "time_to_resolve", "externalid"),
    },
    "TicketTask": {
        *("content", "state", "actiontime", "users_id", "users_id_tech", "date", "begin"),
        *("tickets_id", "is_private"),
    },
}


# changes that are noticed


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
            "created_at": "2026-11-20T08:15:30+00:00",
        },
        "task": {
            "id": 512,
            "content": "<p>Extinguished</p>",
            "state": 2,
            "actiontime": 5400,
            "is_private": False,
            "user": ALICE,
            "technician": BOB,
            "date": "2026-11-20",
            "created_at": "2026-11-20T23:30:00+00:00",
        },
    }


def test_the_day_of_a_planned_task_is_the_one_that_it_is_planned_for(play: Play) -> None:
    (event,) = events(play(add_task(begin="2026-11-17 09:00:00"), ROWS)[-1])
    assert event["task"]["date"] == "2026-11-17"


@pytest.mark.parametrize(
    ("content", "kept", "end"),
    [
        ("<p>" + "ü" * 400_000 + "</p>", "<p>üü", "ü"),
        ('<p>before</p><img alt="' + "x" * 400_000 + '">', "<p>before</p>", "<p>before</p>"),
        ("<p>" + "x" * 299_994 + "&amp;" + "y" * 100, "<p>xx", "x"),
    ],
)
def test_a_text_over_300_kb_is_cut_where_it_stays_readable_and_says_so(
    play: Play, content: str, kept: str, end: str
) -> None:
    tickets = store(Ticket=[{**TICKET, "content": content, "_users": {"2": []}}])
    (event,) = events(play(tickets, add_task(content=content), ROWS)[-1])
    for text in (event["ticket"]["content"], event["task"]["content"]):
        cut, _, note = text.partition("<p>[Truncated here: ")
        assert cut.startswith(kept)
        assert cut.endswith(end)
        assert note.endswith("The full text is in GLPI.]</p>")
        assert len(text.encode()) < 301_000


PICTURE = "data:image/png;base64," + "iVBORw0KGgo" * 40_000


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        (
            f'<p>Look:</p><img alt="a > b" src="{PICTURE}" width="9"><p>words</p>',
            "<p>Look:</p>[image]<p>words</p>",
        ),
        (f"<p><IMG SRC='{PICTURE}'/>words</p>", "<p>[image]words</p>"),
        (f"<img src={PICTURE}>words<img src={PICTURE}>", "[image]words[image]"),
        (
            '<img src="data:,x"><img src="/front/document.send.php?docid=91">',
            '[image]<img src="/front/document.send.php?docid=91">',
        ),
        (f'<p style="background:url({PICTURE})">words</p>', '<p style="background:url()">words</p>'),
        ("<p>the data:image/png part</p>", "<p>the data:image/png part</p>"),
    ],
    ids=["before words", "in single quotes", "without quotes", "beside a document", "a background", "words"],
)
@pytest.mark.parametrize("of", ["ticket", "task"])
def test_a_picture_in_the_text_itself_is_dropped_before_the_text_is_cut(
    play: Play, content: str, kept: str, of: str
) -> None:
    save = (
        add_task(content=content) if of == "task" else update_ticket("content", fields={"content": content})
    )
    (event,) = events(play(save, ROWS)[-1])
    assert event[of]["content"] == kept


def test_an_entity_that_is_gone_has_no_name(play: Play) -> None:
    (event,) = events(play(store(Entity=[]), update_ticket("status"), ROWS)[-1])
    assert (event["ticket"]["entity_id"], event["ticket"]["entity_name"]) == (3, None)


def test_nobody_and_no_email_are_null(play: Play) -> None:
    rows = play(add_task(users_id=0, users_id_tech=0), add_task(513, users_id=99), ROWS)[-1]
    assert [event["task"]["user"] for event in events(rows)] == [
        None,
        {"id": 99, "email": None, "name": None},
    ]
    assert [event["task"]["technician"] for event in events(rows)] == [None, BOB]
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
        update_task("date_mod", "users_id_editor", "sourceof_items_id"),
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


def test_a_task_that_became_private_is_sent_without_its_text_if_the_setting_excludes_private_tasks(
    play: Play,
) -> None:
    private = update_task("is_private", is_private=1)
    rows = play(settings(private_tasks="0"), add_task(), private, ROWS)[-1]
    assert [(one["task"]["content"], one["task"]["is_private"]) for one in events(rows)] == [(None, True)] * 2


def test_a_task_that_waits_has_its_newest_text_and_its_earlier_state(play: Play) -> None:
    rows = play(add_task(state=1), update_task("content", content="<p>Out</p>"), ROWS)[-1]
    assert [(one["task"]["content"], one["task"]["state"]) for one in events(rows)] == [
        ("<p>Out</p>", 1),
        ("<p>Out</p>", 2),
    ]


def test_the_events_of_a_ticket_that_wait_have_its_newest_text_and_their_earlier_state(play: Play) -> None:
    edit = update_ticket("name", "content", fields={"name": "Fire", "content": "<p>Out</p>", "status": 6})
    rows = play(add_task(), edit, ROWS)[-1]
    texts = [
        (one["ticket"]["title"], one["ticket"]["content"], one["ticket"]["status"]) for one in events(rows)
    ]
    assert texts == [("Fire", "<p>Out</p>", 2), ("Fire", "<p>Out</p>", 6)]


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


def test_a_cloned_ticket_is_sent_until_it_has_the_people_and_without_the_tasks(play: Play) -> None:
    people = [
        {"id": 1, "users_id": 7, "type": 1, **OF_TICKET},
        {"id": 2, "users_id": 8, "type": 2, **OF_TICKET},
    ]
    rows = play(store(TicketTask=[TASK], Ticket_User=people), act("clone"), ROWS)[-1]
    assert named(rows) == [("ticket.updated", 4712, None)] * 3
    told = [(one["ticket"]["requester"], one["ticket"]["technician"]) for one in events(rows)]
    assert told == [(None, None), (ALICE, None), (ALICE, BOB)]


# deletions and restores


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


def test_what_waits_of_a_purged_task_is_dropped(play: Play) -> None:
    rows = play(add_task(512), add_task(513), update_ticket("status"), act("purge", "TicketTask", 512), ROWS)[
        -1
    ]
    assert named(rows) == [
        ("ticket_task.added", 4711, 513),
        ("ticket.updated", 4711, None),
        ("ticket_task.deleted", 4711, 512),
    ]


def test_what_waits_of_a_purged_ticket_is_dropped_and_of_a_ticket_in_the_bin_it_stays(play: Play) -> None:
    saves = [update_ticket("status"), add_task(512), act("bin")]
    in_bin, _, purged = play(*saves, ROWS, act("purge"), ROWS)[-3:]
    assert named(in_bin) == [
        ("ticket.updated", 4711, None),
        ("ticket_task.added", 4711, 512),
        ("ticket.deleted", 4711, None),
    ]
    assert named(purged) == [("ticket.deleted", 4711, None)]


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
    assert not [name for name, *_ in named(rows) if name == "ticket.deleted"], (
        "what was done there stays done"
    )


MERGED = store(
    Ticket=[{**TICKET, "id": number, "_users": {"2": []}} for number in (4711, 13)],
    TicketTask=[{**TASK, "id": 20, "tickets_id": 13}, {**TASK, "id": 21, "tickets_id": 13, "state": 1}],
)


def last_of(rows: list[dict[str, Any]], task_id: int) -> dict[str, Any]:
    """Return a task as in the spool's newest event about it."""
    of_task = [one["task"] for one in events(rows) if one.get("task", {}).get("id") == task_id]
    return dict(of_task[-1])


def save(task_id: int, *updates: str, **fields: Any) -> dict[str, Any]:
    """Save an existing task."""
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


@pytest.mark.parametrize(
    ("later", "deleted"),
    [([], []), ([act("purge", item_id=13)], [4711])],
    ids=["in the bin", "purged"],
)
@pytest.mark.parametrize("how", ["bin", "purge"])
def test_a_ticket_is_not_deleted_while_copies_of_its_tasks_are_in_another_one_even_in_the_bin(
    play: Play, how: str, later: list[dict[str, Any]], deleted: list[int]
) -> None:
    merge, copied = act("merge", other=13), add_task(30, tickets_id=13, sourceitems_id=4711)
    rows = play(MERGED, merge, add_task(29), copied, *later, act(how), ROWS)[-1]
    assert deletions(rows) == deleted


@pytest.mark.parametrize("between", [[], [act("purge")]], ids=["in the bin", "purged"])
def test_a_ticket_is_not_deleted_while_copies_of_its_copies_live_on(
    play: Play, between: list[dict[str, Any]]
) -> None:
    third = store(Ticket=[{**TICKET, "id": number, "_users": {"2": []}} for number in (4711, 13, 14)])
    merges = [act("merge", other=13), act("merge", item_id=14, other=4711)]
    rows = play(MERGED, third, *merges, *between, act("purge", item_id=13), ROWS)[-1]
    assert not [name for name, *_ in named(rows) if name == "ticket.deleted"]


def deletions(rows: list[dict[str, Any]]) -> list[int]:
    """Return the tickets that the spool's events report as deleted."""
    return [ticket for name, ticket, _ in named(rows) if name == "ticket.deleted"]


WITHOUT_TASKS = act("merge", other=13, with_tasks=False)


def test_a_ticket_that_was_merged_without_its_tasks_is_not_deleted(play: Play) -> None:
    assert deletions(play(MERGED, WITHOUT_TASKS, ROWS)[-1]) == []


@pytest.mark.parametrize("how", ["bin", "purge"])
def test_a_ticket_that_was_merged_without_its_tasks_is_deleted_when_a_person_does_that(
    play: Play, how: str
) -> None:
    rows = play(MERGED, WITHOUT_TASKS, act("restore", item_id=13), act(how, item_id=13), ROWS)[-1]
    assert deletions(rows) == [13]


def test_a_ticket_that_is_binned_without_a_notification_and_was_not_merged_is_deleted(play: Play) -> None:
    rows = play(MERGED, act("bin", item_id=13, input={"_disablenotif": True}), ROWS)[-1]
    assert deletions(rows) == [13]


def test_a_merged_ticket_is_not_deleted_while_the_one_with_its_copies_can_be_restored(play: Play) -> None:
    steps = [act("merge", other=13), act("bin"), act("purge", item_id=13), act("restore")]
    rows = play(MERGED, *steps, ROWS)[-1]
    assert deletions(rows) == [4711]


def test_a_merged_ticket_is_deleted_once_its_copies_are(play: Play) -> None:
    purge = [act("purge", "TicketTask", number) for number in (22, 23)]
    rows = play(MERGED, act("merge", other=13), *purge, act("purge", item_id=13), ROWS)[-1]
    assert named(rows)[-1] == ("ticket.deleted", 13, None)


def test_a_task_that_is_no_copy_names_none(play: Play) -> None:
    rows = play(add_task(sourceitems_id=13), add_task(513), ROWS)[-1]
    assert [one["task"].get("copy_of") for one in events(rows)] == [None, None]


def test_the_event_has_what_another_request_saved_meanwhile(play: Play) -> None:
    save = {**update_task("content"), "meanwhile": {"actiontime": 60}}
    (of_ticket, of_task) = events(play(update_ticket("name", meanwhile={"status": 6}), save, ROWS)[-1])
    assert of_ticket["ticket"]["status"] == 6
    assert of_task["task"]["actiontime"] == 60


def test_a_merge_goes_on_and_the_fault_is_logged_when_its_followups_cannot_be_counted(play: Play) -> None:
    broken = {"do": "database", "values": {"is_unreadable": True}}
    *_, merged, logged = play(MERGED, broken, act("merge", other=13), LOGGED)
    assert merged is None
    assert logged == ["the connection is lost"]
