"""How the stand-in handles issues; each row was observed on a real Redmine 5.0."""

from __future__ import annotations

from typing import Any

import pytest

NO_PROJECT = ["Project cannot be blank", "Tracker cannot be blank", "Status cannot be blank"]


def test_a_minimal_issue_gets_the_defaults(api: Any) -> None:
    status, shown = api.issue()
    assert status == 201
    issue = shown["issue"]
    assert (issue["tracker"]["id"], issue["status"]["id"], issue["priority"]["id"]) == (1, 1, 2)
    assert issue["author"] == {"id": 1, "name": "Redmine Admin"}
    assert "watchers" not in issue
    assert issue["description"] is None


@pytest.mark.parametrize("status_id", [2, 5, 999, "abc", None])
def test_a_status_asked_for_on_creation_is_silently_ignored(api: Any, status_id: object) -> None:
    status, shown = api.issue(status_id=status_id)
    assert (status, shown["issue"]["status"]["name"]) == (201, "New")


def test_a_status_on_creation_counts_where_the_workflow_allows_it(api: Any) -> None:
    api.tracker.settings.new_issue_statuses = True
    assert api.issue(status_id=2, su="alice")[1]["issue"]["status"]["id"] == 2
    assert api.issue(status_id=5)[1]["issue"]["closed_on"] is not None


@pytest.mark.parametrize("tracker_id", [2, 999, None])
def test_an_issue_type_the_project_lacks_becomes_its_first(api: Any, tracker_id: object) -> None:
    assert api.issue(tracker_id=tracker_id)[1]["issue"]["tracker"]["id"] == 1


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"priority_id": 999}, ["Priority cannot be blank"]),
        ({"priority_id": None}, ["Priority cannot be blank"]),
        ({"category_id": 3}, ["Category is not included in the list"]),
        ({"watcher_user_ids": [10]}, ["Watchers is invalid"]),
        ({"assigned_to_id": 7}, ["Assignee is invalid"]),
        ({"parent_issue_id": 99}, ["Parent task is invalid"]),
        ({"subject": "  "}, ["Subject cannot be blank"]),
        ({"subject": "x" * 256}, ["Subject is too long (maximum is 255 characters)"]),
        ({"custom_fields": [{"id": 4, "value": "Fax"}]}, ["Channel is not included in the list"]),
        ({"project_id": 99}, NO_PROJECT),
        ({"project_id": 6}, NO_PROJECT),
        ({"project_id": 7}, NO_PROJECT),
        ({"project_id": None, "subject": ""}, ["Subject cannot be blank", *NO_PROJECT]),
    ],
)
def test_a_refused_issue_says_why(api: Any, fields: dict[str, object], errors: list[str]) -> None:
    assert api.issue(**fields) == (422, {"errors": errors})
    assert len(api.tracker.issues) == 5


@pytest.mark.parametrize("subject", ["x" * 255, "\U0001f600" * 255, "  padded  ", "a\nb\tc"])
def test_a_subject_of_255_characters_is_kept_as_sent(api: Any, subject: str) -> None:
    assert api.issue(subject=subject)[1]["issue"]["subject"] == subject


def test_line_ends_of_a_description_become_cr_lf(api: Any) -> None:
    assert api.issue(description="a\nb\r\nc")[1]["issue"]["description"] == "a\r\nb\r\nc"


def test_an_unknown_watcher_is_a_404_and_creates_nothing(api: Any) -> None:
    assert api.issue(watcher_user_ids=[5, 99999]) == (404, {"status": 404, "error": "Not Found"})
    assert len(api.tracker.issues) == 5


@pytest.mark.parametrize(("su", "watchers"), [(None, [5]), ("alice", [])])
def test_watchers_are_dropped_for_those_who_may_not_add_any(
    api: Any, su: str | None, watchers: list[int]
) -> None:
    number = api.issue(watcher_user_ids=[5, 5], su=su)[1]["issue"]["id"]
    assert api.tracker.issues[number].watchers == watchers


@pytest.mark.parametrize(
    "given", [{"custom_fields": [{"id": 3, "value": "T-1"}]}, {"custom_field_values": {"3": "T-1"}}]
)
def test_custom_fields_are_taken_in_both_notations(api: Any, given: dict[str, object]) -> None:
    shown = api.issue(**given)[1]["issue"]["custom_fields"]
    assert shown[0] == {"id": 3, "name": "Helpdesk ticket", "value": "T-1"}


