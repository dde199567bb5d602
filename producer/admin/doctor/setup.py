"""Checks what an administrator has set up against what the tracker has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC
from typing import Any

from producer.admin.doctor.checks import Group, QuickCheckMode, check, quick_check
from producer.admin.doctor.finding import CheckResult, failure, ok, warning
from producer.admin.doctor.installation import Installation
from producer.admin.people.people import HelpdeskUser as Mapped
from producer.admin.people.people import user_map
from shared.errors import SettingsError, TrackerError
from shared.events.config import SETTINGS, PluginConfig
from shared.metadata.confirming import confirm, fault_of, unusable_defaults
from shared.metadata.rows import person
from shared.notices.doctor_setup import Named, SetupFinding
from shared.notices.notice import Notice
from shared.notices.reasons import Matching
from shared.notices.refusals import Refusal
from shared.store.configuration.metadata import MetadataKind
from shared.tracker.client import USERS
from shared.tracker.concurrent_reads import run_concurrently
from shared.tracker.lists import rows_of
from shared.values.ids import id_in

INTERVALS_MISSED = 3
MOST_NAMED = 10
MOST_COUNTED = 1000
NEWEST_TASKS = 500
"""How many of the newest events of ticket tasks are searched for technicians who did not write their task."""
TAKEN_ALL_THE_SAME = ("priority",)
"""Kinds that the tracker accepts even if they are switched off, so that everything is forwarded."""
CHECKS_OF = {"default_role_id": "role", "default_activity_id": "activity"}
"""Settings with a check of their own."""


@check(Group.KEY, {"api key": "KB-SETUP-001"})
def api_key(installation: Installation) -> Iterator[CheckResult]:
    """Check that the API key is stored, and can be decrypted."""
    with installation.store.transaction() as tx:
        _, encrypted = tx.configs.get()
    if encrypted is None:
        yield failure("api key", SetupFinding.API_KEY_MISSING())
        return
    try:
        installation.vault.decrypt(encrypted)
    except SettingsError as wrong:
        yield failure("api key", SetupFinding.API_KEY_UNREADABLE(problem=wrong.notice))
        return
    if installation.vault.is_current(encrypted):
        yield ok("api key", SetupFinding.API_KEY_STORED())
    else:
        yield warning("api key", SetupFinding.API_KEY_OLD_ENCRYPTION())


@check(Group.CACHE, {"metadata": "KB-SETUP-005"}, glance=QuickCheckMode.NOTED)
def metadata(installation: Installation) -> Iterator[CheckResult]:
    """Check that the cache is filled, and fresh."""
    with installation.store.transaction() as tx:
        good, runs = tx.metadata.last_good_run(), tx.metadata.runs(1)
        now = tx.now()
    if good is None:
        yield failure("metadata", SetupFinding.METADATA_EMPTY())
        return
    age = (now - good.ended_at).total_seconds()
    if age > installation.settings.metadata_interval * INTERVALS_MISSED:
        yield warning("metadata", SetupFinding.METADATA_OLD(hours=age / 3600, error=runs[0].notice))
    elif not runs[0].ok:
        yield warning("metadata", SetupFinding.METADATA_NOT_READ(error=runs[0].notice))
    else:
        at = f"{good.ended_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        yield ok("metadata", SetupFinding.METADATA_CURRENT(at=at))


@check(Group.SETTINGS, {"ids": "KB-SETUP-007", "role": "KB-SETUP-003", "activity": "KB-TRACKER-006"})
def ids(installation: Installation) -> Iterator[CheckResult]:
    """Check that every id of the Redmine settings exists on the tracker, and that role and activity are set."""
    with installation.store.transaction() as tx:
        config, _ = tx.configs.get()
        faults = unusable_defaults(tx, config)
    yield from _unusable(faults)
    if not faults.keys() - CHECKS_OF.keys():
        yield ok("ids", SetupFinding.CONFIG_IDS_KNOWN())
    yield from _left_out(config, faults)


@quick_check(Group.SETTINGS, "ids", QuickCheckMode.NOTED, only=(SetupFinding.CONFIG_ID_UNKNOWN,))
def defaults(installation: Installation) -> Iterator[CheckResult]:
    """Check that every id that is set in the Redmine settings exists on the tracker."""
    with installation.store.transaction() as tx:
        faults = unusable_defaults(tx, tx.configs.get()[0])
    yield from _unusable(faults)


def _unusable(faults: dict[str, Notice]) -> Iterator[CheckResult]:
    for name, fault in faults.items():
        is_taken = SETTINGS[name].kind in TAKEN_ALL_THE_SAME and fault.code == Refusal.ID_SWITCHED_OFF
        found = SetupFinding.CONFIG_ID_UNKNOWN(name=name, problem=fault)
        yield (warning if is_taken else failure)(CHECKS_OF.get(name, "ids"), found)


def _left_out(config: PluginConfig, faults: dict[str, Notice]) -> Iterator[CheckResult]:
    if config.default_role_id is None:
        yield warning("role", SetupFinding.ROLE_NOT_SET())
    elif "default_role_id" not in faults:
        yield ok("role", SetupFinding.ROLE_KNOWN(role_id=config.default_role_id))
    if config.default_activity_id is None:
        yield warning("activity", SetupFinding.ACTIVITY_NOT_SET())
    elif "default_activity_id" not in faults:
        yield ok("activity", SetupFinding.ACTIVITY_KNOWN(activity_id=config.default_activity_id))


@check(Group.SETTINGS)
def memberships(installation: Installation) -> Iterator[CheckResult]:
    """Check that an e-mail address alone makes no one a member of a private project."""
    with installation.store.transaction() as tx:
        config, _ = tx.configs.get()
        linked = {link.tracker_project_id for link in tx.mappings.all()}
        entries = tx.metadata.of_kind(MetadataKind.PROJECT)
    private = [str(one) for one in entries if one.tracker_id in linked and not one.details.get("is_public")]
    if private and config.membership_for == "matched" and config.default_role_id is not None:
        why = SetupFinding.MEMBERSHIP_BY_EMAIL(count=len(private), projects=private[:MOST_NAMED])
        yield warning("role", why)


@check(Group.CACHE, {"text formatting": "KB-SETUP-008"})
def text_formatting(installation: Installation) -> Iterator[CheckResult]:
    """Check that the text formatting of descriptions is set, since the tracker's API does not report it."""
    with installation.store.transaction() as tx:
        config, _ = tx.configs.get()
    if config.text_formatting is None:
        yield warning("text formatting", SetupFinding.FORMATTING_NOT_SET())
    else:
        yield ok("text formatting", SetupFinding.FORMATTING_KNOWN(formatting=config.text_formatting))


