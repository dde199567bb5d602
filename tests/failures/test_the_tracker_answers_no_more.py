"""If something else answers in the tracker's place, each surface says what it is, and one step fixes it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from prometheus_client import generate_latest

from producer.admin.doctor.finding import CheckResult
from producer.admin.people.people import confirm_matches
from shared.monitoring.state_metrics import StateMetricsCollector
from shared.notices.doctor_tracker import TrackerFinding
from shared.notices.doctor_work import WorkFinding
from shared.notices.faults import Detail, Fault
from shared.notices.notice import Code
from shared.redis.heartbeat import BEAT, WORKER, Heartbeats
from shared.store.tables.journal import EventState
from shared.telemetry import metrics
from tests.failures.front import Front, Rule, page, passes, redirects_to
from tests.failures.stage import Stage
from tests.integration.console.pages import Visitor
from tests.support.events import task, task_event, ticket
from tests.unit.cli.conftest import Shell

WELL = (
    "All systems operational",
    "being forwarded",
    "in a moment",
    "Everything is in Redmine",
    "All checks passed",
)
BY_ITSELF = "resumes automatically"
COMMAND = re.compile(r"`deskbridge (.+?)`")


@pytest.fixture
def front(stage: Stage) -> Iterator[Front]:
    """Provide a web server in front of the tracker; base_url leads to it."""
    with Front(stage.tracker.base_url).running() as running:
        stage.bridge.configure(base_url=running.address)
        yield running


def told(found: list[CheckResult], check: str) -> CheckResult:
    """Return the doctor's result of a check."""
    return next(one for one in found if one.check == check)


def paused(stage: Stage) -> str:
    """Return the code with which the metrics report that nothing is sent, or an empty string."""
    shown = generate_latest(
        metrics.registry("worker", StateMetricsCollector(stage.bridge.redis, stage.bridge.store))
    )
    (line,) = re.findall(r'^deskbridge_paused\{code="(\w*)"\} 1', shown.decode(), re.M) or [""]
    return str(line)


def said(pages: Visitor, path: str) -> str:
    """Return a page of the console; check that it does not say that all is well."""
    shown = pages.open(path)
    assert not any(word in shown for word in WELL), shown
    return shown


@dataclass(frozen=True)
class Case:
    """Something that answers in the tracker's place.

    Attributes:
        sentence: describes what it is.
        rule: returns the rule for the answers, given the tracker's address.
        finding: code that the doctor reports.
        detail: code in the events and the ticket history.
        words: text that doctor, events, history and pages all contain.
        command: command of the step that fixes it; empty if the step is not on deskbridge's side.
        todo: text of the step.
    """

    sentence: str
    rule: Callable[[str], Rule]
    finding: Code
    detail: Code
    words: str
    todo: str
    command: Callable[[str], str] = lambda _: ""

    def __str__(self) -> str:
        return self.sentence


def moved(tracker: str) -> str:
    """Return the command that sets the tracker's new address."""
    return f"config set base_url={tracker} --moved"


