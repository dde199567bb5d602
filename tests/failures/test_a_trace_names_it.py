"""`ticket history` and `event list` name why a ticket failed, waits, or was sent under another name."""

from __future__ import annotations

import pytest

from shared.metadata.synchronisation import refresh_people
from shared.notices.faults import Detail
from shared.notices.hints import Hint
from shared.notices.notice import Code
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.store.configuration.mappings import MappingKind
from shared.store.tables.journal import EventState
from shared.tracker.lists import TrackerLists
from tests.failures.stage import (
    Failure,
    Stage,
    both,
    configure,
    key,
    own_key,
    patch,
    remove,
    settings,
    staged,
    template,
)
from tests.support.events import ticket, ticket_event

LIST_TEMPLATE = '{"issue": {"project_id": "{{project.tracker_project_id}}", "subject": "{{ticket.title}}", "custom_fields": [{"id": 4, "value": "Fax"}]}}'  # noqa: E501
WATCHED = '{"issue": {"project_id": "{{project.tracker_project_id}}", "subject": "{{ticket.title}}", "watcher_user_ids": [6]}}'  # noqa: E501
CLOSED = ("is closed", "is archived", "does not exist", "the project may", "KB-HINT-001", "KB-HINT-007")
RIGHTS = ("Give alice a role",)


def other_than(*words: str) -> tuple[str, ...]:
    """Return the words about projects that would be untrue here."""
    return tuple(one for one in CLOSED if one not in words)


REFUSED = [
    Failure(
        "the project was closed",
        patch("projects", 1, status=5), Hint.PROJECT_CLOSED, "reopen it",
        (*other_than("is closed", "KB-HINT-001"), *RIGHTS), patch("projects", 1, status=1),
    ),
    Failure(
        "the project was archived",
        patch("projects", 1, status=9), Hint.PROJECT_ARCHIVED, "unarchive it",
        (*other_than("is archived", "KB-HINT-001"), *RIGHTS), patch("projects", 1, status=1),
    ),
    Failure(
        "the project was deleted",
        lambda stage: stage.bridge.link(MappingKind.ENTITY, 3, 99), Hint.PROJECT_ABSENT, "change the mapping",
        (*other_than("does not exist", "KB-HINT-001"), *RIGHTS),
        lambda stage: stage.bridge.link(MappingKind.ENTITY, 3, 1),
    ),
    Failure(
        "a custom field of issues was made required",
        settings(required_custom_fields=[3]), Hint.CUSTOM_FIELD_REQUIRED, "Helpdesk ticket",
        (*CLOSED, *RIGHTS), settings(required_custom_fields=[]),
    ),
    Failure(
        "a list lost the value that the template sends",
        template("issue.create", LIST_TEMPLATE), Hint.CUSTOM_FIELD_NOT_A_CHOICE, "Phone, Mail, Portal",
        (*CLOSED, *RIGHTS), patch("custom_fields", 4, possible_values=["Fax"]),
    ),
    Failure(
        "the default priority was deleted",
        both(configure(default_priority_id=4), remove("priorities", 4)), Hint.UNKNOWN_PRIORITY, "; valid:",
        (*CLOSED, *RIGHTS), configure(default_priority_id=2),
    ),
    Failure(
        "the category of the link was deleted",
        both(lambda stage: stage.bridge.link(MappingKind.ENTITY, 3, 1, 2), remove("categories", 2)),
        Hint.UNKNOWN_CATEGORY, "1 (Hardware)", (*CLOSED, *RIGHTS),
        lambda stage: stage.bridge.link(MappingKind.ENTITY, 3, 1, 1),
    ),
    Failure(
        "the assignee of the link's category was locked",
        both(
            lambda stage: stage.bridge.link(MappingKind.ENTITY, 3, 1, 2),
            patch("categories", 2, assigned_to_id=6), patch("users", 6, status=3),
        ),
        Hint.CATEGORY_ASSIGNEE_LOCKED, "2 (Software) assigns issues to user 6 (Bob Baker)", (*CLOSED, *RIGHTS),
        patch("users", 6, status=1),
    ),
    Failure(
        "a watcher of the template was locked",
        both(template("issue.create", WATCHED), patch("users", 6, status=3), patch("memberships", 1, role_ids=[3])),
        Hint.UNKNOWN_WATCHERS, "these users are not active", (*CLOSED, *RIGHTS), patch("users", 6, status=1),
    ),
    Failure(
        "the activity was switched off in the project",
        patch("activities", 13, parent_id=9, active=False), Hint.ACTIVITY_NOT_USABLE_NOW,
        "change default_activity_id", (*CLOSED, *RIGHTS), patch("activities", 13, parent_id=10),
    ),
    Failure(
        "the project lost the module time_tracking",
        patch("projects", 1, modules=["issue_tracking"]), Hint.NO_TIME_TRACKING, "enable it in the project's settings",
        (*other_than("KB-HINT-007"), *RIGHTS), patch("projects", 1, modules=["issue_tracking", "time_tracking"]),
    ),
    Failure(
        "a custom field of time entries was made required",
        settings(required_custom_fields=[5]), Hint.CUSTOM_FIELD_REQUIRED, "Helpdesk task",
        (*CLOSED, *RIGHTS), settings(required_custom_fields=[]),
    ),
]  # fmt: skip


