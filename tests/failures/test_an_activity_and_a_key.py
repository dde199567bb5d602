"""Similar causes lead to the step that fixes them: a disabled activity, and a changed key or its locked owner."""

from __future__ import annotations

import re
import shlex

import pytest

from deploy.sandbox.tracker.seed import user_key
from shared.notices.doctor_setup import SetupFinding
from shared.notices.doctor_tracker import TrackerFinding
from shared.notices.faults import Detail
from shared.notices.hints import Hint
from shared.store.tables.journal import EventState
from tests.failures.stage import Act, Stage, both, key, patch
from tests.integration.console.pages import Visitor
from tests.unit.cli.conftest import Shell

OFF_EVERYWHERE = patch("activities", 9, active=False)
OFF_IN_PROJECT = patch("activities", 13, parent_id=9, active=False)
THERE = "enable it there"
COMMAND = re.compile(r"`deskbridge (config set .+?)`")


def test_an_activity_that_is_off_everywhere_has_the_one_step_that_heals(
    stage: Stage, shell: Shell, pages: Visitor
) -> None:
    OFF_EVERYWHERE(stage)
    found = [one for one in stage.findings() if one.check == "activity"]
    assert [one.found.code for one in found] == [SetupFinding.CONFIG_ID_UNKNOWN], (
        "no project is told to enable it"
    )
    assert "9 (Development) is disabled in Redmine" in found[0].what
    assert stage.work() == EventState.FAILED
    for ask in (stage.events, stage.trace):
        assert Hint.ACTIVITY_SWITCHED_OFF in ask().codes
        assert "activity 9 is disabled in all of Redmine" in ask().text
        assert THERE not in ask().text
    for page in ("/console", "/console/tickets/4711", "/console/events?state=failed"):
        shown = pages.open(page)
        assert "activity 9 (Development) is disabled in all of Redmine" in shown, shown
        assert "being forwarded" not in shown
    steps = {one.todo for one in stage.findings() if one.check == "activity"}
    assert steps == {"run `deskbridge config set default_activity_id=…`"}
    (command,) = COMMAND.findall(found[0].todo)
    shell.do(*shlex.split(command.replace("…", "11")))
    assert stage.offered() == Hint.ACTIVITY_SWITCHED_OFF
    stage.replay(Hint.ACTIVITY_SWITCHED_OFF)
    assert stage.goes_on(), stage.events().text


def test_an_activity_that_is_off_in_one_project_is_enabled_there(stage: Stage) -> None:
    OFF_IN_PROJECT(stage)
    assert stage.work() == EventState.FAILED
    assert Hint.ACTIVITY_NOT_USABLE_NOW in stage.events().codes
    assert THERE in stage.events().text
    assert "in all of Redmine" not in stage.events().text
    assert {one.found.code for one in stage.findings() if one.check == "activity"} >= {
        TrackerFinding.ACTIVITY_NOT_USABLE
    }
    patch("activities", 13, parent_id=10)(stage)
    stage.replay(Hint.ACTIVITY_NOT_USABLE_NOW)
    assert stage.goes_on(), stage.events().text


KEYS: dict[str, Act] = {
    "the key was changed": key("0" * 40),
    "its owner was locked": both(
        patch("users", 9, admin=True), key(user_key("mallory")), patch("users", 9, status=3)
    ),
}


@pytest.mark.parametrize("act", KEYS.values(), ids=KEYS)
def test_a_changed_key_and_a_locked_owner_cannot_be_told_apart_and_one_step_heals_both(
    stage: Stage, shell: Shell, pages: Visitor, act: Act
) -> None:
    act(stage)
    assert stage.work() == EventState.PENDING
    (found,) = [one for one in stage.findings() if one.check == "administrator"]
    assert (found.status, found.found.code) == ("failure", TrackerFinding.KEY_NOT_KNOWN)
    both_words = "was changed, or its owner is locked"
    assert both_words in found.what
    assert found.todo == "store another key with `deskbridge config set-api-key`"
    for ask in (stage.events, stage.trace):
        assert Detail.KEY_IS_UNKNOWN in ask().codes
        assert both_words in ask().text
    overview = pages.open("/console")
    assert both_words in overview
    assert "All systems operational" not in overview
    assert "resumes automatically" not in overview, "it does not"
    assert both_words in pages.open("/console/tickets/4711")
    told = shell.do("config", "set-api-key", stdin=stage.tracker.api_key)
    assert "It belongs to the administrator admin." in told
    stage.replay()
    assert stage.goes_on(), stage.events().text
