"""Checks of pending work, and of what waits for a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from redis import Redis
from redis.exceptions import RedisError

from producer.admin.doctor.checks import Group, QuickCheckMode, check
from producer.admin.doctor.finding import CheckResult, failure, ok, warning
from producer.admin.doctor.installation import Installation
from producer.admin.presenters.refused_calls import where_to_look
from producer.admin.records.event_search import RECENT_DAYS
from producer.admin.records.transaction import Store
from shared.diagnosis.obstacle import obstacle
from shared.diagnosis.waiting import is_delayed, server_error
from shared.notices.doctor_work import WorkFinding
from shared.notices.faults import Detail
from shared.notices.hints import Hint
from shared.notices.notice import Notice, Written
from shared.notices.reasons import Reason
from shared.notices.refusals import Refusal
from shared.notices.system_refusals import SystemRefusal
from shared.redis.locks import Locks
from shared.store.tables.journal import EventState

NOT_SET_UP = (
    Refusal.TRACKER_NOT_CONFIGURED,
    Refusal.API_KEY_NOT_STORED,
    Refusal.API_KEY_NOT_OPENED,
    SystemRefusal.SECRET_KEYS_NOT_SET,
)
"""Why a worker pauses if its settings do not let it query the tracker."""

OF_THE_WAY = (Detail.REFUSED_ON_THE_WAY, Detail.TOO_LARGE_ON_THE_WAY, Detail.ONLY_THIS_TEXT)
STUCK_S = 3600.0
MOST_NAMED = 10
NEWEST = 1000
"""How many of the newest issues, and of the newest time entries, are checked."""
FIXED_WHERE: Mapping[str, tuple[str, ...]] = {
    Hint.PROJECT_CLOSED: ("links",),
    Hint.PROJECT_ARCHIVED: ("links",),
    Hint.PROJECT_ABSENT: ("links",),
    Hint.TIME_PROJECT_CLOSED: ("links",),
    Hint.TIME_PROJECT_ARCHIVED: ("links",),
    Hint.TIME_PROJECT_ABSENT: ("links",),
    Hint.UNKNOWN_CATEGORY: ("links", "templates"),
    Hint.CATEGORY_ASSIGNEE_LOCKED: ("links",),
    Hint.NO_ISSUE_TRACKING: ("modules",),
    Hint.NO_TIME_TRACKING: ("modules",),
    Hint.ACTIVITY_NOT_USABLE_NOW: ("activity",),
    Hint.ACTIVITY_SWITCHED_OFF: ("activity",),
    Hint.CUSTOM_FIELD_REQUIRED: ("custom fields",),
    Hint.CUSTOM_FIELD_NOT_A_CHOICE: ("templates",),
    Hint.UNKNOWN_PRIORITY: ("ids", "templates"),
    Hint.UNKNOWN_WATCHERS: ("ids", "templates"),
}
"""Checks that find each cause while it lasts; once they are OK, what failed because of it can be replayed."""
WHERE_THE_ISSUE_IS = (
    Hint.TIME_PROJECT_CLOSED,
    Hint.TIME_PROJECT_ARCHIVED,
    Hint.TIME_PROJECT_ABSENT,
    Hint.NO_TIME_TRACKING,
    Hint.ACTIVITY_NOT_USABLE_NOW,
)
"""Causes in the project of an issue that exists, which is checked only if it is mapped."""


@check(Group.WORK, {"pending": "KB-WORK-001"}, glance=QuickCheckMode.OWN_WORDS)
def pending(installation: Installation) -> Iterator[CheckResult]:
    """Check that no event waits for long, for an answer or after an error."""
    with installation.store.transaction() as tx:
        oldest, count, now = (
            tx.journal.oldest(EventState.PENDING),
            tx.journal.count(EventState.PENDING),
            tx.now(),
        )
    if oldest is None:
        yield ok("pending", WorkFinding.NOTHING_PENDING())
        return
    age = (now - oldest.received_at).total_seconds()
    facts = installation.redis_facts
    paused = facts.paused.reason if facts.paused else None
    if paused and paused.code in NOT_SET_UP and installation.well.get("api key"):
        yield failure("pending", WorkFinding.WORKER_SET_UP_OTHERWISE(count=count, because=paused))
        return
    why = facts.pause or oldest.notice or obstacle(facts)
    about = {"count": count, "seconds": age, "why": why, "ticket_id": oldest.ticket_id}
    waiting = WorkFinding.EVENTS_PENDING(**about, status=server_error(why))
    if oldest.has_code(Reason.TRIAL_MODE):
        yield ok("pending", waiting)
    elif paused or age > STUCK_S:
        yield failure("pending", waiting)
    elif is_delayed(oldest, now):
        yield warning("pending", waiting)
    else:
        yield ok("pending", waiting)


@check(Group.WORK, {"on the way": "KB-TRACKER-012"}, glance=QuickCheckMode.ALWAYS)
def on_the_way(installation: Installation) -> Iterator[CheckResult]:
    """Check that creations reach the tracker: a proxy may pass on reads, and answer everything else itself."""
    with installation.store.transaction() as tx:
        found = tx.events.unclear()
    causes = {ticket_id: cause for ticket_id, why in found.items() if (cause := _on_the_way(why))}
    if not causes:
        yield ok("on the way", WorkFinding.CREATIONS_ANSWERED())
        return
    tickets = list(causes)
    newest = causes[tickets[0]]
    about = {"count": len(tickets), "tickets": tickets[:MOST_NAMED], "cause": newest}
    goes_through = newest.params.get("others")
    yield (warning if goes_through else failure)("on the way", WorkFinding.CREATIONS_NOT_PASSED_ON(**about))


def _on_the_way(why: Notice | None) -> Notice | None:
    """Return the cause within a reason if it lies on the way to the tracker, else None."""
    if why is None or why.code in OF_THE_WAY:
        return why
    within = (one for one in why.params.values() if isinstance(one, Notice))
    return next((cause for one in within if (cause := _on_the_way(one))), None)


@check(Group.WORK, {"held": "KB-WORK-002"}, glance=QuickCheckMode.OWN_WORDS)
def held(installation: Installation) -> Iterator[CheckResult]:
    """Check that nothing is on hold."""
    with installation.store.transaction() as tx:
        count = tx.count_undecided()
        lost = tx.journal.count_on_hold_for_nothing()
    if lost:
        yield failure("held", WorkFinding.HELD_FOR_NOTHING(count=lost))
    if count:
        yield warning("held", WorkFinding.ROWS_HELD(count=count))
    elif not lost:
        yield ok("held", WorkFinding.NOTHING_HELD())


@check(Group.WORK, {"failed": "KB-WORK-003"}, glance=QuickCheckMode.OWN_WORDS)
def failed(installation: Installation) -> Iterator[CheckResult]:
    """Check that no event failed; report failures by cause and whether it is fixed. Deliveries have their own check."""
    with installation.store.transaction() as tx:
        every = [why for _, why in tx.journal.reasons(EventState.FAILED)]
    reasons = [one for one in every if one is None or one.code != Reason.DELIVERY_UNREADABLE]
    if not reasons:
        yield ok("failed", WorkFinding.NOTHING_FAILED())
        return
    causes = [_cause(why) for why in reasons]
    by_code = Counter(str(cause.code) for cause in causes if cause)
    newest = {str(cause.code): cause for cause in causes if cause}
    for code, count in by_code.most_common(MOST_NAMED):
        fixed = all(_is_fixed(cause, installation) for cause in causes if cause and cause.code == code)
        found = WorkFinding.EVENTS_FIXED if fixed else WorkFinding.EVENTS_FAILED_FOR
        yield warning(
            "failed", found(count=count, cause=newest[code], code=code, where=where_to_look(newest[code]))
        )
    if left := len(reasons) - sum(dict(by_code.most_common(MOST_NAMED)).values()):
        yield warning("failed", WorkFinding.EVENTS_FAILED(count=left))


def _is_fixed(cause: Notice, installation: Installation) -> bool:
    """Return whether the checks that would find a cause are OK; no check covers unmapped projects."""
    checks = FIXED_WHERE.get(cause.code, ())
    linked = installation.projects or ()
    if cause.code in WHERE_THE_ISSUE_IS and cause.params.get("project_id") not in linked:
        return False
    return bool(checks) and all(installation.well.get(check) for check in checks)


def _cause(why: Notice | None) -> Notice | None:
    """Return the definite cause of a refusal if there is one, else the reason itself."""
    if why is None or why.code == Written.AS_WRITTEN:
        return None
    hints = [one.params["problem"] for one in why.params.get("hints") or () if isinstance(one, Notice)]
    definite = [one for one in hints if not str(one.code).startswith("maybe_")]
    because = why.params.get("because")
    return next(iter(definite), None) or (_cause(because) if isinstance(because, Notice) else None) or why


@check(Group.WORK, {"authors": "KB-WORK-005"}, glance=QuickCheckMode.NOTED, only=(WorkFinding.AUTHORS_WRONG,))
def authors(installation: Installation) -> Iterator[CheckResult]:
    """Check that no work has the wrong author, and that no author was deleted."""
    with installation.store.transaction() as tx:
        count = tx.misattributed.count()
    orphaned = list(_orphaned(installation))
    if count:
        yield warning("authors", WorkFinding.AUTHORS_WRONG(count=count))
    yield from orphaned
    if not (count or orphaned):
        yield ok("authors", WorkFinding.AUTHORS_RIGHT())


def _orphaned(installation: Installation) -> Iterator[CheckResult]:
    """Yield a warning about work that went to Anonymous when its author was deleted, if it can be corrected."""
    deleted = installation.deleted
    if not deleted:
        return
    with installation.store.transaction() as tx:
        times = [key for key, who in tx.times.newest_authors(NEWEST).items() if who in deleted]
        issues = [key for key, who in tx.issues.newest_authors(NEWEST).items() if who in deleted]
        of_times = [row.ticket_id for row in tx.times.of_keys(times).values()]
    if times:
        tickets = sorted({*issues, *of_times}, reverse=True)[:MOST_NAMED]
        about = {"count": len(times) + len(issues), "tickets": tickets, "tasks": times[:MOST_NAMED]}
        yield warning("authors", WorkFinding.AUTHORS_DELETED(**about))


@check(Group.WORK, {"issue statuses": "KB-SETUP-004"}, glance=QuickCheckMode.NOTED)
def issue_statuses(installation: Installation) -> Iterator[CheckResult]:
    """Check that the tracker accepted every status; one that was due without an event is in no list of events."""
    with installation.store.transaction() as tx:
        count, newest = tx.statuses.not_given(MOST_NAMED)
    if not count:
        yield ok("issue statuses", WorkFinding.STATUSES_GIVEN())
        return
    cause = _cause(newest[0][2])
    about = {
        "count": count,
        "tickets": [ticket_id for ticket_id, _, _ in newest],
        "events": [event_id for _, event_id, _ in newest],
        "cause": cause,
        "where": where_to_look(cause),
    }
    yield warning("issue statuses", WorkFinding.STATUSES_NOT_GIVEN(**about))


@check(Group.WORK, {"fields": "KB-WORK-007"}, glance=QuickCheckMode.NOTED)
def fields(installation: Installation) -> Iterator[CheckResult]:
    """Check that the tracker has new issues as they were sent."""
    with installation.store.transaction() as tx:
        count, tickets = tx.statuses.with_fields_kept(RECENT_DAYS, MOST_NAMED)
    if count:
        about = {"count": count, "days": RECENT_DAYS, "tickets": tickets, "ticket_id": tickets[0]}
        yield warning("fields", WorkFinding.FIELDS_NOT_TAKEN(**about))
    else:
        yield ok("fields", WorkFinding.FIELDS_TAKEN(days=RECENT_DAYS))


@check(Group.WORK, {"recovery": "KB-WORK-004"}, glance=QuickCheckMode.OWN_WORDS)
def recovery(installation: Installation) -> Iterator[CheckResult]:
    """Check that the database is no restored one without recovery mode, and that the mode was not left on."""
    redis = None if installation.redis_facts.fault else installation.redis
    doubt = doubt_of_database(installation.store, redis, installation.settings.retention_days)
    with installation.store.transaction() as tx:
        mode = tx.recovery.get()
    if doubt:
        yield failure("recovery", WorkFinding.RECOVERY_NOT_BEGUN(problem=doubt))
    elif mode is None:
        yield ok("recovery", WorkFinding.RECOVERY_OFF())
    else:
        yield warning("recovery", WorkFinding.RECOVERY_ON(since=f"{mode.began_at:%Y-%m-%d %H:%M} UTC"))


@check(Group.WORK, {"trial": "KB-WORK-008"}, glance=QuickCheckMode.OWN_WORDS)
def trial(installation: Installation) -> Iterator[CheckResult]:
    """Check that trial mode is off, or warn that nothing is sent."""
    with installation.store.transaction() as tx:
        is_on, waiting = tx.configs.get()[0].trial, tx.journal.count(EventState.PENDING)
    if is_on:
        yield warning("trial", WorkFinding.TRIAL_ON(count=waiting))
    else:
        yield ok("trial", WorkFinding.TRIAL_OFF())


def doubt_of_database(store: Store, redis: Redis | None, retention_days: float) -> Notice | None:
    """Return why workers send nothing because the database may be a restored one, or None.

    Args:
        store: the database.
        redis: the installation's Redis; None, or one that does not answer: only the database's identity is compared.
        retention_days: how long the journal keeps events.
    """
    try:
        newest = Locks(redis, 0).newest() if redis else None
    except RedisError:
        newest = None
    with store.transaction() as tx:
        return tx.recovery.standing(newest, retention_days).doubt
