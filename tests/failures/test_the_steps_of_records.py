"""The steps of knowledge base articles work: the tests run each command that an article names."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update
from typer.testing import Result

from producer.admin.dryrun.run import DryRuns
from producer.admin.knowledge.shipped import shipped
from producer.admin.records.models import ProjectClaim
from shared.notices.doctor_helpdesk import HelpdeskFinding
from shared.notices.doctor_work import WorkFinding
from shared.notices.hints import Hint
from shared.notices.invalid import Invalid
from shared.notices.notice import Code
from shared.notices.reasons import Reason
from shared.notices.refusals import Refusal
from shared.notices.render import article
from shared.notices.steps import What
from shared.store.tables.journal import EventState
from shared.store.tables.types import clock
from shared.templating.operations import Operation
from tests.failures.stage import Act, Stage, both, configure, patch, remove, settings, template
from tests.support.dry_runs import clean, dry_run, let_time_pass
from tests.support.events import task, task_event
from tests.support.glpi_api import GlpiApi, glpi_api
from tests.unit.cli.conftest import Shell

COMMAND = re.compile(r"`deskbridge ([^`]+)`")
TO_DO = "**What to do.**"
REPLAY = "event replay --state failed"
"""The last step of a hint's article; these tests run it with the hint's code."""


def commands(record: str) -> list[str]:
    """Return the commands in an article's steps, in order."""
    return COMMAND.findall(shipped(record).body.partition(TO_DO)[2])


def follow(shell: Shell, code: Code, filled: Mapping[str, Sequence[str]] | None = None) -> dict[str, str]:
    """Run every command in the steps of a code's article, with placeholders filled in; return their outputs."""
    filled = filled or {}
    named = commands(article(code))
    assert set(filled) <= set(named), "the record has other commands"
    said = {}
    for line in named:
        typed = filled.get(line, shlex.split(line))
        done = shell.type(*typed)
        assert done.exit_code in ((0, 1) if typed[0] == "doctor" else (0,)), done.output
        said[line] = done.stdout
    return said


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[GlpiApi]:
    """Provide a GLPI whose API the installation uses."""
    with glpi_api() as served:
        access = served.access
        for name, value in {
            "URL": access.url, "CLIENT_ID": access.client_id, "CLIENT_SECRET": access.client_secret.get_secret_value(),
            "USER": access.user, "PASSWORD": access.password.get_secret_value(),
        }.items():  # fmt: skip
            monkeypatch.setenv(f"DESKBRIDGE_GLPI_API_{name}", value)
        yield served


def checks(shell: Shell, *options: str) -> dict[str, tuple[str, str]]:
    """Run `deskbridge doctor`; return the worst status of each check, with its code."""
    done = json_of(shell.type("doctor", "--json", *options).stdout)
    worst_last = sorted(done, key=lambda one: ("ok", "unknown", "warning", "failure").index(one["status"]))
    return {one["check"]: (one["status"], one["code"]) for one in worst_last}


def json_of(text: str) -> Any:
    """Parse a JSON document."""
    return json.loads(text)


