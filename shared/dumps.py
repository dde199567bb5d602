"""No image of a process's memory is written when it crashes: the tracker's API key would be in it."""

from __future__ import annotations

import sys


def forbid_core_dumps() -> None:
    """Forbid core dumps of this process and of all that it starts, on Linux and its like.

    The limit is 1 byte, not 0: Linux writes no file so small, and, unlike with 0, calls no crash handler either
    (core(5), "Piping core dumps to a program").
    """
    if sys.platform == "win32":
        return
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    limit = 0 if most == 0 else 1
    resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
