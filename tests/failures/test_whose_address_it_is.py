"""If two tracker users share an e-mail address, every surface names both, and a user mapping fixes it."""

from __future__ import annotations

import re
import shlex

import pytest

from producer.admin.doctor.finding import CheckResult
from shared.metadata.synchronisation import refresh_people
from shared.notices.authors import Misattribution
from shared.notices.doctor_setup import SetupFinding
from shared.notices.notice import Code
from shared.notices.reasons import Matching
from shared.store.tables.journal import EventState
from shared.tracker.lists import TrackerLists
from tests.failures.stage import Act, Stage, both, patch
from tests.integration.console.pages import Visitor
from tests.unit.cli.conftest import Shell

ALICE, BOB, CAROL = 5, 6, 7
MAIL = "alice@example.test"
WELL = ("All systems operational", "being forwarded", "every issue and time entry has the intended author")


def read_people(stage: Stage) -> None:
    """Reload the people, as beat does every hour."""
    _, client = stage.installation().connect()
    refresh_people(stage.bridge.store, TrackerLists(client))


def people(stage: Stage) -> list[CheckResult]:
    """Return the doctor's results about people."""
    return [one for one in stage.findings() if one.check == "people"]


@pytest.mark.parametrize(
    ("act", "finding", "match", "named", "words"),
    [
        (
            patch("users", BOB, mail="Alice@example.test"), SetupFinding.PEOPLE_AMBIGUOUS, Matching.EMAIL_AMBIGUOUS,
            "7 (alice@example.test; Redmine finds 5 (alice), 6 (bob) by this address)",
            "several Redmine users have the e-mail address of GLPI user 7: 5 (alice), 6 (bob)",
        ),
        (
            both(
                patch("users", ALICE, mail="archer@example.test"),
                patch("users", BOB, further_mails=[MAIL]), patch("users", CAROL, further_mails=[MAIL]),
            ),
            SetupFinding.PEOPLE_UNKNOWN, Matching.EMAIL_UNKNOWN,
            "7 (alice@example.test; Redmine finds 6 (bob), 7 (carol) by this address)",
            "no active Redmine user has this e-mail address",
        ),
    ],
    ids=["as main address", "as further address"],
)  # fmt: skip
def test_two_users_with_one_address_are_named_and_map_user_heals(
    stage: Stage, pages: Visitor, shell: Shell, act: Act, finding: Code, match: Code, named: str, words: str
) -> None:
    assert "All systems operational" in pages.open("/console")
    act(stage)
    read_people(stage)
    assert stage.work() == EventState.DONE
    (found,) = people(stage)
    assert (found.status, found.found.code) == ("warning", finding)
    assert named in found.what
    assert found.todo == "run `deskbridge user map GLPI_USER_ID REDMINE_USER_ID`", "one step"
    for ask in (stage.events, stage.trace):
        assert match in ask().codes
        assert words in ask().text
        assert "`deskbridge user map`" in ask().text
    wrong = shell.ask("author", "list")
    assert {one["code"] for one in wrong} == {Misattribution.NOT_MATCHED}
    assert all(words in one["reason"] and "`deskbridge user map`" in one["todo"] for one in wrong), wrong
    (user,) = [one for one in shell.ask("user", "list") if one["helpdesk_user_id"] == 7]
    assert words in user["why"]
    for page in ("/console/tickets/4711", "/console/people"):
        with_name = words.replace("GLPI user 7:", "GLPI user 7 (alice@example.test):")
        assert with_name.casefold() in pages.open(page).casefold()
    shown = pages.open("/console")
    assert "2 issues or time entries have the wrong author" in shown
    assert not any(word in shown for word in WELL), shown
    heal(stage, shell, found.todo)


def heal(stage: Stage, shell: Shell, todo: str) -> None:
    """Map the person; check that new hours have the right author and the list of wrong authors does not grow."""
    (command,) = re.findall(r"`deskbridge (.+?)`", todo)
    typed = command.replace("GLPI_USER_ID", "7").replace("REDMINE_USER_ID", str(BOB))
    shell.do(*shlex.split(typed))
    assert [one.found.code for one in people(stage)] == [SetupFinding.PEOPLE_KNOWN]
    before = len(shell.ask("author", "list"))
    assert stage.work() == EventState.DONE
    assert len(shell.ask("author", "list")) == before, "nothing more in another name"
