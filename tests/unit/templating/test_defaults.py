"""The default templates produce exactly the 1.x bodies (SPEC section 9) for any event."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from producer.admin.projects.project_forms import ProjectForm
from producer.admin.templates.defaults import default_template
from shared.events.config import PluginConfig
from shared.events.payloads import (
    LONGEST_COMMENT,
    LONGEST_SUBJECT,
    issue_body,
    membership_body,
    status_body,
    time_entry_body,
)
from shared.events.snapshots import Ticket, TicketTask
from shared.notices.notice import Notice
from shared.notices.templates import TemplateWarning
from shared.templating.catalogue import ConfigPart, FormPart, catalogue_for, from_form, from_ticket, sample
from shared.templating.operations import OPERATIONS, CustomField, Operation
from shared.templating.render import Engine
from shared.values.characters import NOT_TEMPLATE_TEXT
from shared.values.validation import Id
from tests.unit.templating.support import PATIENTLY, PROFILE, still

pytestmark = PATIENTLY

DOCS = Path(__file__).resolve().parents[3] / "docs"
NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
IDS = st.integers(1, 2**63 - 1)
OPTIONAL_ID = st.none() | IDS
RICH = st.text(max_size=80) | st.lists(
    st.sampled_from(
        ["<p>", "</p>", "<b>", "</b>", "&amp;", "&lt;", " ", "\n", "\r\n", "\t", "{{ticket.id}}", "'", '"', "\\",
         "\\{{", "wörd", "e\u0301", "😀", "\u2028", "\xa0", "x" * 300,
         "\x00", "\x0b", "\x85", "<br>", "<li>a</li>", "#", "# ", "<b>", "<a href='/x'>y</a>",
         "<img alt='0123456789abcdef' src='/z'>"]
    ),
    max_size=14,
).map("".join)  # fmt: skip


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for any value of a setting's type."""
    if hint == Id:
        return IDS
    origin, within = get_origin(hint) or hint, get_args(hint)
    if origin is Annotated:
        return values_of(within[0])
    if origin in (Union, UnionType):
        return st.one_of(*map(values_of, within))
    if origin is Literal:
        return st.sampled_from(within)
    if origin is tuple:
        return st.lists(values_of(within[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(values_of(within[0]), values_of(within[1]), max_size=4)
    return {bool: st.booleans(), int: st.integers(0, 6), NoneType: st.none()}[origin]


HINTS = get_type_hints(PluginConfig, include_extras=True)
LIMITED = ("base_url", "document_max_mb", "document_refused_types")
"""Settings that do not accept every value of their type."""
CONFIGS = st.builds(
    PluginConfig, **{name: values_of(hint) for name, hint in HINTS.items() if name not in LIMITED}
)
NUMBER = st.none() | st.integers(0, 6)
FORMATS = st.sampled_from([None, "html", "plain"])
BASES = st.sampled_from([None, "https://glpi.example.org"])
TICKETS = st.builds(
    Ticket, content_format=FORMATS, helpdesk_url=BASES, id=IDS, title=RICH, content=st.none() | RICH,
    status=st.integers(-2, 7), entity_id=st.integers(0, 9), project_id=OPTIONAL_ID, technician=st.none(),
    urgency=NUMBER, impact=NUMBER, priority=NUMBER, type=NUMBER,
)  # fmt: skip
TASKS = st.builds(
    TicketTask, content_format=FORMATS, helpdesk_url=BASES, id=IDS, content=st.none() | RICH, state=st.just(2),
    actiontime=IDS, user=st.none(), date=st.none() | st.dates().map(str),
)  # fmt: skip
FORMS = st.fixed_dictionaries(
    {"name": RICH.map(lambda text: f"N{text}"[:255]), "identifier": st.text("abcXYZ0-_ ").map("i{}".format)},
    optional={
        "description": st.none() | RICH,
        "is_public": st.booleans(),
        "parent_id": OPTIONAL_ID,
        "enabled_module_names": st.none() | st.lists(st.sampled_from(["wiki", "news", "a\x00b"])),
        "custom_field_values": st.dictionaries(st.sampled_from(["1", "2", "30"]), RICH),
    },
)
REQUIRED = (
    CustomField(1, "Cause", "issue", "list", required=True, possible_values=("it's {{broken}}", "other")),
    CustomField(2, "Day", "issue", "date", required=True),
    CustomField(3, "Optional", "issue"),
    CustomField(4, "Areas", "issue", "list", required=True, possible_values=("a", "b"), multiple=True),
    CustomField(5, "Billed", "time_entry", "bool", required=True),
    CustomField(6, "Note", "time_entry", "string", required=True),
    CustomField(
        7, "Region", "project", "list", required=True, possible_values=("it's \\ {{North}}", "South")
    ),
    CustomField(8, "Floor", "project"),
    CustomField(9, "Preset", "issue", required=True, default_value="as always"),
)


def rendered(
    operation: Operation,
    context: dict[str, Any],
    fields: tuple[CustomField, ...] = (),
    warnings: tuple[Notice, ...] = (),
) -> dict[str, Any]:
    engine = Engine(catalogue_for(operation, fields), still)
    rendering = engine.render(default_template(operation, fields), context)
    assert rendering.warnings == warnings
    assert rendering.filled_in == ()
    return rendering.payload


def same(payload: object, body: object) -> bool:
    """Return whether both are sent identically, including types and the order of the fields."""
    return payload == body and json.dumps(payload) == json.dumps(body)


def test_every_setting_of_a_body_is_documented() -> None:
    page = (DOCS / "what-is-synced.md").read_text(encoding="utf-8")
    assert [name for name in ConfigPart.model_fields if not re.search(rf"\b{name}\b", page)] == []


class Watched(PluginConfig):
    """Redmine settings that record which of them are read."""

    read: ClassVar[set[str]] = set()

    def __getattribute__(self, name: str) -> Any:
        if name in PluginConfig.model_fields:
            Watched.read.add(name)
        return super().__getattribute__(name)


def settings_of_bodies() -> set[str]:
    """Return the settings that the 1.x bodies read, except `private_tasks`, which changes only texts."""
    context = sample(Operation.TIME_ENTRY_CREATE)
    Watched.read.clear()
    issue_body(Ticket.model_validate(context["ticket"]), 11, None, Watched())
    time_entry_body(4711, TicketTask.model_validate(context["task"]), 42, Watched())
    return Watched.read - {"private_tasks"}


def test_templates_can_read_every_setting_of_a_body() -> None:
    assert {"status_map", "default_activity_id"} <= settings_of_bodies() <= set(ConfigPart.model_fields)


def test_a_body_that_is_not_the_specification_s_is_a_deviation() -> None:
    pages = [
        (DOCS / "contributing" / page).read_text("utf-8") for page in ("specification.md", "deviations.md")
    ]
    found = [
        name for name in settings_of_bodies() if not any(re.search(rf"\b{name}\b", page) for page in pages)
    ]
    assert found == []


@PROFILE
@given(TICKETS, CONFIGS, IDS, OPTIONAL_ID)
@example(Ticket(id=1, title=" \u200b ", content="", status=5, entity_id=0), PluginConfig(), 1, None)
def test_an_issue_is_as_in_1_x(
    ticket: Ticket, config: PluginConfig, project_id: int, category_id: int | None
) -> None:
    context = from_ticket(
        ticket, None, config, occurred_at=NOW, tracker_project_id=project_id, default_category_id=category_id
    )
    assert same(
        rendered(Operation.ISSUE_CREATE, context), issue_body(ticket, project_id, category_id, config)
    )


@PROFILE
@given(TICKETS, TASKS, CONFIGS, IDS)
@example(
    Ticket(id=1, title="", status=5, entity_id=0),
    TicketTask(id=1, content="<br>", state=2, actiontime=2**63 - 1),
    PluginConfig(),
    1,
)
def test_a_time_entry_is_as_in_1_x(
    ticket: Ticket, task: TicketTask, config: PluginConfig, issue_id: int
) -> None:
    context = from_ticket(ticket, task, config, occurred_at=NOW, tracker_project_id=11, issue_id=issue_id)
    assert same(
        rendered(Operation.TIME_ENTRY_CREATE, context), time_entry_body(ticket.id, task, issue_id, config)
    )


@PROFILE
@given(TICKETS, CONFIGS, IDS)
def test_a_status_is_as_in_1_x_and_nothing_where_it_is_not_mapped(
    ticket: Ticket, config: PluginConfig, issue_id: int
) -> None:
    operation = Operation.ISSUE_UPDATE_STATUS
    context = from_ticket(ticket, None, config, occurred_at=NOW, tracker_project_id=11, issue_id=issue_id)
    wanted = config.status_map.get(ticket.status)
    if wanted is None:
        missing = (TemplateWarning.FIELD_NOT_SENT(field="issue.status_id"),)
        assert rendered(operation, context, warnings=missing) == {"issue": {}}
    else:
        assert same(rendered(operation, context), status_body(wanted))


@PROFILE
@given(TICKETS, CONFIGS, IDS, IDS)
def test_a_membership_is_as_in_1_x(ticket: Ticket, config: PluginConfig, role_id: int, user_id: int) -> None:
    config = config.model_copy(update={"default_role_id": role_id})
    context = from_ticket(
        ticket, None, config, occurred_at=NOW, tracker_project_id=11, tracker_user_id=user_id
    )
    member = membership_body(user_id, role_id)
    assert same(rendered(Operation.MEMBERSHIP_CREATE, context), member)


@PROFILE
@given(FORMS, CONFIGS)
@example(
    {
        "name": "N",
        "identifier": "I",
        "description": "",
        "enabled_module_names": [],
        "custom_field_values": {"1": ""},
    },
    PluginConfig(),
)
def test_a_project_is_as_in_1_x(typed: dict[str, Any], config: PluginConfig) -> None:
    form = ProjectForm.of(typed)
    context = from_form(FormPart.model_validate(form), config)
    assert same(rendered(Operation.PROJECT_CREATE, context), form.body())


@pytest.mark.parametrize("url", [None, "https://glpi.example.org/front/ticket.form.php?id=4711"])
def test_a_template_with_the_ticket_tells_its_number_and_leads_back_to_it(url: str | None) -> None:
    context = from_ticket(
        Ticket(id=4711, title="Printer <b>on</b> fire", content="It burns", status=1, entity_id=3, url=url),
        TicketTask(id=5, content=None, state=2, actiontime=60),
        PluginConfig(),
        occurred_at=NOW,
        tracker_project_id=11,
        issue_id=42,
    )

    def rendered(operation: Operation) -> dict[str, Any]:
        body = default_template(operation, with_ticket=True)
        payload = Engine(catalogue_for(operation)).render(body, context).payload
        fields: dict[str, Any] = payload[operation.top_key]
        return fields

    issue = rendered(Operation.ISSUE_CREATE)
    assert issue["subject"] == "[GLPI 4711] Printer <b>on</b> fire"
    assert issue["description"] == "\n\n".join([*([url] if url else []), "It burns"])
    assert issue["project_id"] == 11
    assert rendered(Operation.TIME_ENTRY_CREATE)["comments"] == "GLPI 4711: Work"


def test_a_template_with_the_ticket_escapes_what_redmine_would_format_and_leaves_the_link_a_link() -> None:
    url = "https://glpi.example.org/front/ticket.form.php?id=4711"
    ticket = Ticket(
        id=4711, title="x", content="<p># restart</p>", content_format="html", status=1, entity_id=3, url=url
    )
    config = PluginConfig(text_formatting="common_mark")
    context = from_ticket(ticket, None, config, occurred_at=NOW, tracker_project_id=11)
    body = default_template(Operation.ISSUE_CREATE, with_ticket=True)
    issue = Engine(catalogue_for(Operation.ISSUE_CREATE)).render(body, context).payload["issue"]
    assert issue["description"] == f"{url}\n\n\\# restart"


def test_a_template_with_the_ticket_fits_however_long_its_texts_are() -> None:
    longest = Ticket(id=2**63 - 1, title="x" * 300, content="x", status=1, entity_id=3)
    task = TicketTask(id=5, content="y" * 2000, state=2, actiontime=60)
    context = from_ticket(longest, task, PluginConfig(), occurred_at=NOW, tracker_project_id=11, issue_id=42)
    for operation, field, most in (
        (Operation.ISSUE_CREATE, "subject", LONGEST_SUBJECT),
        (Operation.TIME_ENTRY_CREATE, "comments", LONGEST_COMMENT),
    ):
        body = default_template(operation, with_ticket=True)
        rendering = Engine(catalogue_for(operation)).render(body, context)
        assert len(rendering.payload[operation.top_key][field]) <= most
        assert not rendering.warnings


def test_control_characters_of_a_form_are_left_out() -> None:
    typed = "a\x00\x0b\r\nb\tc\x7f"
    form = ProjectForm.of(
        {
            "name": typed,
            "identifier": f"{typed} ",
            "description": typed,
            "enabled_module_names": [typed],
            "custom_field_values": {"7": typed},
        }
    )
    clean = "a\nb\tc"
    assert form.body()["project"] == {
        "name": clean,
        "identifier": clean,
        "description": clean,
        "is_public": False,
        "enabled_module_names": [clean],
        "custom_field_values": {"7": clean},
    }


def test_required_custom_fields_are_merged_into_an_issue() -> None:
    operation = Operation.ISSUE_CREATE
    plain = rendered(operation, sample(operation))
    merged = rendered(operation, sample(operation), REQUIRED)
    assert merged["issue"].pop("custom_fields") == [
        {"id": 1, "value": "it's {{broken}}"},
        {"id": 2, "value": "2026-11-21"},
        {"id": 4, "value": ["a"]},
        {"id": 9, "value": "as always"},
    ]
    assert merged == plain


def test_required_custom_fields_are_merged_into_a_time_entry() -> None:
    operation = Operation.TIME_ENTRY_CREATE
    assert rendered(operation, sample(operation), REQUIRED)["time_entry"]["custom_fields"] == [
        {"id": 5, "value": "0"},
        {"id": 6, "value": "Ticket #4711"},
    ]


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ({}, {"7": "it's \\ {{North}}"}),
        ({"7": "South"}, {"7": "South"}),
        ({"8": "2nd"}, {"7": "it's \\ {{North}}", "8": "2nd"}),
    ],
)
def test_custom_fields_of_a_project_come_from_the_form(typed: dict[str, str], sent: dict[str, str]) -> None:
    operation = Operation.PROJECT_CREATE
    context = from_form(FormPart(name="N", identifier="n", custom_field_values=typed), PluginConfig())
    engine = Engine(catalogue_for(operation, REQUIRED))
    payload = engine.render(default_template(operation, REQUIRED), context).payload
    assert payload["project"]["custom_field_values"] == sent


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_default_template_is_json_for_people(operation: Operation) -> None:
    text = default_template(operation)
    assert list(json.loads(text)) == [operation.top_key]
    assert text.count("\n") > 2


@pytest.mark.slow
@PROFILE
@given(RICH.filter(bool), st.booleans())
def test_a_preset_of_a_required_field_is_sent_as_it_is(preset: str, multiple: bool) -> None:
    sent = NOT_TEMPLATE_TEXT.sub("", preset)
    of_issue = CustomField(1, "A", "issue", required=True, default_value=preset, multiple=multiple)
    found = rendered(Operation.ISSUE_CREATE, sample(Operation.ISSUE_CREATE), (of_issue,))["issue"]
    assert found["custom_fields"] == [{"id": 1, "value": [sent] if multiple else sent}]
    of_project = CustomField(2, "B", "project", required=True, default_value=preset)
    context = from_form(FormPart(name="N", identifier="n"), PluginConfig())
    found = rendered(Operation.PROJECT_CREATE, context, (of_project,))["project"]
    assert found["custom_field_values"] == {"2": sent}


def test_a_status_update_has_no_required_custom_fields() -> None:
    assert default_template("issue.update_status", REQUIRED) == default_template("issue.update_status")


@pytest.mark.parametrize("count", [93, 94, 95, 300])
def test_a_generated_template_is_within_the_limits_however_many_fields_there_are(count: int) -> None:
    fields = tuple(
        CustomField(number, f"F{number}", "project", required=True) for number in range(1, count + 1)
    )
    template = default_template(Operation.PROJECT_CREATE, fields)
    Engine(catalogue_for(Operation.PROJECT_CREATE, fields)).check(template)
