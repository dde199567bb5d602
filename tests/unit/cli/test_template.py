"""The commands of `template` save, preview and activate templates, and report faults with line and column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from producer.admin.templates.templates import Template, TemplateStore
from shared.notices.faults import Fault
from shared.notices.notice import to_json
from shared.notices.templates import TemplateProblem
from shared.templating.operations import Operation
from tests.support.events import SUPPORT_ENTITY, task, task_event, ticket_event
from tests.unit.cli.conftest import Shell

GOOD = '{"issue": {"subject": "{{ticket.title}}", "colour": "red", "category_id": null}}'
FAULTY = '{"issue":\n  {"subject": "{{ticket.titel}}"}}'


def save(shell: Shell, body: str = GOOD, name: str = "first", operation: str = "issue.create") -> int:
    arguments = ("template", "save", "--operation", operation, "--name", name)
    found: int = shell.ask_stdin(*arguments, stdin=body)["id"]
    return found


@pytest.fixture
def linked(shell: Shell) -> Shell:
    shell.do("mapping", "add", "entity", str(SUPPORT_ENTITY), "1")
    return shell


def test_a_template_is_saved_listed_and_put_in_force(shell: Shell) -> None:
    number = str(save(shell))
    (listed,) = shell.ask("template", "list")
    assert (listed["name"], listed["version"], listed["active_version"], listed["fault"]) == (
        "first", 1, None, None,
    )  # fmt: skip
    assert "is active for issue.create" in shell.do("template", "activate", number)
    assert shell.ask("template", "show", number)["active_version"] == 1
    assert "version 1" in shell.do("template", "list")
    assert shell.do("template", "show", number).strip() == GOOD


def test_an_edit_is_refused_where_somebody_else_was_faster(shell: Shell) -> None:
    number = str(save(shell))
    shell.do("template", "save", "--id", number, "--based-on", "1", stdin=GOOD)
    told = shell.fail("template", "save", "--id", number, "--based-on", "1", stdin=GOOD)
    assert "is now at version 2, and you edited version 1" in told


def test_a_faulty_text_is_kept_as_a_draft_and_the_command_fails_where_it_was_to_be_activated(
    shell: Shell,
) -> None:
    arguments = ("template", "save", "--operation", "issue.create", "--name", "a", "--activate")
    result = shell.type(*arguments, stdin=FAULTY)
    assert result.exit_code == 1
    assert (
        "this version is a draft and cannot be activated: line 2, column 18: unknown variable"
        in result.stderr
    )
    where = {"line": 2, "column": 18}
    problem = to_json({"message": TemplateProblem.VARIABLE_NOT_KNOWN(nearest="ticket.title")})
    assert shell.ask("template", "show", "1")["fault"] == {
        **where,
        "message": "unknown variable; did you mean ticket.title?",
        "code": Fault.TEMPLATE_FAULTY,
        "params": {**where, **problem},
    }
    assert "line 2, column 18" in shell.fail("template", "activate", "1")


def test_what_is_saved_and_activated_at_once_is_that_text_though_somebody_saves_another_meanwhile(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, kept = str(save(shell)), TemplateStore.edit

    def and_somebody_else(
        store: TemplateStore, template_id: int, body: str, who: str, **named: Any
    ) -> Template:
        mine = kept(store, template_id, body, who, based_on=named["based_on"])
        kept(store, template_id, '{"issue": {"subject": "another"}}', "bert", based_on=mine.version)
        return mine

    monkeypatch.setattr(TemplateStore, "edit", and_somebody_else)
    shell.do("template", "save", "--id", number, "--activate", stdin=GOOD)
    assert shell.ask("template", "show", number)["active_version"] == 2


def test_the_history_tells_who_did_what(shell: Shell) -> None:
    number = str(save(shell))
    shell.do("template", "activate", number)
    shell.do("template", "save", "--id", number, "--activate", stdin=GOOD)
    assert "version 1, is active again" in shell.do("template", "rollback", number)
    shell.do("template", "deactivate", number)
    changes = shell.ask("template", "history", number)
    assert [(one["what"], one["version"]) for one in changes] == [
        ("deactivated", 1), ("rolled back", 1), ("activated", 2), ("saved", 2), ("activated", 1), ("saved", 1),
    ]  # fmt: skip
    assert all("at the command line" in one["who"] for one in changes)
    shell.do("template", "delete", number)
    assert shell.ask("template", "list") == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("template", "save", "--operation", "issue.create"),
        ("template", "save", "--id", "1", "--name", "a"),
        ("template", "save", "--operation", "issue.create", "--name", "a", "--based-on", "1"),
        ("template", "preview"),
        ("template", "preview", "1", "--operation", "issue.create"),
        ("template", "preview", "--operation", "issue.create"),
        ("template", "dryrun"),
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(shell: Shell, arguments: tuple[str, ...]) -> None:
    shell.fail(*arguments, code=2, stdin=GOOD)


def test_an_event_and_a_context_at_once_are_wrong_usage(linked: Shell, tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text('{"ticket": {"title": "mine"}}')
    number = str(save(linked))
    given = ("--event", "1", "--context", str(tmp_path / "data.json"))
    assert "either --event or --context" in linked.fail("template", "preview", number, *given, code=2)


def test_a_preview_shows_what_the_sample_gives(shell: Shell) -> None:
    shown = shell.ask("template", "preview", str(save(shell)))
    assert shown["payload"] == {
        "issue": {"subject": "Printer on the 2nd floor", "colour": "red", "project_id": 11}
    }
    assert shown["filled_in"] == ["issue.project_id"]
    assert shown["pruned"] == ["issue.category_id"]
    assert shown["unknown"] == ["issue.colour"]
    assert shown["warnings"] == []
    assert shown["render_ms"] >= 0
    told = shell.type("template", "preview", "1")
    assert "Omitted because null: issue.category_id" in told.stdout
    assert "issue.colour is not a known field" in told.stderr


def test_a_text_that_is_not_kept_can_be_previewed_with_an_event(linked: Shell, tmp_path: Path) -> None:
    (event_id,) = linked.receive(task_event(of_task=task(512)))
    path = tmp_path / "t.json"
    subject, project = "{{event.name}} {{task.id}}", "{{project.tracker_project_id}}"
    path.write_text(json.dumps({"issue": {"subject": subject, "project_id": project}}))
    arguments = ("template", "preview", "--operation", "issue.create", "--file", str(path))
    shown = linked.ask(*arguments, "--event", str(event_id))
    assert shown["payload"] == {"issue": {"subject": "ticket_task.updated 512", "project_id": 1}}


def test_a_byte_order_mark_in_front_of_a_file_is_accepted(linked: Shell, tmp_path: Path) -> None:
    text, context = tmp_path / "t.json", tmp_path / "c.json"
    text.write_text(json.dumps({"issue": {"subject": "{{ticket.title}}", "project_id": 1}}), "utf-8-sig")
    context.write_text(json.dumps({"ticket": {"title": "Printer"}}), "utf-8-sig")
    arguments = ("template", "preview", "--operation", "issue.create", "--file", str(text))
    assert linked.ask(*arguments, "--context", str(context))["payload"]["issue"]["subject"] == "Printer"


def test_a_preview_takes_a_context_of_ones_own(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "context.json"
    path.write_text(json.dumps({"ticket": {"title": "mine"}, "project": {"tracker_project_id": 7}}))
    shown = shell.ask("template", "preview", str(save(shell)), "--context", str(path))
    assert shown["payload"]["issue"]["subject"] == "mine"
    path.write_text("[1]")
    assert "is not a JSON object" in shell.fail("template", "preview", "1", "--context", str(path), code=2)


def test_a_faulty_template_fails_with_line_and_column(shell: Shell) -> None:
    arguments = ("template", "preview", "--operation", "issue.create", "--file", "-")
    told = shell.fail(*arguments, stdin=FAULTY)
    assert told.startswith("deskbridge: line 2, column 18: unknown variable")
    document = json.loads(shell.type(*arguments, "--json", stdin=FAULTY).stdout)
    assert document["error"]["code"] == "template_faulty"
    assert (document["error"]["params"]["line"], document["error"]["params"]["column"]) == (2, 18)


def test_an_event_that_does_not_fit_is_refused_with_the_reason(linked: Shell) -> None:
    (update,) = linked.receive(ticket_event(1))
    linked.do("mapping", "remove", "entity", str(SUPPORT_ENTITY))
    time = ("template", "preview", str(save(linked, '{"time_entry": {}}', operation="time_entry.create")))
    issue = ("template", "preview", str(save(linked)))
    form = ("template", "preview", str(save(linked, '{"project": {}}', operation="project.create")))
    assert "has no ticket task" in linked.fail(*time, "--event", str(update))
    assert "has no mapping, so nothing is sent" in linked.fail(*issue, "--event", str(update))
    assert "starts from a form" in linked.fail(*form, "--event", str(update))
    assert "unknown event 99" in linked.fail(*issue, "--event", "99")


@pytest.mark.parametrize("operation", list(Operation))
def test_a_generated_template_can_be_kept_and_put_in_force(shell: Shell, operation: Operation) -> None:
    linked = shell.ask("template", "generate", "--operation", operation, "--with-ticket")["body"]
    assert ("GLPI {{ticket.id}}" in linked) == (operation in ("issue.create", "time_entry.create"))
    body = shell.do("template", "generate", "--operation", operation)
    assert shell.ask("template", "generate", "--operation", operation)["body"].strip() == body.strip()
    number = str(save(shell, body, operation=operation))
    shell.do("template", "activate", number)
    assert shell.ask("template", "preview", number)["unknown"] == []


def test_variables_and_fields_are_listed(shell: Shell) -> None:
    variables = shell.ask("template", "variables", "--operation", "issue.create")
    number = next(one for one in variables if one["path"] == "ticket.id")
    assert (number["type"], number["sample"], number["optional"]) == ("integer", 4711, False)
    fields = shell.ask("template", "fields", "--operation", "time_entry.create")
    assert [one["name"] for one in fields if one["filled_in"]] == ["issue_id", "hours"]
    assert "ticket.title" in shell.do("template", "variables", "--operation", "issue.create")
    assert "activity_id" in shell.do("template", "fields", "--operation", "time_entry.create")


def test_an_unknown_operation_is_refused_with_those_there_are(shell: Shell) -> None:
    told = shell.fail("template", "variables", "--operation", "issue.delete")
    assert "unknown operation issue.delete (valid: issue.create, issue.update_status" in told
