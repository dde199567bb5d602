"""What closes an open circuit breaker: the step for a person, and whether the cause is in deskbridge's settings."""

from __future__ import annotations

from shared.notices.faults import Detail
from shared.notices.notice import Notice, within
from shared.notices.refusals import Refusal
from shared.notices.render import because
from shared.notices.system_refusals import SystemRefusal

OURS = frozenset(
    {
        Detail.NO_API_THERE,
        Detail.ADDRESS_MOVED,
        Detail.ADDRESS_FORBIDDEN,
        Detail.NAME_UNKNOWN,
        Detail.PROXY_REFUSED,
        Detail.CERTIFICATE_OF_UNKNOWN_AUTHORITY,
        Detail.CERTIFICATE_OF_ANOTHER,
        Detail.KEY_IS_UNKNOWN,
        Detail.KEY_NOT_ADMINISTRATORS,
        Refusal.TRACKER_NOT_CONFIGURED,
        Refusal.API_KEY_NOT_STORED,
        Refusal.API_KEY_NOT_OPENED,
        SystemRefusal.SECRET_KEYS_NOT_SET,
        SystemRefusal.DATABASE_BEHIND,
        SystemRefusal.DATABASE_COPIED,
    }
)
"""Causes in deskbridge's own settings: a tracker that works does not end them."""


def is_ours(reason: Notice) -> bool:
    """Return whether the cause is a setting of deskbridge, so that work continues only after a change of it."""
    return any(one.code in OURS for one in within(reason))


def step(reason: Notice) -> Notice | None:
    """Return the first notice in a reason that tells what to do about it, or None if none does."""
    return next((one for one in within(reason) if because(one)), None)