def test_a_required_custom_field_is_demanded_on_creation_but_not_on_update(api: Any) -> None:
    api.tracker.settings.required_custom_fields = [3]
    assert api.issue() == (422, {"errors": ["Helpdesk ticket cannot be blank"]})
    assert api.send("PUT", "/issues/1.json", {"issue": {"status_id": 2}}) == (204, None)


@pytest.mark.parametrize(
    ("su", "project_id", "expected"),
    [
        ("alice", 1, 201),
        ("ALICE", 1, 201),
        ("carol", 2, 201),
        ("carol", 1, 422),
        ("alice", 4, 422),
        ("alice", 3, 422),
        ("nobody", 1, 412),
        ("dave", 1, 412),
        ("", 1, 201),
    ],
)
def test_impersonation_answers_as_the_tracker_does(api: Any, su: str, project_id: int, expected: int) -> None:
    status, shown = api.issue(project_id=project_id, su=su)
    assert status == expected
    if status == 201:
        assert shown["issue"]["author"]["name"] == {"": "Redmine Admin", "carol": "Carol Clark"}.get(
            su, "Alice Archer"
        )


def test_someone_who_may_add_issues_nowhere_gets_403(api: Any) -> None:
    api.tracker.roles[1].permissions = ["view_issues"]
    assert api.issue(su="carol") == (403, None)


def test_a_member_of_the_parent_counts_below_it_only_where_the_project_inherits(api: Any) -> None:
    api.tracker.projects[3].inherit_members = True
    assert api.issue(project_id=3, su="alice")[0] == 201


def test_a_null_character_is_kept_or_breaks_the_tracker_as_switched(api: Any) -> None:
    assert api.issue(subject="a\x00b")[0] == 201
    api.tracker.settings.null_is_500 = True
    assert api.issue(subject="a\x00b")[0] == 500
    assert api.issue(description="a\x00b")[0] == 500


@pytest.mark.parametrize(
    ("su", "before", "wanted", "after"),
    [
        (None, 1, 6, 6),
        (None, 5, 1, 1),
        ("alice", 1, 5, 5),
        ("alice", 2, 1, 2),
        ("alice", 5, 2, 5),
        ("erin", 1, 5, 1),
        (None, 1, 999, 1),
        (None, 1, "3", 3),
    ],
)
def test_a_status_change_is_made_or_silently_ignored(
    api: Any, su: str | None, before: int, wanted: object, after: int
) -> None:
    api.tracker.issues[1].status_id = before
    assert api.send("PUT", "/issues/1.json", {"issue": {"status_id": wanted}}, su=su) == (204, None)
    assert api.tracker.issues[1].status_id == after
    assert len(api.tracker.issues[1].journals) == (after != before)


@pytest.mark.parametrize(
    ("issue_id", "su", "expected"), [(2, None, 403), (3, None, 403), (99, None, 404), (1, "carol", 403)]
)
def test_an_issue_out_of_reach_is_not_changed(api: Any, issue_id: int, su: str | None, expected: int) -> None:
    assert api.send("PUT", f"/issues/{issue_id}.json", {"issue": {"status_id": 2}}, su=su) == (expected, None)


def test_a_stale_lock_version_is_a_422_without_errors(api: Any) -> None:
    assert api.send("PUT", "/issues/1.json", {"issue": {"status_id": 2, "lock_version": 7}}) == (
        422,
        {"errors": []},
    )


def test_deleting_an_issue_takes_its_time_entries_along(api: Any) -> None:
    api.time()
    assert api.send("DELETE", "/issues/1.json", su="alice")[0] == 403
    assert api.send("DELETE", "/issues/1.json") == (204, None)
    assert api.send("DELETE", "/issues/1.json") == (404, None)
    assert not api.tracker.time_entries


@pytest.mark.parametrize(("reuse", "number"), [(False, 7), (True, 6)])
def test_the_id_of_a_deleted_issue_is_given_again_only_where_switched_on(
    api: Any, reuse: bool, number: int
) -> None:
    api.tracker.settings.reuse_deleted_ids = reuse
    api.issue()
    api.send("DELETE", "/issues/6.json")
    assert api.issue()[1]["issue"]["id"] == number


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Thema muss ausgefüllt werden"),
        ("fr", "Sujet doit être renseigné(e)"),
        ("xx", "Subject cannot be blank"),
    ],
)
def test_errors_speak_the_acting_users_language(api: Any, language: str, text: str) -> None:
    api.tracker.users[6].language = language
    sent = {"issue": {"project_id": 1, "subject": ""}}
    assert api.send("POST", "/issues.json", sent, su="bob", accept_language="en")[1] == {"errors": [text]}
    assert api.send("POST", "/issues.json", sent, accept_language=f"{language};q=1")[1] == {"errors": [text]}
