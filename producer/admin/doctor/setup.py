"""What an administrator has set up, against what the tracker has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC

from producer.admin.doctor.finding import Finding, failure, ok, warning
from producer.admin.doctor.patient import Patient
from producer.admin.people import confirm_people, user_map
from shared.config import PluginConfig
from shared.errors import NotFound, SettingsError
from shared.metadata.confirming import OF_SPEC, confirm, confirm_link
from shared.store.metadata import MetadataKind

INTERVALS_MISSED = 3
MOST_NAMED = 10
SYNC = "run `deskbridge sync-metadata`"


def api_key(patient: Patient) -> Iterator[Finding]:
    """The API key is stored, and can be opened."""
    with patient.store.transaction() as tx:
        _, encrypted = tx.configs.get()
    if encrypted is None:
        yield failure("api key", "none is stored", "store it with `deskbridge config set-api-key`")
        return
    try:
        patient.vault.decrypt(encrypted)
    except SettingsError as wrong:
        yield failure(
            "api key", str(wrong), "set DESKBRIDGE_SECRET_KEYS as it was, or store the API key again"
        )
        return
    if patient.vault.is_current(encrypted):
        yield ok("api key", "stored, and encrypted with the first of DESKBRIDGE_SECRET_KEYS")
    else:
        yield warning("api key", "encrypted with an older key", "run `deskbridge config rotate-keys`")


def metadata(patient: Patient) -> Iterator[Finding]:
    """The cache is filled, and fresh."""
    with patient.store.transaction() as tx:
        good, runs = tx.metadata.last_good_run(), tx.metadata.runs(1)
        now = tx.now()
    if good is None:
        yield failure("metadata", "nothing of the tracker is cached, so no id can be checked", SYNC)
        return
    age = (now - good.ended_at).total_seconds()
    if age > patient.settings.metadata_interval * INTERVALS_MISSED:
        why = f"; the last try failed: {runs[0].error}" if not runs[0].ok else ""
        yield warning("metadata", f"{age / 3600:.1f} hours old{why}", f"start `deskbridge beat`, or {SYNC}")
    elif not runs[0].ok:
        yield warning("metadata", f"the last try failed: {runs[0].error}", SYNC)
    else:
        yield ok("metadata", f"synchronised at {good.ended_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC")


def links(patient: Patient) -> Iterator[Finding]:
    """Something is linked, and each link leads to an active project, its category to one of it."""
    with patient.store.transaction() as tx:
        found = tx.links.all()
        faults = [(link, fault) for link in found if (fault := _fault(confirm_link, tx, link))]
    if not found:
        yield warning(
            "links", "nothing is linked, so nothing is sent", "`deskbridge link entity ID TRACKER_PROJECT_ID`"
        )
    for link, fault in faults:
        yield failure("links", f"{link}: {fault}", f"`deskbridge link {link.kind} {link.helpdesk_id} …` anew")
    if found and not faults:
        yield ok("links", f"{len(found)} links, all to active projects")


def ids(patient: Patient) -> Iterator[Finding]:
    """Every id of the plugin config exists on the tracker."""
    with patient.store.transaction() as tx:
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
        yield failure(checks.get(name, "ids"), f"{name}: {fault}", f"`deskbridge config set {name}=…`")
    yield from _left_out(config, faults)


def _left_out(config: PluginConfig, faults: dict[str, str]) -> Iterator[Finding]:
    if config.default_role_id is None:
        problem = (
            "default_role_id is empty: nobody is made a member, so who is none acts as the administrator"
        )
        yield warning("role", problem, "`deskbridge config set default_role_id=…`")
    elif "default_role_id" not in faults:
        yield ok("role", f"role {config.default_role_id} is given to technicians")
    if config.default_activity_id is None:
        problem = "default_activity_id is empty: the tracker takes its own default, where it has one"
        yield warning("activity", problem, "`deskbridge config set default_activity_id=…`")
    elif "default_activity_id" not in faults:
        yield ok("activity", f"activity {config.default_activity_id} is there")


def activities_of_projects(patient: Patient) -> Iterator[Finding]:
    """The default activity can be used in each linked project, where the cache knows that."""
    with patient.store.transaction() as tx:
        config, _ = tx.configs.get()
        projects = {link.tracker_project_id for link in tx.links.all()}
        entries = [tx.metadata.get(MetadataKind.PROJECT, one) for one in sorted(projects)]
    wanted = config.default_activity_id
    for entry in entries:
        usable = entry.details.get("activity_ids") if entry else None
        if wanted and usable is not None and wanted not in usable:
            yield failure(
                "activity",
                f"activity {wanted} cannot be used in tracker project {entry}; usable: {usable}",
                "enable it in the project's settings, or change default_activity_id",
            )


def statuses(patient: Patient) -> Iterator[Finding]:
    """Every status that events have named is mapped, and to one that exists."""
    with patient.store.transaction() as tx:
        config, _ = tx.configs.get()
        seen = tx.tickets.statuses_seen()
        faults = [
            fault
            for status_id in sorted(set(config.status_map.values()))
            if (fault := _fault(confirm, tx, MetadataKind.STATUS, status_id))
        ]
    todo = "`deskbridge config set 'status_map={…}'`"
    for fault in faults:
        yield failure("statuses", f"status_map: {fault}", todo)
    unmapped = sorted(seen.keys() - config.status_map.keys())
    if unmapped:
        told = ", ".join(f"{status} ({seen[status]} tickets)" for status in unmapped[:MOST_NAMED])
        yield warning("statuses", f"helpdesk statuses that are not mapped, so never sent: {told}", todo)
    elif not faults:
        yield ok("statuses", f"{len(config.status_map)} mapped; every status seen in events is")


def people(patient: Patient) -> Iterator[Finding]:
    """Everybody whom events have named is somebody on the tracker."""
    found = user_map(patient.store)
    strangers = [one for one in found if one.login is None]
    if strangers:
        named = ", ".join(
            f"{one.helpdesk_user_id} ({one.email or 'no e-mail'})" for one in strangers[:MOST_NAMED]
        )
        problem = f"{len(strangers)} of {len(found)} helpdesk users are nobody on the tracker: {named}"
        yield warning(
            "people", f"{problem}; the administrator acts for them", "`deskbridge users`, then `map-user`"
        )
    else:
        yield ok("people", f"all {len(found)} helpdesk users seen in events are known on the tracker")


def _fault(check: Callable[..., object], *arguments: object) -> str | None:
    """Return why a check refuses, None where it does not."""
    try:
        check(*arguments)
    except NotFound as unknown:
        return str(unknown)
    return None


CHECKS = (metadata, links, ids, activities_of_projects, statuses, people)
