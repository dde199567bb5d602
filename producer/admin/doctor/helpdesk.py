"""Checks of the help desk: do events arrive, can they be read, does its API answer, was anything missed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from producer.admin.doctor.checks import Group, QuickCheckMode, check, quick_check
from producer.admin.doctor.finding import CheckResult, failure, ok, warning
from producer.admin.doctor.installation import Installation
from producer.admin.presenters.refused_calls import where_to_look
from shared.helpdesk.configured import configured_lookup
from shared.helpdesk.lookup import HelpdeskUnreachable
from shared.notices.doctor_helpdesk import HelpdeskFinding
from shared.notices.notice import Notice, from_json
from shared.notices.reasons import Reason
from shared.store.journal.journal_queries import Unlinked
from shared.store.journal.producers import Producer
from shared.store.tables.journal import EventState

CLOCKS_S = 120.0
DAYS_S = 2 * 86400.0
WEEK_S = 7 * 86400.0
ANOTHER = timedelta(minutes=10)
"""Later events are about another item: GLPI also reports updates while it purges a ticket, and repeats deliveries."""
MOST_NAMED = 10
LATELY, ENOUGH = 1000, 10
"""How many of the newest events are searched for ticket tasks, and how many tasks not Done cause a warning."""
WAS_DONE = (EventState.DONE, EventState.FAILED, EventState.ON_HOLD)


@check(Group.HELPDESK, {"helpdesk events": "KB-HELPDESK-001"})
def events(installation: Installation) -> Iterator[CheckResult]:
    """Check that events have arrived recently."""
    with installation.store.transaction() as tx:
        newest, now = tx.journal.newest_received(), tx.now()
    if newest is None:
        yield warning("helpdesk events", HelpdeskFinding.NO_EVENT_YET())
        return
    seconds = (now - newest).total_seconds()
    found = HelpdeskFinding.LAST_EVENT(minutes=seconds / 60)
    is_quiet = seconds > _quiet_s(installation)
    yield warning("helpdesk events", found) if is_quiet else ok("helpdesk events", found)


def _quiet_s(installation: Installation) -> float:
    return installation.settings.quiet_hours * 3600


@check(Group.HELPDESK, {"refused": "KB-HELPDESK-005"}, glance=QuickCheckMode.ALWAYS)
def refused(installation: Installation) -> Iterator[CheckResult]:
    """Check that the producers have refused nothing since they last accepted a delivery of the same sender."""
    producers = installation.producers
    found = [one for producer in producers for one in _refused_by(producer)]
    yield from found
    if producers and not found:
        yield ok("refused", HelpdeskFinding.NOTHING_REFUSED())


def _refused_by(producer: Producer) -> Iterator[CheckResult]:
    for one in producer.refused:
        try:
            seconds = producer.seconds + float(one["seconds"])
            what = {
                "count": int(one["count"]),
                "after": max(int(one["since"]), int(one.get("by_sender", 0))),
                "addresses": [str(address) for address in one["addresses"]][:MOST_NAMED],
                "why": Notice(str(one["code"]), from_json(one["params"])),
            }
        except (KeyError, TypeError, ValueError, OverflowError):  # no producer of ours wrote it
            continue
        if what["after"]:
            about = {"host": producer.process.host, "since": producer.process.since, "minutes": seconds / 60}
            yield warning("refused", HelpdeskFinding.DELIVERIES_REFUSED(**about, **what))


@quick_check(Group.HELPDESK, "helpdesk events", QuickCheckMode.ALWAYS)
def silence(installation: Installation) -> Iterator[CheckResult]:
    """Check that events have arrived recently, if any ever did: in one statement, by this machine's clock."""
    with installation.store.transaction() as tx:
        newest = tx.journal.newest_received()
    if newest and (found := (datetime.now(UTC) - newest).total_seconds()) > _quiet_s(installation):
        yield warning("helpdesk events", HelpdeskFinding.LAST_EVENT(minutes=found / 60))


