"""PUT /issues/:id.json: the status sync (SPEC section 3)."""

from __future__ import annotations

import pytest

from tests.contract.seed import UNKNOWN, Issue, Project, Status
from tests.contract.support import Json, Tracker, assert_done, assert_empty, unique


@pytest.fixture
def issue(tracker: Tracker) -> Json:
    """Return a new issue of SUPPORT."""
    return tracker.issue()


def seen(tracker: Tracker, issue: Json) -> Json:
    """Return the current state of an issue, with its journals."""
    read: Json = tracker.read(f"/issues/{issue['id']}.json?include=journals")["issue"]
    return read


def status(tracker: Tracker, issue: Json) -> int:
    """Return the id of an issue's current status."""
    return int(seen(tracker, issue)["status"]["id"])


def test_a_change_of_status_is_204_without_a_body(tracker: Tracker, issue: Json) -> None:
    assert_done(tracker.update_issue(issue["id"], status_id=Status.IN_PROGRESS))
    assert status(tracker, issue) == Status.IN_PROGRESS


def test_a_change_as_a_person_is_journaled_as_theirs(tracker: Tracker, issue: Json) -> None:
    assert_done(tracker.update_issue(issue["id"], su="alice", status_id=Status.IN_PROGRESS))
    assert [journal["user"]["name"] for journal in seen(tracker, issue)["journals"]] == ["Alice Archer"]


@pytest.mark.parametrize("wanted", [Status.RESOLVED, Status.FEEDBACK, Status.CLOSED, Status.REJECTED])
def test_the_administrator_may_set_any_status(tracker: Tracker, issue: Json, wanted: Status) -> None:
    assert_done(tracker.update_issue(issue["id"], status_id=wanted))
    assert status(tracker, issue) == wanted


def test_the_administrator_may_reopen_and_closed_on_stays(tracker: Tracker, issue: Json) -> None:
    assert_done(tracker.update_issue(issue["id"], status_id=Status.CLOSED))
    closed_on = seen(tracker, issue)["closed_on"]
    assert closed_on is not None
    assert_done(tracker.update_issue(issue["id"], status_id=Status.NEW))
    now = seen(tracker, issue)
    assert (now["status"]["id"], now["status"]["is_closed"]) == (Status.NEW, False)
    assert now["closed_on"] == closed_on


def but_for_its_date(issue: Json) -> Json:
    """Return an issue without `updated_on`, which changes even if an update changes nothing else."""
    return {name: value for name, value in issue.items() if name != "updated_on"}


def test_the_same_status_again_leaves_no_journal(tracker: Tracker, issue: Json) -> None:
    before = seen(tracker, issue)
    assert_done(tracker.update_issue(issue["id"], status_id=Status.NEW))
    assert but_for_its_date(seen(tracker, issue)) == but_for_its_date(before)
    assert before["journals"] == []


@pytest.mark.parametrize(
    ("person", "start", "wanted"),
    [
        ("alice", Status.IN_PROGRESS, Status.NEW),
        ("alice", Status.IN_PROGRESS, Status.REJECTED),
        ("alice", Status.CLOSED, Status.IN_PROGRESS),
        ("erin", Status.IN_PROGRESS, Status.RESOLVED),
    ],
)
def test_a_transition_the_person_may_not_make_is_204_and_changes_nothing(
    tracker: Tracker, issue: Json, person: str, start: Status, wanted: Status
) -> None:
    assert_done(tracker.update_issue(issue["id"], status_id=start))
    before = seen(tracker, issue)
    assert_done(tracker.update_issue(issue["id"], su=person, status_id=wanted))
    assert but_for_its_date(seen(tracker, issue)) == but_for_its_date(before)


@pytest.mark.parametrize("wanted", [UNKNOWN, None])
def test_a_status_that_does_not_exist_is_204_and_changes_nothing(
    tracker: Tracker, issue: Json, wanted: int | None
) -> None:
    assert_done(tracker.update_issue(issue["id"], status_id=wanted))
    assert status(tracker, issue) == Status.NEW


