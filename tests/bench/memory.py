"""How much memory a process keeps. It loads nothing else, so that a process can tell of itself."""

from __future__ import annotations

from pathlib import Path


def resident_mb(pid: int | str = "self") -> float:
    """Return how much memory a process keeps resident, in MB (Linux).

    Raises:
        OSError: there is no such process.
    """
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024
