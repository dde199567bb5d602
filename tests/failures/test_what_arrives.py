"""Day, author and fields arrive correctly on the tracker, or the event names the difference; also on a real Redmine."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.sandbox.tracker import permissions as may
from deploy.sandbox.tracker.control import StandIn
from shared.notices.hints import Hint
from shared.notices.kinds import Kind
from shared.notices.notice import codes_in
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.store.configuration.mappings import MappingKind
from tests.contract import seed
from tests.contract.support import Json, Tracker
from tests.failures.redmine import RealRedmine
from tests.support.bridge import Bridge
from tests.support.events import SUPPORT_ENTITY, task, task_event, ticket

DAY = "2026-01-20"
ERIN = {"id": 70, "email": "erin@example.test"}
CAROL = {"id": 71, "email": "carol@example.test"}
EVERY_ROLE = (1, 2, *seed.Role)


class Scene:
    """A ticket, and its objects on the tracker."""

    def __init__(self, bridge: Bridge, server: StandIn | RealRedmine) -> None:
        self.bridge, self.server = bridge, server
        self.tracker = Tracker(server.base_url, server.api_key)
        self._others: dict[str, set[int]] = {"issues": set(), "time_entries": set()}
        self._others = {"issues": self._ids(self.issues()), "time_entries": self._ids(self.entries())}

    def forward(self, at: float = 0, of_ticket: dict[str, Any] | None = None, **of_task: Any) -> str:
        """Forward a Done ticket task; return its event's state."""
        event = task_event(at, of_ticket=of_ticket or ticket(), of_task=task(**of_task))
        (self.event_id,) = self.bridge.receive(event)
        self.bridge.sync()
        return self.bridge.event(self.event_id).state

    @property
    def reason(self) -> str:
        return self.bridge.event(self.event_id).reason or ""

    @property
    def params(self) -> dict[str, Any]:
        return self.bridge.event(self.event_id).params or {}

    def issues(self) -> list[Json]:
        return self._new("issues", "/issues.json?status_id=*&subject=Printer 4711 on fire&sort=id")

    def entries(self) -> list[Json]:
        return self._new("time_entries", "/time_entries.json?limit=100")

    def _new(self, name: str, path: str) -> list[Json]:
        """Return rows created since the test began, since a real Redmine may have rows of other tests."""
        rows = [one for one in self.tracker.read(path)[name] if one["id"] not in self._others[name]]
        return sorted(rows, key=lambda one: int(one["id"]))

    @staticmethod
    def _ids(rows: list[Json]) -> set[int]:
        return {one["id"] for one in rows}

    def calls(self, method: str) -> list[str]:
        """Return the path of each call so far, followed by the person's login, or by nothing for the administrator."""
        with self.bridge.store.transaction() as tx:
            made = [step.call for step in tx.trace.of_ticket(4711) if step.call]
        return [f"{one['path']} {one['as'] or ''}".strip() for one in made if one["method"] == method]

    def told(self, what: What) -> bool:
        with self.bridge.store.transaction() as tx:
            return any(step.notice.code == what for step in tx.trace.of_ticket(4711))


@pytest.fixture
def scene(bridge: Bridge, stand_in: StandIn | RealRedmine) -> Scene:
    return Scene(bridge, stand_in)


def test_hours_are_on_the_day_of_the_work(scene: Scene) -> None:
    assert scene.forward(date=f"{DAY}T23:30:00+09:00") == "done"
    assert [one["spent_on"] for one in scene.entries()] == [DAY]


def test_hours_are_on_the_day_on_which_they_are_sent_where_that_is_set(scene: Scene) -> None:
    scene.bridge.configure(spent_on="omit")
    assert scene.forward(date=DAY) == "done"
    assert [one["spent_on"] for one in scene.entries()] != [DAY]


def hints_of(scene: Scene) -> set[str]:
    """Return the hints in an event's reason, which supplement the tracker's own words."""
    notice = scene.bridge.event(scene.event_id).notice
    assert notice
    return {code for code in codes_in(notice) if code in {str(one) for one in Hint}}


def test_a_day_that_the_tracker_refuses_fails_with_its_words_and_a_hint(scene: Scene) -> None:
    scene.server.settings(future_dates=False)
    assert scene.forward(date="2090-01-01") == "failed"
    assert "Cannot log time on a future date" in scene.reason
    assert scene.told(What.PERHAPS_REFUSED_FOR)
    assert hints_of(scene) == {Hint.MAYBE_DAY_NOT_OPEN}, (
        "no word of closed issues, or of more hours than a day takes"
    )
    assert scene.entries() == []