CASES = [
    Case(
        "the tracker has moved, and its old address redirects",
        redirects_to, TrackerFinding.TRACKER_NOT_REACHED, Detail.ADDRESS_MOVED, "every call is redirected to",
        "`deskbridge config set base_url={tracker} --moved`", moved,
    ),
    Case(
        "base_url lacks the path that the tracker is under",
        lambda _: page(404), TrackerFinding.NOT_A_TRACKER, Detail.NO_API_THERE, "answered 404",
        "run `deskbridge config set base_url=… --moved` with Redmine's full URL, including its path", moved,
    ),
    Case(
        "a proxy answers every call with a page for signing in",
        lambda _: page(200), TrackerFinding.TRACKER_NOT_REACHED, Detail.A_PAGE, "the response is a web page",
        "let calls with an API key pass the proxy without a sign-in",
    ),
    Case(
        "a proxy forbids every call with a page",
        lambda _: page(403), TrackerFinding.TRACKER_NOT_REACHED, Detail.A_PAGE, "the response is a web page",
        "let calls with an API key pass the proxy without a sign-in",
    ),
    Case(
        "a proxy redirects every call to a page for signing in",
        lambda tracker: lambda _method, _path: (302, {"Location": f"{tracker}/login?back=here"}, b""),
        TrackerFinding.TRACKER_NOT_REACHED, Detail.REDIRECT_NOT_FOLLOWED, "the server redirects to {tracker}/login,",
        "let calls with an API key pass the proxy without a sign-in",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_answers_in_the_trackers_place_is_named_on_every_surface_and_one_step_heals(
    stage: Stage, front: Front, pages: Visitor, shell: Shell, case: Case
) -> None:
    assert "All systems operational" in pages.open("/console")
    at = stage.tracker.base_url
    front.rule = case.rule(at)
    words, todo = case.words.format(tracker=at), case.todo.format(tracker=at)
    assert stage.work() == EventState.PENDING
    found = told(stage.findings(), "tracker")
    assert (found.status, found.found.code) == ("failure", case.finding)
    assert words in found.what
    assert todo in found.todo
    assert "check that Redmine is running" not in found.todo
    for ask in (stage.events, stage.trace):
        assert {Fault.TRACKER_AWAY, case.detail} <= ask().codes
        assert words in ask().text
        assert "rejected the call" not in ask().text, "it was not the tracker"
    overview = said(pages, "/console")
    assert words in overview
    assert todo.replace("`", "") in overview
    assert (BY_ITSELF in overview) is not bool(case.command(at)), "a wrong address stays wrong"
    assert words in said(pages, "/console/tickets/4711")
    assert words in said(pages, "/console/events?state=pending")
    assert words in said(pages, "/console/doctor")
    assert paused(stage) == Fault.TRACKER_AWAY
    assert shell.type("doctor").exit_code == 1
    heal(stage, front, shell, case.command(at), found.todo)


def go_on(stage: Stage, rounds: int = 3) -> None:
    """Sync until no work is left: an event in doubt is looked up first, then sent."""
    for _ in range(rounds):
        if not stage.goes_on():
            stage.replay()
    assert stage.goes_on(), stage.events().text
    for process in (WORKER, BEAT):  # a slow Redmine may have taken longer than the heartbeats last
        Heartbeats(stage.bridge.redis).mark(process)


def heal(stage: Stage, front: Front, shell: Shell, command: str, todo: str) -> None:
    """Carry out the named step; check that the events continue and the doctor reports the tracker as ok."""
    if command:
        named = COMMAND.findall(todo)
        assert len(named) == 1, "one step"
        assert named[0] in (command, command.replace(stage.tracker.base_url, "…"))
        shell.do(*shlex.split(command))
    else:
        assert COMMAND.findall(todo) == [], "it is not on deskbridge's side"
        front.rule = passes
    go_on(stage)
    assert told(stage.findings(), "tracker").found.code == TrackerFinding.TRACKER_ANSWERS


@pytest.mark.parametrize("path", ["/issues.json", "/time_entries.json", ""], ids=["issues", "hours", "all"])
def test_what_answers_only_what_is_to_be_created_is_named_while_the_tracker_answers_questions(
    stage: Stage, front: Front, pages: Visitor, shell: Shell, path: str
) -> None:
    assert told(stage.findings(), "on the way").found.code == WorkFinding.CREATIONS_ANSWERED
    stage.bridge.forward(task_event(of_ticket=ticket(4700), of_task=task(400)), ticket_id=4700)
    confirm_matches(stage.bridge.store, None)
    front.rule = page(200, method="POST", path=path)
    words = "a firewall or proxy rejects the call before it reaches Redmine"
    assert stage.work() == EventState.PENDING
    for _ in range(2):  # first in doubt, then known to be absent
        found = stage.findings()
        assert told(found, "tracker").found.code == TrackerFinding.TRACKER_ANSWERS
        named = told(found, "on the way")
        assert (named.status, named.found.code) == ("failure", WorkFinding.CREATIONS_NOT_PASSED_ON)
        assert f"1 ticket is not forwarded (4711): {words}" in named.what
        assert "accept deskbridge's POST and PUT requests" in named.todo
        assert COMMAND.findall(named.todo) == [], "it is not on deskbridge's side"
        assert named.record == "KB-TRACKER-012"
        for ask in (stage.events, stage.trace):
            assert Detail.REFUSED_ON_THE_WAY in ask().codes
            assert words in ask().text
            assert "this text" not in ask().text, "it is every text"
        for page_of in ("/console", "/console/tickets/4711", "/console/events?state=pending"):
            assert words in said(pages, page_of)
        assert "accept deskbridge's POST and PUT requests" in said(pages, "/console")
        stage.bridge.hurry()
        stage.bridge.sync()
    assert shell.type("doctor").exit_code == 1
    front.rule = passes
    go_on(stage)
    assert told(stage.findings(), "on the way").found.code == WorkFinding.CREATIONS_ANSWERED
    assert "All systems operational" in pages.open("/console")


def test_while_what_is_created_is_held_no_page_says_that_everything_else_is_forwarded(
    stage: Stage, front: Front, pages: Visitor, shell: Shell
) -> None:
    front.rule = page(200, method="POST")
    state = stage.work()
    while state != EventState.ON_HOLD:
        stage.bridge.hurry()
        stage.bridge.sync()
        state = stage.bridge.event(1).state
    assert "1 creation may already exist" in said(pages, "/console")
    assert told(stage.findings(), "on the way").status == "failure"
    front.rule = passes
    shell.do("hold", "resolve", "ticket", "4711", "--create-again")
    go_on(stage)
    assert told(stage.findings(), "on the way").found.code == WorkFinding.CREATIONS_ANSWERED
