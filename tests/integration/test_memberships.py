"""A sync pass reads memberships and people once, together with everything else."""

from __future__ import annotations

from deploy.sandbox.tracker.control import StandIn
from tests.support.bridge import SUPPORT, Bridge
from tests.support.events import task_event


def test_what_was_ensured_for_the_issue_is_not_ensured_again_for_the_time_entry(
    bridge: Bridge, stand_in: StandIn
) -> None:
    """Memberships are loaded with everything else; one that was added since then counts, too."""
    assert bridge.forward(task_event()) == ["done"]
    asked = [one for one in stand_in.requests() if one["path"].endswith("/memberships.json")]
    assert len(asked) == 1, asked
    with bridge.store.transaction() as tx:
        assert tx.people.is_member_known(SUPPORT, 5)