@check(Group.HELPDESK, {"queue": "KB-HELPDESK-005"})
def queue(installation: Installation) -> Iterator[CheckResult]:
    """Check that the help desk's plugin has parked no refused event."""
    said: dict[int, tuple[float, Notice]] = {}
    for producer in installation.producers:
        for one in producer.spools:
            try:
                secret, seconds = int(one["secret"]), producer.seconds + float(one["seconds"])
                what = {
                    "count": int(one["parked"]),
                    "waiting": int(one["waiting"]),
                    "tickets": [int(ticket) for ticket in one["tickets"]],
                    "minutes": seconds / 60,
                }
            except (KeyError, TypeError, ValueError, OverflowError):  # no producer of ours wrote it
                continue
            if secret not in said or seconds < said[secret][0]:
                finding = HelpdeskFinding.EVENTS_PARKED if what["count"] else HelpdeskFinding.NOTHING_PARKED
                said[secret] = (seconds, finding(**what))
    if not said:
        yield ok("queue", HelpdeskFinding.QUEUE_UNKNOWN())
    for _, found in said.values():
        yield (warning if found.code == HelpdeskFinding.EVENTS_PARKED else ok)("queue", found)


@check(Group.HELPDESK, {"skipped": "KB-HELPDESK-006"})
def skipped(installation: Installation) -> Iterator[CheckResult]:
    """Check that no ticket was skipped because its project mapping was missing."""
    with installation.store.transaction() as tx:
        unlinked = tx.journal.unlinked(WEEK_S)
        resolved = [tx.mappings.resolve(one.project_id, one.entity_id) for one in unlinked]
    by_entity: dict[tuple[int, bool], list[Unlinked]] = {}
    for one, link in zip(unlinked, resolved, strict=True):
        by_entity.setdefault((one.entity_id, link is not None), []).append(one)
    most = sorted(by_entity.items(), key=lambda found: -sum(one.tickets for one in found[1]))
    for (entity_id, is_linked), group in most[:MOST_NAMED]:
        name = next((one.name for one in group if one.name), None)
        finding = HelpdeskFinding.LINKED_SINCE if is_linked else HelpdeskFinding.TICKETS_UNLINKED
        found = finding(
            id=entity_id,
            name=name,
            count=sum(one.tickets for one in group),
            tickets=[one.example for one in group][:MOST_NAMED],
        )
        yield warning("skipped", found)
    if len(most) > MOST_NAMED:
        yield warning("skipped", HelpdeskFinding.MORE_UNLINKED(count=len(most) - MOST_NAMED))
    if not most:
        yield ok("skipped", HelpdeskFinding.NOTHING_UNLINKED())


@check(Group.HELPDESK, {"deleted tickets": "KB-HELPDESK-008"})
def deleted_tickets(installation: Installation) -> Iterator[CheckResult]:
    """Check that no ticket that counts as deleted has later events: a restored help desk may have reused its id."""
    with installation.store.transaction() as tx:
        tickets = tx.journal.after_deletion(WEEK_S, ANOTHER)
    if tickets:
        about = {"count": len(tickets), "tickets": tickets[:MOST_NAMED]}
        yield warning("deleted tickets", HelpdeskFinding.EVENTS_AFTER_DELETION(**about))
    else:
        yield ok("deleted tickets", HelpdeskFinding.NO_EVENTS_AFTER_DELETION())


@check(Group.HELPDESK, {"reused ids": "KB-HELPDESK-009"})
def reused_ids(installation: Installation) -> Iterator[CheckResult]:
    """Check that no new item has the id of one that was sent before, as after a restore of the help desk."""
    with installation.store.transaction() as tx:
        keys = tx.journal.added_again(WEEK_S, ANOTHER)
    if keys:
        yield warning("reused ids", HelpdeskFinding.ADDED_AGAIN(count=len(keys), keys=keys[:MOST_NAMED]))
    else:
        yield ok("reused ids", HelpdeskFinding.NOTHING_ADDED_AGAIN())


@check(Group.HELPDESK, {"done state": "KB-HELPDESK-007"})
def done_state(installation: Installation) -> Iterator[CheckResult]:
    """Check that some of the recent ticket tasks were Done, unless there are too few to tell."""
    with installation.store.transaction() as tx:
        rows = tx.journal.newest_of_any_task(LATELY)
        wanted = tx.configs.get()[0].done_state
    open_ones = [row.notice.params for row in rows if row.notice and row.has_code(Reason.NOT_DONE)]
    states = sorted({one["state"] for one in open_ones if one.get("done_state") == wanted} - {None})
    if len(open_ones) < ENOUGH or not states or any(row.state in WAS_DONE for row in rows):
        yield ok("done state", HelpdeskFinding.TASKS_ARE_DONE(done_state=wanted))
    else:
        yield warning(
            "done state",
            HelpdeskFinding.NO_TASK_IS_DONE(count=len(open_ones), done_state=wanted, states=states),
        )


