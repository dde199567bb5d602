"""Injects the faults of the plan on time and counts what they hit."""

from __future__ import annotations

import heapq
import signal
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import psycopg2
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from deploy.embedded.errors import EmbeddedError
from tests.drill.administrator import Administrator
from tests.drill.plan import Fault
from tests.drill.stand import Stand
from tests.drill.tracker import Board
from tests.support.refusing import DiskFull, NoReplicas, OutOfMemory, ReadOnly, Refusing

ABSENT = (EmbeddedError, psycopg2.Error, SQLAlchemyError, RedisError, OSError)
"""Errors that an injection may meet if an earlier fault has taken the server down."""

REFUSING: dict[str, type[Refusing]] = {one.word: one for one in (ReadOnly, DiskFull, NoReplicas, OutOfMemory)}
DOWN_S = 0.5
SUPPLANT_AGAIN_S = 2.0
PATIENCE_S = 15.0
TURN_S = 0.5


@dataclass
class Tally:
    """Counts of injected faults, by kind.

    Attributes:
        planned: how many injections were made.
        hit: how many of them hit something: a running process, or a call.
        targets: how many calls, connections or processes they hit.
    """

    planned: Counter[str] = field(default_factory=Counter)
    hit: Counter[str] = field(default_factory=Counter)
    targets: Counter[str] = field(default_factory=Counter)

    def add(self, kind: str, targets: int) -> None:
        """Count one injection and what it hit."""
        self.planned[kind] += 1
        self.retry(kind, targets)

    def retry(self, kind: str, targets: int) -> None:
        """Count what a fault has hit that hit nothing before."""
        self.hit[kind] += bool(targets)
        self.targets[kind] += targets


class Injector:
    """Injects faults in order of time, and ends those that last for a while.

    Args:
        stand: the servers and processes to disturb.
        faults: the plan.
        mortal: tickets whose issue may be deleted.
    """

    def __init__(self, stand: Stand, faults: list[Fault], mortal: set[int]) -> None:
        self.stand = stand
        self.tally = Tally()
        self.board = Board(stand.stand_in, self.tally, mortal)
        self.administrator = Administrator(stand.fleet.bridge.store, stand.stand_in)
        # its own thread: it may wait for a stopped worker, which only this thread can continue
        self._hand = ThreadPoolExecutor(1, "administrator")
        self.refusing: list[Refusing] = []
        self._numbers = count()
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        for fault in faults:
            self._at(fault.at, lambda fault=fault: self._inject(fault))  # type: ignore[misc]
        self._began = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the first call of `begin`."""
        return time.monotonic() - self._began

    def begin(self) -> None:
        """Start the plan's clock."""
        self._began = time.monotonic()

    def run(self, until: float) -> None:
        """Carry out due actions until a number of seconds after the start."""
        while self.elapsed < until:
            now = self.elapsed
            while self._queue and self._queue[0][0] <= now:
                heapq.heappop(self._queue)[2]()
            nearest = self._queue[0][0] if self._queue else until
            time.sleep(max(0.01, min(TURN_S, nearest - self.elapsed, until - self.elapsed)))

    def end(self) -> None:
        """End every fault: stopped processes continue, servers run, the tracker works, settings are reverted."""
        self._queue.clear()
        self._hand.shutdown(wait=False, cancel_futures=True)
        for member in self.stand.supervisor.members:
            member.send(signal.SIGCONT)
        self.stand.redis.revive()
        for refusing in list(self.refusing):
            self._until_it_succeeds(refusing.end)
        self.stand.postgres.revive()
        self._until_it_succeeds(lambda: _alter(self, "RESET default_transaction_read_only"))
        self.stand.glpi.down, self.stand.glpi.in_front = False, None
        self.board.clear()
        self._hand.shutdown()
        self._until_it_succeeds(self.administrator.settle)

    def accept(self, refusing: Refusing) -> None:
        """End one kind of refusal by Redis; if another fault has taken Redis down, leave that to `end`."""
        with suppress(*ABSENT):
            refusing.end()
            self.refusing.remove(refusing)

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Run an action after a number of seconds."""
        self._at(self.elapsed + seconds, action)

    def administrate(self, kind: str, action: Callable[[], int]) -> None:
        """Queue an action of the administrator, and count what it hits."""

        def do() -> None:
            targets = 0
            with suppress(*ABSENT):
                targets = action()
            self.tally.add(kind, targets)

        self._hand.submit(do)

    def administrator_later(self, seconds: float, action: Callable[[], None]) -> None:
        """Queue an action of the administrator after a number of seconds."""
        self.later(seconds, lambda: _ignore(self._hand.submit(action)))

    def _until_it_succeeds(self, action: Callable[[], None]) -> None:
        """Run an action on the database or Redis; repeat it until it succeeds or the patience ends."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return action()
            except (SQLAlchemyError, RedisError, psycopg2.Error):
                if time.monotonic() > deadline:
                    raise
                time.sleep(TURN_S)

    def _at(self, moment: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (moment, next(self._numbers), action))

    def _inject(self, fault: Fault) -> None:
        targets: int | None = 0
        with suppress(*ABSENT):
            targets = ACTIONS[fault.action](self, fault.kind, **fault.options)
        if targets is not None:
            self.tally.add(fault.kind, targets)


