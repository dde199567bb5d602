"""Each case of SPEC section 3 reaches a tracker and is attributed as section 5 requires."""

from __future__ import annotations

from typing import Any

import pytest

from shared.notices.reasons import Reason
from shared.store.configuration.mappings import MappingKind
from tests.contract import seed
from tests.contract.scene import CAROL, DAVE, ENTITY, GHOST, STRANGER, Scene
from tests.contract.support import Json
from tests.support.events import (
    ALICE,
    BOB,
    task,
    task_event,
    ticket_event,
)

IN_PROGRESS, RESOLVED = 2, 5  # help desk statuses, mapped to the tracker statuses 2 and 3


def test_a_done_task_creates_the_issue_by_the_technician_and_logs_time_by_who_worked(scene: Scene) -> None:
    assert scene.forward(task_event(of_ticket=scene.ticket(), of_task=task(user=BOB))) == ["done"], (
        scene.steps()
    )
    issue = scene.issue()
    assert issue["subject"] == "Printer 4711 on fire"
    assert issue["description"] == "It burns"
    assert issue["author"]["id"] == seed.User.ALICE
    (entry,) = scene.entries()
    assert (entry["hours"], entry["comments"]) == (1.5, "Extinguished 512")
    assert entry["user"]["id"] == seed.User.BOB
    assert entry["activity"]["id"] == seed.Activity.DEVELOPMENT


def test_a_second_done_task_reuses_the_issue(scene: Scene) -> None:
    scene.forward(task_event(of_ticket=scene.ticket()))
    assert scene.forward(task_event(1, of_ticket=scene.ticket(), of_task=task(513, actiontime=1800))) == [
        "done"
    ]
    assert [entry["hours"] for entry in scene.entries()] == [1.5, 0.5]


@pytest.mark.parametrize("gate", [{"state": 1}, {"state": 0}, {"actiontime": 0}], ids=str)
def test_a_task_that_is_not_done_or_has_no_time_sends_nothing(scene: Scene, gate: dict[str, int]) -> None:
    assert scene.forward(task_event(of_ticket=scene.ticket(), of_task=task(**gate))) == ["skipped"]
    assert scene.issues() == []


def test_a_ticket_update_moves_the_status_of_the_linked_issue(scene: Scene) -> None:
    scene.forward(task_event(of_ticket=scene.ticket(status=IN_PROGRESS)))
    assert scene.issue()["status"]["id"] == seed.Status.IN_PROGRESS
    assert scene.forward(ticket_event(1, of_ticket=scene.ticket(status=RESOLVED))) == ["done"]
    assert scene.issue()["status"]["id"] == seed.Status.RESOLVED


def test_hours_on_an_issue_that_was_moved_are_still_their_persons(scene: Scene) -> None:
    """The person is made a member of the project to which the issue was moved."""
    scene.forward(task_event(of_ticket=scene.ticket()))
    issue_id = scene.issue()["id"]
    assert scene.tracker.update_issue(issue_id, project_id=seed.Project.OTHER).status_code == 204
    assert scene.forward(task_event(1, of_ticket=scene.ticket(), of_task=task(513, user=BOB))) == ["done"]
    found = scene.tracker.read(f"/time_entries.json?issue_id={issue_id}")["time_entries"]
    assert {(one["user"]["id"], one["project"]["id"]) for one in found} == {
        (seed.User.ALICE, seed.Project.OTHER),
        (seed.User.BOB, seed.Project.OTHER),
    }


def test_a_status_that_the_tracker_ignores_on_creation_is_set_afterwards(scene: Scene) -> None:
    scene.forward(task_event(of_ticket=scene.ticket(status=RESOLVED)))
    assert scene.issue()["status"]["id"] == seed.Status.RESOLVED
    assert "PUT /issues/" in scene.steps()


def test_an_update_of_a_ticket_without_an_issue_sends_nothing(scene: Scene) -> None:
    assert scene.forward(ticket_event(of_ticket=scene.ticket())) == ["skipped"]
    assert scene.issues() == []


