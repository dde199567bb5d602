"""What the codes of the call limit say."""

from __future__ import annotations

from shared.codes.limits import CallLimitBy
from shared.sentences.template import Table

SENTENCES: Table = {
    CallLimitBy.OPENING: "they take hardly longer than without load, so more are made as soon as they are wanted",
    CallLimitBy.QUEUEING: (
        "they take {ratio:.1f} times as long as without load, so more would only wait within the tracker"
    ),
    CallLimitBy.ERRORS: "some got no answer, or were refused because of load",
    CallLimitBy.BOUND: "that is all that the worker can make (--concurrency)",
}
