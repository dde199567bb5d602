"""Shifts the wall clock of one process of the drill; Python imports this module when the process starts.

This requires this directory on the process's PYTHONPATH, and DRILL_CLOCK_OFFSET in seconds.
It replaces the functions by which Python code reads the wall clock. The monotonic clock stays right,
as on a machine whose wall clock is wrong.
"""

import datetime
import os
import time

OFFSET = float(os.environ.get("DRILL_CLOCK_OFFSET", "0"))

_time, _time_ns, _gmtime, _localtime = time.time, time.time_ns, time.gmtime, time.localtime
_Real = datetime.datetime


class _Kind(type):
    """Counts dates and times that C code created as instances too."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _Real)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _Real)


class _Shifted(_Real, metaclass=_Kind):
    """A date and time class whose `now` is shifted."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> _Real:  # type: ignore[override]
        return _Real.fromtimestamp(time.time(), tz)

    @classmethod
    def utcnow(cls) -> _Real:  # type: ignore[override]
        return _Real.fromtimestamp(time.time(), datetime.UTC).replace(tzinfo=None)

    @classmethod
    def today(cls) -> _Real:  # type: ignore[override]
        return _Real.fromtimestamp(time.time())


if OFFSET:
    time.time = lambda: _time() + OFFSET
    time.time_ns = lambda: _time_ns() + int(OFFSET * 1e9)
    time.gmtime = lambda seconds=None: _gmtime(time.time() if seconds is None else seconds)
    time.localtime = lambda seconds=None: _localtime(time.time() if seconds is None else seconds)
    datetime.datetime = _Shifted  # type: ignore[misc]