def test_more_hours_than_a_day_takes_are_in_nobody_elses_name(scene: Scene) -> None:
    """As the administrator, who has logged nothing that day, the hours would be accepted."""
    scene.server.settings(max_hours_per_day=8)
    assert scene.forward(date=DAY, actiontime=5 * 3600) == "done"
    assert scene.forward(1, task_id=513, date=DAY, actiontime=4 * 3600) == "failed"
    assert "Cannot log more than 8:00 hours" in scene.reason
    assert hints_of(scene) == set(), "the tracker's words say it all"
    assert "a role" not in scene.reason
    assert scene.told(What.REFUSED_FOR_CONTENT)
    assert [one["hours"] for one in scene.entries()] == [5.0]
    assert scene.calls("POST").count("/time_entries.json") == 0
    scene.server.settings(max_hours_per_day=9)
    with scene.bridge.store.transaction() as tx:
        tx.journal.replay([scene.event_id])
    scene.bridge.sync()
    assert [(one["hours"], one["user"]["id"]) for one in scene.entries()] == [
        (5.0, seed.User.ALICE),
        (4.0, seed.User.ALICE),
    ]


def test_a_field_that_a_persons_role_requires_fails_the_issue(scene: Scene) -> None:
    scene.server.patch("roles", seed.Role.DEVELOPER, required=["due_date"])
    assert scene.forward() == "failed"
    assert "Due date cannot be blank" in scene.reason
    assert scene.issues() == []
    scene.server.patch("roles", seed.Role.DEVELOPER, required=[])
    with scene.bridge.store.transaction() as tx:
        tx.journal.replay([scene.event_id])
    scene.bridge.sync()
    assert [one["author"]["id"] for one in scene.issues()] == [seed.User.ALICE]


def test_who_was_made_a_member_a_moment_ago_is_refused_for_the_content_alike(scene: Scene) -> None:
    scene.server.patch("roles", seed.Role.DEVELOPER, required=["due_date"])
    assert scene.forward(of_ticket=ticket(technician=CAROL)) == "failed"
    assert scene.told(What.MADE_MEMBER)
    assert scene.issues() == []


def test_an_issue_of_a_member_whose_role_may_create_none_is_the_administrators(scene: Scene) -> None:
    scene.server.patch("roles", seed.Role.REPORTER, permissions=sorted(may.REPORTER - {"add_issues"}))
    assert scene.forward(of_ticket=ticket(technician=ERIN)) == "done"
    assert [one["author"]["id"] for one in scene.issues()] == [seed.User.ADMIN]
    with scene.bridge.store.transaction() as tx:
        assert [one.kind for one, _ in tx.misattributed.find()] == [Kind.TICKET]
    assert scene.told(What.REPEATED_AS_ADMINISTRATOR)


def test_hours_of_a_member_whose_role_may_log_none_are_the_administrators(scene: Scene) -> None:
    scene.server.patch("roles", seed.Role.REPORTER, permissions=sorted(may.REPORTER - {"log_time"}))
    assert scene.forward(user=ERIN) == "done"
    assert [one["user"]["id"] for one in scene.entries()] == [seed.User.ADMIN]
    assert scene.bridge.event(scene.event_id).code == Reason.TIME_LOGGED_AS_ANOTHER


def test_hours_of_a_person_who_does_not_see_the_issue_are_booked_to_them(scene: Scene) -> None:
    scene.server.patch("roles", seed.Role.REPORTER, issues_visibility="own")
    assert scene.forward(user=ERIN, date=DAY) == "done"
    assert [(one["user"]["id"], one["spent_on"]) for one in scene.entries()] == [(seed.User.ERIN, DAY)]
    assert scene.bridge.event(scene.event_id).code == Reason.TIME_LOGGED
    assert scene.told(What.BOOKED_TO_PERSON)
    with scene.bridge.store.transaction() as tx:
        assert tx.misattributed.find() == []


def test_hours_that_are_booked_to_a_person_keep_to_the_persons_limits(scene: Scene) -> None:
    scene.server.patch("roles", seed.Role.REPORTER, issues_visibility="own")
    scene.server.settings(max_hours_per_day=8)
    assert scene.forward(user=ERIN, date=DAY, actiontime=9 * 3600) == "failed"
    assert "Cannot log more than 8:00 hours" in scene.reason
    assert scene.entries() == []


