"""What an administrator has set up, against what the tracker has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC

from producer.admin.doctor.finding import CheckResult, failure, ok, warning
from producer.admin.doctor.installation import Installation
from producer.admin.people import confirm_people, user_map
from shared.codes.coded import Coded
from shared.codes.findings import Finding
from shared.config import PluginConfig
from shared.errors import NotFound, SettingsError
from shared.metadata.confirming import OF_SPEC, confirm, confirm_link
from shared.store.metadata import MetadataKind

INTERVALS_MISSED = 3
MOST_NAMED = 10


def api_key(installation: Installation) -> Iterator[CheckResult]:
    """The API key is stored, and can be opened."""
    with installation.store.transaction() as tx:
        _, encrypted = tx.configs.get()
    if encrypted is None:
        yield failure("api key", Finding.API_KEY_MISSING())
        return
    try:
        installation.vault.decrypt(encrypted)
    except SettingsError as wrong:
        yield failure("api key", Finding.API_KEY_UNREADABLE(problem=wrong.coded))
        return
    if installation.vault.is_current(encrypted):
        yield ok("api key", Finding.API_KEY_STORED())
    else:
        yield warning("api key", Finding.API_KEY_OLD_ENCRYPTION())


def metadata(installation: Installation) -> Iterator[CheckResult]:
    """The cache is filled, and fresh."""
    with installation.store.transaction() as tx:
        good, runs = tx.metadata.last_good_run(), tx.metadata.runs(1)
        now = tx.now()
    if good is None:
        yield failure("metadata", Finding.METADATA_EMPTY())
        return
    age = (now - good.ended_at).total_seconds()
    if age > installation.settings.metadata_interval * INTERVALS_MISSED:
        yield warning("metadata", Finding.METADATA_OLD(hours=age / 3600, error=runs[0].error))
    elif not runs[0].ok:
        yield warning("metadata", Finding.METADATA_NOT_READ(error=runs[0].error or ""))
    else:
        at = f"{good.ended_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        yield ok("metadata", Finding.METADATA_CURRENT(at=at))


def links(installation: Installation) -> Iterator[CheckResult]:
    """Something is linked, and each link leads to an active project, its category to one of it."""
    with installation.store.transaction() as tx:
        found = tx.links.all()
        faults = [(link, fault) for link in found if (fault := _fault(confirm_link, tx, link))]
    if not found:
        yield warning("links", Finding.NOTHING_LINKED())
    for link, fault in faults:
        why = Finding.LINK_NOT_USABLE(link=str(link), problem=fault, kind=str(link.kind), id=link.helpdesk_id)
        yield failure("links", why)
    if found and not faults:
        yield ok("links", Finding.LINKS_USABLE(count=len(found)))


def ids(installation: Installation) -> Iterator[CheckResult]:
    """Every id of the plugin config exists on the tracker."""
    with installation.store.transaction() as tx:
        config, _ = tx.configs.get()
        faults = {
            name: fault
            for name, kind in OF_SPEC.items()
            if (tracker_id := getattr(config, name)) and (fault := _fault(confirm, tx, kind, tracker_id))
        }
        if fault := _fault(confirm_people, tx, config.default_watcher_ids):
            faults["default_watcher_ids"] = fault
    checks = {"default_role_id": "role", "default_activity_id": "activity"}
    for name, fault in faults.items():
        yield failure(checks.get(name, "ids"), Finding.CONFIG_ID_UNKNOWN(name=name, problem=fault))
    yield from _left_out(config, faults)


def _left_out(config: PluginConfig, faults: dict[str, Coded]) -> Iterator[CheckResult]:
    if config.default_role_id is None:
        yield warning("role", Finding.ROLE_NOT_SET())
    elif "default_role_id" not in faults:
        yield ok("role", Finding.ROLE_KNOWN(role_id=config.default_role_id))
    if config.default_activity_id is None:
        yield warning("activity", Finding.ACTIVITY_NOT_SET())
    elif "default_activity_id" not in faults:
        yield ok("activity", Finding.ACTIVITY_KNOWN(activity_id=config.default_activity_id))


def memberships(installation: Installation) -> Iterator[CheckResult]:
    """An e-mail address alone lets nobody into a private project."""
    with installation.store.transaction() as tx:
        config, _ = tx.configs.get()
        linked = {link.tracker_project_id for link in tx.links.all()}
        entries = [tx.metadata.get(MetadataKind.PROJECT, one) for one in sorted(linked)]
    private = [str(entry) for entry in entries if entry and not entry.details.get("is_public")]
    if private and config.membership_for == "matched" and config.default_role_id is not None:
        why = Finding.MEMBERSHIP_BY_EMAIL(count=len(private), projects=private[:MOST_NAMED])
        yield warning("role", why)


def activities_of_projects(installation: Installation) -> Iterator[CheckResult]:
    """The default activity can be used in each linked project, where the cache knows that."""
    with installation.store.transaction() as tx:
        config, _ = tx.configs.get()
        projects = {link.tracker_project_id for link in tx.links.all()}
        entries = [tx.metadata.get(MetadataKind.PROJECT, one) for one in sorted(projects)]
    wanted = config.default_activity_id
    for entry in entries:
        usable = entry.details.get("activity_ids") if entry else None
        if wanted and usable is not None and wanted not in usable:
            project = f"tracker project {entry}"
            why = Finding.ACTIVITY_NOT_USABLE(activity_id=wanted, project=project, choices=usable)
            yield failure("activity", why)


def statuses(installation: Installation) -> Iterator[CheckResult]:
    """Every status that events have named is mapped, and to one that exists."""
    with installation.store.transaction() as tx:
        config, _ = tx.configs.get()
        seen = tx.tickets.statuses_seen()
        faults = [
            fault
            for status_id in sorted(set(config.status_map.values()))
            if (fault := _fault(confirm, tx, MetadataKind.STATUS, status_id))
        ]
    for fault in faults:
        yield failure("statuses", Finding.STATUS_MAP_WRONG(problem=fault))
    unmapped = sorted(seen.keys() - config.status_map.keys())
    if unmapped:
        named = [f"{status} ({seen[status]} tickets)" for status in unmapped[:MOST_NAMED]]
        yield warning("statuses", Finding.STATUSES_NOT_MAPPED(statuses=named))
    elif not faults:
        yield ok("statuses", Finding.STATUSES_MAPPED(mapped=len(config.status_map)))


def people(installation: Installation) -> Iterator[CheckResult]:
    """Everybody named in events has a tracker user."""
    found = user_map(installation.store)
    waiting = [one for one in found if one.waits]
    unknown = [one for one in found if one.login is None and not one.waits]
    new = [one for one in found if one.new]
    if waiting:
        reasons = [one.match for one in waiting[:MOST_NAMED]]
        yield warning("people", Finding.MATCHES_WAIT(count=len(waiting), people=reasons))
    if new:
        named = [f"{one.helpdesk_user_id} ({one.email}): {one.login}" for one in new[:MOST_NAMED]]
        yield warning("people", Finding.MATCHES_NEW(count=len(new), people=named))
    if unknown:
        named = [f"{one.helpdesk_user_id} ({one.email or 'no e-mail'})" for one in unknown[:MOST_NAMED]]
        why = Finding.PEOPLE_UNKNOWN(unknown=len(unknown), total=len(found), people=named)
        yield warning("people", why)
    elif not waiting:
        yield ok("people", Finding.PEOPLE_KNOWN(total=len(found)))


def _fault(check: Callable[..., object], *arguments: object) -> Coded | None:
    """Return why a check refuses, None where it does not."""
    try:
        check(*arguments)
    except NotFound as unknown:
        return unknown.coded
    return None


CHECKS = (metadata, links, ids, memberships, activities_of_projects, statuses, people)
