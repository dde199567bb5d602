"""A worker that is killed in the middle of its work, in tests that run it in their own process."""

from __future__ import annotations


class WorkerDied(BaseException):
    """Simulates SIGKILL: no code of deskbridge catches it."""


def die(*_: object) -> None:
    """Kill the worker; tests put this in place of the function that must not be reached."""
    raise WorkerDied
