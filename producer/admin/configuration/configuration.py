"""Changes the Redmine settings, with the checks that need more than the settings themselves (SPEC 2.1)."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from producer.admin.configuration import trial
from producer.admin.configuration.api_key import checked_key, encrypted_key, try_stored_key
from producer.admin.configuration.moving import check_is_same
from producer.admin.records.transaction import Store, Transaction
from producer.admin.services import Services
from shared.errors import NotFound, SettingsError, TrackerError
from shared.events.config import SETTINGS, PluginConfig
from shared.metadata.confirming import CONFIRMED, confirm_setting
from shared.notices.cautions import Amount, Caution
from shared.notices.changes import Did
from shared.notices.invalid import Faults, Invalid, faulty
from shared.notices.kinds import ADDITIONS, Kind
from shared.notices.notice import Notice
from shared.notices.refusals import Refusal
from shared.notices.steps import What
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.store.journal.tickets import AT_ONCE
from shared.store.journal.trace import Step
from shared.values.addresses import why_forbidden


@dataclass(frozen=True, slots=True)
class Changed:
    """The Redmine settings after a change, and what a person should know about it.

    Attributes:
        config: the settings that are now active.
        warnings: what could not be checked, or needs attention.
        owed: tickets whose issue has another status than the new status_map assigns.
        replayed: whether these statuses are now due, so that the tickets must be notified.
    """

    config: PluginConfig
    warnings: list[Notice] = field(default_factory=list)
    owed: list[int] = field(default_factory=list)
    replayed: bool = False


def show(store: Store) -> dict[str, Any]:
    """Return every setting; of the API key only whether it is stored."""
    with store.transaction() as tx:
        config, encrypted = tx.configs.get()
    return {**config.model_dump(mode="json"), "api_key": "stored" if encrypted else "not stored"}


def current(store: Store) -> PluginConfig:
    """Return the active Redmine settings."""
    with store.transaction() as tx:
        return tx.configs.get()[0]


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices for the Redmine settings.

    Attributes:
        entries: the tracker's metadata, by kind.
        statuses_seen: statuses that tickets have had.
        has_key: whether an API key is stored.
    """

    entries: Mapping[MetadataKind, Sequence[Entry]]
    statuses_seen: Collection[int]
    has_key: bool


def choices(store: Store) -> Choices:
    """Return the choices for the Redmine settings."""
    with store.transaction() as tx:
        kinds = {MetadataKind(one.kind) for one in SETTINGS.values() if one.kind and one.kind != "user"}
        return Choices(
            tx.metadata.of_kinds(*kinds), tx.statuses.statuses_seen(), tx.configs.get()[1] is not None
        )


def save(
    services: Services,
    assignments: Mapping[str, str],
    *,
    api_key: str | None = None,
    moved: bool = False,
    knows_key: bool = False,
    replay: bool = False,
) -> Changed:
    """Change settings as `change` does, notify the tickets that this concerns, and try a new API key.

    Args:
        services: the collaborators.
        assignments: setting to its value, as typed.
        api_key: a new API key, as typed.
        moved: as `change`.
        knows_key: as `change`.
        replay: as `change`.

    Raises:
        SettingsError: as `change`, `encrypted_key` and `check_is_same`.
    """
    if moved:
        _check_moved(services, assignments, api_key, knows_key=knows_key)
    changed = change(
        services.store,
        assignments,
        moved=moved,
        allow_link_local=services.settings.allow_link_local,
        api_key=None if api_key is None else encrypted_key(services.vault, api_key),
        knows_key=knows_key,
        replay=replay,
    )
    if changed.replayed:
        services.notify(changed.owed)
    if "trial" in assignments and not changed.config.trial:
        trial.release_waiting(services)
    if (
        api_key is not None
        and (failure := try_stored_key(services).failure)
        and isinstance(failure, TrackerError)
    ):
        changed.warnings.append(Caution.KEY_NOT_USABLE(problem=failure.notice))
    return changed


def _check_moved(
    services: Services, assignments: Mapping[str, str], api_key: str | None, *, knows_key: bool
) -> None:
    """Check that a new address is one of the same tracker; the arguments are those of `save`.

    Raises:
        SettingsError: as `change_of_address` and `check_is_same`.
    """
    with services.store.transaction() as tx:
        before, encrypted = tx.configs.get()
    wanted = before.changed(assignments)
    if before.base_url is None or wanted.base_url in (None, before.base_url):
        return
    is_typed, allows = knows_key or api_key is not None, services.settings.allow_link_local
    change_of_address(wanted, before, typed=is_typed, allow_link_local=allows)
    stored = services.vault.decrypt(encrypted) if encrypted and api_key is None else None
    key = stored if api_key is None else SecretStr(checked_key(api_key))
    check_is_same(services, before.base_url, wanted, key)


