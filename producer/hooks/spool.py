"""What a helpdesk tells of its own spool beside its events: how many wait behind this request, how many it gave up."""

from __future__ import annotations

import re
import time

from shared.telemetry import metrics

HEADER = "deskbridge-spool"
TOLD = re.compile(r"waiting=([0-9]{1,9}), ?parked=([0-9]{1,9})")


def tell(secret: int, header: str | None) -> None:
    """Show what a request tells of its sender's spool; one that tells nothing, or something else, changes nothing.

    Args:
        secret: by which of the secrets the request was signed, from 0: so several helpdesks are told apart. The header
            itself is not signed: nothing but what is shown rests on it.
        header: the request's header `HEADER`.
    """
    if header and (told := TOLD.fullmatch(header)):
        for state, count in zip(("waiting", "parked"), told.groups(), strict=True):
            metrics.SPOOL.labels(secret=str(secret), state=state).set(int(count))
        metrics.SPOOL_TOLD.labels(secret=str(secret)).set(time.time())
