"""Templates can read every variable of the contract and no secret, and the catalogue lists those variables."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shared.events.config import PluginConfig
from shared.events.event import Event
from shared.events.parsing import parse_event
from shared.events.snapshots import (
    HelpdeskUser,
    Named,
    Ticket,
    TicketTask,
)
from shared.templating.catalogue import (
    Context,
    FormPart,
    HelpdeskPerson,
    NamedPart,
    TaskPart,
    TicketPart,
    catalogue_for,
    from_form,
    from_ticket,
    sample,
)
from shared.templating.operations import OPERATIONS, CustomField, Operation
from shared.templating.render import Engine
from shared.templating.values import follow, plain
from tests.support import events

CONFIG = PluginConfig(
    base_url="https://redmine.example.test", default_tracker_id=3, default_priority_id=2, default_activity_id=9,
    default_role_id=4, default_watcher_ids=(5, 6), status_map={2: 4},
)  # fmt: skip
AGREED = [
    "ticket.id",
    "ticket.title",
    "ticket.content",
    "ticket.status",
    "ticket.entity_id",
    "ticket.project_id",
    "ticket.technician.id",
    "ticket.technician.email",
    "task.id",
    "task.content",
    "task.state",
    "task.actiontime",
    "task.date",
    "task.user.id",
    "task.user.email",
    "project.tracker_project_id",
    "project.default_category_id",
    "project.name",
    "issue.id",
    "config.default_tracker_id",
    "config.default_priority_id",
    "config.default_activity_id",
    "config.default_role_id",
    "config.default_watcher_ids",
    "config.status_map",
    "config.done_state",
    "status.mapped_id",
    "person.tracker_user_id",
    "person.login",
    "event.occurred_at",
]
RICH_TICKET: dict[str, Any] = {
    "url": "https://glpi.example.org/front/ticket.form.php?id=4711", "urgency": 4, "impact": 3, "priority": 5,
    "type": 1, "category": {"id": 12, "name": "Printers"}, "location": {"id": 2, "name": "2nd floor"},
    "requester": {"id": 9, "email": "bert@example.test", "name": "Bert Brown"},
    "groups": [{"id": 6, "name": "Second level"}, {"id": 7, "name": "Field"}], "external_id": "ACME-77",
    "time_to_resolve": "2026-11-24T17:00:00+00:00", "entity_name": "Acme", "project_id": 40, "project_name": "Move",
    "other_project_ids": [41], "is_deleted": False, "is_merged": False,
}  # fmt: skip
REGION = CustomField(7, "Region", "project", "list", required=True, possible_values=("North", "South"))


def from_event(event: Event, config: PluginConfig, **known: Any) -> Context:
    return from_ticket(
        event.ticket,
        event.task,
        config,
        occurred_at=event.occurred_at,
        event_name=event.event,
        tracker_project_id=11,
        **known,
    )


def known(part: Any) -> Any:
    """Return part of a context without its null values."""
    if isinstance(part, dict):
        return {name: known(value) for name, value in part.items() if value is not None}
    return [known(one) for one in part] if isinstance(part, list) else part


def event() -> Event:
    return parse_event(events.task_event())


@pytest.mark.parametrize("operation", [one for one in OPERATIONS if not one.from_form])
def test_every_variable_of_the_contract_is_there(operation: Operation) -> None:
    assert set(AGREED) <= {one.path for one in catalogue_for(operation).variables}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_variable_is_described_and_has_a_sample(operation: Operation) -> None:
    for variable in catalogue_for(operation, (REGION,)).variables:
        assert variable.description, variable.path
        if variable.type != "object":
            found, value = follow(sample(operation, (REGION,)), tuple(variable.path.split(".")))
            assert found
            assert value == variable.sample


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_variable_of_the_catalogue_can_be_used(operation: Operation) -> None:
    paths = [one.path for one in catalogue_for(operation).variables]
    for start in range(0, len(paths), 90):
        members = {path: f"{{{{{path}}}}}" for path in paths[start : start + 90]}
        rendering = Engine(catalogue_for(operation)).render(
            json.dumps({operation.top_key: members}), sample(operation)
        )
        assert set(members) <= set(rendering.payload[operation.top_key])


def test_a_context_is_made_of_an_event() -> None:
    context = from_event(event(), CONFIG, default_category_id=5, issue_id=42, login="alice")
    assert known(context["ticket"]) == known(events.ticket())
    assert known(context["task"]) == events.task()
    assert context["project"] == {"tracker_project_id": 11, "default_category_id": 5, "name": None}
    assert context["issue"] == {"id": 42}
    assert context["status"] == {"mapped_id": 4}
    assert context["person"] == {"tracker_user_id": None, "login": "alice"}
    assert context["config"]["status_map"] == {"2": 4}
    assert context["config"]["default_watcher_ids"] == [5, 6]
    assert context["event"] == {"name": "ticket_task.updated", "occurred_at": events.moment(0)}


def test_everything_that_a_ticket_may_say_can_be_used_in_a_template() -> None:
    told = {**RICH_TICKET, "technician": {**events.ALICE, "name": "Alice Archer"}}
    context = from_event(parse_event(events.task_event(of_ticket=events.ticket(**told))), CONFIG)
    assert known(context["ticket"]) == known(events.ticket(**told))
    members = {
        "link": "{{ticket.url}}",
        "who": "{{ticket.requester.name}} ({{ticket.category.name}})",
        "groups": "{{#each ticket.groups}}{{this.name}};{{/each}}",
        "first": "{{ticket.groups.0.id}}",
        "due": "{{ticket.time_to_resolve | date: '%d.%m.%Y'}}",
    }
    engine = Engine(catalogue_for("issue.create"))
    rendered = engine.render(json.dumps({"issue": members}), context).payload["issue"]
    assert {name: rendered[name] for name in members} == {
        "link": RICH_TICKET["url"],
        "who": "Bert Brown (Printers)",
        "groups": "Second level;Field;",
        "first": 6,
        "due": "24.11.2026",
    }


@pytest.mark.parametrize("private_tasks", ["hours_only", "send", "skip"])
def test_a_template_is_given_the_text_of_a_private_task_only_if_that_is_sent(private_tasks: str) -> None:
    config = PluginConfig.model_validate({"private_tasks": private_tasks})
    private = parse_event(events.task_event(of_task=events.task(is_private=True)))
    expected = events.task()["content"] if private_tasks == "send" else None
    assert from_event(private, config)["task"]["content"] == expected
    assert from_event(event(), config)["task"]["content"] == events.task()["content"]


def test_a_context_is_made_of_a_ticket_update() -> None:
    context = from_event(
        parse_event(events.ticket_event(of_ticket=events.ticket(technician=None))),
        CONFIG,
    )
    assert context["task"] is None
    assert context["ticket"]["technician"] is None


def test_a_context_is_plain_data() -> None:
    form = FormPart(name="N", identifier="n", custom_field_values={"7": "x"}, enabled_module_names=["wiki"])
    for context in (from_event(event(), CONFIG), from_form(form, CONFIG)):
        assert plain(context) == context
        assert json.loads(json.dumps(context)) == context


def test_a_context_holds_no_secret_and_no_address() -> None:
    context = from_event(event(), CONFIG)
    assert set(context["config"]) <= set(PluginConfig.model_fields)
    names = " ".join(one.path for operation in OPERATIONS for one in catalogue_for(operation).variables)
    assert not any(word in names for word in ("api_key", "secret", "password", "base_url", "token"))


def test_no_field_of_an_event_is_forgotten() -> None:
    assert set(Ticket.model_fields) == set(TicketPart.model_fields)
    assert set(TicketTask.model_fields) == set(TaskPart.model_fields)
    assert set(HelpdeskUser.model_fields) == set(HelpdeskPerson.model_fields)
    assert set(Named.model_fields) == set(NamedPart.model_fields)


def test_the_catalogue_knows_the_custom_fields_of_a_new_project() -> None:
    issue_field = CustomField(8, "Cause", "issue")
    catalogue = catalogue_for("project.create", (REGION, issue_field))
    assert catalogue.variables[-1].path == "form.custom_field_values.7"
    assert catalogue.variables[-1].sample == "North"
    assert catalogue.version != catalogue_for("project.create").version


def test_the_version_of_a_catalogue_is_the_same_for_the_same_variables() -> None:
    assert catalogue_for("issue.create").version == catalogue_for("issue.create").version
    assert len({catalogue_for(operation).version for operation in OPERATIONS}) == len(OPERATIONS)


def test_there_is_no_catalogue_of_what_is_no_operation() -> None:
    with pytest.raises(ValueError, match="nothing"):
        catalogue_for("nothing")
