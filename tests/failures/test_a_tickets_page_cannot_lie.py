"""A ticket's page says that everything is in Redmine only if everything is there as intended."""

from __future__ import annotations

import pytest

from shared.store.configuration.mappings import MappingKind
from tests.failures.stage import Act, Stage, both, configure
from tests.integration.console.pages import Visitor

EVERYTHING = "Everything is in Redmine"


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
