"""Checks of the tracker: can it be reached, is the key an administrator's, does impersonation work."""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection, Iterator
from datetime import UTC, datetime

from producer.admin.doctor.checks import Group, QuickCheckMode, check
from producer.admin.doctor.finding import CheckResult, failure, ok, unknown, warning
from producer.admin.doctor.installation import Installation
from shared.errors import ImpersonationRefused, SettingsError, TrackerClosed, TrackerError
from shared.notices.doctor_service import ServiceFinding
from shared.notices.doctor_setup import Named, SetupFinding
from shared.notices.doctor_tracker import TrackerFinding
from shared.notices.faults import Detail
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.render import because
from shared.redis.latency import SLOW_S
from shared.refusals.judging import names_of
from shared.store.configuration.mappings import ProjectMapping
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.tracker.client import USERS, TrackerClient
from shared.tracker.lists import PAGE_SIZE, rows_of
from shared.tracker.projects import NEEDED_MODULES, ProjectNow, ProjectState
from shared.tracker.rights import ADD_NOTES, RIGHT_TO, SET_PRIVATE

NOT_FOUND = 404
MOST_NAMED = 10
GONE = {
    ProjectState.CLOSED: TrackerFinding.LINKED_PROJECT_CLOSED,
    ProjectState.ARCHIVED: TrackerFinding.LINKED_PROJECT_ARCHIVED,
    ProjectState.ABSENT: TrackerFinding.LINKED_PROJECT_GONE,
}


@check(
    Group.CONNECTION,
    {"tracker": "KB-TRACKER-001", "administrator": "KB-TRACKER-002", "impersonation": "KB-TRACKER-004"},
)
def connection(installation: Installation) -> Iterator[CheckResult]:
    """Check that the tracker accepts the key as an administrator's, by the list of users; other lists answer anyone."""
    try:
        config, client = installation.connect()
    except SettingsError as missing:
        yield failure("tracker", TrackerFinding.TRACKER_NOT_SET_UP(problem=missing.notice))
        return
    began = time.monotonic()
    try:
        answer = client.call("GET", USERS, params={"limit": PAGE_SIZE, "offset": 0})
    except TrackerClosed as closed:
        yield ok("tracker", TrackerFinding.TRACKER_ANSWERS(base_url=config.base_url))
        yield failure("administrator", _why_closed(closed))
    except TrackerError as error:
        yield failure("tracker", _why_not_usable(error, config.base_url))
    else:
        took = time.monotonic()
        installation.is_tracker_open = True
        if answer.at:
            installation.tracker_clocks.append((answer.at, datetime.now(UTC)))
        if (seconds := took - began) > SLOW_S:
            yield warning("tracker", TrackerFinding.TRACKER_SLOW(base_url=config.base_url, seconds=seconds))
        else:
            yield ok("tracker", TrackerFinding.TRACKER_ANSWERS(base_url=config.base_url))
        yield ok("administrator", TrackerFinding.KEY_OF_ADMINISTRATOR())
        yield from _impersonation(client)


def _why_not_usable(error: TrackerError, base_url: str | None) -> Notice:
    if error.status == NOT_FOUND:
        return TrackerFinding.NOT_A_TRACKER(base_url=base_url, status=error.status)
    detail = error.notice.params.get("detail")
    if isinstance(detail, Notice) and because(detail):  # the detail itself says what to do
        return TrackerFinding.TRACKER_NOT_REACHED(problem=detail)
    return ServiceFinding.TRACKER_NOT_USABLE(problem=error.notice)


def _why_closed(closed: TrackerClosed) -> Notice:
    why = closed.notice.params.get("detail")
    if not isinstance(why, Notice):
        return TrackerFinding.TRACKER_REFUSES(problem=closed.notice)
    if why.code == Detail.KEY_NOT_ADMINISTRATORS:
        return TrackerFinding.KEY_NOT_ADMINISTRATOR(login=why.params["login"])
    return (
        TrackerFinding.KEY_NOT_KNOWN() if why.code == Detail.KEY_IS_UNKNOWN else TrackerFinding.REST_API_OFF()
    )


