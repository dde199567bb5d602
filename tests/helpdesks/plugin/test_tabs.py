"""The tabs of GLPI's plugin on tickets, projects and entities, and the rights to see them."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.helpdesks.plugin.conftest import Play, Scripted, act, add, add_task, settings, silence, store


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
    """Return what the ticket's tab shows after the console has given an answer."""
    status, body = answer
    scripted.answers = [(status, body if isinstance(body, str) else json.dumps(body))]
    console = settings(console_address=scripted.address, console_token="the-token")
    return play(console, *before, {"do": "ticket", "id": 4711})[-1]


def task_of(task_id: int, **changes: Any) -> dict[str, Any]:
    """Return a task as the console describes it."""
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


def test_the_tab_shows_the_hours_of_glpi_if_deskbridge_does_not_know_them(
    play: Play, scripted: Scripted
) -> None:
    tasks = [task_of(512, hours=None), task_of(513, hours=None)]
    shown = outcome(play, scripted, (200, {**KNOWN, "tasks": tasks}), add_task())
    assert [one["hours"] for one in shown["tasks"]] == [1.5, 0]


def test_the_tab_says_that_time_is_logged_under_another_user(play: Play, scripted: Scripted) -> None:
    tasks = {**KNOWN, "tasks": [task_of(512, has_wrong_author=True), task_of(513, has_wrong_author=False)]}
    shown = outcome(play, scripted, (200, tasks), add_task(), add_task(513))
    assert [one["is_logged"] for one in shown["tasks"]] == [False, True]
    assert "under another user" in shown["tasks"][0]["sentence"]


def test_a_task_that_the_one_who_looks_may_not_see_is_left_out(play: Play, scripted: Scripted) -> None:
    tasks = {**KNOWN, "tasks": [task_of(512), task_of(513)]}
    shown = outcome(play, scripted, (200, tasks), add_task(is_private=1), add_task(513))
    assert [one["id"] for one in shown["tasks"]] == [513]


NOTE = {"kind": "followup", "id": 77, "state": "linked", "note_id": 5, "code": None, "reason": None}
DOCUMENT = {"id": 91, "state": "linked", "attachment_id": 6, "code": None, "reason": None}
OFF = {"state": "skipped", "note_id": None, "code": "solutions_off", "reason": "sync_solutions is off"}
NOTES = {"tasks": [], "notes": [NOTE, {**NOTE, "kind": "solution", **OFF}], "documents": [DOCUMENT]}


def add_followup(**fields: Any) -> dict[str, Any]:
    """Save follow-up 77 of the ticket."""
    known = {"itemtype": "Ticket", "items_id": 4711, "content": "<p>Toner ordered</p>", "is_private": 0}
    return add("ITILFollowup", id=77, date="2026-11-20 17:00:00", **{**known, **fields})


def add_solution() -> dict[str, Any]:
    """Save solution 77 of the ticket."""
    of_ticket = {"itemtype": "Ticket", "items_id": 4711}
    return add(
        "ITILSolution", id=77, content="Toner replaced", date_creation="2026-11-21 09:00:00", **of_ticket
    )


def add_document(holder: str, holder_id: int) -> list[dict[str, Any]]:
    """Save document 91, and attach it to an item."""
    document = add(
        "Document", id=91, filename="scan <1>.png", filepath="x", date_creation="2026-11-22 08:00:00"
    )
    link = add("Document_Item", id=5, documents_id=91, itemtype=holder, items_id=holder_id)
    return [document, link]


def test_the_tab_lists_follow_ups_solutions_and_documents_and_what_became_of_each(
    play: Play, scripted: Scripted
) -> None:
    before = [add_followup(), add_solution(), *add_document("Ticket", 4711)]
    shown = outcome(play, scripted, (200, {**KNOWN, **NOTES}), *before)["additions"]
    assert [(one["what"], one["text"], one["date"]) for one in shown] == [
        ("Follow-up", "Toner ordered", "2026-11-20 17:00:00"),
        ("Solution", "Toner replaced", "2026-11-21 09:00:00"),
        ("Document", "scan <1>.png", "2026-11-22 08:00:00"),
    ]
    assert [(one["is_sent"], one["sentence"]) for one in shown] == [
        (True, "It is in Redmine."),
        (False, "Nothing was sent to Redmine. (sync_solutions is off)"),
        (True, "It is in Redmine."),
    ]


def test_a_private_follow_up_that_the_one_who_looks_may_not_see_is_left_out_with_its_documents(
    play: Play, scripted: Scripted
) -> None:
    before = [add_followup(is_private=1), add_solution(), *add_document("ITILFollowup", 77)]
    shown = outcome(play, scripted, (200, {**KNOWN, **NOTES}), *before)["additions"]
    assert [one["what"] for one in shown] == ["Solution"]


def test_what_was_deleted_in_glpi_is_listed_by_its_number(play: Play, scripted: Scripted) -> None:
    shown = outcome(play, scripted, (200, {**KNOWN, **NOTES}))["additions"]
    assert [(one["id"], one["text"], one["date"]) for one in shown] == [
        (77, "", None),
        (77, "", None),
        (91, "", None),
    ]


def test_a_deskbridge_that_tells_nothing_of_notes_and_documents_still_tells_of_tasks(
    play: Play, scripted: Scripted
) -> None:
    shown = outcome(play, scripted, (200, {**KNOWN, "tasks": [task_of(512)]}), add_task())
    assert (shown["error"], shown["additions"]) == (None, [])
    assert [one["id"] for one in shown["tasks"]] == [512]


@pytest.mark.parametrize(
    ("answer", "notice"),
    [
        ((404, {"status": 404}), "not received any events"),
        (
            (200, {**KNOWN, "issue": None, "state": "skipped", "code": "no_link", "tasks": []}),
            "mapped to a Redmine",
        ),
        ((200, {**KNOWN, "issue": None, "state": "pending", "tasks": []}), "being sent"),
        ((200, {**KNOWN, "issue": None, "state": "on_hold", "reason": "two", "tasks": []}), "decision"),
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
    taken = {"do": "take rights", "names": ["plugin_deskbridge_ticket", "plugin_deskbridge_link"]}
    *_, first, _, _, again = play(profiles, install, granted, taken, install, granted)
    assert [(one["profiles_id"], one["name"]) for one in first] == [
        (4, "plugin_deskbridge_ticket"),
        (4, "plugin_deskbridge_link"),
    ]
    assert again == [], "what an administrator has taken away stays away"
