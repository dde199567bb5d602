"""What the codes of the call limit say."""

from __future__ import annotations

from shared.codes.limits import CallLimitBy
from shared.sentences.template import Table

SENTENCES: Table = {
    CallLimitBy.MEASURING: "how long a call takes by itself is being measured",
    CallLimitBy.OPENING: (
        "calls take hardly longer together than by themselves, so more are made as soon as they are wanted"
    ),
    CallLimitBy.QUEUEING: (
        "calls take {slower:.1f} times as long as by themselves, so more would only wait within the tracker"
    ),
    CallLimitBy.BOUND: "that is all that the workers can make (--concurrency)",
}
