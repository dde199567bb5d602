"""Each cause of a wrong author is named with its own steps, and with none that would not help."""

from __future__ import annotations

import pytest

from shared.notices.authors import Misattribution
from shared.notices.doctor_work import WorkFinding
from shared.notices.notice import Code
from shared.notices.steps import What
from shared.store.tables.journal import EventState
from tests.failures.stage import Act, Stage, patch, remove
from tests.support.events import task, task_event, ticket
from tests.unit.cli.conftest import Shell

ALICE, DEVELOPER = 5, 4
GIVE, UNLOCK, MAP = "ive alice a role with this right in Redmine project 1", "nlock alice", "user map"
RIGHT = "ole Developer lacks the right *Log spent time*"
EVERY_STEP = (GIVE, UNLOCK, MAP, RIGHT)


def spare(stage: Stage) -> None:
    """Create the ticket's issue, so that only hours are sent in the person's name."""
    assert stage.work() == EventState.DONE
    assert stage.doctor().codes.isdisjoint({WorkFinding.AUTHORS_WRONG})


@pytest.mark.parametrize(
    ("act", "trace", "listed", "steps"),
    [
        (
            patch("roles", DEVELOPER, permissions=["view_issues", "add_issues", "view_time_entries"]),
            What.REPEATED_AS_ADMINISTRATOR, Misattribution.PERSON_REFUSED, {RIGHT},
        ),
        (
            patch("memberships", 1, user_id=9),
            What.REPEATED_AS_ADMINISTRATOR, Misattribution.PERSON_REFUSED, {GIVE},
        ),
        (
            patch("users", ALICE, status=3),
            What.PERSON_NOT_ACTIVE, Misattribution.PERSON_NOT_ACTIVE, {UNLOCK, MAP},
        ),
        (
            remove("users", ALICE),
            What.PERSON_DELETED, Misattribution.PERSON_DELETED, {MAP},
        ),
    ],
    ids=["a role that lacks the right", "no role", "locked", "deleted"],
)  # fmt: skip
def test_hours_in_another_name_say_which_of_the_causes_it_is(
    stage: Stage, shell: Shell, act: Act, trace: Code, listed: Code, steps: set[str]
) -> None:
    spare(stage)
    act(stage)
    assert stage.work() == EventState.DONE
    told = stage.trace()
    assert trace in told.codes, told.text
    (wrong,) = shell.ask("author", "list")
    assert wrong["code"] == listed
    for text in (told.text, wrong["todo"]):
        assert {one for one in EVERY_STEP if one in text} == steps, text
    assert WorkFinding.AUTHORS_WRONG in stage.doctor().codes


def test_what_names_nobody_is_counted_among_what_the_api_user_has(stage: Stage, shell: Shell) -> None:
    event = task_event(of_ticket=ticket(technician=None), of_task=task(700, user=None))
    assert stage.bridge.forward(event) == [EventState.DONE]
    assert WorkFinding.AUTHORS_WRONG in stage.doctor().codes
    assert Misattribution.NOBODY_NAMED in stage.events().codes
    found = shell.ask("author", "list")
    assert {one["code"] for one in found} == {Misattribution.NOBODY_NAMED}
    assert all("in GLPI" in one["todo"] and MAP not in one["todo"] for one in found)