@dataclass(frozen=True, slots=True)
class OwedStatus:
    """An issue that has another status than the status map assigns.

    Attributes:
        status: the ticket's status.
        has, wanted: the issue's status and the mapped one, as names if they are known.
    """

    ticket_id: int
    title: str
    issue_id: int | None
    status: int
    has: str
    wanted: str


@dataclass(frozen=True, slots=True)
class OwedStatuses:
    """The number of these issues, and the first of them."""

    count: int
    first: Sequence[OwedStatus]


def owed_statuses(store: Store, most: int) -> OwedStatuses:
    """Return the issues that `give_statuses` would change."""
    with store.transaction() as tx:
        status_map = tx.configs.get()[0].status_map
        owed = tx.statuses.owed(status_map, status_map)
        issues = tx.issues.of_keys(owed[:most])
        names = {one.tracker_id: one.name for one in tx.metadata.of_kind(MetadataKind.STATUS)}
        found = []
        for ticket_id in owed[:most]:
            state = tx.statuses.get(ticket_id)
            if state is None:
                continue
            issue, has, wanted = issues.get(ticket_id), state.given_status_id, status_map.get(state.status)
            found.append(
                OwedStatus(
                    ticket_id,
                    str(state.snapshot.get("title") or ""),
                    issue.tracker_id if issue else None,
                    state.status,
                    names.get(has or 0, str(has or "?")),
                    names.get(wanted or 0, str(wanted or "?")),
                )
            )
    return OwedStatuses(len(owed), found)


def give_statuses(services: Services) -> None:
    """Make the mapped status due for every issue that has another one."""
    status_map = current(services.store).status_map
    save(services, {"status_map": json.dumps(status_map)}, replay=True)


def change(
    store: Store,
    assignments: Mapping[str, str],
    *,
    moved: bool = False,
    allow_link_local: bool = False,
    api_key: str | None = None,
    knows_key: bool = True,
    replay: bool = False,
) -> Changed:
    """Change Redmine settings.

    Args:
        store: the database.
        assignments: setting to its value, as typed.
        moved: whether a new base_url is another address of the same tracker.
        allow_link_local: whether the tracker may be at a link-local or cloud-metadata address.
        api_key: a new API key, encrypted; it is stored in the same transaction.
        knows_key: whether the caller may read the stored key anyway, which is sent to base_url.
        replay: whether a new status_map also applies to issues that have a status already.

    Raises:
        SettingsError: if a setting or value is invalid, or unknown to a filled cache; if no tracker can have
            base_url, the key must not be sent to it, or it would change although objects were created.
    """
    with store.transaction() as tx:
        _keep_others_out(tx, assignments)
        before, encrypted = tx.configs.get()
        config = before.changed(assignments)
        if encrypted and not (knows_key or api_key):
            _check_trust(config, before)
        warnings: list[Notice] = []
        if config.base_url and "base_url" in assignments and not allow_link_local:
            _check_address(config.base_url)
        if config.base_url != before.base_url:
            warnings += _change_address(tx, before, config.base_url, moved=moved)
        warnings += _check_ids(tx, config, assignments)
        tx.configs.put(config)
        _note(tx, before, config)
        if api_key:
            tx.configs.put_api_key(api_key)
            tx.changes.note(Did.KEY_STORED())
    owed = _owed(store, config, before, replay=replay) if "status_map" in assignments else []
    return Changed(config, warnings, owed, replay and bool(owed))


def _keep_others_out(tx: Transaction, assignments: Mapping[str, str]) -> None:
    """Block other changes of the settings, and claims if the address changes, until this is committed.

    The order is that of a worker's single operation: the ledger, then the settings. A batch locks them in reverse,
    but it gives up long before PostgreSQL looks for a deadlock (`Transaction.wait_briefly`).
    """
    before, _ = tx.configs.get()
    if before.base_url is not None and before.changed(assignments).base_url != before.base_url:
        for kind in Kind:  # a claim after they are counted would be sent to the old address
            tx.ledger(kind).keep_others_out()
    tx.configs.lock_exclusive()


def _owed(store: Store, config: PluginConfig, before: PluginConfig, *, replay: bool) -> list[int]:
    """Return the tickets whose issue has another status than the new map assigns; if `replay`, make that due.

    Each batch has its own transaction, which may take long: nothing is decided by the old map any more.
    """
    with store.transaction() as tx:
        owed = tx.statuses.owed(config.status_map, before.status_map)
    for start in range(0, len(owed) if replay else 0, AT_ONCE):
        some = owed[start : start + AT_ONCE]
        with store.transaction() as tx:
            tx.statuses.give(some)
            tx.journal.replay_statuses(some)
            tx.trace.append([Step(ticket_id, What.STATUS_MAP_CHANGED()) for ticket_id in some])
    return owed