def ago(minutes: int) -> str:
    """Return the time some minutes ago, as GLPI writes it."""
    return (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat(timespec="seconds")


def test_an_unreadable_delivery_is_found_by_the_comparison(stage: Stage, shell: Shell, api: GlpiApi) -> None:
    with stage.bridge.store.transaction() as tx:
        tx.journal.park("id", "glpi/ticket-task", b"{}", [("item", Invalid.FIELD_REQUIRED())])
    assert checks(shell)["deliveries"] == ("failure", HelpdeskFinding.DELIVERIES_UNREADABLE)
    assert checks(shell)["failed"] == ("ok", WorkFinding.NOTHING_FAILED), "it is told once"
    api.ticket(4711, ago(20))
    api.task(4711, 900, ago(20), user=7)
    said = follow(shell, HelpdeskFinding.DELIVERIES_UNREADABLE)
    assert "1" in said["reconcile"]
    assert checks(shell)["deliveries"] == ("ok", HelpdeskFinding.DELIVERIES_COMPARED)
    stage.bridge.sync(4711)
    with stage.bridge.store.transaction() as tx:
        assert tx.times.get(900) is not None


def test_hours_that_a_wrong_done_state_left_out_are_logged_once_it_is_right(
    stage: Stage, shell: Shell
) -> None:
    configure(done_state=9)(stage)
    for _ in range(10):
        assert stage.work() == EventState.SKIPPED
    assert checks(shell)["done state"] == ("warning", HelpdeskFinding.NO_TASK_IS_DONE)
    follow(
        shell, HelpdeskFinding.NO_TASK_IS_DONE, {"config set done_state=…": ("config", "set", "done_state=2")}
    )
    stage.bridge.sync(4711)
    assert checks(shell)["done state"] == ("ok", HelpdeskFinding.TASKS_ARE_DONE)
    with stage.bridge.store.transaction() as tx:
        assert tx.journal.count(EventState.DONE) == 10


def test_open_ticket_tasks_are_nothing_to_tell_where_one_was_done(stage: Stage, shell: Shell) -> None:
    stage.work()
    for _ in range(10):
        stage.work(state=1)
    assert checks(shell)["done state"] == ("ok", HelpdeskFinding.TASKS_ARE_DONE)


def test_a_helpdesk_api_that_was_off_is_well_once_it_is_on(shell: Shell, api: GlpiApi) -> None:
    api.down = True
    assert checks(shell, "--helpdesk")["helpdesk API"] == (
        "failure",
        HelpdeskFinding.HELPDESK_API_UNREACHABLE,
    )
    assert json_of(shell.type("reconcile", "--json").stdout)["error"]["code"] == Refusal.HELPDESK_UNANSWERED
    api.down = False
    (said,) = follow(shell, HelpdeskFinding.HELPDESK_API_UNREACHABLE).values()
    assert "ok      GLPI API" in said


def test_what_had_been_missed_is_told_until_a_comparison_misses_nothing(
    stage: Stage, shell: Shell, api: GlpiApi
) -> None:
    with stage.bridge.store.transaction() as tx:
        tx.reconciliation.ran(tx.now(), 3)
    assert checks(shell)["reconciliation"] == ("warning", HelpdeskFinding.EVENTS_WERE_MISSED)
    assert "Nothing" in follow(shell, HelpdeskFinding.EVENTS_WERE_MISSED)["reconcile"]
    assert checks(shell)["reconciliation"] == ("ok", HelpdeskFinding.NOTHING_WAS_MISSED)


def test_a_recovery_ends_when_a_person_says_so(stage: Stage, shell: Shell) -> None:
    stage.work()
    shell.do("restore", "begin")
    assert checks(shell)["recovery"] == ("warning", WorkFinding.RECOVERY_ON)
    follow(shell, WorkFinding.RECOVERY_ON)
    assert checks(shell)["recovery"] == ("ok", WorkFinding.RECOVERY_OFF)


@pytest.mark.stand_in
def test_what_a_dry_run_has_left_is_deleted_by_the_sweep(stage: Stage, shell: Shell) -> None:
    runs = DryRuns(stage.bridge.store, stage.installation().connect)
    fault = stage.stand_in.fault("reset_before", method="DELETE")
    dry_run(runs, Operation.ISSUE_CREATE)
    stage.stand_in.clear_faults(fault)
    assert checks(shell)["dry runs"] == ("warning", WorkFinding.DRY_RUNS_LEFT)
    assert follow(shell, WorkFinding.DRY_RUNS_LEFT) == {}
    let_time_pass(stage.bridge.store)
    clean(runs)
    assert checks(shell)["dry runs"] == ("ok", WorkFinding.DRY_RUNS_CLEANED)


@pytest.mark.stand_in
def test_a_project_whose_answer_was_lost_is_found_by_the_same_form(stage: Stage, shell: Shell) -> None:
    form = ("project", "create", "entity", "9", "--name", "Lab", "--identifier", "lab")
    stage.stand_in.fault("reset_before", method="POST", path="/projects.json", count=1)
    assert json_of(shell.type(*form, "--json").stdout)["error"]["code"] == Refusal.PROJECT_IN_DOUBT
    assert commands(article(Refusal.PROJECT_IN_DOUBT)) == []
    with stage.bridge.store.database.transaction() as session:
        session.execute(update(ProjectClaim).values(settle_after=clock(-1)))
    assert "is mapped to it" in shell.do(*form)


@dataclass(frozen=True)
class Hinted:
    """A refusal that a hint explains, and the repair that its article names."""

    sentence: str
    stage: Act
    hint: Hint
    repair: Act
    of_task: Mapping[str, Any]
    real: bool = True

    def __str__(self) -> str:
        return self.sentence


def issue(**fields: str) -> Act:
    body = ", ".join(
        f'"{name}": {value}' for name, value in {"subject": '"{{ticket.title}}"', **fields}.items()
    )
    return template("issue.create", f'{{"issue": {{{body}}}}}')


def time(**fields: str) -> Act:
    body = ", ".join(f'"{name}": {value}' for name, value in {"activity_id": "9", **fields}.items())
    return template("time_entry.create", f'{{"time_entry": {{{body}}}}}')


TODAY = """"{{event.occurred_at | date: '%Y-%m-%d'}}\""""


def filled_with(value: str) -> str:
    return f'[{{"id": 3, "value": "{{{{{value}}}}}"}}]'


def corrected(stage: Stage) -> None:
    event = task_event(2000, of_task=task(stage.tasks, actiontime=3600))
    stage.bridge.forward(event)


HINTED = [
    Hinted(
        "the tracker wants a comment and the template sends none",
        both(settings(require_comments=True), time(comments='""')), Hint.MAYBE_COMMENT_REQUIRED,
        time(comments='"{{task.content | plain}}"'), {}, real=False,
    ),
    Hinted("a ticket task took 1,500 hours", issue(), Hint.HOURS_OUT_OF_RANGE, corrected, {"actiontime": 5_400_000}),
    Hinted("an assignee is nobody", issue(assigned_to_id="77"), Hint.UNKNOWN_ASSIGNEE, issue(), {}),
    Hinted(
        "an issue is due before it starts",
        issue(start_date=TODAY, due_date='"2020-01-01"'), Hint.DUE_BEFORE_START,
        issue(start_date=TODAY, due_date=TODAY), {},
    ),
    Hinted(
        "a number field is given words",
        both(patch("custom_fields", 3, field_format="int"), issue(custom_fields=filled_with("ticket.title"))),
        Hint.CUSTOM_FIELD_TAKES_INTEGER,
        issue(custom_fields=filled_with("ticket.id")), {},
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    "one", [pytest.param(one, id=str(one), marks=() if one.real else pytest.mark.stand_in) for one in HINTED]
)
def test_the_steps_of_a_hint_let_the_event_go_on(stage: Stage, shell: Shell, one: Hinted) -> None:
    one.stage(stage)
    assert stage.work(**one.of_task) == EventState.FAILED, stage.trace().text
    assert one.hint in stage.trace().codes, stage.trace().text
    assert set(commands(article(one.hint))) <= {REPLAY}
    one.repair(stage)
    shell.do("event", "replay", "--state", "failed", "--code", str(one.hint))
    stage.replay()
    assert stage.goes_on(), stage.events().text


FORM = {"--name": "Lab", "--identifier": "lab"}


@pytest.mark.parametrize(
    ("wrong", "right", "code"),
    [
        ({"--name": "x" * 300}, {"--name": "x" * 255}, Hint.PROJECT_NAME_TOO_LONG),
        ({"--identifier": "support"}, {}, Hint.IDENTIFIER_TAKEN),
        ({"--identifier": "UP PER"}, {}, Hint.IDENTIFIER_NOT_VALID),
        ({"--parent": "6"}, {"--parent": "1"}, Hint.PARENT_PROJECT_NOT_ACTIVE),
    ],
    ids=["name", "identifier taken", "identifier", "parent"],
)
@pytest.mark.stand_in
def test_a_refused_form_is_taken_once_it_is_as_its_record_says(
    shell: Shell, wrong: dict[str, str], right: dict[str, str], code: Hint
) -> None:
    def send(values: dict[str, str]) -> Result:
        typed = [word for pair in ({**FORM, **values}).items() for word in pair]
        return shell.type("project", "create", "entity", "9", *typed)

    assert send(wrong).exit_code == 1
    assert commands(article(code)) == []
    assert "is mapped to it" in send(right).stdout


def test_a_role_that_is_gone_is_named_and_replaced_and_people_are_members_again(
    stage: Stage, shell: Shell
) -> None:
    configure(membership_for="matched")(stage)
    patch("memberships", 1, user_id=9)(stage)
    remove("roles", 4)(stage)
    stage.work()
    told = stage.trace()
    assert Hint.DEFAULT_ROLE_GONE in told.codes, told.text
    line = "config set default_role_id=…"
    assert f"`deskbridge {line}`" in told.text
    assert "5 (Reporter)" in told.text
    follow(
        shell,
        Hint.DEFAULT_ROLE_GONE,
        {line: ("config", "set", "default_role_id=3"), "metadata sync": ("metadata", "sync")},
    )
    stage.work()
    assert What.MADE_MEMBER in stage.trace().codes


def test_a_subject_that_renders_empty_is_the_tickets_title(stage: Stage) -> None:
    issue(subject='"{{ticket.project_id}}"')(stage)
    assert stage.work() == EventState.DONE, stage.trace().text


def test_a_status_that_the_template_invents_is_taken_out(stage: Stage, shell: Shell) -> None:
    template("issue.update_status", '{"issue": {"status_id": 77}}')(stage)
    stage.work(status=5)
    told = stage.trace()
    assert Hint.UNKNOWN_STATUS in told.codes or Reason.STATUS_REFUSED in told.codes, told.text
    assert commands(article(Hint.UNKNOWN_STATUS)) == []


@pytest.mark.stand_in
def test_a_refusal_without_a_reason_goes_on_by_itself(stage: Stage) -> None:
    """Another user changed the same issue at that moment."""
    stage.stand_in.fault("conflict", method="PUT", count=1)
    stage.work()
    stage.replay()
    assert stage.goes_on(), stage.events().text


@pytest.mark.stand_in
def test_a_dry_run_that_is_refused_without_a_reason_is_made_again(stage: Stage, shell: Shell) -> None:
    runs = DryRuns(stage.bridge.store, stage.installation().connect)
    change, refused = Operation.ISSUE_UPDATE_STATUS, stage.stand_in.fault("conflict", method="PUT")
    assert Hint.NO_REASON_GIVEN in [one.notice.code for one in dry_run(runs, change).hints]
    follow(shell, Hint.NO_REASON_GIVEN)
    stage.stand_in.clear_faults(refused)
    assert dry_run(runs, change).hints == []
