"""A process that sends one message to one address: `python -m shared.notifications.sender`.

It has little memory and time, and connects to no address that is forbidden for deskbridge's other calls, whatever name
or parameter leads there.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from typing import Any

from shared.notices.notice import to_json
from shared.notifications.delivery import PATIENCE_S, send
from shared.process.dumps import guard_memory
from shared.values.addresses import why_forbidden

MOST_MEMORY = 512 * 1024 * 1024
CONNECTING = ("socket.connect", "socket.sendto")


def main() -> None:
    """Read the message from standard input, send it, and write the results to standard output."""
    guard_memory()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    signal.alarm(int(PATIENCE_S))  # if the process that started it has ended
    wanted = json.load(sys.stdin)
    if not wanted.pop("allow_link_local"):
        sys.addaudithook(_refuse_forbidden)
    results = [to_json({"service": one.service, "failure": one.failure}) for one in send(**wanted)]
    json.dump(results, sys.stdout)


def _refuse_forbidden(event: str, arguments: tuple[Any, ...]) -> None:
    """Let no connection to a forbidden address begin (an audit hook sees each of them)."""
    if event in CONNECTING and isinstance(arguments[1], tuple) and why_forbidden(str(arguments[1][0])):
        raise PermissionError("a forbidden address")


if __name__ == "__main__":
    main()