def _signal(injector: Injector, _kind: str, /, process: str, signal: str) -> int:
    return int(injector.stand.process(process).send(_number(signal)))


def _stop(injector: Injector, _kind: str, /, process: str, seconds: float) -> int:
    member = injector.stand.process(process)
    injector.later(seconds, lambda: _ignore(member.send(_number("SIGCONT"))))
    return int(member.send(_number("SIGSTOP")))


def _redis_kill(injector: Injector, _kind: str, /, *, empty: bool) -> int:
    redis = injector.stand.redis
    was_alive = redis.alive
    redis.kill()
    time.sleep(DOWN_S)
    if empty:
        for file in redis.data_dir.glob("appendonly*"):
            file.unlink()
    redis.revive()
    return int(was_alive)


def _redis_stop(injector: Injector, _kind: str, /, seconds: float) -> int:
    redis = injector.stand.redis
    redis.child.send_signal(signal.SIGSTOP)
    injector.later(seconds, lambda: _ignore(redis.revive()))
    return 1


def _redis_flush(injector: Injector, _kind: str, /) -> int:
    injector.stand.redis.flush()
    return 1


def _redis_refuse(injector: Injector, _kind: str, /, word: str, seconds: float) -> int:
    refusing = REFUSING[word](injector.stand.redis)
    injector.refusing.append(refusing)  # even if `begin` fails halfway
    injector.later(seconds, lambda: injector.accept(refusing))
    refusing.begin()
    return 1


def _redis_kill_clients(injector: Injector, _kind: str, /) -> int:
    with Redis.from_url(injector.stand.redis.url, socket_timeout=1, socket_connect_timeout=1) as client:
        return int(client.client_kill_filter(_type="normal", skipme=True)) + int(
            client.client_kill_filter(_type="pubsub", skipme=True)
        )


def _postgres_crash(injector: Injector, _kind: str, /) -> int:
    postgres = injector.stand.postgres
    postgres.crash()
    time.sleep(DOWN_S)
    postgres.revive()
    return 1


def _postgres_terminate(injector: Injector, _kind: str, /) -> int:
    return injector.stand.postgres.terminate_backends("drill")


def _postgres_read_only(injector: Injector, _kind: str, /, seconds: float) -> int:
    injector.later(seconds, lambda: _writable(injector))
    _alter(injector, "SET default_transaction_read_only = on")
    return injector.stand.postgres.terminate_backends("drill")


