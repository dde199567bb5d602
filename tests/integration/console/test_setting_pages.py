"""The settings are on several pages: each saves its own settings and leaves all others unchanged."""

from __future__ import annotations

import re

import pytest

from producer.admin.records.rights import Right
from producer.console.rendering.setting_pages import PARTS, page_of, setting
from tests.integration.console.conftest import ComeIn
from tests.integration.console.pages import Visitor
from tests.support.bridge import STATUS_MAP, Bridge
from tests.support.events import deletion, task_event


@pytest.fixture
def administrator(come_in: ComeIn) -> Visitor:
    return come_in(Right.ADMINISTRATOR)


@pytest.mark.parametrize("part", PARTS)
def test_a_page_has_the_fields_of_its_settings_and_their_addresses_lead_there(
    administrator: Visitor, part: str
) -> None:
    for name in PARTS[part]:
        path, _, fragment = setting(name).partition("#")
        assert path == page_of(part)
        administrator.open(path)
        assert re.search(rf'(id|name)="{fragment}"', administrator.page), name


def test_a_page_that_is_saved_leaves_the_settings_of_the_others_alone(
    administrator: Visitor, bridge: Bridge
) -> None:
    bridge.configure(default_watcher_ids=[5], correct_authors=True, verify_tls=True)
    administrator.open("/console/settings/defaults")
    (seen,) = re.findall(r'name="seen" value="(\w+)"', administrator.page)
    (part,) = re.findall(r'name="part" value="([\w-]+)"', administrator.page)
    sent = {"seen": seen, "part": part, "default_watcher_ids": "5", "default_priority_id": "2"}
    assert administrator.do("/console/settings", sent) == "/console/settings/defaults?did=saved"
    with bridge.store.transaction() as tx:
        config, _ = tx.configs.get()
    assert (config.default_priority_id, config.default_watcher_ids) == (2, (5,))
    assert (config.verify_tls, config.correct_authors, config.status_map) == (True, True, STATUS_MAP)


def test_a_wrong_form_is_shown_again_on_its_page(administrator: Visitor) -> None:
    administrator.open("/console/settings/behaviour")
    (seen,) = re.findall(r'name="seen" value="(\w+)"', administrator.page)
    answer = administrator.send("/console/settings", {"seen": seen, "part": "behaviour", "done_state": "x"})
    assert answer.status_code == 422
    assert 'name="done_state"' in answer.text
    assert 'aria-invalid="true"' in answer.text


def test_types_of_documents_are_typed_as_a_list_and_a_wrong_one_is_shown_again(
    administrator: Visitor, bridge: Bridge
) -> None:
    administrator.open("/console/settings/behaviour")
    (seen,) = re.findall(r'name="seen" value="(\w+)"', administrator.page)
    sent = {"seen": seen, "part": "behaviour", "document_refused_types": "video/*, exe"}
    answer = administrator.send("/console/settings", sent)
    assert answer.status_code == 422
    assert 'value="video/*, exe"' in answer.text
    sent["document_refused_types"] = "video/*, .exe"
    assert administrator.do("/console/settings", sent) == "/console/settings/behaviour?did=saved"
    with bridge.store.transaction() as tx:
        config, _ = tx.configs.get()
    assert config.document_refused_types == ("video/*", ".exe")
    administrator.open("/console/settings/behaviour")
    assert 'value="video/*, .exe"' in administrator.page


def test_the_status_of_deleted_tickets_is_chosen_beside_the_map_and_shown_with_the_ticket(
    administrator: Visitor, bridge: Bridge
) -> None:
    administrator.open("/console/settings/status-map")
    (seen,) = re.findall(r'name="seen" value="(\w+)"', administrator.page)
    assert '<select id="deleted_status_id" name="deleted_status_id"' in administrator.page
    statuses = {f"status.{one}": str(to) for one, to in STATUS_MAP.items()}
    sent = {"seen": seen, "part": "status-map", **statuses, "deleted_status_id": "6"}
    assert administrator.do("/console/settings", sent) == "/console/settings/status-map?did=saved"
    with bridge.store.transaction() as tx:
        config, _ = tx.configs.get()
    assert (config.deleted_status_id, config.status_map) == (6, STATUS_MAP)
    bridge.forward(task_event())
    bridge.forward(deletion(1, "ticket.deleted"))
    administrator.open("/console/tickets/4711")
    assert "<h2>Deleted in GLPI</h2>" in administrator.page
