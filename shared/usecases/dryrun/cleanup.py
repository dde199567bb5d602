"""The sweep's part of dry runs: deletes what one of them left on the tracker (SPEC 4.3)."""

from __future__ import annotations

from shared.store import Store
from shared.usecases.metadata import Connect

SETTLING_S = 15.0


def clean_up(store: Store, connect: Connect, *, settling: float = SETTLING_S) -> int:
    """Delete a few of the things that dry runs have left; return how many are gone. Never raises BridgeError.

    Args:
        store: where the list is.
        connect: returns the configuration and the tracker.
        settling: seconds after a lost answer before anything is concluded from it.
    """
    raise NotImplementedError
