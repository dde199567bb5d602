"""If a person is deleted while events wait, each surface says so and none suggests repairing the account."""

from __future__ import annotations

from producer.admin.doctor.finding import CheckResult
from producer.admin.people.correction import correct_author
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.notices.authors import Misattribution
from shared.notices.doctor_setup import SetupFinding
from shared.notices.doctor_work import WorkFinding
from shared.notices.steps import What
from shared.store.tables.journal import EventState
from tests.failures.stage import Stage
from tests.integration.console.pages import Visitor
from tests.support.events import task, task_event
from tests.unit.cli.conftest import Shell

ALICE, BOB, OF_ALICE = 5, 6, 7
CANNOT_BE_DONE = ("nlock alice", "ive alice a role", "All systems operational", "being forwarded")


def of(stage: Stage, *checks: str) -> list[CheckResult]:
    """Return the doctor's results that are not ok, for some checks."""
    return [one for one in stage.findings() if one.check in checks and one.status != "ok"]


def test_a_person_who_is_deleted_while_events_wait_is_called_deleted_and_map_user_heals(
    stage: Stage, pages: Visitor, shell: Shell
) -> None:
    assert stage.work() == EventState.DONE
    older = stage.tasks
    stage.bridge.receive(task_event(650, of_task=task(650)))
    stage.tracker.remove("users", ALICE)
    stage.bridge.sync(4711)
    assert stage.goes_on()
    people, wrong, lost = of(stage, "people", "authors")
    assert people.found.code == SetupFinding.PEOPLE_DELETED
    assert (
        "the Redmine user of a GLPI user was deleted, so the work is sent as the API user: 7 (alice@example.test)"
        in people.what
    )
    assert people.todo == "run `deskbridge user map GLPI_USER_ID REDMINE_USER_ID`", "one step"
    assert (wrong.found.code, lost.found.code) == (WorkFinding.AUTHORS_WRONG, WorkFinding.AUTHORS_DELETED)
    assert "(newest tickets: 4711)" in lost.what
    assert lost.todo.startswith(people.todo)
    assert f"`deskbridge author correct TASK_ID` for each time entry (ticket tasks {older})" in lost.todo
    (listed,) = shell.ask("author", "list")
    assert (listed["code"], listed["id"]) == (Misattribution.PERSON_DELETED, 650)
    trace, events = stage.trace(), stage.events()
    assert What.PERSON_DELETED in trace.codes
    assert "alice was deleted in Redmine" in events.text
    shown = [pages.open(page) for page in ("/console", "/console/people", "/console/tickets/4711")]
    for text in (people.todo, lost.todo, listed["todo"], trace.text, events.text, *shown):
        assert not any(word in text for word in CANNOT_BE_DONE), text
    heal(stage, shell, (older, 650))


def heal(stage: Stage, shell: Shell, tasks: tuple[int, ...]) -> None:
    """Map the GLPI user to another person, and correct the author of the hours."""
    shell.do("user", "map", str(OF_ALICE), str(BOB))
    shell.do("config", "set", "correct_authors=true")
    connect = Connector(stage.bridge.store, Vault(stage.bridge.settings.secret_keys)).connect
    for task_id in tasks:
        assert correct_author(stage.bridge.store, connect, task_id).login == "bob"
    assert of(stage, "people", "authors") == []
    assert stage.work() == EventState.DONE
    assert shell.ask("author", "list") == []


def test_a_locked_person_is_not_called_deleted(stage: Stage) -> None:
    assert stage.work() == EventState.DONE
    stage.tracker.patch("users", ALICE, status=3)
    assert [one.found.code for one in of(stage, "people", "authors")] == [SetupFinding.PEOPLE_LOCKED]
