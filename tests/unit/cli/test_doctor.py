"""`doctor` at the command line; its checks are tested with the doctor itself."""

from __future__ import annotations

import json

import pytest

from producer.admin.doctor.finding import RECORDS, CheckResult, Status
from producer.admin.doctor.installation import Installation
from shared.notices.doctor_service import ServiceFinding
from shared.notices.doctor_setup import SetupFinding
from shared.notices.doctor_tracker import TrackerFinding
from tests.unit.cli.conftest import Shell


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.queue.publisher.Publisher.is_answering", lambda _self: True)


def test_an_installation_that_is_not_set_up_fails_with_what_to_do(shell: Shell) -> None:
    result = shell.type("doctor")
    assert result.exit_code == 1
    assert "failure api key        not stored" in result.stdout
    assert f"→ store it with `deskbridge config set-api-key` ({RECORDS['api key']})" in result.stdout


def test_json_is_one_document_also_when_something_fails(shell: Shell) -> None:
    result = shell.type("doctor", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert {one["check"]: one["status"] for one in found}["migrations"] == "ok"
    assert all(set(one) == {"check", "status", "code", "params", "what", "todo", "record"} for one in found)
    assert all((one["record"] is None) == (one["status"] == "ok") for one in found)


@pytest.mark.parametrize(("status", "code"), [(Status.OK, 0), (Status.WARNING, 0), (Status.FAILURE, 1)])
def test_only_a_failure_makes_the_exit_code_1(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, status: Status, code: int
) -> None:
    monkeypatch.setattr(
        "producer.admin.doctor.examination.examine",
        lambda _patient: [CheckResult("role", status, SetupFinding.ROLE_NOT_SET())],
    )
    assert shell.type("doctor").exit_code == code


@pytest.mark.parametrize(("options", "patience_s"), [((), 5), (("--all",), None)])
def test_with_all_it_waits_for_the_tracker_as_long_as_it_takes(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], patience_s: float | None
) -> None:
    asked: list[float | None] = []

    def examine(installation: Installation) -> list[CheckResult]:
        asked.append(installation.patience_s)
        return []

    monkeypatch.setattr("producer.admin.doctor.examination.examine", examine)
    shell.type("doctor", *options)
    assert asked == [patience_s]


def test_links_that_were_not_all_looked_at_are_a_line_of_their_own(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = TrackerFinding.LINKS_NOT_ALL_READ(read=1400, count=2000, seconds=5.0)
    found = [
        CheckResult("links", Status.UNKNOWN, read),
        *(CheckResult(check, Status.UNKNOWN, ServiceFinding.NOT_LOOKED_AT()) for check in ("role", "ids")),
    ]
    monkeypatch.setattr("producer.admin.doctor.examination.examine", lambda _patient: found)
    lines = shell.type("doctor").stdout.splitlines()
    assert lines[0].startswith(
        "unknown mappings       1400 of 2000 mapped Redmine projects were checked within 5 s"
    )
    assert "--all" in lines[1]
    assert lines[2].startswith("unknown role, ids: not checked")
