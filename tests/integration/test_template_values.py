"""Closed lists and custom fields of templates are checked against the metadata on saving and in previews."""

from __future__ import annotations

import json
from typing import Any

import pytest

from producer.admin.templates.preview import preview
from producer.admin.templates.templates import TemplateStore
from shared.notices.faults import Detail
from shared.notices.hints import Hint
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.templating.operations import Operation
from tests.support.bridge import Bridge


def custom_field(field_id: int, name: str, field_format: str, *choices: str) -> Entry:
    details = {
        "customized_type": "issue",
        "field_format": field_format,
        "is_required": False,
        "multiple": False,
        "default_value": None,
        "possible_values": [{"value": one, "label": one} for one in choices],
        "tracker_ids": [],
    }
    return Entry(MetadataKind.CUSTOM_FIELD, field_id, name, details)


@pytest.fixture
def knowing(bridge: Bridge) -> Bridge:
    with bridge.store.transaction() as tx:
        tx.metadata.put(
            [
                Entry(MetadataKind.PRIORITY, 2, "Normal", {"active": True, "is_default": True}),
                Entry(MetadataKind.PROJECT, 1, "Support", {"identifier": "support", "is_public": False}),
                Entry(MetadataKind.CATEGORY, 2, "Software", {}, 1),
                Entry(MetadataKind.CATEGORY, 3, "Other", {}, 4),
                Entry(MetadataKind.ROLE, 4, "Developer", {}),
                Entry(MetadataKind.STATUS, 1, "New", {"is_closed": False}),
                custom_field(3, "Channel", "list", "phone", "mail"),
                custom_field(4, "Seen on", "date"),
                custom_field(5, "Count", "int"),
            ]
        )
    return bridge


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"priority_id": 99}, "99"),
    ({"status_id": 77}, "77"),
    ({"project_id": 1, "category_id": 3}, "3"),
    ({"custom_fields": [{"id": 3, "value": "fax"}]}, "Channel"),
    ({"custom_fields": [{"id": 4, "value": "soon"}]}, "Seen on"),
    ({"custom_fields": [{"id": 3, "value": "{{ticket.title}}"}, {"id": 5, "value": "many"}]}, "Count"),
]
RIGHT: dict[str, Any] = {
    "priority_id": 2,
    "status_id": "{{status.mapped_id}}",
    "custom_fields": [{"id": 3, "value": "mail"}, {"id": 4, "value": "2026-11-21"}, {"id": 5, "value": "7"}],
}


def kept(
    bridge: Bridge, members: dict[str, Any], operation: Operation = Operation.ISSUE_CREATE
) -> str | None:
    body = json.dumps({operation.top_key: members}, indent=1)
    fault = TemplateStore(bridge.store).create(operation, "of the test", body, "a test").fault
    assert fault is None or fault.line > 1
    return fault.message if fault else None


@pytest.mark.parametrize(("members", "named"), WRONG)
def test_a_constant_that_the_tracker_would_refuse_makes_a_draft(
    knowing: Bridge, members: dict[str, Any], named: str
) -> None:
    fault = kept(knowing, members)
    assert fault
    assert named in fault


@pytest.mark.parametrize(
    "members",
    [
        RIGHT,
        {},
        {"priority_id": "{{ticket.status}}"},
        {"project_id": 1, "category_id": 2},
        {"category_id": 3},
    ],
)
def test_what_the_tracker_takes_and_what_is_rendered_only_later_is_no_fault(
    knowing: Bridge, members: dict[str, Any]
) -> None:
    assert kept(knowing, members) is None


@pytest.mark.parametrize(
    ("role_ids", "is_fault"),
    [([9], True), ([4], False), ([4, 9], False), (["{{config.default_role_id}}"], False)],
)
def test_a_membership_needs_one_role_that_the_tracker_has(
    knowing: Bridge, role_ids: list[Any], is_fault: bool
) -> None:
    fault = kept(knowing, {"user_id": 5, "role_ids": role_ids}, Operation.MEMBERSHIP_CREATE)
    assert (fault is not None) is is_fault, fault
    assert not fault or "Developer" in fault


def test_an_empty_cache_finds_no_fault(bridge: Bridge) -> None:
    assert kept(bridge, {"priority_id": 99}) is None


def test_a_preview_warns_of_a_rendered_value_that_the_tracker_would_refuse(knowing: Bridge) -> None:
    body = json.dumps({"issue": {"custom_fields": [{"id": 3, "value": "{{ticket.title}}"}]}})
    warnings = preview(knowing.store, Operation.ISSUE_CREATE, body).notices
    assert [one.params["problem"].code for one in warnings] == [Hint.CUSTOM_FIELD_NOT_A_CHOICE]


def test_what_is_wrong_with_a_constant_is_kept_as_its_code(knowing: Bridge) -> None:
    body = json.dumps({"issue": {"subject": "x", "priority_id": 99}})
    fault = TemplateStore(knowing.store).create(Operation.ISSUE_CREATE, "of the test", body, "a test").fault
    assert fault
    assert fault.problem.code == Detail.EXPLAINED_BY
    assert fault.problem.params["problem"].code == Hint.UNKNOWN_PRIORITY