def test_an_update_without_fields_is_204_and_changes_nothing(tracker: Tracker, issue: Json) -> None:
    before = seen(tracker, issue)
    assert_done(tracker.update_issue(issue["id"]))
    assert but_for_its_date(seen(tracker, issue)) == but_for_its_date(before)


def test_a_status_may_be_sent_as_text(tracker: Tracker, issue: Json) -> None:
    assert_done(tracker.update_issue(issue["id"], status_id="3"))
    assert status(tracker, issue) == Status.RESOLVED


def test_other_fields_can_be_updated_too(tracker: Tracker, issue: Json) -> None:
    subject = unique()
    assert_done(tracker.update_issue(issue["id"], subject=subject, notes="why"))
    now = seen(tracker, issue)
    assert now["subject"] == subject
    assert [journal["notes"] for journal in now["journals"]] == ["why"]


def test_notes_alone_are_journaled_also_of_a_person_who_may_only_comment(tracker: Tracker) -> None:
    issue = tracker.issue(project_id=Project.PUBLIC)
    body = {"notes": "seen", "status_id": Status.CLOSED}
    assert_done(tracker.update_issue(issue["id"], su="carol", **body))
    (journal,) = seen(tracker, issue)["journals"]
    assert (journal["user"]["name"], journal["notes"], journal["details"]) == ("Carol Clark", "seen", [])
    assert status(tracker, issue) == Status.NEW


def test_an_unknown_issue_is_404_and_empty(tracker: Tracker) -> None:
    assert_empty(tracker.update_issue(UNKNOWN, status_id=Status.NEW), 404)


def test_a_deleted_issue_is_404_and_empty(tracker: Tracker, issue: Json) -> None:
    path = f"/issues/{issue['id']}.json"
    assert_done(tracker.call("DELETE", path))
    assert_empty(tracker.update_issue(issue["id"], status_id=Status.NEW), 404)
    assert_empty(tracker.call("GET", path), 404)
    assert_empty(tracker.call("DELETE", path), 404)


@pytest.mark.parametrize("person", [None, "alice"], ids=["administrator", "member"])
@pytest.mark.parametrize("issue_id", [Issue.CLOSED, Issue.ARCHIVED])
def test_an_issue_in_a_project_that_is_not_active_is_403_and_empty(
    tracker: Tracker, issue_id: Issue, person: str | None
) -> None:
    assert_empty(tracker.update_issue(issue_id, su=person, status_id=Status.IN_PROGRESS), 403)


def test_a_non_member_of_a_private_project_is_403_and_empty(tracker: Tracker, issue: Json) -> None:
    assert_empty(tracker.update_issue(issue["id"], su="carol", status_id=Status.IN_PROGRESS), 403)
    assert status(tracker, issue) == Status.NEW


def test_a_stale_lock_version_is_422_without_a_reason(tracker: Tracker, issue: Json) -> None:
    assert_done(tracker.update_issue(issue["id"], status_id=Status.IN_PROGRESS))
    answer = tracker.update_issue(issue["id"], status_id=Status.RESOLVED, lock_version=0)
    assert answer.status_code == 422
    assert answer.json() == {"errors": []}
    assert status(tracker, issue) == Status.IN_PROGRESS


def test_allowed_statuses_are_those_of_the_person(tracker: Tracker, issue: Json) -> None:
    path = f"/issues/{issue['id']}.json?include=allowed_statuses"
    everyone = {row["id"] for row in tracker.read(path)["issue"]["allowed_statuses"]}
    alice = {row["id"] for row in tracker.read(path, su="alice")["issue"]["allowed_statuses"]}
    assert everyone == set(Status)
    assert Status.IN_PROGRESS in alice
    assert Status.REJECTED not in alice


def test_an_issue_of_a_closed_project_can_still_be_read(tracker: Tracker) -> None:
    assert tracker.read(f"/issues/{Issue.CLOSED}.json")["issue"]["project"]["id"] == Project.CLOSED
