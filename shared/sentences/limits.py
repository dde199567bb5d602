"""What the codes of the call limit say."""

from __future__ import annotations

from shared.codes.limits import CallLimitBy
from shared.sentences.template import Table

SENTENCES: Table = {
    CallLimitBy.OPENING: "twice as many do more, so even more are tried as soon as they are wanted",
    CallLimitBy.QUEUEING: (
        "twice as many do only {gain:.1f} times as much, so more would only wait within the tracker"
    ),
    CallLimitBy.BOUND: "that is all that the workers can make (--concurrency)",
}