@check(Group.HELPDESK, {"deliveries": "KB-HELPDESK-002"})
def unreadable(installation: Installation) -> Iterator[CheckResult]:
    """Check that every delivery could be read, or that the help desk was compared with the journal since."""
    with installation.store.transaction() as tx:
        count, newest = tx.journal.count_unreadable(), tx.journal.newest_unreadable()
        mark = tx.reconciliation.get()
    if newest is None:
        yield ok("deliveries", HelpdeskFinding.DELIVERIES_READABLE())
    elif mark is not None and mark.read_until > newest:
        yield ok("deliveries", HelpdeskFinding.DELIVERIES_COMPARED(count=count))
    else:
        yield failure("deliveries", HelpdeskFinding.DELIVERIES_UNREADABLE(count=count))


@check(Group.HELPDESK, {"helpdesk API": "KB-HELPDESK-003"})
def api(installation: Installation) -> Iterator[CheckResult]:
    """Check that the help desk's API answers, and that its clock agrees."""
    lookup = configured_lookup(installation.settings)
    if lookup is None:
        yield ok("helpdesk API", HelpdeskFinding.HELPDESK_API_NOT_USED())
        return
    try:
        theirs = lookup.now()
    except HelpdeskUnreachable as problem:
        yield failure("helpdesk API", HelpdeskFinding.HELPDESK_API_UNREACHABLE(problem=problem.problem))
        return
    seconds = abs((theirs - datetime.now(UTC)).total_seconds())
    if seconds > CLOCKS_S:
        yield warning("helpdesk API", HelpdeskFinding.HELPDESK_CLOCK_DIFFERS(seconds=seconds))
    else:
        yield ok("helpdesk API", HelpdeskFinding.HELPDESK_API_ANSWERS(seconds=seconds))


@check(Group.HELPDESK, {"documents": "KB-WORK-009"})
def documents(installation: Installation) -> Iterator[CheckResult]:
    """Check that documents can be fetched, if they are sent, and that the newest one was attached."""
    with installation.store.transaction() as tx:
        config, newest = tx.configs.get()[0], tx.journal.newest_document(LATELY)
    if not config.sends_documents:
        yield ok("documents", HelpdeskFinding.DOCUMENTS_NOT_SENT())
        return
    lookup = configured_lookup(installation.settings)
    if lookup is None:
        yield failure("documents", HelpdeskFinding.DOCUMENTS_WITHOUT_API())
        return
    try:
        lookup.now()
    except HelpdeskUnreachable as problem:
        yield failure("documents", HelpdeskFinding.DOCUMENTS_UNREACHABLE(problem=problem.problem))
        return
    if newest and newest.state != EventState.DONE:
        about = {"event_id": newest.id, "because": newest.notice, "where": where_to_look(newest.notice)}
        yield warning("documents", HelpdeskFinding.DOCUMENT_NOT_ATTACHED(**about))
        return
    yield ok("documents", HelpdeskFinding.DOCUMENTS_REACHABLE())


@check(Group.HELPDESK, {"reconciliation": "KB-HELPDESK-004"})
def reconciled(installation: Installation) -> Iterator[CheckResult]:
    """Check that the help desk was compared with the journal recently, and that nothing had been missed."""
    if configured_lookup(installation.settings) is None:
        yield ok("reconciliation", HelpdeskFinding.HELPDESK_API_NOT_USED())
        return
    with installation.store.transaction() as tx:
        mark, now = tx.reconciliation.get(), tx.now()
    if mark is None or (now - mark.ran_at).total_seconds() > DAYS_S:
        yield warning("reconciliation", HelpdeskFinding.NOT_RECONCILED())
    elif mark.missing:
        yield warning("reconciliation", HelpdeskFinding.EVENTS_WERE_MISSED(count=mark.missing))
    else:
        yield ok("reconciliation", HelpdeskFinding.NOTHING_WAS_MISSED())
