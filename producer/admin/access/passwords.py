"""Argon2 hashes of passwords; few are computed at once, since each takes 64 MiB."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from shared.errors import BridgeError
from shared.notices.access import AccessRefusal

LONGEST_PASSWORD = 1000
HASHING = threading.BoundedSemaphore(2)
"""Each hash takes 64 MiB: forty at once took 2.4 GB."""

LINE = threading.BoundedSemaphore(8)
"""Maximum number of sign-ins that are hashed or wait for it. Further ones are refused, to keep threads for pages."""

PATIENCE_S = 5.0


class TooBusy(BridgeError):
    """Too many sign-ins are in progress."""


def hash_of(password: str) -> str:
    """Return a password's hash, salted."""
    from argon2 import PasswordHasher

    with HASHING:
        return PasswordHasher().hash(password)


def matches(hashed: str | None, password: str) -> bool:
    """Return whether a password matches a hash; without a hash it does not, after the same time.

    Raises:
        TooBusy: if too many sign-ins are in progress.
    """
    from argon2 import PasswordHasher
    from argon2.exceptions import InvalidHashError, VerificationError

    if len(password) > LONGEST_PASSWORD:
        return False
    with _turn():
        hasher = PasswordHasher()
        try:
            if hashed is None:
                hasher.hash(password)
                return False
            return hasher.verify(hashed, password)
        except (VerificationError, InvalidHashError):
            return False


@contextmanager
def _turn() -> Iterator[None]:
    """Wait for a turn to hash, unless too many sign-ins wait already.

    Raises:
        TooBusy: if too many wait, or the turn does not come within PATIENCE_S.
    """
    busy = TooBusy(AccessRefusal.SIGN_IN_BUSY())
    if not LINE.acquire(blocking=False):
        raise busy
    try:
        if not HASHING.acquire(timeout=PATIENCE_S):
            raise busy
        try:
            yield
        finally:
            HASHING.release()
    finally:
        LINE.release()
