"""Metadata synchronisation, the project form and the doctor work with the tracker under test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from fakeredis import FakeRedis
from pydantic import SecretStr

from producer.admin.configuration import configuration
from producer.admin.configuration.api_key import store_api_key
from producer.admin.doctor.examination import examine
from producer.admin.doctor.finding import Status
from producer.admin.doctor.installation import Installation
from producer.admin.projects.mappings import lacking_modules
from producer.admin.projects.project_forms import FormRefused, ProjectForm
from producer.admin.records.transaction import Store
from producer.admin.services import Services
from shared.errors import NotFound
from shared.metadata.synchronisation import synchronise
from shared.notices.invalid import Invalid
from shared.notices.refusals import Refusal
from shared.process.settings import Settings
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.store.tables.database import Database
from tests.contract import seed
from tests.contract.support import Tracker, unique
from tests.support.databases import make_tables
from tests.support.refusals import says

NOT_HERE = {"producer", "refused", "worker", "beat", "helpdesk events"}
"""Checks of processes that these tests do not start, and of events that they do not send."""


@pytest.fixture
def services(tracker: Tracker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    """A deskbridge that is configured for the tracker under test."""
    redis = FakeRedis()
    monkeypatch.setattr("shared.redis.locks.make_redis", lambda *_: redis)
    url, key = SecretStr(f"sqlite:///{tmp_path}/desk.sqlite3"), SecretStr(Fernet.generate_key().decode())
    made = Services(Settings(database_url=url, secret_keys=(key,)), Store(Database(url.get_secret_value())))
    make_tables(made.store.database)
    configuration.change(made.store, {"base_url": tracker.base_url})
    store_api_key(made.store, made.vault, tracker.api_key)
    yield made
    made.store.database.close()


def sync(services: Services) -> None:
    """Synchronise the metadata, which must succeed."""
    result = synchronise(services.store, services.locks, services.connector.connect)
    assert result, result.error


def entries(services: Services, kind: MetadataKind) -> dict[int, Entry]:
    """Return the cached entries of a kind by their id."""
    with services.store.transaction() as tx:
        return {one.tracker_id: one for one in tx.metadata.of_kind(kind)}


def test_the_cache_holds_what_the_tracker_offers_and_nothing_that_cannot_be_used(
    services: Services, tracker: Tracker
) -> None:
    sync(services)
    with services.store.transaction() as tx:
        people = {one.tracker_user_id: one for one in tx.people.cached()}
    assert people[seed.User.ALICE].login == "alice"
    assert people[seed.User.ADMIN].admin
    assert seed.User.DAVE not in people
    assert len(people) == tracker.read("/users.json?limit=1")["total_count"]
    projects = entries(services, MetadataKind.PROJECT)
    assert {seed.Project.SUPPORT, seed.Project.NO_TIME} <= projects.keys()
    assert not {seed.Project.CLOSED, seed.Project.ARCHIVED} & projects.keys()
    assert projects[seed.Project.CHILD].details["parent_id"] == seed.Project.SUPPORT
    assert entries(services, MetadataKind.CATEGORY).keys() >= {*seed.Category}
    assert entries(services, MetadataKind.ROLE).keys() == {*seed.Role}
    assert entries(services, MetadataKind.STATUS).keys() == {*seed.Status}
    assert entries(services, MetadataKind.ISSUE_TYPE).keys() == {*seed.IssueType}
    assert not entries(services, MetadataKind.ACTIVITY)[seed.Activity.LEGACY].details["active"]
    fields = entries(services, MetadataKind.CUSTOM_FIELD)
    assert fields.keys() == {*seed.CustomField}
    channel = fields[seed.CustomField.ISSUE_CHANNEL].details
    assert channel["customized_type"] == "issue"
    assert [one["value"] for one in channel["possible_values"]] == ["Phone", "Mail", "Portal"]


def test_names_keep_their_emoji(services: Services, tracker: Tracker) -> None:
    name = f"Café 🚒 {unique()}"
    made = tracker.create_project(name=name, identifier=unique())
    sync(services)
    assert entries(services, MetadataKind.PROJECT)[made.json()["project"]["id"]].name == name


def test_activities_of_each_project_are_read_on_demand(services: Services) -> None:
    configuration.change(services.store, {"project_activities": "true"})
    sync(services)
    usable = entries(services, MetadataKind.PROJECT)[seed.Project.SUPPORT].details["activity_ids"]
    assert seed.Activity.DEVELOPMENT in usable
    assert seed.Activity.ONSITE not in usable


def test_an_invalid_key_leaves_the_cache_as_it_was(services: Services) -> None:
    sync(services)
    before = entries(services, MetadataKind.PROJECT)
    store_api_key(services.store, services.vault, "0" * 40)
    assert not synchronise(services.store, services.locks, services.connector.connect)
    store_api_key(services.store, services.vault, seed.key_of("mallory"))
    assert not synchronise(services.store, services.locks, services.connector.connect)
    assert entries(services, MetadataKind.PROJECT) == before


def test_a_form_creates_one_project_and_its_repeat_finds_it(services: Services, tracker: Tracker) -> None:
    sync(services)
    identifier = unique()
    form = ProjectForm.of(
        {"name": "Form 🧪", "identifier": identifier.upper(), "custom_field_values": {"2": "C-1"}}
    )
    made = services.project_forms.create(MappingKind.ENTITY, 9, form)
    project_id = made.linked.mapping.tracker_project_id
    tracker.created.append(f"/projects/{project_id}.json")
    again = services.project_forms.create(MappingKind.ENTITY, 9, form)
    assert (made.created, again.created) == (True, False)
    assert made.linked.mapping == again.linked.mapping
    project = tracker.read(f"/projects/{project_id}.json")["project"]
    assert (project["name"], project["identifier"], project["is_public"]) == ("Form 🧪", identifier, False)


def test_the_trackers_refusal_comes_back(services: Services) -> None:
    sync(services)
    taken = ProjectForm.of({"name": "x", "identifier": "archivedone"})
    with pytest.raises(FormRefused, match="has already been taken"):
        services.project_forms.create(MappingKind.ENTITY, 9, taken)
    with pytest.raises(FormRefused, check=says(Refusal.FORM_NOT_VALID, Invalid.IDENTIFIER_IN_USE)):
        services.project_forms.create(
            MappingKind.ENTITY, 9, ProjectForm.of({"name": "x", "identifier": "other"})
        )
    with pytest.raises(NotFound):
        services.project_forms.link(ProjectMapping(MappingKind.ENTITY, 9, seed.Project.CLOSED, None))


def test_the_doctor_finds_a_configured_tracker_well(services: Services) -> None:
    sync(services)
    values = {
        "default_activity_id": "9",
        "default_role_id": "4",
        "default_tracker_id": "1",
        "status_map": '{"1": 1}',
        "text_formatting": "plain",
    }
    configuration.change(services.store, values)
    services.project_forms.link(
        ProjectMapping(MappingKind.ENTITY, 3, seed.Project.SUPPORT, seed.Category.HARDWARE)
    )
    installation = Installation(
        services.settings,
        services.store,
        services.redis,
        services.vault,
        services.connector.connect,
        lambda: True,
    )
    wrong = {one.check: one.what for one in examine(installation) if one.status is not Status.OK}
    assert {check: what for check, what in wrong.items() if check not in {*NOT_HERE, "role"}} == {}
    with services.store.transaction() as tx:
        tx.mappings.put(ProjectMapping(MappingKind.ENTITY, 4, seed.Project.NO_TIME, None))
    assert "lacks time_tracking" in {one.check: one.what for one in examine(installation)}["modules"]


def test_a_link_to_a_project_without_time_tracking_is_noticed(services: Services) -> None:
    assert lacking_modules(services.connector.connect, seed.Project.NO_TIME) == ["time_tracking"]
    assert lacking_modules(services.connector.connect, seed.Project.SUPPORT) == []


def test_a_project_without_the_issue_module_refuses_its_categories_and_spoils_nothing(
    services: Services, tracker: Tracker
) -> None:
    made = tracker.create_project(name=unique(), identifier=unique(), enabled_module_names=["wiki"])
    project_id = made.json()["project"]["id"]
    assert tracker.call("GET", f"/projects/{project_id}/issue_categories.json").status_code == 403
    sync(services)
    assert project_id in entries(services, MetadataKind.PROJECT)