def test_an_older_update_that_comes_later_changes_nothing(scene: Scene) -> None:
    scene.forward(task_event(of_ticket=scene.ticket()))
    scene.forward(ticket_event(10, of_ticket=scene.ticket(status=RESOLVED)))
    assert scene.forward(ticket_event(5, of_ticket=scene.ticket(status=IN_PROGRESS))) == ["superseded"]
    assert scene.issue()["status"]["id"] == seed.Status.RESOLVED


def test_a_logged_task_that_is_edited_is_not_sent_again(scene: Scene) -> None:
    scene.forward(task_event(of_ticket=scene.ticket()))
    assert scene.forward(task_event(1, of_ticket=scene.ticket(), of_task=task(actiontime=9000))) == ["done"]
    assert [entry["hours"] for entry in scene.entries()] == [1.5]


def test_a_logged_task_that_is_reverted_keeps_its_time_entry(scene: Scene) -> None:
    scene.forward(task_event(of_ticket=scene.ticket()))
    assert scene.forward(task_event(1, of_ticket=scene.ticket(), of_task=task(state=1))) == ["skipped"]
    assert len(scene.entries()) == 1


def test_a_ticket_without_any_link_sends_nothing_and_says_so(scene: Scene) -> None:
    unlinked = scene.ticket(entity_id=78)
    assert (
        scene.forward(task_event(of_ticket=unlinked), ticket_event(1, of_ticket=unlinked)) == ["skipped"] * 2
    )
    assert scene.issues() == []
    assert "has a mapping" in scene.steps()


def test_the_project_link_comes_before_the_entity_and_brings_its_category(scene: Scene) -> None:
    scene.bridge.link(MappingKind.ENTITY, ENTITY, seed.Project.OTHER)
    category = scene.tracker.read(f"/projects/{seed.Project.SUPPORT}/issue_categories.json")[
        "issue_categories"
    ][0]
    scene.bridge.link(MappingKind.PROJECT, 55, seed.Project.SUPPORT, int(category["id"]))
    before = {issue["id"] for issue in scene.issues(seed.Project.SUPPORT)}
    assert scene.forward(task_event(of_ticket=scene.ticket(project_id=55))) == ["done"], scene.steps()
    (created,) = [issue for issue in scene.issues(seed.Project.SUPPORT) if issue["id"] not in before]
    scene.tracker.created.append(f"/issues/{created['id']}.json")
    assert created["category"]["id"] == category["id"]


def test_a_helpdesk_project_without_a_link_falls_through_to_the_entity(scene: Scene) -> None:
    assert scene.forward(task_event(of_ticket=scene.ticket(project_id=56))) == ["done"]
    assert len(scene.issues()) == 1


def test_a_technician_is_made_a_member_of_a_private_project_first(scene: Scene) -> None:
    scene.forward(task_event(of_ticket=scene.ticket(technician=CAROL), of_task=task(user=CAROL)))
    assert scene.issue()["author"]["id"] == seed.User.CAROL
    members = scene.tracker.read(f"/projects/{scene.project_id}/memberships.json")["memberships"]
    assert [(one["user"]["id"], one["roles"][0]["id"]) for one in members] == [
        (seed.User.CAROL, seed.Role.DEVELOPER)
    ]


def test_a_membership_that_is_there_already_is_fine(scene: Scene) -> None:
    scene.tracker.add_member(scene.project_id, seed.User.ALICE, seed.Role.DEVELOPER)
    assert scene.forward(task_event(of_ticket=scene.ticket())) == ["done"]
    assert scene.issue()["author"]["id"] == seed.User.ALICE


def test_a_membership_is_asked_for_once(scene: Scene) -> None:
    scene.forward(task_event(of_ticket=scene.ticket()))
    scene.forward(task_event(1, of_ticket=scene.ticket(), of_task=task(513)))
    assert scene.steps().count("memberships.json") == 1


def test_a_membership_lost_since_it_was_remembered_is_made_again(scene: Scene) -> None:
    with scene.bridge.store.transaction() as tx:
        tx.people.remember_member(scene.project_id, seed.User.ALICE)
    scene.forward(task_event(of_ticket=scene.ticket()))
    assert scene.issue()["author"]["id"] == seed.User.ALICE, scene.steps()


