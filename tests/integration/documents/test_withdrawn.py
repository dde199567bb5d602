"""Documents that were deleted, unlinked or made private in GLPI before they were sent are not attached."""

from __future__ import annotations

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.notices.reasons import Reason
from shared.store.tables.journal import EventState
from tests.integration.documents import SIZE
from tests.support.bridge import Bridge
from tests.support.events import deletion, document, document_event
from tests.support.glpi_api import GlpiApi
from tests.support.ledger import attachments_of

DONE = EventState.DONE


@pytest.mark.promise("SEC-84")
def test_a_document_that_is_in_glpi_s_bin_or_private_there_is_not_attached_although_no_event_reported_it(
    begun: Bridge, stand_in: StandIn, api: GlpiApi
) -> None:
    api.binned.add(91)
    api.unlinked.add(92)
    api.notes[4711, "Followup"] = [{"id": 77, "is_private": True}]
    private = document(93, item={"type": "ITILFollowup", "id": 77})
    documents = (document(91), document(92), private)
    ids = begun.receive(*(document_event(at, of_document=one) for at, one in enumerate(documents, 1)))
    begun.sync()
    assert [begun.event(one).code for one in ids] == [
        Reason.DOCUMENT_MISSING,
        Reason.DOCUMENT_MISSING,
        Reason.PRIVATE_DOCUMENT,
    ]
    assert attachments_of(stand_in) == []
    api.binned.clear()
    begun.hurry()
    begun.sync()
    assert attachments_of(stand_in) == [("alice", "scan-91.png", SIZE)], "it was restored"


@pytest.mark.promise("SEC-84")
def test_a_document_that_was_deleted_before_it_was_sent_is_not_attached(
    begun: Bridge, stand_in: StandIn
) -> None:
    gone = {**deletion(2, "document.deleted"), "document": {"id": 91}}
    ids = begun.receive(document_event(1), gone)
    begun.sync()
    assert [begun.event(one).code for one in ids] == [Reason.DELETED_THERE] * 2
    assert begun.forward(document_event(3)) == [DONE], "linked again"
    assert attachments_of(stand_in) == [("alice", "scan-91.png", SIZE)]
