"""Pages, commands and the API show names in place of numbers if events or the metadata have them."""

from __future__ import annotations

import re

import pytest
from sqlalchemy.exc import OperationalError

from deploy.sandbox.tracker.control import StandIn
from producer.admin.naming import names as module
from producer.admin.naming.names import Names
from producer.admin.records.known_names import KnownNames
from producer.admin.records.rights import Right
from shared.metadata.synchronisation import synchronise
from shared.notices.changes import Did
from shared.notices.doctor_setup import Named
from shared.notices.naming import naming
from shared.notices.reasons import Matching
from shared.notices.render import sentence
from tests.integration.console.conftest import ComeIn, Console
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket

CLAIRE = {"id": 21, "email": "claire@example.test", "name": "Claire Lefèvre"}


@pytest.fixture(autouse=True)
def known_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look up an unknown name each time."""
    monkeypatch.setattr(module, "SOON_S", 0.0)


@pytest.fixture
def visitor(bridge: Bridge, stand_in: StandIn, console: Console, come_in: ComeIn) -> Visitor:
    """An administrator, after an event that names a person and places, and after a metadata synchronisation."""
    of_ticket = ticket(technician=CLAIRE, entity_name="Root > Lyon", project_id=9, project_name="New office")
    bridge.forward(task_event(of_ticket=of_ticket, of_task=task(user=CLAIRE)))
    services = console.app.state.services
    assert synchronise(services.store, services.locks, services.connector.connect)
    return come_in(Right.ADMINISTRATOR)


def test_pages_name_people_entities_and_projects(visitor: Visitor, bridge: Bridge) -> None:
    assert "entity Root > Lyon (3)" in visitor.open("/console/links")
    assert "Mapping of entity 3 (Root > Lyon)" in visitor.open("/console/links/entity/3")
    assert "21 Claire Lefèvre claire@example.test" in visitor.open("/console/people")
    assert "GLPI user 21 (Claire Lefèvre)" in visitor.open("/console/people/21")
    assert "because entity 3 (Root > Lyon) is mapped to it" in visitor.open("/console/tickets/4711")
    assert "Assigned (2)" in visitor.open("/console/tickets/4711")
    authors = visitor.open("/console/authors")
    assert "claire@example.test Claire Lefèvre" in authors
    assert "#4711 Printer 4711 on fire" in authors
    assert "Redmine Admin (1)" in authors


def test_the_form_of_a_mapping_shows_what_was_skipped_and_sends_it_only_on_request(
    visitor: Visitor, bridge: Bridge
) -> None:
    for number, day in ((1, "2026-09-03"), (2, "2026-08-28"), (3, "2026-10-01")):
        event = task_event(number, of_ticket=ticket(900 + number, entity_id=77), of_task=task(600 + number))
        bridge.forward({**event, "occurred_at": f"{day}T09:00:00+00:00"}, ticket_id=900 + number)
    page = visitor.open("/console/links/entity/77")
    assert "because this mapping was missing 3 events of 3 tickets. The oldest: 2026-08-28 09:00" in page
    (tick,) = re.findall(r"<input[^>]*name=\"replay\"[^>]*>", visitor.page)
    assert "checked" not in tick
    visitor.do("/console/links/entity/77", {"how": "existing", "tracker_project_id": "1"})
    assert "3 events of 3 tickets." in visitor.open("/console/links/entity/77")
    form = {"how": "existing", "tracker_project_id": "0", "replay": "on"}
    refused = visitor.send("/console/links/entity/77", form).text
    (tick,) = re.findall(r"<input[^>]*name=\"replay\"[^>]*>", refused)
    assert "checked" in tick, "a refused form keeps its choice"
    assert "skipped because" not in visitor.open("/console/links/entity/78")


def test_sentences_name_what_they_number(visitor: Visitor) -> None:
    assert "GLPI user 21 (Claire Lefèvre) has no mapping" in " ".join(visitor.open("/console/people").split())


def test_the_audit_log_names_both_sides(visitor: Visitor) -> None:
    visitor.open("/console/people")
    visitor.do("/console/people/21", {"act": "map", "tracker_user_id": "5"})
    visitor.open("/console/links/entity/77")
    visitor.do("/console/links/entity/77", {"how": "existing", "tracker_project_id": "1"})
    page = visitor.open("/console/changes")
    assert "mapped GLPI user 21 (Claire Lefèvre) to Redmine user 5 (Alice Archer)" in page
    assert "to Redmine project 1 (" in page
    visitor.do("/console/people/21", {"act": "map", "tracker_user_id": "6"})
    assert "5 (Alice Archer)" in visitor.open("/console/changes/5")


def test_the_api_has_names_beside_the_numbers(visitor: Visitor, console: Console) -> None:
    (link,) = console.get("/api/links")
    assert (link["id"], link["name"]) == (3, "Root > Lyon")
    assert link["project"]
    claire = next(one for one in console.get("/api/user-map") if one["helpdesk_user_id"] == 21)
    assert claire["name"] == "Claire Lefèvre"
    wrong = console.get("/api/misattributed")[0]
    assert (wrong["person"], wrong["author"]) == ("Claire Lefèvre", "Redmine Admin")
    (event,) = console.get("/api/events")
    assert (event["title"], event["who"], event["issue_id"]) == ("Printer 4711 on fire", "Claire Lefèvre", 6)


def test_what_has_no_name_keeps_its_number(bridge: Bridge) -> None:
    names = Names(bridge.store)
    assert names.numbered("entity", 77) == "77"
    assert names.value("default_activity_id", 12345) == 12345
    with naming(names):
        said = sentence(Did.PERSON_MAPPED(helpdesk_user_id=98, tracker_user_id=5))
    assert said == "mapped GLPI user 98 to Redmine user 5 (Alice Archer)"


def test_an_e_mail_that_a_sentence_has_is_not_repeated_as_a_name(bridge: Bridge) -> None:
    bridge.forward(task_event())
    with naming(Names(bridge.store)):
        assert sentence(Matching.EMAIL_UNKNOWN(helpdesk_user_id=7)).count("alice@example.test") == 1
        shown = sentence(Named.PERSON_WITH_EMAIL(helpdesk_user_id=7, email="alice@example.test"))
    assert shown == "7 (alice@example.test)"


def test_without_a_block_a_sentence_is_as_it_was(bridge: Bridge) -> None:
    assert "(Alice Archer)" not in sentence(Did.PERSON_MAPPED(helpdesk_user_id=98, tracker_user_id=5))
    assert "21" in sentence(Matching.EMAIL_UNKNOWN(helpdesk_user_id=21))


def test_names_are_read_once_for_many_numbers(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SOON_S", 15.0)
    read: list[int] = []

    def known(_self: KnownNames) -> dict[str, dict[int, str]]:
        read.append(1)
        return {"entity": {3: "Lyon"}}

    monkeypatch.setattr(KnownNames, "all", known)
    names = Names(bridge.store)
    assert [names.name("entity", number) for number in (3, 77, 3, 88)] == ["Lyon", None, "Lyon", None]
    assert read == [1]


def test_a_database_that_fails_leaves_numbers(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_self: KnownNames) -> None:
        raise OperationalError("SELECT", {}, Exception("away"))

    monkeypatch.setattr(KnownNames, "all", fails)
    assert Names(bridge.store).numbered("entity", 3) == "3"