def test_a_non_member_of_a_private_project_is_replaced_by_the_administrator(scene: Scene) -> None:
    scene.bridge.configure(default_role_id=None)
    assert scene.forward(task_event(of_ticket=scene.ticket())) == ["done"]
    assert scene.issue()["author"]["id"] == seed.User.ADMIN
    assert "repeated as the API user" in scene.steps()


@pytest.mark.parametrize("user", [GHOST, DAVE], ids=["unknown login", "locked"])
def test_a_user_the_tracker_does_not_let_in_is_replaced_by_the_administrator(
    scene: Scene, user: dict[str, Any]
) -> None:
    assert scene.forward(task_event(of_ticket=scene.ticket(technician=user), of_task=task(user=user))) == [
        "done"
    ]
    assert scene.issue()["author"]["id"] == seed.User.ADMIN
    assert scene.entries()[0]["user"]["id"] == seed.User.ADMIN


@pytest.mark.parametrize("user", [GHOST, DAVE], ids=["unknown login", "locked"])
def test_an_event_tells_that_its_issue_is_not_its_technicians_although_the_users_are_read_again(
    scene: Scene, user: dict[str, Any]
) -> None:
    assert scene.forward(task_event(of_ticket=scene.ticket(technician=user))) == ["done"]
    assert scene.issue()["author"]["id"] == seed.User.ADMIN
    assert scene.entries()[0]["user"]["id"] == seed.User.ALICE
    notice = scene.bridge.event(1).notice
    assert notice
    assert (notice.code, "because" in notice.params) == (Reason.TIME_LOGGED_AS_ANOTHER, False)


def test_a_person_nobody_knows_is_replaced_by_the_administrator(scene: Scene) -> None:
    scene.forward(task_event(of_ticket=scene.ticket(technician=STRANGER), of_task=task(user=None)))
    assert scene.issue()["author"]["id"] == seed.User.ADMIN
    assert scene.entries()[0]["user"]["id"] == seed.User.ADMIN


def test_an_override_comes_before_the_e_mail(scene: Scene) -> None:
    with scene.bridge.store.transaction() as tx:
        tx.people.put_override(ALICE["id"], seed.User.BOB)  # type: ignore[arg-type]
    scene.forward(task_event(of_ticket=scene.ticket()))
    assert scene.issue()["author"]["id"] == seed.User.BOB


def test_e_mails_match_whatever_their_case(scene: Scene) -> None:
    scene.forward(task_event(of_ticket=scene.ticket(technician={"id": 7, "email": " ALICE@Example.TEST "})))
    assert scene.issue()["author"]["id"] == seed.User.ALICE


def test_a_closed_project_fails_the_event_with_the_trackers_errors_until_it_is_replayed(
    scene: Scene, project: Json
) -> None:
    scene.bridge.link(MappingKind.ENTITY, ENTITY, seed.Project.CLOSED)
    (event_id,) = scene.bridge.receive(task_event(of_ticket=scene.ticket()))
    scene.bridge.sync()
    failed = scene.bridge.event(event_id)
    assert failed.state == "failed"
    assert "Project cannot be blank" in (failed.reason or "")
    scene.bridge.link(MappingKind.ENTITY, ENTITY, int(project["id"]))
    with scene.bridge.store.transaction() as tx:
        tx.journal.replay([event_id])
    scene.bridge.sync()
    assert scene.bridge.event(event_id).state == "done"
    assert len(scene.entries()) == 1


def test_a_disabled_activity_fails_the_time_and_keeps_the_issue(scene: Scene) -> None:
    scene.bridge.configure(default_activity_id=seed.Activity.LEGACY)
    (event_id,) = scene.bridge.receive(task_event(of_ticket=scene.ticket()))
    scene.bridge.sync()
    assert scene.bridge.event(event_id).state == "failed"
    assert "Activity is not included in the list" in (scene.bridge.event(event_id).reason or "")
    assert scene.entries() == []
    scene.bridge.configure(default_activity_id=seed.Activity.DEVELOPMENT)
    with scene.bridge.store.transaction() as tx:
        tx.journal.replay([event_id])
    scene.bridge.sync()
    assert len(scene.entries()) == 1


