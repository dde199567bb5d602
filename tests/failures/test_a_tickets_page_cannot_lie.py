"""A ticket's page says that everything is in Redmine only if everything is there as intended."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from shared.store.configuration.mappings import MappingKind
from tests.failures.rows.connections import in_front
from tests.failures.rows.steps import CLOSED, refuses
from tests.failures.stage import Act, Stage, both, configure
from tests.integration.console.pages import Visitor
from tests.support.bridge import SUPPORT

EVERYTHING = "Everything is in Redmine"
HINT = "does not have the module time_tracking"
OTHER_PROJECT = 4


def worked(**of_task: object) -> Act:
    """Finish a ticket task whose time is logged."""
    return lambda stage: stage.work(**of_task)


@pytest.mark.stand_in
def test_hours_that_are_lost_for_lack_of_a_mapping_are_not_nothing(stage: Stage, pages: Visitor) -> None:
    with stage.bridge.store.transaction() as tx:
        tx.mappings.remove(MappingKind.ENTITY, 3)
    stage.work()
    shown = pages.open("/console/tickets/4711")
    assert "1.5 h are not in Redmine" in shown
    assert "neither the ticket's GLPI project nor its entity has a mapping" in shown


@pytest.mark.stand_in
@pytest.mark.parametrize(
    ("act", "says"),
    [
        pytest.param(
            worked(user={"id": 99, "email": "nobody@example.test"}), "under another user", id="of nobody"
        ),
        pytest.param(
            both(configure(status_map={}), worked()), "without its status", id="no status is mapped any more"
        ),
    ],
)
def test_it_does_not_say_that_everything_is_there(stage: Stage, pages: Visitor, act: Act, says: str) -> None:
    stage.work()
    assert EVERYTHING in pages.open("/console/tickets/4711")
    act(stage)
    shown = pages.open("/console/tickets/4711")
    assert EVERYTHING not in shown
    assert says in shown


@pytest.mark.stand_in
def test_a_refusal_is_not_explained_by_an_older_one_that_was_repaired(stage: Stage, pages: Visitor) -> None:
    stage.work()
    stage.tracker.patch("projects", SUPPORT, modules=["issue_tracking"])
    stage.work()
    assert HINT in pages.open("/console/tickets/4711").partition("Current state")[0]
    stage.tracker.patch("projects", SUPPORT, modules=["issue_tracking", "time_tracking"])
    stage.replay()
    with ExitStack() as stage.during:
        in_front(refuses("/time_entries.json", CLOSED))(stage)
        stage.work()
    said = pages.open("/console/tickets/4711").partition("Current state")[0]
    assert CLOSED in said
    assert HINT not in said


@pytest.mark.stand_in
def test_a_moved_issue_is_not_where_its_entity_is_mapped(stage: Stage, pages: Visitor) -> None:
    stage.work()
    assert "because entity 3 is mapped to it" in pages.open("/console/tickets/4711")
    stage.bridge.configure(membership_for="matched")
    stage.tracker.patch("issues", stage.stand_in.state()["issues"][-1]["id"], project_id=OTHER_PROJECT)
    stage.work()
    shown = pages.open("/console/tickets/4711")
    assert "it was moved there in Redmine" in shown
    assert "is mapped to it" not in shown


@pytest.mark.stand_in
def test_a_mapping_that_was_changed_later_is_not_why_an_issue_is_where_it_is(
    stage: Stage, pages: Visitor
) -> None:
    stage.work()
    stage.bridge.link(MappingKind.ENTITY, 3, OTHER_PROJECT)
    shown = pages.open("/console/tickets/4711")
    assert "Entity 3 is mapped to another project now" in shown
    assert "is mapped to it" not in shown
