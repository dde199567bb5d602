"""Trial mode everywhere: the overview is never green, and page, API and command line can switch it."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import pytest
from typer.testing import CliRunner

from deploy.sandbox.tracker.control import StandIn
from producer.admin.configuration import trial
from producer.admin.doctor import work
from producer.admin.doctor.finding import Status
from producer.admin.records.rights import Right
from producer.cli.main import app
from shared.notices.doctor_work import WorkFinding
from shared.process.itself import Process
from shared.redis.heartbeat import BEAT, WORKER, Heartbeats
from tests.integration.console.conftest import ComeIn, Console
from tests.integration.console.pages import Visitor
from tests.integration.test_doctor import installation
from tests.support.bridge import KEY, Bridge
from tests.support.documents import documented
from tests.support.events import START, task, task_event, ticket
from tests.support.ledger import change_event, entries

BEHAVIOUR = "/console/settings/behaviour"
WOULD = "Trial mode: would create an issue in project 1 as alice and log 1.5 h in the new issue as alice"
HEADLINE = "Trial mode: 1 event waits, nothing is sent to Redmine"


@pytest.fixture
def waiting(bridge: Bridge) -> int:
    """An event that waits in trial mode."""
    trial.begin(bridge.store)
    for kind in (WORKER, BEAT):
        Heartbeats(bridge.redis).mark(kind)
    with bridge.store.transaction() as tx:
        tx.producers.mark("here:8080", Process.here(), [])
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    return event_id


def test_the_overview_says_so_and_is_not_green(come_in: ComeIn, bridge: Bridge, waiting: int) -> None:
    visitor = come_in(Right.VIEWER)
    shown = visitor.open("/console")
    assert HEADLINE in shown
    assert "All systems operational" not in shown
    tones = re.findall(r'<section class="say (\w+)">', visitor.page)
    assert set(tones) == {"decide"}


def test_the_overview_says_so_though_something_is_worse(
    come_in: ComeIn, bridge: Bridge, waiting: int
) -> None:
    bridge.redis.flushdb()
    shown = come_in(Right.VIEWER).open("/console")
    assert "No worker is running" in shown
    assert HEADLINE in shown


def test_an_event_that_waits_for_days_is_not_stuck(come_in: ComeIn, bridge: Bridge, waiting: int) -> None:
    change_event(bridge, waiting, received_at=START)
    shown = come_in(Right.VIEWER).open("/console")
    assert HEADLINE in shown
    assert "none has been forwarded" not in shown


def test_every_surface_says_what_would_be_done(
    come_in: ComeIn, console: Console, bridge: Bridge, waiting: int
) -> None:
    visitor = come_in(Right.VIEWER)
    for path in ("/console/events?state=pending", "/console/tickets/4711"):
        assert WOULD in visitor.open(path), path
    (event,) = console.get("/api/events?state=pending")
    assert event["reason"] == WOULD
    assert event["code"] == "trial_mode"
    assert console.get("/api/tickets/4711")["reason"] == WOULD


def test_a_french_page_says_it_in_french(come_in: ComeIn, waiting: int) -> None:
    shown = come_in(Right.VIEWER).open("/console/tickets/4711", Accept_Language="fr")
    assert "Mode d’essai" in shown
    assert "Trial mode" not in shown


def test_the_doctor_warns_and_says_how_to_end_it(bridge: Bridge, waiting: int) -> None:
    (found,) = work.trial(installation(bridge))
    assert (found.status, found.found) == (Status.WARNING, WorkFinding.TRIAL_ON(count=1))
    change_event(bridge, waiting, received_at=START)
    (pending,) = work.pending(installation(bridge))
    assert pending.status is Status.OK, "it is no fault that it waits"
    bridge.configure(trial=False)
    (found,) = work.trial(installation(bridge))
    assert (found.status, found.found) == (Status.OK, WorkFinding.TRIAL_OFF())


def switch(visitor: Visitor, what: str) -> str:
    visitor.open(BEHAVIOUR)
    return visitor.do("/console/settings/trial", {"trial": what})


def test_an_administrator_switches_it_on_and_off_on_the_page(
    come_in: ComeIn, bridge: Bridge, stand_in: StandIn
) -> None:
    administrator = come_in(Right.ADMINISTRATOR)
    assert "trial-on" in switch(administrator, "on")
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    shown = administrator.open(BEHAVIOUR)
    assert HEADLINE in shown
    assert shown.index("Send them to Redmine") < shown.index("Drop them")
    assert "trial-drop" in switch(administrator, "drop")
    assert bridge.event(event_id).state == "skipped"
    assert "dropped 1 waiting event" in administrator.open("/console/changes")
    switch(administrator, "on")
    bridge.receive(task_event(1, of_ticket=ticket(4712), of_task=task(600)))
    assert "trial-send" in switch(administrator, "send")
    bridge.sync(4712)
    assert len(entries(stand_in)) == 1


def test_to_save_the_page_of_its_form_leaves_it_on(come_in: ComeIn, bridge: Bridge) -> None:
    trial.begin(bridge.store)
    administrator = come_in(Right.ADMINISTRATOR)
    administrator.open(BEHAVIOUR)
    (seen,) = re.findall(r'name="seen" value="(\w+)"', administrator.page)
    administrator.do("/console/settings", {"seen": seen, "part": "behaviour", "done_state": "3"})
    assert trial.standing(bridge.store).is_on


@pytest.mark.parametrize("what", ["", "maybe"])
def test_a_choice_that_there_is_not_changes_nothing(come_in: ComeIn, bridge: Bridge, what: str) -> None:
    trial.begin(bridge.store)
    assert "unchanged" in switch(come_in(Right.ADMINISTRATOR), what)
    assert trial.standing(bridge.store).is_on


def test_an_operator_may_not_switch_it(come_in: ComeIn, bridge: Bridge) -> None:
    operator = come_in(Right.OPERATOR)
    operator.open(BEHAVIOUR)
    assert operator.send("/console/settings/trial", {"trial": "on"}).status_code == 403
    assert not trial.standing(bridge.store).is_on


def test_a_program_switches_it_by_the_api(console: Console, bridge: Bridge) -> None:
    assert console.get("/api/trial") == {"on": False, "waiting": 0}
    assert console.do("PUT", "/api/trial", {"on": True})["on"]
    (event_id,) = bridge.receive(task_event())
    assert console.get("/api/trial") == {"on": True, "waiting": 1}
    ended = console.do("PUT", "/api/trial", {"on": False, "waiting": "drop"})
    assert ended == {"on": False, "waiting": 0, "sent": 0, "dropped": 1}
    assert bridge.event(event_id).state == "skipped"
    console.do("PATCH", "/api/config", {"trial": True})
    assert console.get("/api/trial")["on"]
    console.refused("PUT", "/api/trial", 422, {"on": False, "waiting": "keep"})


def typed(bridge: Bridge, *arguments: str) -> str:
    """Run a command; return its output."""
    settings = bridge.settings
    environment = {
        "DESKBRIDGE_DATABASE_URL": settings.database_url.get_secret_value(),
        "DESKBRIDGE_REDIS_URL": settings.redis_url.get_secret_value(),
        "DESKBRIDGE_SECRET_KEYS": KEY,
    }
    ran = CliRunner().invoke(app, arguments, env=environment)
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def run(bridge: Bridge, *arguments: str) -> Any:
    """Run a `trial` command; return its JSON document."""
    return json.loads(typed(bridge, "trial", *arguments, "--json"))


def test_a_person_switches_it_at_the_command_line(bridge: Bridge) -> None:
    assert run(bridge, "on") == {"on": True, "waiting": 0}
    first = bridge.receive(task_event())
    assert run(bridge, "show") == {"on": True, "waiting": 1}
    assert run(bridge, "off", "--drop") == {"was_on": True, "sent": 0, "dropped": 1}
    assert bridge.event(first[0]).state == "skipped"
    run(bridge, "on")
    second = bridge.receive(task_event(1, of_task=task(513)))
    assert run(bridge, "off") == {"was_on": True, "sent": 1, "dropped": 0}
    assert bridge.event(second[0]).state == "pending"
    assert run(bridge, "off", "--drop") == {"was_on": False, "sent": 0, "dropped": 0}


def test_the_commands_of_the_guide_show_the_plan_and_replay_what_was_dropped(bridge: Bridge) -> None:
    typed(bridge, "trial", "on")
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    listing, replaying = documented("how-to/trial.md#do-it").splitlines()
    assert "would create an issue" in " ".join(typed(bridge, *shlex.split(listing)[1:]).split())
    assert "dropped 1 waiting event" in typed(bridge, "trial", "off", "--drop")
    typed(bridge, *shlex.split(replaying)[1:])
    assert bridge.event(event_id).state == "pending"