def test_a_person_who_is_no_member_and_may_not_become_one_is_stood_in_for(scene: Scene) -> None:
    scene.bridge.configure(membership_for="nobody")
    assert scene.forward(of_ticket=ticket(technician=CAROL), user=CAROL) == "done"
    assert [one["user"]["id"] for one in scene.entries()] == [seed.User.ADMIN]


def test_a_text_and_a_priority_that_the_role_may_not_set_are_given_afterwards(scene: Scene) -> None:
    scene.bridge.configure(default_priority_id=seed.Priority.HIGH)
    scene.server.patch("roles", seed.Role.DEVELOPER, read_only=["description", "priority_id"])
    assert scene.forward() == "done"
    (issue,) = scene.issues()
    assert (issue["description"], issue["priority"]["id"]) == ("It burns", seed.Priority.HIGH)
    assert issue["author"]["id"] == seed.User.ALICE
    assert scene.params == {
        "time_entry_id": scene.entries()[0]["id"],
        "issue_id": issue["id"],
    }
    path = f"/issues/{issue['id']}.json"
    assert scene.calls("PUT") == [path, path], "the fields, and the status; both as the administrator"
    assert scene.told(What.FIELDS_GIVEN)
    assert not scene.told(What.FIELDS_KEPT)
    assert scene.bridge.forward(task_event(1, of_task=task(513))) == ["done"]
    assert len(scene.calls("PUT")) == 2


def test_a_category_that_the_role_may_not_set_is_given_afterwards(scene: Scene) -> None:
    scene.bridge.link(MappingKind.ENTITY, SUPPORT_ENTITY, seed.Project.SUPPORT, seed.Category.SOFTWARE)
    scene.server.patch("roles", seed.Role.DEVELOPER, read_only=["category_id"])
    assert scene.forward() == "done"
    assert [one["category"]["id"] for one in scene.issues()] == [seed.Category.SOFTWARE]


def test_what_nobody_may_set_is_told_and_not_tried_for_ever(scene: Scene) -> None:
    scene.bridge.configure(default_priority_id=seed.Priority.HIGH)
    for role_id in EVERY_ROLE:
        scene.server.patch("roles", role_id, read_only=["description"])
    assert scene.forward() == "done"
    (issue,) = scene.issues()
    assert not issue["description"]
    assert issue["priority"]["id"] == seed.Priority.HIGH
    assert scene.params["fields"] == ["description"]
    assert "has other values of description than deskbridge sent" in scene.reason
    assert scene.told(What.FIELDS_KEPT)
    before = scene.calls("PUT")
    scene.bridge.hurry()
    scene.bridge.sync()
    assert scene.calls("PUT") == before
    with scene.bridge.store.transaction() as tx:
        assert tx.statuses.with_fields_kept(30, 10) == (1, [4711])
        assert tx.statuses.due_tickets(10) == []


def test_an_issue_type_that_the_project_lacks_is_told(scene: Scene) -> None:
    scene.bridge.configure(default_tracker_id=seed.IssueType.FEATURE)
    assert scene.forward() == "done"
    assert [one["tracker"]["id"] for one in scene.issues()] == [seed.IssueType.BUG]
    assert scene.params["fields"] == ["tracker_id"]


def test_a_text_of_a_template_counts_as_what_was_sent(scene: Scene) -> None:
    body = """{"issue": {"project_id": "{{project.tracker_project_id}}", "subject": "{{ticket.title}}",
        "description": "one\\r\\n\\ntwo  ", "priority_id": "3"}}"""
    with scene.bridge.store.transaction() as tx:
        tx.templates.activate(tx.templates.create("issue.create", "own", body, "a test"), 1, "a test")
    assert scene.forward() == "done"
    assert not scene.told(What.FIELDS_GIVEN)
    assert not scene.told(What.FIELDS_KEPT)
    scene.server.patch("roles", seed.Role.DEVELOPER, read_only=["description", "priority_id"])
    other = ticket(4712, title="Printer 4711 on fire")
    scene.bridge.forward(task_event(of_ticket=other, of_task=task(513)), ticket_id=4712)
    assert {(one["description"].strip(), one["priority"]["id"]) for one in scene.issues()} == {
        ("one\r\n\r\ntwo", seed.Priority.HIGH)
    }