def _impersonation(client: TrackerClient) -> Iterator[CheckResult]:
    """Check impersonation with a user who does not exist: an answer of 412 proves that the header is respected."""
    header = f"X-{client.target.header_prefix}-Switch-User"
    try:
        client.call(
            "GET", "/trackers.json", login=f"deskbridge-nobody-{secrets.token_hex(8)}", expected=(412,)
        )
    except ImpersonationRefused as refused:
        if refused.status == 412:
            yield ok("impersonation", TrackerFinding.IMPERSONATION_WORKS(header=header))
            return
        problem = TrackerFinding.IMPERSONATION_UNEXPECTED(status=refused.status, header=header)
    except TrackerError as error:
        problem = TrackerFinding.IMPERSONATION_UNKNOWN(problem=error.notice)
    else:
        problem = TrackerFinding.IMPERSONATION_IGNORED(header=header)
    yield failure("impersonation", problem)


@check(
    Group.TRACKER,
    {"modules": "KB-TRACKER-005", "links": "KB-SETUP-002"},
    glance=QuickCheckMode.OWN_WORDS,
    only=(TrackerFinding.NOTHING_LINKED,),
)
def projects(installation: Installation) -> Iterator[CheckResult]:
    """Check that each mapping leads to an active project with the modules, category and activity that are needed."""
    with installation.store.transaction() as tx:
        config, _ = tx.configs.get()
        found = tx.mappings.all()
        categories = {one.tracker_id: one for one in tx.metadata.of_kind(MetadataKind.CATEGORY)}
        activity = tx.metadata.get(MetadataKind.ACTIVITY, config.default_activity_id or 0)
    is_off = activity is not None and not activity.details.get("active", True)  # no project can change this
    if not found:
        yield warning("links", TrackerFinding.NOTHING_LINKED())
    first = {link.tracker_project_id: link for link in reversed(found)}
    now = installation.projects or {}
    wrong = [
        one
        for link in found
        if link.tracker_project_id in now
        for one in _category(link, now[link.tracker_project_id])
    ]
    for project_id, project in now.items():
        wrong += _standing(first[project_id], project)
        wrong += _usable(project, None if is_off else config.default_activity_id)
        wrong += _issue_type(project, config.default_tracker_id)
    locked = {one.tracker_user_id for one in installation.locked}
    wrong += [
        one
        for link in found
        for one in _assignee(link, categories.get(link.default_category_id or 0), locked)
    ]
    yield from wrong
    if len(now) < len(first):
        read = TrackerFinding.LINKS_NOT_ALL_READ(
            read=len(now), count=len(first), seconds=installation.patience_s
        )
        yield from (unknown(check, read) for check in ("links", "modules"))
        return
    told = {one.check for one in wrong}
    if found and "links" not in told:
        yield ok("links", TrackerFinding.LINKS_USABLE(count=len(found)))
    if "modules" not in told:
        yield ok("modules", TrackerFinding.MODULES_ENABLED(count=len(first)))


@check(Group.TRACKER, {"notes": "KB-SETUP-003"})
def notes(installation: Installation) -> Iterator[CheckResult]:
    """Check that the default role, which technicians get, may add the notes and documents that are sent."""
    config, client = installation.connect()
    role_id = config.default_role_id
    needed = [ADD_NOTES] if config.sends_notes or config.sends_documents else []
    needed += [SET_PRIVATE] if config.sends_private_followups else []
    if not needed or role_id is None:
        yield ok("notes", SetupFinding.NOTES_NOT_SENT() if not needed else SetupFinding.ROLE_NOT_SET())
        return
    try:
        role = client.call("GET", f"/roles/{role_id}.json").object("role")
    except (TrackerError, KeyError) as unclear:
        problem = unclear.notice if isinstance(unclear, TrackerError) else Detail.NO_LIST(name="permissions")
        yield warning("notes", SetupFinding.NOTES_RIGHTS_UNKNOWN(role_id=role_id, problem=problem))
        return
    name, allowed = str(role.get("name") or role_id), role.get("permissions") or ()
    lacking = [RIGHT_TO[one] for one in needed if one not in allowed]
    if lacking:
        yield warning("notes", SetupFinding.NOTES_LACK_RIGHTS(role=name, rights=lacking))
    else:
        yield ok("notes", SetupFinding.NOTES_ALLOWED(role_id=role_id))


