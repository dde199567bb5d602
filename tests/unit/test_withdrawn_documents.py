"""Documents that were deleted, unlinked or made private before they were sent are not sent."""

from __future__ import annotations

from typing import Any

import pytest

from shared.events.config import PluginConfig
from shared.events.parsing import parse, parse_event
from shared.notices.kinds import row_id_of
from shared.notices.reasons import Reason
from tests.support.events import (
    deletion,
    document,
    document_event,
    followup,
    followup_event,
    task,
    task_event,
)
from worker.ticket.plan import KnownEvent, Pending, Plan, plan_additions

SENDING = PluginConfig(sync_documents="on")
ON_FOLLOWUP = document(item={"type": "ITILFollowup", "id": 77})
DELETED = {**deletion(2, "document.deleted"), "document": {"id": 91}}
OF_HOLDERS = {
    "private": {**deletion(2, "followup.updated"), "followup": {"id": 77, "is_private": True}},
    "private, whole": followup_event(2, of_followup=followup(is_private=True)),
    "deleted": {**deletion(2, "followup.deleted"), "followup": {"id": 77}},
}


def skipped(document_of: dict[str, Any], then: dict[str, Any]) -> dict[int, Any]:
    """Return why a document's event is skipped after another event."""
    newest = parse(then)
    plan = Plan()
    events = [Pending(1, parse_event(document_event(1, of_document=document_of)))]
    plan_additions(plan, events, {}, SENDING, {row_id_of(newest.key): KnownEvent(2, newest)})
    assert not plan.additions or not plan.skipped
    return plan.skipped


@pytest.mark.promise("SEC-84")
def test_a_document_that_was_deleted_or_unlinked_before_it_was_sent_is_not_attached() -> None:
    assert skipped(document(), DELETED) == {1: Reason.DELETED_THERE()}
    assert skipped(document(), document_event(2)) == {}, "linked again"


@pytest.mark.promise("SEC-84")
@pytest.mark.parametrize("name", OF_HOLDERS)
def test_a_document_of_a_follow_up_that_is_gone_or_private_now_is_not_attached(name: str) -> None:
    reason = Reason.DELETED_THERE() if name == "deleted" else Reason.PRIVATE_DOCUMENT()
    assert skipped(ON_FOLLOWUP, OF_HOLDERS[name]) == {1: reason}
    assert skipped(document(), OF_HOLDERS[name]) == {}, "it belongs to the ticket itself"


def test_a_document_of_a_task_that_is_private_now_is_not_attached() -> None:
    of_task = document(item={"type": "TicketTask", "id": 512})
    private = task_event(2, of_task=task(is_private=True))
    assert skipped(of_task, private) == {1: Reason.PRIVATE_DOCUMENT()}
