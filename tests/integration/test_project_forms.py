"""The project and entity forms over the stand-in create one project, whatever goes wrong (SPEC 2.3, 4.1)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import update

from deploy.sandbox.tracker.control import StandIn
from producer.admin.projects.mappings import OF_THE_CATEGORY
from producer.admin.projects.project_forms import FormRefused, ProjectForm
from producer.admin.projects.projects import Made, ProjectForms, ProjectInDoubt
from producer.admin.records.models import ProjectClaim
from producer.admin.records.project_claims import ProjectClaims
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.errors import BridgeError, LeaseExpired, NotFound, TrackerClosed, TrackerUnreachable
from shared.metadata.synchronisation import synchronise
from shared.notices.hints import Hint
from shared.notices.invalid import Invalid
from shared.notices.notice import written
from shared.notices.refusals import Refusal
from shared.redis.locks import Locks
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.store.ledger import send_window
from shared.store.tables.types import clock
from shared.tracker.client import TrackerClient
from tests.support.bridge import Bridge
from tests.support.refusals import says

ENTITY = MappingKind.ENTITY
COST_CENTRE = "2"


@pytest.fixture
def forms(bridge: Bridge) -> ProjectForms:
    """The forms of a deskbridge whose metadata cache is filled."""
    connect = Connector(bridge.store, Vault(bridge.settings.secret_keys)).connect
    locks = Locks(bridge.redis, 60)
    assert synchronise(bridge.store, locks, connect)
    return ProjectForms(bridge.store, locks, connect, bridge.settings.settling_time, bridge.notified.extend)


def form(**changes: Any) -> ProjectForm:
    """Return a form as a person fills it in."""
    return ProjectForm.of({"name": "Lab 🧪", "identifier": "Lab-1", "description": "d", **changes})


def projects(stand_in: StandIn, identifier: str = "lab-1") -> list[dict[str, Any]]:
    """Return the tracker's projects with an identifier."""
    return [one for one in stand_in.state()["projects"] if one["identifier"] == identifier]


def creations(stand_in: StandIn) -> int:
    """Return how many requests to create a project the tracker got."""
    return sum(call["method"] == "POST" and call["path"] == "/projects.json" for call in stand_in.requests())


def settle(bridge: Bridge) -> None:
    """Let the time pass during which a request with a lost answer may still take effect."""
    with bridge.store.database.transaction() as session:
        session.execute(update(ProjectClaim).values(settle_after=clock(-1)))


def attempt(work: Callable[[], Made]) -> Made | BridgeError:
    """Return the result of a form, or its refusal."""
    try:
        return work()
    except BridgeError as refusal:
        return refusal


def test_a_form_creates_a_project_links_it_and_synchronises(
    forms: ProjectForms, bridge: Bridge, stand_in: StandIn
) -> None:
    made = forms.create(
        ENTITY,
        9,
        form(
            parent_id=1,
            is_public=True,
            enabled_module_names=["wiki"],
            custom_field_values={COST_CENTRE: "C-1"},
        ),
    )
    (project,) = projects(stand_in)
    assert made.created
    assert made.metadata
    assert (project["name"], project["parent_id"], project["is_public"]) == ("Lab 🧪", 1, True)
    assert (project["modules"], project["custom_fields"]) == (["wiki"], {COST_CENTRE: "C-1"})
    assert made.linked.mapping == ProjectMapping(ENTITY, 9, project["id"], None)
    with bridge.store.transaction() as tx:
        assert tx.mappings.get(ENTITY, 9) == made.linked.mapping
        assert tx.metadata.runs()[0].counts["projects"] == 6