def _note(tx: Transaction, before: PluginConfig, after: PluginConfig) -> None:
    was, now = before.model_dump(mode="json"), after.model_dump(mode="json")
    changed = sorted(name for name in now if now[name] != was[name])
    if changed:
        tx.changes.note(
            Did.CONFIG_CHANGED(keys=changed),
            before={name: was[name] for name in changed},
            after={name: now[name] for name in changed},
        )


def _check_ids(tx: Transaction, config: PluginConfig, assignments: Mapping[str, str]) -> list[Notice]:
    """Check the assigned ids against the cache; return a warning about ids that an empty cache cannot confirm.

    Raises:
        SettingsError: if a filled cache lacks an id; it names each setting concerned and its choices.
    """
    unconfirmed: list[str] = []
    faults: Faults = []
    for name in [name for name in CONFIRMED if name in assignments and config.ids(name)]:
        try:
            if not confirm_setting(tx, config, name):
                unconfirmed.append(name)
        except NotFound as unknown:
            faults.append((name, unknown.notice))
    if faults:
        raise SettingsError(faulty(Refusal.CONFIG_NOT_VALID, faults))
    return [Caution.IDS_NOT_CONFIRMED(keys=unconfirmed)] if unconfirmed else []


def change_of_address(
    config: PluginConfig, before: PluginConfig, *, typed: bool, allow_link_local: bool
) -> None:
    """Refuse an address that no tracker can have, or to which the stored key must not be sent.

    Raises:
        SettingsError: if it is one of these.
    """
    if not typed:
        _check_trust(config, before)
    if config.base_url and not allow_link_local:
        _check_address(config.base_url)


def _check_trust(config: PluginConfig, before: PluginConfig) -> None:
    """Prevent a user who may not read the API key from choosing where it is sent.

    Another path of a host may be another application's, and an unverified certificate anyone's.

    Raises:
        SettingsError: if the stored key would go to another address, or to a server that pretends to be the tracker.
    """
    if config.base_url != before.base_url:
        raise _wrong("base_url", Invalid.KEY_NEEDED_ELSEWHERE())
    if before.verify_tls and not config.verify_tls:
        raise _wrong("verify_tls", Invalid.KEY_NEEDED_UNVERIFIED())


def _check_address(base_url: str) -> None:
    """Refuse an address that no tracker can have, as far as that is clear without a name lookup.

    The address that a name resolves to is checked at each connection.

    Raises:
        SettingsError: if it is link-local, or a cloud's metadata service.
    """
    reason = why_forbidden(urlsplit(base_url).hostname or "")
    if reason:
        raise _wrong("base_url", Invalid.ADDRESS_FORBIDDEN_HERE(place=reason))


def _change_address(
    tx: Transaction, before: PluginConfig, base_url: str | None, *, moved: bool
) -> list[Notice]:
    """Allow base_url to change if nothing was created on the old tracker, or it is still the same tracker.

    Raises:
        SettingsError: if tickets and ticket tasks would be linked to objects of another tracker.
    """
    if before.base_url is None:
        return []
    issues, times = tx.issues.count_live(), tx.times.count_live()
    notes = sum(tx.ledger(kind).count_live() for kind in ADDITIONS)
    if not (moved and base_url) and (issues or times or notes):
        raise SettingsError(_why_guarded(before.base_url, base_url, issues, times))
    if moved:
        return []
    tx.people.forget_tracker()
    tx.metadata.forget_tracker()
    tx.project_claims.forget_tracker()
    on = {"base_url": before.base_url}
    warnings = [
        Caution.DRY_RUN_LEFT_BEHIND(kind=one.kind, tracker_id=one.tracker_id, mark=one.mark, **on)
        for one in tx.dry_runs.all()
    ]
    tx.dry_runs.forget_tracker()
    left = {
        Caution.LINKS_OF_OTHER_TRACKER: len(tx.mappings.all()),
        Caution.OVERRIDES_OF_OTHER_TRACKER: len(tx.people.overrides()),
    }
    return warnings + [caution(count=count, **on) for caution, count in left.items() if count]


def _why_guarded(before: str, base_url: str | None, issues: int, times: int) -> Notice:
    """Return why the address cannot change, and what to do for each intention that a person may have."""
    made = {
        "before": before,
        "issues": Amount.ISSUES_COUNTED(count=issues),
        "entries": Amount.ENTRIES_COUNTED(count=times),
    }
    if base_url is None:
        return Refusal.ADDRESS_NOT_EMPTIED(field="base_url", **made)
    return Refusal.ADDRESS_IN_USE(field="base_url", base_url=base_url, **made)


def _wrong(field: str, problem: Notice) -> SettingsError:
    return SettingsError(faulty(Refusal.CONFIG_NOT_VALID, [(field, problem)]))
