"""Protects the memory of a process, which holds the tracker's API key, from core dumps and debuggers."""

from __future__ import annotations

import sys

PR_SET_DUMPABLE = 4


def guard_memory() -> None:
    """Prevent core dumps of this process, and access to its memory by other processes of the same account.

    On Linux such a process can then neither trace it nor read its memory and environment in /proc; root can. An
    `exec` ends this protection: the new program must call this function again.
    """
    _forbid_core_dumps()
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def _forbid_core_dumps() -> None:
    """Forbid core dumps of this process and of its child processes.

    The limit is 1 byte, not 0: Linux writes no file so small, and, unlike with 0, calls no crash handler either
    (core(5), "Piping core dumps to a program").
    """
    if sys.platform == "win32":
        return
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    limit = 0 if most == 0 else 1
    resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