def test_a_project_is_private_unless_the_form_says_otherwise(forms: ProjectForms, stand_in: StandIn) -> None:
    forms.create(ENTITY, 9, form())
    assert projects(stand_in)[0]["is_public"] is False


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"identifier": "Käse"}, "identifier"),
        ({"identifier": "a b"}, "identifier"),
        ({"identifier": "123"}, "identifier"),
        ({"identifier": "new"}, "identifier"),
        ({"identifier": ""}, "identifier"),
        ({"identifier": "x" * 101}, "identifier"),
        ({"parent_id": 6}, "parent_id"),
        ({"parent_id": 999}, "parent_id"),
        ({"custom_field_values": {"3": "an issue's field"}}, "custom_field_values.3"),
        ({"custom_field_values": {"x": "1"}}, "custom_field_values.x"),
    ],
)
def test_what_the_tracker_would_refuse_is_named_by_field_and_not_sent(
    forms: ProjectForms, stand_in: StandIn, changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(FormRefused) as refused:
        forms.create(ENTITY, 9, form(**changes))
    assert [one for one, _ in refused.value.faults] == [field]
    assert creations(stand_in) == 0


@pytest.mark.parametrize("values", [{"colour": 1}, {"name": None}, {"is_public": "yes"}, {"parent_id": 0}])
def test_a_form_of_another_shape_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(FormRefused) as refused:
        form(**values)
    assert [one for one, _ in refused.value.faults] == [next(iter(values))]


def test_a_required_custom_field_is_asked_for_before_the_call(
    forms: ProjectForms, bridge: Bridge, stand_in: StandIn
) -> None:
    stand_in.settings(required_custom_fields=[2])
    synchronise(bridge.store, forms.locks, forms.connect)
    with pytest.raises(
        FormRefused, check=says(Refusal.FORM_NOT_VALID, Hint.CUSTOM_FIELD_REQUIRED(name="Cost centre"))
    ) as refused:
        forms.create(ENTITY, 9, form())
    assert refused.value.faults[0][0] == "custom_field_values.2"
    assert creations(stand_in) == 0
    assert forms.create(ENTITY, 9, form(custom_field_values={COST_CENTRE: "C-1"})).created


def test_what_only_the_tracker_knows_comes_back_in_its_words_by_field(
    forms: ProjectForms, stand_in: StandIn
) -> None:
    stand_in.settings(required_custom_fields=[2])
    stand_in.patch("projects", 7, identifier="lab-1")
    with pytest.raises(FormRefused) as refused:
        forms.create(ENTITY, 9, form())
    assert sorted(refused.value.faults) == [
        ("", written("Identifier has already been taken")),
        ("custom_field_values.2", written("Cost centre cannot be blank")),
    ]
    stand_in.patch("projects", 7, identifier="archivedone")
    assert forms.create(ENTITY, 9, form(custom_field_values={COST_CENTRE: "C-1"})).created


def test_an_identifier_of_somebody_elses_project_is_refused_with_what_to_do(forms: ProjectForms) -> None:
    taken = Invalid.IDENTIFIER_IN_USE(project_id=4, project_name="Other team")
    with pytest.raises(FormRefused, check=says(Refusal.FORM_NOT_VALID, taken)):
        forms.create(ENTITY, 9, form(identifier="other"))


def test_the_same_form_again_finds_what_the_first_one_made(forms: ProjectForms, stand_in: StandIn) -> None:
    first, again = forms.create(ENTITY, 9, form()), forms.create(ENTITY, 9, form())
    assert (first.created, again.created) == (True, False)
    assert first.linked.mapping == again.linked.mapping
    assert len(projects(stand_in)) == 1


@pytest.mark.parametrize(
    "fault", ["reset_after", "close_after", "status_after", "garbage_after", "truncated_after"]
)
def test_a_lost_answer_is_looked_up_before_anything_is_sent_again(
    forms: ProjectForms, stand_in: StandIn, fault: str
) -> None:
    stand_in.fault(fault, method="POST", path="/projects.json", count=1)
    assert forms.create(ENTITY, 9, form()).linked.mapping.tracker_project_id == projects(stand_in)[0]["id"]
    assert len(projects(stand_in)) == 1
    assert creations(stand_in) == 1


@pytest.mark.parametrize(
    ("fault", "status"), [("status_after", 429), ("page_after", 302), ("page_after", 200)]
)
def test_an_answer_of_something_in_front_of_the_tracker_is_looked_up_before_anything_is_sent_again(
    forms: ProjectForms, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, fault: str, status: int
) -> None:
    stand_in.fault(fault, method="POST", path="/projects.json", count=1, status=status)
    claim = ProjectClaims.claim

    def claim_as_maintenance_begins(*args: Any, **more: Any) -> int | None:
        if fault == "page_after":
            stand_in.fault("page_before", method="GET", path="/users.json", count=1, status=status)
        return claim(*args, **more)

    monkeypatch.setattr(ProjectClaims, "claim", claim_as_maintenance_begins)
    made = forms.create(ENTITY, 9, form())
    assert made.linked.mapping.tracker_project_id == projects(stand_in)[0]["id"]
    assert creations(stand_in) == 1


def test_a_lost_question_is_sent_again_only_after_its_time(
    forms: ProjectForms, bridge: Bridge, stand_in: StandIn
) -> None:
    stand_in.fault("reset_before", method="POST", path="/projects.json", count=1)
    with pytest.raises(ProjectInDoubt, check=says(Refusal.PROJECT_IN_DOUBT)):
        forms.create(ENTITY, 9, form())
    with pytest.raises(ProjectInDoubt, check=says(Refusal.PROJECT_JUST_ASKED_FOR, seconds=30)):
        forms.create(ENTITY, 9, form())
    assert creations(stand_in) == 1
    settle(bridge)
    assert forms.create(ENTITY, 9, form()).created
    assert len(projects(stand_in)) == 1


def test_while_the_key_is_refused_nobody_is_told_that_their_own_project_is_somebody_elses(
    forms: ProjectForms, bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list is then the one for anonymous users: a private project is not in it."""
    stand_in.fault("reset_after", method="POST", path="/projects.json", count=1)
    with monkeypatch.context() as patch, pytest.raises(ProjectInDoubt):
        patch.setattr("producer.admin.projects.projects.find_project", lambda *_: None)
        forms.create(ENTITY, 9, form())
    settle(bridge)
    stand_in.settings(rest_enabled=False)
    with pytest.raises(TrackerClosed):
        forms.create(ENTITY, 9, form())
    stand_in.settings(rest_enabled=True)
    settle(bridge)
    found = forms.create(ENTITY, 9, form())
    assert found.linked.mapping.tracker_project_id == projects(stand_in)[0]["id"]


def test_a_form_whose_machine_slept_between_claim_and_call_sends_nothing(
    forms: ProjectForms, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The send window's clock runs on during the sleep, and was started before the claim was committed."""
    slept = 0.0
    monkeypatch.setattr(send_window, "_now", lambda: time.monotonic() + slept)
    claim = ProjectClaims.claim

    def claim_then_sleep(*args: Any, **kwargs: Any) -> int | None:
        nonlocal slept
        attempt = claim(*args, **kwargs)
        slept += 3600
        return attempt

    with monkeypatch.context() as patch, pytest.raises(LeaseExpired):
        patch.setattr(ProjectClaims, "claim", claim_then_sleep)
        forms.create(ENTITY, 9, form())
    assert creations(stand_in) == 0
    assert forms.create(ENTITY, 9, form()).created
    assert len(projects(stand_in)) == 1


def test_a_form_waits_for_the_rate_limit_before_its_claim(
    forms: ProjectForms, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def noted(kind: type, name: str) -> None:
        real = getattr(kind, name)

        def note(*args: Any, **more: Any) -> Any:
            order.append(name)
            return real(*args, **more)

        monkeypatch.setattr(kind, name, note)

    noted(ProjectClaims, "claim")
    noted(TrackerClient, "wait_for_rate_limit")
    noted(TrackerClient, "call")
    forms.create(ENTITY, 9, form())
    at = order.index("claim")
    assert order[at - 1 : at + 3] == ["wait_for_rate_limit", "claim", "call", "call"]


def test_a_project_that_appears_after_all_is_found_by_the_repeat(
    forms: ProjectForms, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.fault("reset_after", method="POST", path="/projects.json", count=1)
    answers = iter([None, None])
    with monkeypatch.context() as patch, pytest.raises(ProjectInDoubt):
        patch.setattr("producer.admin.projects.projects.find_project", lambda *_: next(answers))
        forms.create(ENTITY, 9, form())
    found = forms.create(ENTITY, 9, form())
    assert not found.created
    assert found.linked.mapping.tracker_project_id == projects(stand_in)[0]["id"]
    assert creations(stand_in) == 1


def test_a_tracker_that_is_away_leaves_the_identifier_free(bridge: Bridge, forms: ProjectForms) -> None:
    with StandIn(in_process=True) as other:
        address = other.base_url
    bridge.configure(base_url=address)
    with pytest.raises(TrackerUnreachable):
        forms.create(ENTITY, 9, form())


def test_twenty_identical_forms_at_once_make_one_project(forms: ProjectForms, stand_in: StandIn) -> None:
    stand_in.settings(duplicate_identifiers_race=True, latency_ms=10)
    with ThreadPoolExecutor(20) as pool:
        made = list(pool.map(lambda _: attempt(lambda: forms.create(ENTITY, 9, form())), range(20)))
    assert len(projects(stand_in)) == 1
    assert Counter(one.created if isinstance(one, Made) else str(one) for one in made) == {True: 1, False: 19}


def test_twenty_forms_at_once_make_one_project_without_redis_locks_too(
    forms: ProjectForms, bridge: Bridge, stand_in: StandIn
) -> None:
    """Redis may be emptied at any time: the claim in the database is the safeguard."""
    stand_in.settings(duplicate_identifiers_race=True, latency_ms=10)

    class NoLocks(Locks):
        def hold(self, name: str) -> Any:
            bridge.redis.flushdb()
            return super().hold(name)

    unlocked = ProjectForms(
        bridge.store, NoLocks(bridge.redis, 60), forms.connect, 15, bridge.notified.extend
    )
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda _: attempt(lambda: unlocked.create(ENTITY, 9, form())), range(20)))
    assert len(projects(stand_in)) == 1
    assert creations(stand_in) == 1


def test_two_entities_that_want_one_identifier_do_not_share_it(
    forms: ProjectForms, stand_in: StandIn
) -> None:
    forms.create(ENTITY, 9, form())
    with pytest.raises(FormRefused, check=says(Refusal.FORM_NOT_VALID, Invalid.IDENTIFIER_IN_USE)):
        forms.create(ENTITY, 10, form())
    assert len(projects(stand_in)) == 1


@pytest.mark.parametrize(
    ("project_id", "told"),
    [
        (6, Refusal.PROJECT_CLOSED_NOW),
        (7, Refusal.PROJECT_ARCHIVED_NOW),
        (999, Refusal.ID_NOT_ON_TRACKER),
    ],
)
def test_only_active_projects_can_be_linked(forms: ProjectForms, project_id: int, told: Refusal) -> None:
    """A closed project still exists: the tracker is asked about projects that the cache does not have."""
    with pytest.raises(NotFound, check=says(told)) as refused:
        forms.link(ProjectMapping(ENTITY, 9, project_id, None))
    if told is Refusal.ID_NOT_ON_TRACKER:
        assert any("Support" in one for one in refused.value.notice.params["choices"])


def test_a_category_that_was_made_since_is_not_read_yet(forms: ProjectForms, stand_in: StandIn) -> None:
    """The project is known, so the message belongs to the category field."""
    stand_in.patch("categories", 3, project_id=1)
    newer = says(Refusal.CATEGORY_NOT_READ_YET, category_id=3, project_id=1)
    with pytest.raises(NotFound, check=newer) as refused:
        forms.link(ProjectMapping(ENTITY, 9, 1, 3))
    assert refused.value.notice.code in OF_THE_CATEGORY


def test_a_kept_category_that_is_gone_is_named(forms: ProjectForms, stand_in: StandIn) -> None:
    """Reading the metadata again would not bring it back."""
    forms.link(ProjectMapping(ENTITY, 9, 1, 2))
    stand_in.patch("categories", 2, project_id=5)
    synchronise(forms.store, forms.locks, forms.connect)
    gone = says(Refusal.CATEGORY_NOT_OF_PROJECT, category_id=2, project_id=1)
    with pytest.raises(NotFound, check=gone):
        forms.link(ProjectMapping(ENTITY, 9, 1, None), keep_category=True)


def test_a_category_must_be_one_of_the_project(forms: ProjectForms) -> None:
    assert forms.link(ProjectMapping(ENTITY, 9, 1, 2)).linked.confirmed
    with pytest.raises(NotFound, check=says(Refusal.CATEGORY_NOT_OF_PROJECT, category_id=3)) as other:
        forms.link(ProjectMapping(ENTITY, 9, 1, 3))
    assert any("Hardware" in one for one in other.value.notice.params["choices"])
    with pytest.raises(NotFound, check=says(Refusal.PROJECT_WITHOUT_CATEGORIES, category_id=3)):
        forms.link(ProjectMapping(ENTITY, 9, 5, 3))
