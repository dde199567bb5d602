"""An empty installation's first page is a list of steps; each can be done there, and then turns green."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from deploy.sandbox.tracker.control import StandIn
from producer.admin.records.rights import Right
from producer.console.pages import setup
from producer.intake.app import create_app
from shared.events.config import PluginConfig
from shared.notices.changes import Did
from shared.values.ids import is_sample
from tests.browser.test_first_day import emptied
from tests.integration.console.conftest import ComeIn, Console
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge
from tests.support.events import task_event
from tests.support.serving import Served

SIGNED = {"webhook_secrets": (SecretStr("whsec_" + "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"),)}
STEPS = ("redmine", "formatting", "metadata", "defaults", "statuses", "mappings", "event")


@pytest.fixture
def administrator(come_in: ComeIn, bridge: Bridge) -> Visitor:
    """An administrator of an empty installation."""
    emptied(bridge)
    visitor = come_in(Right.ADMINISTRATOR)
    visitor.open("/console")
    return visitor


def ticks(visitor: Visitor) -> list[str]:
    """Return the steps that the page currently shows as done."""
    visitor.open("/console")
    return [one for one in STEPS if "✓" in part(visitor.page, one)]


def part(page: str, step: str) -> str:
    """Return the part of a page that shows one step."""
    found = re.search(rf'<li id="step-{step}".*?</h3>.*?(?=<li id="step-|</ol>)', page, re.DOTALL)
    return html.unescape(found[0]) if found else ""


def set_up(visitor: Visitor, stand_in: StandIn) -> None:
    """Do every step except the last two."""
    visitor.do("/console/setup/redmine", {"base_url": stand_in.base_url, "api_key": stand_in.api_key})
    visitor.do("/console/setup/settings", {"text_formatting": "textile"})
    visitor.do("/console/setup/metadata")
    visitor.do("/console/setup/settings", {"default_activity_id": "9", "default_role_id": "4"})
    visitor.do("/console/setup/settings", {"status.1": "1", "status.5": "3", "status.6": ""})


def test_an_empty_installation_has_every_step_to_do(administrator: Visitor) -> None:
    assert ticks(administrator) == []
    assert [bool(part(administrator.page, one)) for one in STEPS] == [True] * len(STEPS)
    assert "Read Redmine's lists first." in part(administrator.page, "statuses")


def test_each_step_turns_green_as_it_is_done(
    administrator: Visitor, bridge: Bridge, stand_in: StandIn
) -> None:
    done: list[str] = []
    steps: tuple[tuple[str, str, dict[str, str]], ...] = (
        ("redmine", "redmine", {"base_url": stand_in.base_url, "api_key": stand_in.api_key}),
        ("formatting", "settings", {"text_formatting": "textile"}),
        ("metadata", "metadata", {}),
        ("defaults", "settings", {"default_activity_id": "9", "default_role_id": "4"}),
        ("statuses", "settings", {"status.1": "1", "status.5": "3", "status.6": ""}),
    )
    for step, action, fields in steps:
        assert administrator.do(f"/console/setup/{action}", fields).startswith("/console?did=")
        done.append(step)
        assert ticks(administrator) == done
    bridge.forward(task_event())
    assert ticks(administrator) == [*done, "event"]
    mappings = part(administrator.page, "mappings")
    assert "/console/links/entity/3?back=/console" in mappings
    to = administrator.do(
        "/console/links/entity/3?back=/console", {"tracker_project_id": "1", "replay": "on"}
    )
    assert to.startswith("/console?did=linked")
    administrator.open("/console")
    assert 'id="steps"' not in administrator.page, "all is set up, and an event came in"
    with bridge.store.transaction() as tx:
        config, _ = tx.configs.get()
    assert config.status_map == {1: 1, 5: 3}


def test_a_connection_that_does_not_work_is_not_saved_and_says_why(
    administrator: Visitor, bridge: Bridge, stand_in: StandIn
) -> None:
    answer = administrator.send(
        "/console/setup/redmine", {"base_url": stand_in.base_url, "api_key": "wrong-key"}
    )
    assert answer.status_code == 422
    assert "nothing was saved" in answer.text
    assert "wrong-key" not in answer.text
    assert ticks(administrator) == []
    with bridge.store.transaction() as tx:
        config, key = tx.configs.get()
    assert (config.base_url, key) == (None, None)


def test_an_address_that_is_none_is_named_beside_its_step(administrator: Visitor) -> None:
    answer = administrator.send("/console/setup/redmine", {"base_url": "nonsense", "api_key": "x"})
    assert answer.status_code == 422
    assert 'class="fault"' in part(answer.text, "redmine")
    assert "nonsense" in part(answer.text, "redmine"), "what was typed is still there"


def test_the_status_map_is_suggested_by_name(administrator: Visitor, stand_in: StandIn) -> None:
    administrator.do("/console/setup/redmine", {"base_url": stand_in.base_url, "api_key": stand_in.api_key})
    administrator.do("/console/setup/metadata")
    administrator.open("/console")
    statuses = part(administrator.page, "statuses")
    for number, name in ((1, "New"), (5, "Resolved"), (6, "Closed")):
        select = re.search(rf'name="status\.{number}".*?</select>', statuses, re.DOTALL)
        assert select
        assert re.search(rf"selected>{name}<", select[0])


def test_the_type_of_new_issues_is_one_of_the_defaults(
    administrator: Visitor, bridge: Bridge, stand_in: StandIn
) -> None:
    administrator.do("/console/setup/redmine", {"base_url": stand_in.base_url, "api_key": stand_in.api_key})
    administrator.do("/console/setup/metadata")
    administrator.open("/console")
    select = re.search(
        r'name="default_tracker_id".*?</select>', part(administrator.page, "defaults"), re.DOTALL
    )
    assert select
    assert ">Support<" in select[0]
    fields = {"default_tracker_id": "3", "default_activity_id": "9", "default_role_id": "4"}
    administrator.do("/console/setup/settings", fields)
    administrator.open("/console")
    assert "Support" in part(administrator.page, "defaults")
    with bridge.store.transaction() as tx:
        assert tx.configs.get()[0].default_tracker_id == 3


def test_the_defaults_are_chosen_also_without_a_role(administrator: Visitor, stand_in: StandIn) -> None:
    administrator.do("/console/setup/redmine", {"base_url": stand_in.base_url, "api_key": stand_in.api_key})
    administrator.do("/console/setup/metadata")
    administrator.open("/console")
    assert "If empty, it adds no members." in part(administrator.page, "defaults")
    administrator.do("/console/setup/settings", {"default_activity_id": "9", "default_role_id": ""})
    assert "defaults" in ticks(administrator)
    assert "no role" in part(administrator.page, "defaults")


def test_an_entity_with_the_name_of_a_project_is_mapped_by_one_click(
    administrator: Visitor, bridge: Bridge, stand_in: StandIn
) -> None:
    set_up(administrator, stand_in)
    event = task_event()
    event["ticket"]["entity_name"] = "Root > Support"
    bridge.forward(event)
    administrator.open("/console")
    assert "Map to Support" in part(administrator.page, "mappings")


@pytest.fixture
def intake(bridge: Bridge) -> Iterator[Any]:
    """A running producer over the same database."""
    running = Served(create_app(bridge.settings.model_copy(update=SIGNED)))
    running.start()
    yield running
    running.stop()


def test_a_test_event_goes_through_the_producer_turns_the_step_green_and_is_removed(
    administrator: Visitor, bridge: Bridge, stand_in: StandIn, console: Console, intake: Any
) -> None:
    set_up(administrator, stand_in)
    administrator.do("/console/links/entity/3?back=/console", {"tracker_project_id": "1"})
    assert "has no signing secret" in (administrator.open("/console") and part(administrator.page, "event"))
    services = console.app.state.services
    object.__setattr__(services, "settings", services.settings.model_copy(update=SIGNED))
    administrator.open("/console")
    assert "Send a test event" in part(administrator.page, "event")
    assert administrator.do("/console/setup/event", {"url": f"{intake.base_url}/events"}).startswith(
        "/console?did=test-sent"
    )
    assert "event" in ticks(administrator)
    with bridge.store.transaction() as tx:
        newest = tx.events.counts().newest
    assert newest
    assert is_sample(newest[1] or 0)
    bridge.sync(newest[1] or 0)
    assert administrator.do("/console/setup/event/remove").startswith("/console?did=test-removed")
    assert "event" not in ticks(administrator)


@pytest.mark.parametrize("url", ["nonsense", "file:///etc/passwd", "http://169.254.169.254/events"])
def test_a_test_event_goes_to_no_address_that_a_producer_cannot_have(
    administrator: Visitor, stand_in: StandIn, url: str
) -> None:
    set_up(administrator, stand_in)
    administrator.do("/console/links/entity/3?back=/console", {"tracker_project_id": "1"})
    answer = administrator.send("/console/setup/event", {"url": url})
    assert answer.status_code == 422
    assert 'class="fault"' in part(answer.text, "event")


def test_a_test_event_that_reached_no_producer_is_not_in_the_audit_log(
    administrator: Visitor, bridge: Bridge, stand_in: StandIn
) -> None:
    set_up(administrator, stand_in)
    administrator.do("/console/links/entity/3?back=/console", {"tracker_project_id": "1"})
    assert administrator.send("/console/setup/event", {"url": "http://127.0.0.1:9/events"}).status_code == 422
    with bridge.store.transaction() as tx:
        assert Did.SAMPLE_SENT not in [one.code for one in tx.changes.find(limit=99)]


def test_a_test_event_without_a_mapping_says_what_is_missing(administrator: Visitor) -> None:
    answer = administrator.send("/console/setup/event", {"url": "http://127.0.0.1:9/events"})
    assert answer.status_code == 422
    assert 'class="fault"' in part(answer.text, "event")


@pytest.mark.parametrize("action", ["redmine", "settings", "metadata", "event", "event/remove"])
def test_only_an_administrator_takes_a_step(come_in: ComeIn, bridge: Bridge, action: str) -> None:
    emptied(bridge)
    operator = come_in(Right.OPERATOR)
    text = operator.open("/console")
    assert "Connect Redmine" in text
    assert 'action="/console/setup/' not in operator.page
    assert operator.send(f"/console/setup/{action}", {"url": "http://127.0.0.1:9"}).status_code == 403


def test_an_installation_at_work_has_no_list_of_steps(come_in: ComeIn, bridge: Bridge) -> None:
    bridge.forward(task_event())
    visitor = come_in(Right.ADMINISTRATOR)
    visitor.open("/console")
    assert 'id="steps"' not in visitor.page


def test_every_setting_of_a_step_is_one_that_exists() -> None:
    assert set(setup.STEP_OF) <= set(PluginConfig.model_fields)