def _writable(injector: Injector) -> None:
    """Let new sessions write again; if the server is down, try again later."""
    try:
        _alter(injector, "RESET default_transaction_read_only")
    except ABSENT:
        injector.later(1.0, lambda: _writable(injector))


def _alter(injector: Injector, change: str) -> None:
    postgres = injector.stand.postgres
    with closing(psycopg2.connect(postgres.url.replace("+psycopg2", ""), connect_timeout=5)) as server:
        server.autocommit = True
        with server.cursor() as cursor:
            cursor.execute(f"ALTER DATABASE drill {change}")


def _glpi(injector: Injector, _kind: str, /, seconds: float) -> int:
    glpi = injector.stand.glpi
    glpi.down = True
    injector.later(seconds, lambda: setattr(glpi, "down", False))
    return 1


def _downloads(injector: Injector, _kind: str, /, answer: str, seconds: float) -> int:
    glpi = injector.stand.glpi
    glpi.in_front = answer
    injector.later(seconds, lambda: setattr(glpi, "in_front", None))
    return 1


def _tracker(injector: Injector, kind: str, /, **options: Any) -> None:
    injector.board.fault(kind, options, injector.later)


def _tracker_setting(injector: Injector, _kind: str, /, **options: Any) -> int:
    return injector.board.setting(injector.later, **options)


def _tracker_clock(injector: Injector, _kind: str, /, offset: float) -> int:
    return injector.board.clock(offset)


def _tracker_delete(injector: Injector, _kind: str, /, share: float) -> int:
    return injector.board.delete_issue(share)


def _tracker_supplant(injector: Injector, kind: str, /, share: float) -> int:
    """Give the id of an issue to another one, as soon as there is one that no request is about."""
    targets = injector.board.supplant_issue(share)
    if not targets:
        injector.later(
            SUPPLANT_AGAIN_S, lambda: injector.tally.retry(kind, _tracker_supplant(injector, kind, share))
        )
    return targets


def _tracker_move(injector: Injector, _kind: str, /, share: float) -> int:
    return injector.board.move_issue(share)


def _link(injector: Injector, kind: str, /, **options: Any) -> None:
    does = injector.administrator
    injector.administrate(kind, lambda: does.link(injector.administrator_later, **options))


def _template(injector: Injector, kind: str, /, **options: Any) -> None:
    does = injector.administrator
    injector.administrate(kind, lambda: does.template(injector.administrator_later, **options))


def _status_map(injector: Injector, kind: str, /, lasts: float) -> None:
    does = injector.administrator
    injector.administrate(kind, lambda: does.status_map(injector.administrator_later, lasts))


def _replay(injector: Injector, kind: str, /, state: str) -> None:
    injector.administrate(kind, lambda: injector.administrator.replay(state))


def _resolve(injector: Injector, kind: str, /) -> None:
    injector.administrate(kind, injector.administrator.resolve)


def _number(name: str) -> signal.Signals:
    return signal.Signals[name]


def _ignore(_value: object) -> None:
    return None


ACTIONS: dict[str, Callable[..., int | None]] = {
    "signal": _signal,
    "stop": _stop,
    "redis_kill": _redis_kill,
    "redis_stop": _redis_stop,
    "redis_flush": _redis_flush,
    "redis_kill_clients": _redis_kill_clients,
    "redis_refuse": _redis_refuse,
    "postgres_crash": _postgres_crash,
    "postgres_terminate": _postgres_terminate,
    "postgres_read_only": _postgres_read_only,
    "glpi": _glpi,
    "downloads": _downloads,
    "tracker": _tracker,
    "tracker_setting": _tracker_setting,
    "tracker_clock": _tracker_clock,
    "tracker_delete": _tracker_delete,
    "tracker_supplant": _tracker_supplant,
    "tracker_move": _tracker_move,
    "link": _link,
    "template": _template,
    "status_map": _status_map,
    "replay": _replay,
    "resolve": _resolve,
}
