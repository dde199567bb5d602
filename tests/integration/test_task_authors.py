"""`task_author` decides whose time a ticket task is: its writer's (SPEC 2.3) or its technician's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.people.correction import correct_author
from producer.admin.people.misattributed import misattributed
from shared.helpdesk.glpi import GlpiLookup
from shared.notices.authors import Misattribution
from shared.notices.kinds import Kind
from tests.support.bridge import Bridge
from tests.support.events import ALICE, BOB, task, task_event
from tests.support.glpi_api import glpi_api
from tests.support.ledger import entries

ALICES_ID, BOBS_ID = 5, 6
STRANGERS_ID = 99
STRANGER = {"id": STRANGERS_ID, "email": "nobody@example.test"}


def authors(stand_in: StandIn) -> list[int]:
    return [entry["user_id"] for entry in entries(stand_in)]


@pytest.mark.parametrize(
    ("setting", "people", "author"),
    [
        ("writer", {"user": ALICE, "technician": BOB}, ALICES_ID),
        ("technician", {"user": ALICE, "technician": BOB}, BOBS_ID),
        ("technician", {"user": ALICE, "technician": None}, ALICES_ID),
        ("technician", {"user": None, "technician": BOB}, BOBS_ID),
        ("technician", {"user": BOB}, BOBS_ID),
    ],
)
def test_the_setting_decides_whose_time_it_is(
    bridge: Bridge, stand_in: StandIn, setting: str, people: dict[str, Any], author: int
) -> None:
    bridge.configure(task_author=setting)
    assert bridge.forward(task_event(of_task=task(**people))) == ["done"]
    assert authors(stand_in) == [author]
    assert misattributed(bridge.store) == []


def test_only_people_who_can_become_authors_are_remembered(bridge: Bridge) -> None:
    bridge.forward(task_event(of_task=task(technician=STRANGER)))
    with bridge.store.transaction() as tx:
        assert tx.people.email_of(STRANGERS_ID) is None


def test_the_address_of_the_technician_is_looked_up(
    stand_in: StandIn, redis_url: str, tmp_path: Path
) -> None:
    with glpi_api() as api:
        api.users = {7: "alice@example.test", 8: "bob@example.test"}
        api.ticket(4711, "2026-11-21T08:00:00+00:00", assigned=7)
        lookup = GlpiLookup(replace(api.access, cache_s=0))
        database = f"sqlite:///{tmp_path}/bridge.sqlite3"
        bridge = Bridge(database, redis_url, stand_in.base_url, stand_in.api_key, lookup=lookup)
        bridge.configure(task_author="technician")
        people: dict[str, Any] = {"user": {"id": 7, "email": None}, "technician": {"id": 8, "email": None}}
        lacking = {"incomplete": ["task.user.email", "task.technician.email"]}
        assert bridge.forward(task_event(of_task=task(**people)) | lacking) == ["done"]
        bridge.close()
    assert authors(stand_in) == [BOBS_ID]


def test_a_correction_gives_the_time_to_the_technician(bridge: Bridge, stand_in: StandIn) -> None:
    bridge.configure(task_author="technician", correct_authors=True)
    bridge.forward(task_event(of_task=task(technician=STRANGER)))
    (wrong,) = misattributed(bridge.store)
    assert (wrong.kind, wrong.code) == (Kind.TICKET_TASK, Misattribution.NOT_MATCHED)
    with bridge.store.transaction() as tx:
        tx.people.put_override(STRANGERS_ID, BOBS_ID)
        connected = bridge.service.connect(tx)
    assert correct_author(bridge.store, lambda: connected, 512).login == "bob"
    assert authors(stand_in) == [BOBS_ID]
