"""`project create` and `mapping add`, over a mock Redmine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.store.configuration.metadata import MetadataKind
from tests.support.events import task_event
from tests.unit.cli.conftest import Shell

LAB = ("--name", "Lab 🧪", "--identifier", "LAB")


@pytest.fixture
def tracker(shell: Shell) -> Iterator[StandIn]:
    """A mock Redmine to which the shell's deskbridge is connected."""
    with StandIn(in_process=True) as stand_in:
        shell.do("config", "set", f"base_url={stand_in.base_url}")
        shell.do("config", "set-api-key", stdin=stand_in.api_key)
        shell.do("metadata", "sync")
        yield stand_in


def test_a_project_is_created_and_linked_and_a_repeat_finds_it(shell: Shell, tracker: StandIn) -> None:
    options = (
        "--parent",
        "1",
        "--field",
        "2=C-1",
        "--module",
        "issue_tracking",
        "--module",
        "wiki",
        "--public",
    )
    told = shell.ask("project", "create", "entity", "9", *LAB, *options)
    assert (told["kind"], told["id"], told["created"]) == ("entity", 9, True)
    assert "already existed" in shell.do("project", "create", "entity", "9", *LAB)
    (project,) = [one for one in tracker.state()["projects"] if one["identifier"] == "lab"]
    assert (project["id"], project["name"]) == (told["tracker_project_id"], "Lab 🧪")
    assert (project["parent_id"], project["is_public"], project["modules"]) == (
        1,
        True,
        ["issue_tracking", "wiki"],
    )
    assert project["custom_fields"] == {"2": "C-1"}
    assert shell.ask("mapping", "list")[0]["tracker_project_id"] == project["id"]


def test_what_had_been_skipped_is_replayed_on_demand(shell: Shell, tracker: StandIn) -> None:
    assert tracker
    shell.skip(shell.receive(task_event(1)))
    shell.do("project", "create", "entity", "3", *LAB, "--replay")
    assert shell.notified == [4711]


def test_a_link_to_an_existing_project_reads_the_metadata_too(shell: Shell, tracker: StandIn) -> None:
    tracker.patch("projects", 1, name="Renamed meanwhile")
    shell.do("mapping", "add", "entity", "3", "1")
    with shell.store.transaction() as tx:
        assert tx.metadata.names(MetadataKind.PROJECT, [1]) == {1: "Renamed meanwhile"}
    assert tracker.fault("status_before", path="/users.json", status=500)
    result = shell.type("mapping", "add", "entity", "3", "1")
    assert result.exit_code == 0
    assert "the metadata was not refreshed" in result.stderr


def test_each_fault_of_the_form_is_told_by_field(shell: Shell, tracker: StandIn) -> None:
    complaint = shell.fail(
        "project", "create", "entity", "9", "--name", " ", "--identifier", "ä", "--parent", "6"
    )
    assert all(f"{field}: " in complaint for field in ("name", "identifier", "parent_id"))
    tracker.settings(required_custom_fields=[2])
    assert "Cost centre cannot be blank" in shell.fail("project", "create", "entity", "9", *LAB)
    shell.do("metadata", "sync")
    assert "KB-HINT-003" in shell.fail("project", "create", "entity", "9", *LAB)


def test_wrong_usage_exits_with_2(shell: Shell) -> None:
    shell.fail("project", "create", "entity", "9", *LAB, "--field", "2", code=2)
    shell.fail("project", "create", "project", "0", *LAB, code=2)
    shell.fail("project", "create", "entity", "9", "--name", "x", code=2)


def test_a_tracker_that_is_away_is_one_line(shell: Shell, tracker: StandIn) -> None:
    tracker.stop()
    assert "Redmine cannot be reached" in shell.fail("project", "create", "entity", "9", *LAB)
    assert "Redmine cannot be reached" in shell.fail("metadata", "sync")


def test_a_refusal_of_redmine_is_said_once(shell: Shell, tracker: StandIn) -> None:
    tracker.fault("status_before", method="GET", path="/projects.json", status=403)
    complaint = shell.fail("metadata", "sync")
    assert "403" in complaint
    assert len(complaint.splitlines()) == 1, complaint
