"""Active templates in the worker: what is sent and reported, and that no guarantee depends on them (SPEC section 9)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.projects.project_forms import FormRefused, ProjectForm
from producer.admin.projects.projects import ProjectForms
from producer.admin.templates.templates import TemplateStore
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.metadata.synchronisation import synchronise
from shared.notices.cautions import Caution
from shared.notices.hints import Hint
from shared.notices.reasons import Reason
from shared.notices.refusals import Refusal
from shared.redis.locks import Locks
from shared.store.configuration.mappings import MappingKind
from tests.support.bridge import DEVELOPER, Bridge
from tests.support.events import BOB, followup_event, solution_event, task, task_event, ticket, ticket_event
from tests.support.ledger import notes_of
from tests.support.refusals import says

PRIVATE, PUBLIC = 1, 2
NEW, ASSIGNED, FEEDBACK = 1, 2, 4
MANAGER = 3
OBJECTS = {"note.create": "issue"}


def activate(bridge: Bridge, operation: str, **members: Any) -> None:
    """Activate a template whose object has these members."""
    store = TemplateStore(bridge.store)
    body = json.dumps({OBJECTS.get(operation, operation.partition(".")[0]): members})
    store.activate(store.create(operation, "of the test", body, "a test").id, "a test")


def ours(stand_in: StandIn) -> list[dict[str, Any]]:
    """Return the issues that are not seed data."""
    return [issue for issue in stand_in.state()["issues"] if issue["id"] > 5]


def sent(stand_in: StandIn, method: str, path: str) -> list[dict[str, Any]]:
    """Return the bodies of the requests with this method and path."""
    return [one["body"] for one in stand_in.requests() if (one["method"], one["path"]) == (method, path)]


def test_what_an_active_template_gives_is_sent(bridge: Bridge, stand_in: StandIn) -> None:
    activate(
        bridge,
        "issue.create",
        subject="[{{ticket.id}}] {{ticket.title}}",
        priority_id="{{ticket.status | map: 2 5 4}}",
    )
    activate(bridge, "time_entry.create", comments="{{person.login}}: {{task.content | plain}}", hours=2)
    assert bridge.forward(task_event()) == ["done"]
    assert sent(stand_in, "POST", "/issues.json") == [
        {"issue": {"subject": "[4711] Printer 4711 on fire", "priority_id": 5, "project_id": 1}}
    ]
    (entry,) = sent(stand_in, "POST", "/time_entries.json")
    assert entry == {"time_entry": {"comments": "alice: Extinguished 512", "hours": 2, "issue_id": 6}}
    told = [step for step in bridge.steps() if "from template" in step]
    assert told[0].startswith("Body of issue.create from template 1 (of the test), version 1")


def test_the_context_knows_the_project_the_person_and_the_event(bridge: Bridge, stand_in: StandIn) -> None:
    about_person = ("person.login", "person.tracker_user_id", "ticket.technician.email")
    names = ("event.name", "event.occurred_at", "task.id", *about_person)
    activate(bridge, "issue.create", subject=" ".join(f"{{{{{name}}}}}" for name in names))
    bridge.forward(task_event())
    assert ours(stand_in)[0]["subject"] == (
        "ticket_task.updated 2026-01-05T09:00:00Z 512 alice 5 alice@example.test"
    )


def test_a_template_that_fails_is_told_and_the_standard_body_is_sent(
    bridge: Bridge, stand_in: StandIn
) -> None:
    activate(bridge, "issue.create", subject="a", priority_id="{{ticket.title}}")
    activate(bridge, "time_entry.create", issue_id=5)
    assert bridge.forward(task_event()) == ["done"]
    (body,) = sent(stand_in, "POST", "/issues.json")
    assert body["issue"]["subject"] == "Printer 4711 on fire"
    assert sent(stand_in, "POST", "/time_entries.json")[0]["time_entry"]["issue_id"] == 6
    told = [step for step in bridge.steps() if "failed; deskbridge sent the standard body" in step]
    assert "priority_id must be an integer" in told[0]
    assert "issue_id must be the ticket's issue" in told[1]
    assert "Printer" not in told[0]


def test_an_issue_may_go_elsewhere_than_the_link_leads(bridge: Bridge, stand_in: StandIn) -> None:
    activate(bridge, "issue.create", subject="a", project_id=PUBLIC)
    bridge.forward(task_event())
    assert ours(stand_in)[0]["project_id"] == PUBLIC
    assert sent(stand_in, "POST", f"/projects/{PUBLIC}/memberships.json")
    (entry,) = stand_in.state()["time_entries"]
    assert (entry["user"], entry["project_id"]) == ("alice", PUBLIC)


def test_an_issue_that_went_elsewhere_is_looked_up_there(bridge: Bridge, stand_in: StandIn) -> None:
    activate(bridge, "issue.create", subject="{{ticket.title}}", project_id=PUBLIC)
    stand_in.fault("reset_after", method="POST", path="/issues.json")
    (event_id,) = bridge.receive(task_event())
    for _ in range(3):
        bridge.sync()
        bridge.hurry()
    assert bridge.event(event_id).state == "done", bridge.steps()
    assert [issue["project_id"] for issue in ours(stand_in)] == [PUBLIC]


def test_equal_tickets_of_a_template_are_told_apart_when_answers_are_lost(
    bridge: Bridge, stand_in: StandIn
) -> None:
    activate(bridge, "issue.create", subject="always the same")
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=2)
    for number in (1, 2, 3):
        bridge.receive(task_event(of_ticket=ticket(number), of_task=task(number)))
        bridge.sync(number)
    for _ in range(3):
        bridge.hurry()
        for number in (1, 2, 3):
            bridge.sync(number)
    assert len(ours(stand_in)) == 3
    assert len(stand_in.state()["time_entries"]) == 3


def test_a_status_template_decides_which_status_is_given(bridge: Bridge, stand_in: StandIn) -> None:
    activate(bridge, "issue.update_status", status_id="{{ticket.status | map: 2 4 7 5}}", done_ratio=50)
    bridge.forward(task_event(0))
    assert sent(stand_in, "PUT", "/issues/6.json") == [{"issue": {"status_id": FEEDBACK, "done_ratio": 50}}]
    bridge.forward(ticket_event(5, of_ticket=ticket(status=7)))
    assert ours(stand_in)[0]["status_id"] == 5, "7 is not in status_map, but the template knows it"


def test_a_status_that_only_a_template_knows_is_given_to_a_new_issue_too(
    bridge: Bridge, stand_in: StandIn
) -> None:
    activate(bridge, "issue.update_status", status_id="{{ticket.status | map: 7 5}}")
    bridge.forward(task_event(0, of_ticket=ticket(status=7)))
    assert ours(stand_in)[0]["status_id"] == 5


def test_a_status_template_that_gives_nothing_sends_nothing(bridge: Bridge, stand_in: StandIn) -> None:
    activate(bridge, "issue.update_status", status_id="{{ticket.status | map: 5 3}}")
    assert bridge.forward(task_event(0), ticket_event(1)) == ["done", "skipped"]
    assert not sent(stand_in, "PUT", "/issues/6.json")
    assert bridge.event(2).notice == Reason.STATUS_NOT_IN_TEMPLATE(status=2)


def test_an_update_without_a_status_is_not_told_as_one(bridge: Bridge, stand_in: StandIn) -> None:
    activate(bridge, "issue.update_status", notes="{{ticket.title}}")
    bridge.forward(task_event(0), ticket_event(1))
    assert sent(stand_in, "PUT", "/issues/6.json") == [{"issue": {"notes": "Printer 4711 on fire"}}]
    assert bridge.event(2).notice == Reason.ISSUE_UPDATED(issue_id=6)


def test_a_template_that_leaves_the_status_out_leaves_it_to_the_tracker(
    bridge: Bridge, stand_in: StandIn
) -> None:
    activate(bridge, "issue.create", subject="a")
    bridge.forward(task_event(0))
    assert ours(stand_in)[0]["status_id"] == NEW
    bridge.forward(ticket_event(5))
    assert ours(stand_in)[0]["status_id"] == ASSIGNED, "a ticket update keeps it in step"


def test_a_status_that_the_tracker_ignored_at_creation_is_given_afterwards(
    bridge: Bridge, stand_in: StandIn
) -> None:
    activate(bridge, "issue.create", subject="a", status_id="{{status.mapped_id}}")
    bridge.forward(task_event(0))
    assert ours(stand_in)[0]["status_id"] == ASSIGNED


def test_a_refusal_is_explained_in_words_that_do_not_depend_on_the_trackers_language(
    bridge: Bridge, stand_in: StandIn
) -> None:
    forms_of(bridge)  # fills the cache
    activate(bridge, "time_entry.create", activity_id=999)
    assert bridge.forward(task_event()) == ["failed"]
    (told,) = [step for step in bridge.steps() if "Possible cause of the rejection" in step]
    assert "time_entry.activity_id" in told
    assert "KB-HINT-002" in told


def test_a_membership_template_decides_the_role_and_never_the_person(
    bridge: Bridge, stand_in: StandIn
) -> None:
    bridge.configure(template_role_ids=[MANAGER])
    activate(bridge, "membership.create", role_ids=[MANAGER])
    bridge.forward(task_event())
    path = "/projects/1/memberships.json"
    assert sent(stand_in, "POST", path)[0] == {"membership": {"role_ids": [MANAGER], "user_id": 5}}
    activate_another = TemplateStore(bridge.store)
    made = activate_another.create("membership.create", "another's", '{"membership": {"user_id": 1}}', "a")
    activate_another.activate(made.id, "a test")
    bridge.forward(task_event(1, of_ticket=ticket(2, technician=BOB), of_task=task(2, user=BOB)), ticket_id=2)
    assert sent(stand_in, "POST", path)[-1] == {"membership": {"user_id": 6, "role_ids": [DEVELOPER]}}


def forms_of(bridge: Bridge) -> ProjectForms:
    """Return the forms of a deskbridge whose metadata cache is filled."""
    connect = Connector(bridge.store, Vault(bridge.settings.secret_keys)).connect
    locks = Locks(bridge.redis, 60)
    assert synchronise(bridge.store, locks, connect)
    return ProjectForms(bridge.store, locks, connect, bridge.settings.settling_time, bridge.notified.extend)


def test_a_project_template_names_the_project_and_a_repeat_makes_no_second_one(
    bridge: Bridge, stand_in: StandIn
) -> None:
    forms = forms_of(bridge)
    activate(bridge, "project.create", name="{{form.name}} (helpdesk)", identifier="hd-{{form.identifier}}")
    form = ProjectForm.of({"name": "Lab", "identifier": "lab"})
    first, second = (forms.create(MappingKind.ENTITY, 9, form) for _ in range(2))
    assert (first.created, second.created) == (True, False)
    assert first.linked.mapping.tracker_project_id == second.linked.mapping.tracker_project_id
    (made,) = [one for one in stand_in.state()["projects"] if one["identifier"] == "hd-lab"]
    assert made["name"] == "Lab (helpdesk)"


def test_a_project_template_that_fails_is_told_at_the_form(bridge: Bridge, stand_in: StandIn) -> None:
    forms = forms_of(bridge)
    activate(bridge, "project.create", name="{{form.name}}", parent_id="{{form.name}}")
    made = forms.create(MappingKind.ENTITY, 9, ProjectForm.of({"name": "Lab", "identifier": "lab"}))
    (told,) = made.warnings
    assert made.created
    assert told.code == Caution.FORM_SENT_AS_IT_IS
    assert told.params["problem"].params["line"] == 1


def test_a_project_template_can_fill_a_required_field_that_the_form_lacks(
    bridge: Bridge, stand_in: StandIn
) -> None:
    stand_in.settings(required_custom_fields=[2])
    forms = forms_of(bridge)
    form = ProjectForm.of({"name": "Lab", "identifier": "lab"})
    with pytest.raises(FormRefused, check=says(Refusal.FORM_NOT_VALID, Hint.CUSTOM_FIELD_REQUIRED)):
        forms.create(MappingKind.ENTITY, 9, form)
    activate(
        bridge,
        "project.create",
        name="{{form.name}}",
        identifier="{{form.identifier}}",
        custom_field_values={"2": "CC-1"},
    )
    assert forms.create(MappingKind.ENTITY, 9, form).created


def test_a_project_template_whose_identifier_cannot_be_is_refused_before_anything_is_sent(
    bridge: Bridge, stand_in: StandIn
) -> None:
    forms = forms_of(bridge)
    activate(bridge, "project.create", name="{{form.name}}", identifier="{{form.name}}")
    with pytest.raises(FormRefused, check=says(Refusal.FORM_NOT_VALID, Hint.IDENTIFIER_NOT_VALID)):
        forms.create(MappingKind.ENTITY, 9, ProjectForm.of({"name": "Lab Nord", "identifier": "lab"}))
    assert not sent(stand_in, "POST", "/projects.json")


def test_a_template_can_mark_the_note_of_a_solution(bridge: Bridge, stand_in: StandIn) -> None:
    bridge.configure(sync_followups="all", sync_solutions="on")
    mark = "{{#if (eq event.name 'solution.added')}}Solution: {{/if}}"
    activate(bridge, "note.create", notes=mark + "{{note.content | plain}}")
    assert bridge.forward(task_event(), followup_event(1), solution_event(2)) == ["done"] * 3
    assert [text for _, text, _ in notes_of(stand_in)] == ["Toner 77 ordered", "Solution: Toner replaced"]