def _standing(link: ProjectMapping, project: ProjectNow) -> list[CheckResult]:
    found = GONE.get(project.state)
    if found is None:
        return []
    about = {"link": link.notice, "kind": str(link.kind), "id": link.helpdesk_id}
    return [failure("links", found(**project.named, **about))]


def _category(link: ProjectMapping, project: ProjectNow) -> list[CheckResult]:
    wanted, categories = link.default_category_id, project.categories
    if (
        project.state is not ProjectState.ACTIVE
        or wanted is None
        or categories is None
        or wanted in categories
    ):
        return []
    why = TrackerFinding.CATEGORY_GONE(
        link=link.notice,
        category_id=wanted,
        **project.named,
        choices=names_of(categories)["choices"] or None,
        kind=str(link.kind),
        id=link.helpdesk_id,
    )
    return [failure("links", why)]


def _assignee(link: ProjectMapping, category: Entry | None, locked: Collection[int]) -> list[CheckResult]:
    """Return a warning if a category's default assignee is locked: the tracker then refuses its issues."""
    assignee_id = category.details.get("assigned_to_id") if category else None
    if category is None or assignee_id not in locked:
        return []
    why = TrackerFinding.CATEGORY_ASSIGNEE_LOCKED(
        link=link.notice,
        category_id=category.tracker_id,
        category=category.name,
        project_id=link.tracker_project_id,
        user_id=assignee_id,
        user=category.details.get("assigned_to"),
    )
    return [warning("links", why)]


def _usable(project: ProjectNow, activity_id: int | None) -> list[CheckResult]:
    if project.state is not ProjectState.ACTIVE:
        return []
    found: list[CheckResult] = []
    missing = [
        module for module in NEEDED_MODULES if project.modules is not None and module not in project.modules
    ]
    if missing:
        found.append(failure("modules", TrackerFinding.MODULES_MISSING(**project.named, modules=missing)))
    usable = project.activities
    if activity_id and usable is not None and activity_id not in usable and "time_tracking" not in missing:
        choices = names_of(usable)["choices"] or None
        why = TrackerFinding.ACTIVITY_NOT_USABLE(activity_id=activity_id, **project.named, choices=choices)
        found.append(failure("activity", why))
    return found


def _issue_type(project: ProjectNow, issue_type_id: int | None) -> list[CheckResult]:
    """Return a failure if a project lacks the issue type that is sent: the tracker would use its first one."""
    usable = project.issue_types
    if (
        project.state is not ProjectState.ACTIVE
        or issue_type_id is None
        or not usable
        or issue_type_id in usable
    ):
        return []
    choices = names_of(usable)["choices"]
    why = TrackerFinding.ISSUE_TYPE_NOT_USABLE(issue_type_id=issue_type_id, **project.named, choices=choices)
    return [failure("ids", why)]


@check(Group.TRACKER)
def issues_of_deleted_tickets(installation: Installation) -> Iterator[CheckResult]:
    """Check that no issue is still open although its ticket was deleted."""
    with installation.store.transaction() as tx:
        tickets = tx.journal.issues_of_deleted(PAGE_SIZE)
    if not tickets:
        return
    _, client = installation.connect()
    ids = ",".join(map(str, tickets))
    params = {"issue_id": ids, "status_id": "open", "limit": str(PAGE_SIZE)}
    path, name = Kind.TICKET.path, Kind.TICKET.list_name
    issues = [row["id"] for row in rows_of(client.call("GET", path, params=params), name, path)]
    if issues:
        named = [
            Named.ISSUE_OF_TICKET(issue_id=one, ticket_id=tickets.get(one)) for one in issues[:MOST_NAMED]
        ]
        yield warning("issue statuses", TrackerFinding.DELETED_BUT_OPEN(count=len(issues), issues=named))
