"""Checks that the tracker at a new address is the one that deskbridge has created issues on."""

from __future__ import annotations

from pydantic import SecretStr

from producer.admin.services import Services
from shared.errors import SettingsError, TrackerError, TrackerRejected
from shared.events.config import PluginConfig
from shared.notices.kinds import Kind
from shared.notices.refusals import Refusal
from shared.process.outbound import Outbound
from shared.store.tables.ledger import LedgerRow
from shared.tracker.client import Target, TrackerClient
from shared.values.identity import Identity

MOST_COMPARED = 5
HIDDEN = (403, 404)
"""The answers for an issue that was deleted, or whose project is archived."""


def client_of(services: Services, config: PluginConfig, key: SecretStr) -> TrackerClient:
    """Return a client for settings that are not stored yet; they have an address."""
    assert config.base_url is not None  # noqa: S101
    allows, outbound = services.settings.allow_link_local, Outbound.of(services.settings)
    target = Target(config.base_url, key, config.header_prefix, config.verify_tls, allows, outbound)
    return TrackerClient(target)


def check_is_same(services: Services, before: str, wanted: PluginConfig, key: SecretStr | None) -> None:
    """Compare some of the linked issues, from the oldest to the newest, with those at a new address.

    Args:
        services: the collaborators.
        before: the address until now.
        wanted: the settings with the new address, to which the key may be sent.
        key: the API key; None if none is stored.

    Raises:
        SettingsError: if one of them is another issue there, none exists there, or they cannot be read.
    """
    with services.store.transaction() as tx:
        rows = tx.issues.linked_sample(MOST_COMPARED)
    if not rows:
        return
    if key is None:
        raise SettingsError(Refusal.API_KEY_NOT_STORED())
    client = client_of(services, wanted, key)
    about: dict[str, object] = {"field": "base_url", "before": before, "base_url": wanted.base_url}
    are_there = [_is_there(client, row, about) for row in rows]
    if not any(are_there):
        issue_ids = [row.tracker_id for row in rows]
        raise SettingsError(Refusal.ISSUES_NOT_THERE(**about, issue_ids=issue_ids))


def _is_there(client: TrackerClient, row: LedgerRow, about: dict[str, object]) -> bool:
    """Return whether an issue exists and is the row's.

    Its author counts only if it is unknown when it was created, since a deleted user's issues get another author.

    Raises:
        SettingsError: if it is another issue, or could not be read.
    """
    about = {**about, "issue_id": row.tracker_id}
    try:
        answer = client.call("GET", f"/issues/{row.tracker_id}.json", expected=HIDDEN)
        issue = answer.object(Kind.TICKET.wire_name)
    except TrackerRejected as refused:
        if refused.status in HIDDEN:
            return False
        raise SettingsError(Refusal.ISSUE_NOT_READ(**about, problem=refused.notice)) from None
    except TrackerError as failure:
        raise SettingsError(Refusal.ISSUE_NOT_READ(**about, problem=failure.notice)) from None
    except KeyError:
        raise SettingsError(Refusal.ISSUE_NOT_READ(**about)) from None
    known, there = Identity(row.created_on, row.author_id), Identity.of(Kind.TICKET, issue)
    is_same_time = known.created_on is not None and not known.is_of_another_time(there)
    if is_same_time or not (known.is_of_another_time(there) or known.is_by_another(there)):
        return True
    author = issue["author"].get("name") if isinstance(issue.get("author"), dict) else None
    is_there = {"created_on": issue.get("created_on"), "author": author}
    raise SettingsError(Refusal.ISSUE_IS_ANOTHER(**about, **is_there))