@check(Group.SETTINGS)
def task_author(installation: Installation) -> Iterator[CheckResult]:
    """Count the finished tasks whose author `task_author` decides."""
    with installation.store.transaction() as tx:
        config, _ = tx.configs.get()
        tasks = dict[int, dict[str, Any]]()
        for task_id, task in tx.known_hours.newest(NEWEST_TASKS):
            tasks.setdefault(task_id, task)
    done = [task for task in tasks.values() if task.get("state") == config.done_state]
    count = sum(_has_other_technician(task) for task in done)
    if count:
        yield ok(
            "people", SetupFinding.TASK_AUTHORS(count=count, total=len(done), setting=config.task_author)
        )


def _has_other_technician(task: Mapping[str, Any]) -> bool:
    writer, technician = (id_in(task.get(role)) for role in ("user", "technician"))
    return technician not in (None, writer)


@check(Group.SETTINGS, {"statuses": "KB-SETUP-004"})
def statuses(installation: Installation) -> Iterator[CheckResult]:
    """Check that every status that events have named is mapped, and to a status that exists."""
    with installation.store.transaction() as tx:
        config, _ = tx.configs.get()
        seen = tx.statuses.statuses_seen()
        faults = [
            fault
            for status_id in sorted(set(config.status_map.values()))
            if (fault := fault_of(confirm, tx, MetadataKind.STATUS, status_id))
        ]
    for fault in faults:
        yield failure("statuses", SetupFinding.STATUS_MAP_WRONG(problem=fault))
    unmapped = sorted(seen.keys() - config.status_map.keys())
    if unmapped:
        named = [_status(status, seen[status]) for status in unmapped[:MOST_NAMED]]
        yield warning("statuses", SetupFinding.STATUSES_NOT_MAPPED(statuses=named))
    elif not faults:
        yield ok("statuses", SetupFinding.STATUSES_MAPPED(mapped=len(config.status_map)))


