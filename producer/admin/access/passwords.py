"""Passwords are kept as Argon2 hashes, and few are hashed at once: each takes 64 MiB."""

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
    """Too many sign in at this moment."""


def hash_of(password: str) -> str:
    """Return a password's hash, salted."""
    from argon2 import PasswordHasher

    with HASHING:
        return PasswordHasher().hash(password)


def matches(hashed: str | None, password: str) -> bool:
    """Compare a password with a hash, or with no one's, in the same time.

    Raises:
        TooBusy: too many sign in at this moment.
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
    """Wait for one's turn to hash, unless the line is too long.

    Raises:
        TooBusy: it is, or it does not move.
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
