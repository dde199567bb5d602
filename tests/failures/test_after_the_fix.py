"""After a fix, work continues: a new key is tried at once, and one command replays the events of a cause."""

from __future__ import annotations

import pytest

from deploy.sandbox.tracker.seed import user_key
from shared.notices.hints import Hint
from shared.redis.circuit_breaker import CircuitBreaker
from shared.store.configuration.mappings import MappingKind
from shared.store.tables.journal import EventState
from tests.failures.stage import Stage
from tests.unit.cli.conftest import Shell


def test_a_new_key_is_tried_at_once_and_ends_the_pause(stage: Stage, shell: Shell) -> None:
    stage.api_key("0" * 40)
    assert stage.work() == EventState.PENDING
    assert CircuitBreaker(stage.bridge.redis).current() is not None
    told = shell.do("config", "set-api-key", stdin=stage.tracker.api_key)
    assert "It belongs to the administrator admin" in told
    assert "events continue" in told
    assert CircuitBreaker(stage.bridge.redis).current() is None
    stage.replay()
    assert stage.goes_on()


@pytest.mark.parametrize(
    ("key", "rest", "told"),
    [
        ("0" * 40, True, "the API key was changed, or its owner is locked"),
        (user_key("alice"), True, "the API key belongs to alice, who is not a Redmine administrator"),
        (None, False, "Redmine's REST API is disabled"),
    ],
    ids=["unknown", "no administrator's", "REST off"],
)
def test_a_key_that_does_not_work_says_which_of_the_three_is_wrong(
    stage: Stage, shell: Shell, key: str | None, rest: bool, told: str
) -> None:
    stage.tracker.settings(rest_enabled=rest)
    assert told in shell.fail("config", "set-api-key", stdin=key or stage.tracker.api_key)


def test_of_two_causes_the_fixed_one_is_offered_with_its_count_and_replayed_alone(
    stage: Stage, shell: Shell
) -> None:
    stage.tracker.settings(required_custom_fields=[5])
    stage.work()
    stage.work()
    stage.tracker.settings(required_custom_fields=[])
    stage.tracker.patch("activities", 9, active=False)
    stage.work()
    assert stage.offered() == "custom_field_required"
    assert "2 events failed, but their cause is fixed" in stage.doctor().text
    told = shell.do("event", "replay", "--state", "failed", "--code", "custom_field_required")
    assert "2 events of 1 ticket will be processed again" in told
    with stage.bridge.store.transaction() as tx:
        assert tx.journal.count(EventState.FAILED) == 1


def test_a_project_that_is_linked_no_more_is_not_called_fixed(stage: Stage) -> None:
    """The ticket's issue stays in the closed project, so the state of other projects does not matter."""
    assert stage.work() == EventState.DONE
    stage.bridge.link(MappingKind.ENTITY, 3, 4)
    stage.tracker.patch("projects", 1, status=5)
    assert stage.work() == EventState.FAILED
    assert Hint.TIME_PROJECT_CLOSED in stage.doctor().codes
    assert stage.offered() is None