@check(Group.SETTINGS, {"people": "KB-SETUP-006"})
def people(installation: Installation) -> Iterator[CheckResult]:
    """Check that every person in events has a tracker user."""
    with installation.store.transaction() as tx:
        requesters = tx.people.requesters()
    found = [
        one for one in user_map(installation.store) if one.login or one.helpdesk_user_id not in requesters
    ]
    waiting = [one for one in found if one.waits]
    is_locked = _locked_among(installation)
    nobody = [one for one in found if one.login is None and not one.waits]
    locked = [one for one in nobody if is_locked(one)]
    shared = [one for one in nobody if one.notice.code == Matching.EMAIL_AMBIGUOUS]
    deleted = _deleted_among(installation, nobody)
    others = (*locked, *shared, *deleted)
    unknown = [one for one in nobody if one not in others]
    new = [one for one in found if one.new]
    with installation.store.transaction() as tx:
        admins = {one.tracker_user_id for one in tx.people.cached() if one.admin} if new else set()
    powerful = [one for one in new if one.tracker_user_id in admins]
    if powerful:
        named = [_matched(one) for one in powerful[:MOST_NAMED]]
        yield warning("people", SetupFinding.ADMINISTRATORS_MATCHED(count=len(powerful), people=named))
    if waiting:
        reasons = [one.notice for one in waiting[:MOST_NAMED]]
        yield warning("people", SetupFinding.MATCHES_WAIT(count=len(waiting), people=reasons))
    if new:
        named = [_matched(one) for one in new[:MOST_NAMED]]
        yield warning("people", SetupFinding.MATCHES_NEW(count=len(new), people=named))
    if shared:
        named = [_person(one, one.notice.params["candidates"]) for one in shared[:MOST_NAMED]]
        yield warning("people", SetupFinding.PEOPLE_AMBIGUOUS(count=len(shared), people=named))
    if unknown:
        by_email = _found_by_email(installation, unknown[:MOST_NAMED])
        named = [_person(one, by_email.get(one.helpdesk_user_id)) for one in unknown[:MOST_NAMED]]
        why = SetupFinding.PEOPLE_UNKNOWN(unknown=len(unknown), total=len(found), people=named)
        yield warning("people", why)
    if locked:
        named = [_person(one) for one in locked[:MOST_NAMED]]
        yield warning("people", SetupFinding.PEOPLE_LOCKED(count=len(locked), people=named))
    if deleted:
        named = [_person(one) for one in deleted[:MOST_NAMED]]
        yield warning("people", SetupFinding.PEOPLE_DELETED(count=len(deleted), people=named))
    if not (nobody or waiting):
        yield ok("people", SetupFinding.PEOPLE_KNOWN(total=len(found)))


def _status(status: int, tickets: int) -> Notice:
    if tickets > MOST_COUNTED:
        return Named.STATUS_SEEN_OFTEN(status=status, most=MOST_COUNTED)
    return Named.STATUS_SEEN(status=status, count=tickets)


def _found_by_email(installation: Installation, people: Sequence[Mapped]) -> dict[int, list[str]]:
    """Return the users that the tracker finds by e-mail; it also searches additional addresses, which no list has."""
    _, client = installation.connect()
    found: dict[int, list[str]] = {}

    def ask(one: Mapped) -> tuple[int, list[str]]:
        rows = rows_of(client.call("GET", USERS, params={"name": one.email or ""}), "users", USERS)
        people = (person(row, USERS) for row in rows)
        return one.helpdesk_user_id, [f"{each.tracker_user_id} ({each.login})" for each in people if each]

    try:
        asked = [one for one in people if one.email]
        run_concurrently(ask, asked, done=lambda answer: found.update([answer]))
    except TrackerError:
        return found
    return found


def _matched(one: Mapped) -> Notice:
    return Named.PERSON_MATCHED(helpdesk_user_id=one.helpdesk_user_id, email=one.email, login=one.login)


def _person(one: Mapped, candidates: Sequence[str] | None = None) -> Notice:
    if one.email and candidates:
        about = {"helpdesk_user_id": one.helpdesk_user_id, "email": one.email}
        return Named.PERSON_FOUND_BY_EMAIL(**about, candidates=list(candidates))
    if one.email:
        return Named.PERSON_WITH_EMAIL(helpdesk_user_id=one.helpdesk_user_id, email=one.email)
    return Named.PERSON_WITHOUT_EMAIL(helpdesk_user_id=one.helpdesk_user_id)


def _locked_among(installation: Installation) -> Callable[[Mapped], bool]:
    ids = {one.tracker_user_id for one in installation.locked}
    mails = {one.mail.lower() for one in installation.locked if one.mail}
    return lambda one: one.tracker_user_id in ids or (one.email or "").lower() in mails


def _deleted_among(installation: Installation, people: Sequence[Mapped]) -> list[Mapped]:
    """Return the people whose mapped or matched tracker user was deleted."""
    with installation.store.transaction() as tx:
        was = {**tx.people.pins(), **tx.people.overrides()}
    return [one for one in people if was.get(one.helpdesk_user_id) in installation.deleted]
