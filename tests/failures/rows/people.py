"""Rows about people: the author of what is sent, the day that it counts for, and who still has access."""

from __future__ import annotations

from producer.admin.access.accounts import AccountStore
from producer.admin.records.rights import Right
from shared.metadata.synchronisation import refresh_people
from shared.store.tables.journal import EventState
from shared.tracker.lists import TrackerLists
from tests.contract.support import Tracker
from tests.failures.rows.row import Nothing, Prevented, Row
from tests.failures.stage import Stage, both, nothing_to_do, patch, settings
from tests.integration.console.pages import PASSWORD
from tests.support.events import task, task_event, ticket

ALICE, BOB, OF_ALICE, DEVELOPER = 5, 6, 7, 4
OLDER_TASK = 400
"""The ticket task whose hours were logged before anything failed."""
MAY_NOT_LOG = ["view_issues", "add_issues", "edit_issues", "view_time_entries"]
MAY = [*MAY_NOT_LOG, "log_time"]
DAY = "2026-01-20"
ANOTHER = "the wrong author"


def people_read(stage: Stage) -> None:
    """Reload the people, as beat does every hour."""
    _, client = stage.installation().connect()
    refresh_people(stage.bridge.store, TrackerLists(client))


def is_bob(stage: Stage) -> None:
    """Map the GLPI user to bob, and correct the author of the hours that were logged as the API user."""
    stage.shell.do("user", "map", str(OF_ALICE), str(BOB))
    corrected(stage)


def bob_does_it(stage: Stage) -> None:
    """Map the GLPI user to bob, and correct the author of all hours of the deleted person."""
    stage.shell.do("user", "map", str(OF_ALICE), str(BOB))
    corrected(stage, OLDER_TASK, 601, stage.tasks)


def corrected(stage: Stage, *tasks: int) -> None:
    """Correct the author of the hours of some ticket tasks, by default of the newest."""
    stage.shell.do("config", "set", "correct_authors=true")
    for task_id in tasks or (stage.tasks,):
        stage.shell.do("author", "correct", str(task_id))


def role_mended(stage: Stage) -> None:
    """Give the role the right that `author list` names, and correct the author of the hours."""
    assert "ole Developer lacks the right *Log spent time*" in stage.shell.ask("author", "list")[0]["todo"]
    stage.tracker.patch("roles", DEVELOPER, permissions=MAY)
    corrected(stage)


def with_an_issue(stage: Stage) -> None:
    """Create the ticket's issue, so that only hours are sent in the person's name."""
    stage.work()


def of_nobody(stage: Stage) -> None:
    """Finish a ticket task for which the help desk names no technician."""
    stage.tasks += 1
    stage.bridge.forward(task_event(of_ticket=ticket(technician=None), of_task=task(stage.tasks, user=None)))


def named_in_glpi(stage: Stage) -> None:
    """Name a technician in GLPI, as `author list` says; check that the API user gets no more hours."""
    assert "in GLPI" in stage.shell.ask("author", "list")[0]["todo"]
    before = len(stage.shell.ask("author", "list"))
    stage.work()
    assert len(stage.shell.ask("author", "list")) == before


def deleted_meanwhile(stage: Stage) -> None:
    """Receive an event, and delete the person before it is sent."""
    stage.receive()
    stage.tracker.remove("users", ALICE)
    stage.bridge.sync()


def came_on_that_day(stage: Stage) -> None:
    """Check that the hours are on the day of the work, whenever they were forwarded."""
    with stage.bridge.store.transaction() as tx:
        row = tx.times.get(stage.tasks)
    assert row
    tracker = Tracker(stage.tracker.base_url, stage.tracker.api_key)
    spent = tracker.read(f"/time_entries/{row.tracker_id}.json")["time_entry"]["spent_on"]
    assert spent == DAY


