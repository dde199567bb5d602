"""/api/templates and /ajax/template_test.php: the template store, previews and dry runs over HTTP."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.templating.operations import Operation
from tests.integration.console.conftest import OLD_TOKEN, TOKEN, Console
from tests.support.bridge import Bridge
from tests.support.events import task_event

GOOD = '{"issue": {"subject": "{{ticket.title}}"}}'
FAULTY = '{"issue":\n  {"subject": "{{ticket.titel}}"}}'
TRY = "/ajax/template_test.php?action="


def create(console: Console, body: str = GOOD, name: str = "first") -> dict[str, Any]:
    form = {"operation": "issue.create", "name": name, "body": body}
    made: dict[str, Any] = console.do("POST", "/api/templates", form, status=201)
    return made


def test_a_template_lives_from_draft_to_deletion(console: Console) -> None:
    made = create(console, FAULTY)
    assert made["fault"]["line"] == 2
    path = f"/api/templates/{made['id']}"
    refused = console.refused("POST", f"{path}/activate", 422)
    assert (refused["line"], refused["column"]) == (2, 18)
    assert refused["errors"][0]["path"] == "body"
    edited = console.do("PUT", path, {"body": GOOD, "based_on": 1})
    assert (edited["version"], edited["fault"], edited["active_version"]) == (2, None, None)
    assert console.do("POST", f"{path}/activate")["active_version"] == 2
    assert console.get("/api/templates?operation=issue.create")[0]["active_version"] == 2
    assert console.get("/api/templates?operation=project.create") == []
    assert console.get(f"{path}?version=1")["body"] == FAULTY
    console.refused("DELETE", path, 409)
    console.do("POST", f"{path}/deactivate")
    console.do("DELETE", path, status=204)
    console.refused("GET", path, 404)


def test_the_history_names_the_token_without_giving_it_away(console: Console) -> None:
    made = create(console)
    path = f"/api/templates/{made['id']}"
    console.ask("POST", f"{path}/activate", token=OLD_TOKEN)
    changes = console.get(f"{path}/history")
    names = [hashlib.sha256(token.encode()).hexdigest()[:8] for token in (OLD_TOKEN, TOKEN)]
    assert [one["who"] for one in changes] == [f"API token {name}" for name in names]


def test_an_edit_of_an_older_version_is_a_conflict(console: Console) -> None:
    path = f"/api/templates/{create(console)['id']}"
    console.do("PUT", path, {"body": GOOD, "based_on": 1})
    assert (
        "is now at version 2, and you edited version 1"
        in console.refused("PUT", path, 409, {"body": GOOD, "based_on": 1})["detail"]
    )


def test_rolling_back_over_the_api(console: Console) -> None:
    path = f"/api/templates/{create(console)['id']}"
    console.do("POST", f"{path}/activate", {"version": 1})
    console.do("PUT", path, {"body": GOOD, "based_on": 1})
    console.do("POST", f"{path}/activate")
    assert console.do("POST", f"{path}/rollback")["active_version"] == 1


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"operation": "issue.delete", "name": "a", "body": GOOD}, "operation"),
        ({"operation": "issue.create", "name": " ", "body": GOOD}, "name"),
        ({"operation": "issue.create", "name": "first", "body": GOOD}, "name"),
        ({"operation": "issue.create", "name": "a", "body": "\ud800"}, "body"),
        ({"operation": "issue.create", "name": "a", "body": "x" * 70_000}, "body"),
        ({"operation": "issue.create", "name": "a"}, "body"),
    ],
)
def test_a_form_that_does_not_fit_is_refused_by_its_field(
    console: Console, form: dict[str, Any], field: str
) -> None:
    create(console)
    assert console.refused("POST", "/api/templates", 422, form)["errors"][0]["path"] == field


def test_what_templates_can_say_is_listed(console: Console) -> None:
    assert "ticket.title" in [
        one["path"] for one in console.get("/api/templates/variables?operation=issue.create")
    ]
    assert "hours" in [
        one["name"] for one in console.get("/api/templates/fields?operation=time_entry.create")
    ]
    generated = console.get("/api/templates/generate?operation=time_entry.create")["body"]
    shown = console.do("POST", TRY + "preview", {"operation": "time_entry.create", "body": generated})
    assert shown["payload"]["time_entry"]["hours"] == 1.5


def test_a_preview_by_post_and_by_get(console: Console, bridge: Bridge) -> None:
    number = create(console)["id"]
    (event_id,) = bridge.receive(task_event())
    by_post = console.do("POST", TRY + "preview", {"template_id": number, "event_id": event_id})
    by_get = console.get(f"{TRY}preview&template_id={number}&event_id={event_id}")
    for shown in (by_post, by_get):
        assert shown["payload"] == {"issue": {"subject": "Printer 4711 on fire", "project_id": 1}}
        assert shown["filled_in"] == ["issue.project_id"]
        assert shown["compile_ms"] >= 0
    given = {"operation": "issue.create", "body": GOOD, "context": {"ticket": {"title": "mine"}}}
    assert console.do("POST", TRY + "preview", given)["payload"]["issue"]["subject"] == "mine"


def test_a_faulty_template_is_a_problem_with_line_and_column(console: Console) -> None:
    problem = console.refused("POST", TRY + "preview", 422, {"operation": "issue.create", "body": FAULTY})
    assert (problem["line"], problem["column"]) == (2, 18)
    assert "did you mean ticket.title" in problem["detail"]


@pytest.mark.parametrize(
    ("trial", "status"),
    [
        ({}, 422),
        ({"operation": "issue.create"}, 422),
        ({"body": GOOD}, 422),
        ({"operation": "issue.delete", "body": GOOD}, 422),
        ({"operation": "project.create", "template_id": 1}, 422),
        ({"body": GOOD, "operation": "issue.create", "template_id": 1}, 422),
        ({"template_id": 99}, 404),
        ({"template_id": 1, "event_id": 99}, 404),
        ({"template_id": 1, "event_id": 1, "context": {}}, 422),
        ({"template_id": 1, "context": []}, 422),
        ({"template_id": 1, "colour": "red"}, 422),
    ],
)
def test_a_trial_that_cannot_be_meant_is_refused(
    console: Console, trial: dict[str, Any], status: int
) -> None:
    create(console)
    console.refused("POST", TRY + "preview", status, trial)


def test_an_event_that_cannot_be_rendered_is_told_with_the_reason(console: Console, bridge: Bridge) -> None:
    (event_id,) = bridge.receive(task_event())
    with bridge.store.transaction() as tx:
        for link in tx.mappings.all():
            tx.mappings.remove(link.kind, link.helpdesk_id)
    trial = {"operation": "issue.create", "body": GOOD, "event_id": event_id}
    assert (
        "has no mapping, so nothing is sent" in console.refused("POST", TRY + "preview", 422, trial)["detail"]
    )


def test_trials_need_an_action_a_token_and_post_for_a_dry_run(console: Console) -> None:
    trial = {"operation": "issue.create", "body": GOOD}
    console.refused("POST", "/ajax/template_test.php", 422, trial)
    console.refused("POST", TRY + "run", 422, trial)
    console.refused("POST", TRY + "preview", 401, trial, token=None)
    assert "POST" in console.refused("GET", f"{TRY}dryrun&template_id=1", 405)["detail"]


def test_a_dry_run_makes_the_object_and_leaves_nothing_behind(console: Console, stand_in: StandIn) -> None:
    console.do("POST", "/api/metadata/sync")
    before = stand_in.state()["issues"]
    body = '{"issue": {"subject": "{{ticket.title}}", "project_id": 1}}'
    made = console.do("POST", TRY + "dryrun", {"operation": "issue.create", "body": body})
    assert (made["ok"], made["status"], made["deleted"], made["left"]) == (True, 201, True, [])
    assert made["payload"]["issue"]["subject"] == "Printer on the 2nd floor"
    assert '"subject"' in made["answer"]
    assert stand_in.state()["issues"] == before
    assert console.get("/api/templates/left") == []


@pytest.mark.parametrize("operation", list(Operation))
def test_a_generated_template_can_be_tried_without_naming_anything(
    console: Console, stand_in: StandIn, operation: Operation
) -> None:
    """The sample of a dry run uses ids of this installation, so that the standard bodies pass."""
    console.do("POST", "/api/metadata/sync")
    before = stand_in.state()
    body = console.get(f"/api/templates/generate?operation={operation}")["body"]
    made = console.do("POST", TRY + "dryrun", {"operation": operation, "body": body})
    assert made["ok"], made
    assert made["left"] == []
    after = stand_in.state()
    assert {table: len(rows) for table, rows in after.items()} == {
        table: len(rows) for table, rows in before.items()
    }


def test_a_dry_run_needs_a_link_or_an_event(console: Console) -> None:
    console.do("DELETE", "/api/links/entities/3", status=204)
    problem = console.refused("POST", TRY + "dryrun", 422, {"operation": "issue.create", "body": GOOD})
    assert (
        "there is no mapping yet, so the Redmine project is not known: add one (`deskbridge mapping add`), or "
        "specify an event" in problem["detail"]
    )


def test_a_refused_dry_run_has_the_trackers_answer_unchanged_and_hints(
    console: Console, stand_in: StandIn
) -> None:
    console.do("POST", "/api/metadata/sync")
    body = '{"issue": {"subject": "a", "project_id": 1, "priority_id": 999}}'
    made = console.do("POST", TRY + "dryrun", {"operation": "issue.create", "body": body})
    assert (made["ok"], made["status"], made["created"], made["deleted"]) == (False, 422, None, None)
    assert made["answer"] == '{"errors":["Priority cannot be blank"]}'
    (hint,) = made["hints"]
    assert hint["field"] == "issue.priority_id"
    assert hint["record"].startswith("KB-HINT-")
    assert stand_in.state()["issues"][-1]["id"] == 5


def test_a_faulty_template_is_never_sent(console: Console, stand_in: StandIn) -> None:
    console.refused("POST", TRY + "dryrun", 422, {"operation": "issue.create", "body": FAULTY})
    assert all(call["method"] == "GET" for call in stand_in.requests())
