"""Changes in the tracker or the settings while a file is being uploaded."""

from __future__ import annotations

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.notices.reasons import Reason
from shared.store.tables.journal import EventState
from tests.integration.documents import SIZE
from tests.support.bridge import Bridge
from tests.support.events import ALICE, document, document_event, ticket
from tests.support.ledger import attachments_of, stopped

UPLOADS = "/uploads.json"
STRANGER = {"id": 99, "email": "stranger@example.test"}
NON_MEMBER = 1


def test_a_document_waits_if_the_rest_api_is_switched_off_before_its_upload(
    begun: Bridge, stand_in: StandIn
) -> None:
    (event_id,) = begun.receive(document_event(1, of_document=document(user=STRANGER)))
    with stopped("POST", UPLOADS, lambda: stand_in.settings(rest_enabled=False), sent=False):
        begun.sync()
    assert begun.event(event_id).state == EventState.PENDING, begun.steps()
    stand_in.settings(rest_enabled=True)
    begun.redis.flushdb()
    begun.hurry()
    begun.sync()
    assert attachments_of(stand_in) == [("admin", "scan-91.png", SIZE)]


@pytest.mark.promise("SEC-55")
def test_a_document_makes_nobody_a_member(begun: Bridge, stand_in: StandIn) -> None:
    carol = {"id": 9, "email": "carol@example.test"}
    members = stand_in.state()["memberships"]
    assert begun.forward(document_event(1, of_document=document(user=carol))) == [EventState.DONE]
    assert stand_in.state()["memberships"] == members, begun.steps()
    assert attachments_of(stand_in) == [("carol", "scan-91.png", SIZE)]


@pytest.mark.parametrize("is_known", [True, False])
def test_an_attachment_that_the_api_user_uploads_is_described_by_its_persons_name(
    begun: Bridge, stand_in: StandIn, is_known: bool
) -> None:
    stand_in.patch("roles", NON_MEMBER, permissions=["view_issues"])
    carol = {"id": 9, "email": "carol@example.test" if is_known else None, "name": "Carol Clark"}
    alice = {**ALICE, "name": "Alice Archer"}
    events = [
        document_event(number, of_document=document(90 + number, user=user))
        for number, user in ((1, carol), (2, alice))
    ]
    assert begun.forward(*events) == [EventState.DONE] * 2, begun.steps()
    described = [(one["author"], one["description"]) for one in stand_in.state()["attachments"]]
    assert described == [("admin", "Carol Clark"), ("alice", "")]


@pytest.mark.promise("SEC-55")
def test_a_document_of_a_person_who_may_upload_nowhere_is_the_api_users(
    begun: Bridge, stand_in: StandIn
) -> None:
    stand_in.patch("roles", NON_MEMBER, permissions=["view_issues"])
    ids = [one["id"] for one in stand_in.state()["memberships"] if one["user_id"] == 5]

    def leave() -> None:
        for number in ids:
            stand_in.remove("memberships", number)

    begun.receive(document_event(1))
    with stopped("POST", UPLOADS, leave, sent=False):
        begun.sync()
    assert [one for one in stand_in.state()["memberships"] if one["user_id"] == 5] == [], begun.steps()
    assert attachments_of(stand_in) == [("admin", "scan-91.png", SIZE)]


def test_a_document_of_a_requester_who_is_no_member_is_under_no_wrong_user(
    begun: Bridge, stand_in: StandIn
) -> None:
    stand_in.patch("roles", NON_MEMBER, permissions=["view_issues"])
    carol = {"id": 9, "email": "carol@example.test", "name": "Carol Clark"}
    asked = ticket(requester=carol)
    (event_id,) = begun.receive(document_event(1, of_ticket=asked, of_document=document(user=carol)))
    begun.sync()
    assert attachments_of(stand_in) == [("admin", "scan-91.png", SIZE)]
    assert begun.event(event_id).code == Reason.DOCUMENT_ATTACHED