def account_disabled(stage: Stage) -> None:
    """Disable the account of a person who has created a token."""
    store = AccountStore(stage.bridge.store)
    store.add("hugo", PASSWORD, Right.OPERATOR)
    stage.kept["token"] = store.add_token("hugo-script", Right.VIEWER, "hugo")
    assert stage.console.ask("GET", "/api/events", token=stage.kept["token"]).status_code == 200
    stage.kept["told"] = stage.shell.do("account", "disable", "hugo")


def no_token_left(stage: Stage) -> None:
    """Check that the person has no access any more."""
    assert "1 API token of hugo was revoked" in stage.kept["told"]
    assert stage.console.ask("GET", "/api/events", token=stage.kept["token"]).status_code == 401


ROWS: list[Row | Prevented] = [
    Row(
        9,
        "two users have one e-mail address",
        both(patch("users", BOB, mail="Alice@example.test"), people_read),
        EventState.DONE,
        doctor="several Redmine users have the e-mail address of a GLPI user, whose work is sent as the API",
        step="`deskbridge user map GLPI_USER_ID REDMINE_USER_ID`",
        heal=is_bob,
        events="several Redmine users have the e-mail address of GLPI user 7: 5 (alice), 6 (bob)",
        history="several Redmine users have the e-mail address of GLPI user 7: 5 (alice), 6 (bob)",
        ticket="under another user",
        overview=ANOTHER,
        left=ANOTHER,
    ),
    Row(
        10,
        "the role may not log time",
        both(with_an_issue, patch("roles", DEVELOPER, permissions=MAY_NOT_LOG)),
        EventState.DONE,
        doctor=ANOTHER,
        step="`deskbridge author list`",
        heal=role_mended,
        events="sent as the API user, because Redmine rejected alice",
        history="ole Developer lacks the right *Log spent time*",
        ticket="under another user",
        overview=ANOTHER,
    ),
    Row(
        11,
        "future dates are off, and the helpdesk's clock is ahead",
        settings(future_dates=False),
        EventState.FAILED,
        doctor="Cannot log time on a future date",
        step="`deskbridge config set spent_on=omit`",
        heal="config set spent_on=omit",
        everywhere="Cannot log time on a future date",
        arrives=lambda stage: stage.work(date="2090-01-01"),
    ),
    Row(
        12,
        "more hours than a day takes",
        settings(max_hours_per_day=1),
        EventState.FAILED,
        doctor="Cannot log more than 1:00 hours on the same day",
        step="fix the cause, then",
        heal=settings(max_hours_per_day=8),
        everywhere="Cannot log more than 1:00 hours on the same day",
        arrives=lambda stage: stage.work(date=DAY),
    ),
    Prevented(
        24,
        "the API token of a person who left",
        account_disabled,
        no_token_left,
        history=Nothing("no ticket is concerned"),
    ),
    Row(
        35,
        "the helpdesk names nobody",
        nothing_to_do,
        EventState.DONE,
        doctor=ANOTHER,
        step="`deskbridge author list`",
        heal=named_in_glpi,
        events="GLPI names no technician",
        history="GLPI names no technician",
        ticket="under another user",
        overview=ANOTHER,
        arrives=of_nobody,
        left=ANOTHER,
    ),
    Prevented(
        39,
        "hours around midnight",
        nothing_to_do,
        came_on_that_day,
        history="1.50 h logged",
        arrives=lambda stage: stage.work(date=f"{DAY}T23:30:00+09:00"),
    ),
    Row(
        40,
        "a person is deleted while events wait",
        lambda stage: stage.work(),
        EventState.DONE,
        doctor="the Redmine user of a GLPI user was deleted, so the work is sent as the API user: 7",
        step="`deskbridge user map GLPI_USER_ID REDMINE_USER_ID`",
        heal=bob_does_it,
        events="alice was deleted in Redmine",
        history="alice was deleted in Redmine",
        ticket="under another user",
        overview=ANOTHER,
        arrives=deleted_meanwhile,
    ),
]