def test_over_long_text_is_cut_to_what_the_tracker_takes(scene: Scene) -> None:
    long = scene.ticket(title="😀" * 300, content="x" * 100_000)
    assert scene.forward(task_event(of_ticket=long, of_task=task(content="é" * 2000))) == ["done"], (
        scene.steps()
    )
    assert scene.issue()["subject"] == "😀" * 255
    assert len(scene.issue()["description"]) == 100_000
    assert len(scene.entries()[0]["comments"]) == 1024


HOSTILE = [
    "\"'\\{{title}} <script>alert(1)</script> & \u2028 \u202e 😀",
    "nul \u0000 and a lone \ud800 surrogate",
    "&lt;p&gt;escaped &amp;amp; once more&lt;/p&gt;",
    "'; DROP TABLE issues; --",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_arrives_as_plain_text(scene: Scene, text: str) -> None:
    hostile = scene.ticket(title=text, content=text)
    assert scene.forward(task_event(of_ticket=hostile, of_task=task(content=text))) == ["done"], scene.steps()
    for arrived in (scene.issue()["subject"], scene.issue()["description"], scene.entries()[0]["comments"]):
        assert arrived
        assert not {"\x00", "<script>", "<p>"} & {arrived, *arrived.split()}
        assert arrived.isprintable() or set(arrived) & set("\r\n\u2028\u202e")


@pytest.mark.parametrize("empty", ["", "   ", "<p><br></p>", "\u0000"], ids=repr)
def test_a_ticket_and_a_task_without_text_get_the_fallback_texts(scene: Scene, empty: str) -> None:
    blank = scene.ticket(title="" if "<" in empty else empty, content=empty)
    assert scene.forward(task_event(of_ticket=blank, of_task=task(content=empty))) == ["done"], scene.steps()
    assert scene.issue()["subject"] == "Ticket #4711"
    assert scene.entries()[0]["comments"] == "Work on helpdesk ticket #4711"


def test_an_issue_deleted_on_the_tracker_is_shown_to_a_person(scene: Scene) -> None:
    scene.forward(task_event(of_ticket=scene.ticket()))
    scene.tracker.call("DELETE", f"/issues/{scene.issue()['id']}.json")
    assert scene.forward(ticket_event(1, of_ticket=scene.ticket(status=RESOLVED))) == ["on_hold"]
    assert scene.forward(task_event(2, of_ticket=scene.ticket(), of_task=task(513))) == ["on_hold"]
    assert scene.issues() == []


def test_a_new_task_finds_out_that_the_issue_was_deleted(scene: Scene) -> None:
    scene.forward(task_event(of_ticket=scene.ticket()))
    scene.tracker.call("DELETE", f"/issues/{scene.issue()['id']}.json")
    assert scene.forward(task_event(2, of_ticket=scene.ticket(), of_task=task(513))) == ["on_hold"], (
        scene.steps()
    )
    with scene.bridge.store.transaction() as tx:
        (row,) = tx.issues.waiting_for_a_person()
    assert row.state == "gone"


def test_a_refused_key_makes_everything_wait_and_loses_nothing(scene: Scene) -> None:
    from pydantic import SecretStr

    from shared.connection.vault import Vault

    vault = Vault(scene.bridge.settings.secret_keys)
    with scene.bridge.store.transaction() as tx:
        tx.configs.put_api_key(vault.encrypt(SecretStr("0" * 40)))
    (event_id,) = scene.bridge.receive(task_event(of_ticket=scene.ticket()))
    scene.bridge.sync()
    assert scene.bridge.event(event_id).state == "pending"
    assert "API key" in (scene.bridge.event(event_id).reason or "")
    with scene.bridge.store.transaction() as tx:
        tx.configs.put_api_key(vault.encrypt(SecretStr(scene.tracker.api_key)))
    scene.bridge.breaker.end()
    scene.bridge.hurry()
    scene.bridge.sync()
    assert scene.bridge.event(event_id).state == "done"
    assert len(scene.entries()) == 1
