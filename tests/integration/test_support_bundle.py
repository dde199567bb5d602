"""The support file describes the state of an installation without any secret, name or text of its users."""

from __future__ import annotations

import json
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy.exc import OperationalError

from deploy.sandbox.tracker.control import StandIn
from producer.admin.access.accounts import AccountStore
from producer.admin.doctor.bundle import write_bundle
from producer.admin.doctor.finding import CheckResult, failure
from producer.admin.doctor.installation import Installation
from producer.admin.doctor.latest import examined
from producer.admin.records.rights import Right
from producer.admin.records.support import Support
from producer.admin.services import Services
from shared.metadata.synchronisation import synchronise
from shared.notices.doctor_work import WorkFinding
from shared.notices.faults import Fault
from shared.notices.notice import written
from shared.notices.steps import What
from shared.store.configuration.matching import TrackerPerson
from shared.store.journal.trace import Step
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket
from tests.support.ledger import change_event

PERSON = {"id": 31, "email": "zora.quimby@private.example", "name": "Zora Quimby"}
PLANTED = (
    "zora", "quimby", "private.example", "wobbly", "purple", "submarine", "hush-hush", "sesame", "gretchen",
    "acmecorp", "lisbon", "hidden-host",
)  # fmt: skip
"""Parts of each secret, name, address and text that the tests put into the installation."""


@pytest.fixture
def services(bridge: Bridge) -> Services:
    """An installation whose settings and database are full of private data."""
    settings = bridge.settings.model_copy(
        update={
            "console_tokens": (SecretStr("hush-hush-token-of-somebody"),),
            "proxy_url": None,
            "glpi_api_url": "https://hidden-host.private.example",
            "glpi_api_user": "gretchen",
            "glpi_api_password": SecretStr("sesame"),
        }
    )
    found = Services(settings, bridge.store)
    synchronise(found.store, found.locks, found.connector.connect)
    of_ticket = ticket(
        title="Purple submarine",
        content="wobbly text",
        technician=PERSON,
        entity_name="Lisbon",
        requester=PERSON,
    )
    bridge.forward(task_event(of_ticket=of_ticket, of_task=task(content="wobbly task", user=PERSON)))
    with bridge.store.transaction() as tx:
        tx.people.replace_cache(
            [*tx.people.cached(), TrackerPerson(77, "zora", "Zora Quimby", "zora@private.example")]
        )
        tx.templates.create(
            "issue.create", "purple", '{"issue": {"subject": "purple submarine"}}', "gretchen"
        )
        tx.trace.append([Step(4711, written("somebody said: wobbly submarine"), None)])
        call = {"method": "GET", "path": "/projects/acmecorp.json?name=zora", "status": 404, "ms": 3,
                "body": {"issue": {"subject": "Purple submarine"}}, "answer": {"errors": ["wobbly"]}}  # fmt: skip
        tx.trace.append(
            [Step(4711, What.CALL_ANSWERED(method="GET", path="/projects/acmecorp.json"), None, call)]
        )
    change_event(bridge, 1, code="an old sentence about zora quimby")
    AccountStore(bridge.store).add("gretchen", "correct horse battery", Right.VIEWER)
    return found


def findings(bridge: Bridge) -> list[CheckResult]:
    rejected = Fault.TRACKER_REJECTED(status=422, errors=["Purple submarine is wobbly"])
    more = failure("authors", WorkFinding.EVENTS_FAILED_FOR(count=3, problem=rejected, code="x"))
    return [*examined(Installation.of(Services(bridge.settings, bridge.store))), more]


def parts_of(file: Path) -> dict[str, Any]:
    with zipfile.ZipFile(file) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    return {name: json.loads(text) if name.endswith(".json") else text for name, text in texts.items()}


def test_no_secret_name_address_or_text_is_in_the_file(
    services: Services, bridge: Bridge, stand_in: StandIn, tmp_path: Path
) -> None:
    file = tmp_path / "support.zip"
    write_bundle(services, findings(bridge), file)
    secrets = [
        one.get_secret_value() for one in (services.settings.database_url, services.settings.redis_url)
    ]
    secrets += [one.get_secret_value() for one in services.settings.secret_keys]
    config, _ = bridge.connect()
    secrets += [stand_in.api_key, str(config.base_url), "alice", "example.test", "@"]
    with zipfile.ZipFile(file) as archive:
        assert set(archive.namelist()) == {
            "README.txt", "versions.json", "settings.json", "doctor.json", "counts.json", "steps.json", "metrics.txt",
        }  # fmt: skip
        for name in archive.namelist():
            content = archive.read(name).decode()
            assert [one for one in (*PLANTED, *secrets) if one.lower() in content.lower()] == [], name
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_it_says_how_the_installation_stands(services: Services, bridge: Bridge, tmp_path: Path) -> None:
    file = tmp_path / "support.zip"
    write_bundle(services, findings(bridge), file)
    found = parts_of(file)
    assert found["versions.json"]["schema"]["found"] == found["versions.json"]["schema"]["expected"]
    assert found["versions.json"]["packages"]["deskbridge"]
    environment, redmine = found["settings.json"]["environment"], found["settings.json"]["redmine"]
    assert environment["glpi_api_password"] == "set"
    assert environment["retention_days"] == services.settings.retention_days
    assert (redmine["base_url"], redmine["api_key"], redmine["in_doubt_policy"]) == ("set", "set", "lookup")
    assert redmine["status_map"]["5"] == 3
    codes = {one["code"] for one in found["doctor.json"]}
    assert WorkFinding.AUTHORS_WRONG in codes
    assert sum(one["count"] for one in found["counts.json"]["events"]) == 1
    assert found["counts.json"]["ledger"]["time_entries"] == {"linked": 1}
    assert {"hours_logged", "issue_created"} <= {one["code"] for one in found["steps.json"]}
    calls = [one["call"] for one in found["steps.json"] if one.get("call")]
    assert {"method": "POST", "path": "/time_entries.json", "status": 201} in [
        {name: one[name] for name in ("method", "path", "status")} for one in calls
    ]
    assert any(one["path"] == "other" for one in calls)
    assert "deskbridge_on_hold" in found["metrics.txt"]


def test_a_part_that_cannot_be_read_is_named_by_its_error_alone(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_self: Support) -> None:
        raise OperationalError("SELECT purple", {}, Exception("hidden-host"))

    monkeypatch.setattr(Support, "events", fails)
    file = tmp_path / "support.zip"
    write_bundle(services, [], file)
    assert "OperationalError" in json.dumps(parts_of(file)["counts.json"])
    assert "hidden-host" not in json.dumps(parts_of(file))


def test_a_file_that_exists_is_not_overwritten(services: Services, tmp_path: Path) -> None:
    file = tmp_path / "support.zip"
    file.write_text("mine")
    with pytest.raises(FileExistsError):
        write_bundle(services, [], file)
    assert file.read_text() == "mine"