@staged(REFUSED)
def test_a_refusal_names_its_cause_and_the_next_step_also_in_events(stage: Stage, failure: Failure) -> None:
    stage.fail(failure)
    assert stage.work() == EventState.FAILED
    for ask in (stage.trace, stage.events):
        stage.named_by(failure, ask)
    assert What.REPEATED_AS_ADMINISTRATOR not in stage.trace().codes
    assert stage.offered() is None, "nothing is offered before it is fixed"
    assert failure.code in stage.doctor().codes
    failure.repair(stage)
    assert stage.offered() == failure.code, stage.doctor().text
    stage.replay(failure.code)
    assert stage.goes_on(), stage.events().text


def test_an_issue_of_a_project_that_was_closed_says_why_it_keeps_its_status(stage: Stage) -> None:
    assert stage.work() == EventState.DONE
    stage.tracker.patch("projects", 1, status=5)
    stage.bridge.forward(ticket_event(700, of_ticket=ticket(status=5)))
    assert Hint.PROJECT_CLOSED in stage.events().codes
    assert "reopen it" in stage.trace().text
    stage.tracker.patch("projects", 1, status=1)
    stage.replay()
    assert stage.goes_on(), stage.events().text


WAITING = [
    Failure(
        "the API key was changed on the tracker",
        key("0" * 40), Detail.KEY_IS_UNKNOWN, "set-api-key", ("REST",), own_key,
    ),
    Failure(
        "the REST API was switched off",
        settings(rest_enabled=False), Detail.REST_SWITCHED_OFF,
        "(Administration, Settings, API)", ("API key",),
        settings(rest_enabled=True),
    ),
]  # fmt: skip


@staged(WAITING)
def test_what_waits_for_the_tracker_says_which_of_the_causes_it_is(stage: Stage, failure: Failure) -> None:
    stage.fail(failure)
    assert stage.work() == EventState.PENDING
    for ask in (stage.events, stage.trace):
        stage.named_by(failure, ask)
    assert failure.step in stage.doctor().text
    failure.repair(stage)
    stage.replay()
    assert stage.goes_on(), stage.events().text


def refresh(stage: Stage) -> None:
    _, client = stage.installation().connect()
    refresh_people(stage.bridge.store, TrackerLists(client))


@pytest.mark.parametrize(
    ("act", "code", "step", "never"),
    [
        (patch("users", 5, status=3), What.PERSON_NOT_ACTIVE, "Unlock alice", "Give alice"),
        (patch("memberships", 1, user_id=9), What.REPEATED_AS_ADMINISTRATOR, "Give alice a role", "nlock"),
        (both(patch("users", 5, status=3), refresh), What.SENT_AS_ADMINISTRATOR, "no active Redmine", "Give"),
    ],
    ids=["locked since", "no member any more", "locked before"],
)  # fmt: skip
def test_what_is_sent_in_another_name_says_why(
    stage: Stage, act: object, code: Code, step: str, never: str
) -> None:
    act(stage)  # type: ignore[operator]
    assert stage.work() == EventState.DONE
    told = stage.trace()
    assert code in told.codes, told.text
    assert step in told.text, told.text
    assert never not in told.text, told.text


def test_nothing_linked_says_how_to_link_and_replay(stage: Stage) -> None:
    with stage.bridge.store.transaction() as tx:
        tx.mappings.remove(MappingKind.ENTITY, 3)
    assert stage.work() == EventState.SKIPPED
    told = stage.trace()
    assert Reason.NO_LINK in told.codes
    assert "deskbridge mapping add" in told.text
