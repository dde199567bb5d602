"""The set-up steps until the first event is forwarded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from producer.admin.queries.overview import Overview
from producer.admin.queries.suggesting import suggested_map
from producer.admin.services import Services
from shared.process.environment import PRODUCER_PORT
from shared.process.itself import Process
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.store.journal.journal_queries import Unlinked
from shared.values.ids import is_sample

MONTH_S = 30 * 86400.0
MOST_ENTITIES = 10
KINDS = (
    MetadataKind.ISSUE_TYPE,
    MetadataKind.ACTIVITY,
    MetadataKind.ROLE,
    MetadataKind.STATUS,
    MetadataKind.PROJECT,
)


@dataclass(frozen=True, slots=True)
class SettingUp:
    """The steps until the first event is forwarded.

    Attributes:
        done: whether each step is done, in the order of the steps.
        read_at: when Redmine's lists were last read.
        entries: the choices for settings, by kind.
        suggested: the Redmine status for each GLPI status, by name.
        unmapped: entities in events that have no mapping.
        same_name: the Redmine project of the same name for each entity.
        producer_url: the address for events, as far as it is known.
        can_sign: whether this process can sign a test event.
        first_event: time and ticket of the newest event; None: there is none.
    """

    done: Mapping[str, bool]
    read_at: datetime | None
    entries: Mapping[MetadataKind, Sequence[Entry]]
    suggested: Mapping[int, int]
    unmapped: Sequence[Unlinked]
    same_name: Mapping[int, int]
    producer_url: str
    can_sign: bool
    newest_event: tuple[datetime, int | None] | None

    @property
    def is_sample(self) -> bool:
        """Whether the newest event is a test event, which can be removed."""
        return self.newest_event is not None and is_sample(self.newest_event[1] or 0)


def is_over(found: Overview) -> bool:
    """Return whether the installation is set up and its newest event is no test event."""
    newest = found.counts.newest
    return bool(found.is_set_up and found.counts.linked and newest and not is_sample(newest[1] or 0))


def setting_up(services: Services, found: Overview) -> SettingUp | None:
    """Return the steps, or None if the set-up is over (`is_over`).

    Args:
        services: the collaborators.
        found: the data of the first page.
    """
    if is_over(found):
        return None
    config = found.config
    with services.store.transaction() as tx:
        good = tx.metadata.last_good_run()
        entries = tx.metadata.of_kinds(*KINDS)
        unmapped = tx.journal.unlinked(MONTH_S)[:MOST_ENTITIES]
        linked = {one.helpdesk_id for one in tx.mappings.all()}
        producers = tx.producers.seen()
    unmapped = [one for one in unmapped if one.entity_id not in linked]
    projects = {one.name.strip().casefold(): one.tracker_id for one in entries[MetadataKind.PROJECT]}
    host = producers[0].process.host if producers else ""
    return SettingUp(
        done={
            "redmine": found.is_set_up,
            "formatting": config.text_formatting is not None,
            "metadata": good is not None,
            "defaults": config.default_activity_id is not None,  # without a role no members are added
            "statuses": bool(config.status_map),
            "mappings": found.counts.linked,
            "event": found.counts.newest is not None,
        },
        read_at=good.ended_at if good else None,
        entries=entries,
        suggested=suggested_map(entries[MetadataKind.STATUS]),
        unmapped=unmapped,
        same_name={
            one.entity_id: projects[_last_part(one.name)]
            for one in unmapped
            if one.name and _last_part(one.name) in projects
        },
        producer_url=_url(host),
        can_sign=bool(services.settings.webhook_secrets) or services.settings.allow_unsigned,
        newest_event=found.counts.newest,
    )


def _url(host: str) -> str:
    near = not host or host == Process.here().host
    return f"http://{'127.0.0.1' if near else host}:{PRODUCER_PORT}/events"


def _last_part(entity: str) -> str:
    """Return the entity's own name; GLPI names its parents before it, as in `Root > North`."""
    return entity.rpartition(">")[2].strip().casefold()
