"""Start a process that cannot outlive this one (Linux)."""

import ctypes
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache

Process = subprocess.Popen[bytes]

_PR_SET_PDEATHSIG = 1
# Loaded here, not in the forked child: nothing should be imported or allocated between fork and exec.
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent(death_signal: signal.Signals) -> Callable[[], None]:
    """Return a `preexec_fn` that makes the kernel send `death_signal` when the parent ends, however it ends.

    It does nothing on other systems than Linux, where only an orderly stop ends the children.
    """
    parent = os.getpid()
    number = int(death_signal)

    def before_exec() -> None:
        if _libc is None:
            return
        _libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:  # the parent ended before the line above took effect
            os._exit(1)

    return before_exec


def from_lasting_thread(start: Callable[[], Process]) -> Process:
    """Call `start` in a thread that lives as long as this process.

    The kernel ties the death signal to the *thread* that forked. A child forked by a short-lived thread would
    end with that thread, so a permanent thread does the forks of all threads but the main one.
    """
    if threading.current_thread() is threading.main_thread():
        return start()
    future: Future[Process] = Future()
    _requests().put((start, future))
    return future.result()


_Requests = queue.SimpleQueue[tuple[Callable[[], Process], "Future[Process]"]]


@cache
def _requests() -> _Requests:
    requests: _Requests = queue.SimpleQueue()
    threading.Thread(target=_serve, args=(requests,), name="spawner", daemon=True).start()
    return requests


def _serve(requests: _Requests) -> None:
    while True:
        start, future = requests.get()
        try:
            future.set_result(start())
        except Exception as error:  # passed to the calling thread
            future.set_exception(error)
