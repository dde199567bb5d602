"""Locks in Redis with a token and a lease. They keep work from being done twice; the ledger makes it safe."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from redis import Redis
from redis.exceptions import LockError, RedisError
from redis.lock import Lock
from redis.sentinel import Sentinel

from shared.codes.faults import Fault
from shared.errors import LockBusy
from shared.logs import get_logger
from shared.sentinels import sentinels
from shared.settings import Settings

log = get_logger("locks")
PREFIX = "deskbridge:lock:"
WITHOUT_END = -1


def make_redis(settings: Settings) -> Redis:
    """Return a connection for locks and the pause, with short time-outs and no retries of its own."""
    return connected(settings.redis_url.get_secret_value(), socket_keepalive=True, health_check_interval=15)


def connected(url: str, **options: Any) -> Redis:
    """Return a connection to the Redis of an address, or to whichever server its Sentinels call the master.

    Args:
        url: as REDIS_URL has it.
        options: further ones of redis-py.
    """
    patience = {"socket_timeout": 5, "socket_connect_timeout": 3}
    if (found := sentinels(url)) is None:
        return Redis.from_url(url, **patience, **options)
    asked = Sentinel(found.hosts, sentinel_kwargs={**patience, **found.of_sentinel})
    master: Redis = asked.master_for(found.master, **patience, **found.of_redis, **options)
    return master


def drop_endless(redis: Redis, key: str) -> None:
    """Delete a key that has no end: every one of ours has, so it would stand in the way for ever."""
    if redis.pttl(key) == WITHOUT_END:
        log.warning("a key in Redis that never ends is none of ours, and dropped", key=key)
        redis.delete(key)


class HeldLock:
    """A lock that is held, renewed as the work goes on."""

    def __init__(self, lock: Lock, name: str, lease: float) -> None:
        self._lock, self._name = lock, name
        self._lease = lease
        self._renewed_at = time.monotonic()

    @property
    def name(self) -> str:
        """Which it is."""
        return self._name

    @property
    def token(self) -> bytes:
        """What only its holder knows."""
        token: bytes = self._lock.local.token
        return token

    def renew(self) -> None:
        """Start the lease anew where a third of it has gone.

        Raises:
            LockBusy: it ran out meanwhile; somebody else may hold it.
        """
        if time.monotonic() - self._renewed_at < self._lease / 3:
            return
        try:
            self._lock.reacquire()
        except LockError:
            raise LockBusy(Fault.LOCK_RAN_OUT()) from None
        self._renewed_at = time.monotonic()

    def release(self) -> None:
        """Give it back; one that was lost meanwhile is only told of."""
        try:
            self._lock.release()
        except (LockError, RedisError) as error:
            log.warning("lock lost before its release", lock=self._name, error=type(error).__name__)


# Deletes each key that still holds its token, and returns the places of those that do not.
RELEASE = """
local lost = {}
for place, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[place] then redis.call('DEL', key) else lost[#lost + 1] = place - 1 end
end
return lost
"""


class Locks:
    """Takes locks by name.

    Args:
        redis: connection with its own time-outs.
        lease: seconds until a lock that nobody renews ends.
    """

    def __init__(self, redis: Redis, lease: float) -> None:
        self._redis = redis
        self._lease = lease
        self._releasing = redis.register_script(RELEASE)

    def once(self, name: str, seconds: int) -> bool:
        """Tell whether nobody has asked the same in the last so many seconds."""
        key = f"{PREFIX}once:{name}"
        if self._redis.set(key, "1", nx=True, ex=seconds):
            return True
        drop_endless(self._redis, key)
        return False

    def tell(self, name: str, progress: Mapping[str, Any] | None) -> None:
        """Say how far the work under a lock has come, for every process to see; None: it has ended.

        It is said in vain where Redis is away, and forgotten with the lease where nothing more is said.
        """
        key = f"{PREFIX}{name}:progress"
        with suppress(RedisError):
            if progress is None:
                self._redis.delete(key)
            else:
                self._redis.set(key, json.dumps(progress), px=round(self._lease * 1000))

    def told(self, name: str) -> dict[str, Any] | None:
        """Return how far the work under a lock has come; None where nobody is at it.

        Raises:
            RedisError: Redis is away.
        """
        key = f"{PREFIX}{name}:progress"
        found: Any = self._redis.get(key)
        if found:
            drop_endless(self._redis, key)
        try:
            progress = json.loads(found or "null")
        except ValueError:
            return None
        return progress if isinstance(progress, dict) else None

    def take(self, name: str) -> HeldLock:
        """Take a lock, without waiting for it; whoever takes it releases it.

        Raises:
            LockBusy: somebody else holds it.
        """
        lock = self._redis.lock(PREFIX + name, timeout=self._lease, blocking=False, thread_local=False)
        if not lock.acquire():
            drop_endless(self._redis, PREFIX + name)
            raise LockBusy(Fault.LOCK_HELD(name=name))
        return HeldLock(lock, name, self._lease)

    def take_all(self, names: Sequence[str]) -> list[HeldLock | Exception]:
        """Take those of some locks that are free, in one round trip; of each other one it is returned that it is busy.

        Raises:
            RedisError: Redis is away; those that were taken end with their lease.
        """
        if len(names) == 1:
            return [_or_busy(self.take, names[0])]
        locks = [self._redis.lock(PREFIX + name, timeout=self._lease, thread_local=False) for name in names]
        asked = self._redis.pipeline(transaction=False)
        for lock in locks:
            lock.local.token = uuid.uuid1().hex.encode()
            asked.set(lock.name, lock.local.token, nx=True, px=round(self._lease * 1000))
        taken = asked.execute()
        found: list[HeldLock | Exception] = []
        for name, lock, is_taken in zip(names, locks, taken, strict=True):
            if not is_taken:
                drop_endless(self._redis, PREFIX + name)
            found.append(
                HeldLock(lock, name, self._lease) if is_taken else LockBusy(Fault.LOCK_HELD(name=name))
            )
        return found

    def release_all(self, held: Sequence[HeldLock]) -> None:
        """Give some locks back in one round trip; those that were lost meanwhile are only told of."""
        if len(held) == 1:
            held[0].release()
            return
        keys, tokens = [PREFIX + one.name for one in held], [one.token for one in held]
        try:
            lost = [held[place].name for place in self._releasing(keys=keys, args=tokens)]
        except RedisError as error:
            log.warning("locks lost before their release", count=len(held), error=type(error).__name__)
            return
        for name in lost:
            log.warning("lock lost before its release", lock=name)

    @contextmanager
    def hold(self, name: str) -> Iterator[HeldLock]:
        """Hold a lock during the block, without waiting for it.

        Raises:
            LockBusy: somebody else holds it.
        """
        held = self.take(name)
        try:
            yield held
        finally:
            held.release()


def _or_busy(take: Callable[[str], HeldLock], name: str) -> HeldLock | Exception:
    try:
        return take(name)
    except LockBusy as busy:
        return busy
