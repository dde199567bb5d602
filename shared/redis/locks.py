"""Locks in Redis with a token and a lease. They avoid duplicate work; the ledger prevents duplicate creations."""

from __future__ import annotations

import json
import math
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from redis import Redis
from redis.exceptions import RedisError, ResponseError
from redis.sentinel import Sentinel

from shared.errors import LockBusy
from shared.notices.faults import Fault
from shared.process.sentinels import sentinels
from shared.process.settings import Settings
from shared.redis.keys import OURS, InstallationRedis, is_of_another_type, key_of
from shared.telemetry.logs import get_logger
from shared.values.newest_event import NewestEvent

log = get_logger("locks")
PREFIX = f"{OURS}lock:"
ONCE = f"{PREFIX}once:"
NEWEST = f"{OURS}newest"
"""Key of the newest event that any worker has processed (`NewestEvent`)."""
WITHOUT_END = -1
RENEWED_AFTER = 1 / 3
"""The fraction of its lease after which a lock is renewed."""

AGAIN_S = 1.0
"""Delay before the next try if renewing failed; each lock still has two thirds of its lease then."""

R = TypeVar("R", bound=Redis)

LONGEST_HELD_S = 3600.0
"""Longer than any holder works before it checks its lock again: a holder without a check for this time hangs."""


def make_redis(settings: Settings, whose: Callable[[], str]) -> InstallationRedis:
    """Return a connection for locks and the circuit breaker, with short time-outs and no automatic retries.

    Args:
        settings: environment settings with REDIS_URL.
        whose: returns the id of the installation whose keys it uses (`shared.redis.installation`).
    """
    url = settings.redis_url.get_secret_value()
    made = connected(InstallationRedis, url, socket_keepalive=True, health_check_interval=15)
    made.whose, made.is_of_default = whose, "redis_url" not in settings.model_fields_set
    return made


def connected(kind: type[R], url: str, **options: Any) -> R:
    """Return a connection to the Redis server of a URL, or to the current master of its Sentinels.

    Args:
        kind: the connection's class.
        url: an address in the form of REDIS_URL.
        options: further options of redis-py.
    """
    patience = {"socket_timeout": 5, "socket_connect_timeout": 3}
    if (found := sentinels(url)) is None:
        made: Any = kind.from_url(url, **patience, **options)
        alone: R = made
        return alone
    asked = Sentinel(found.hosts, sentinel_kwargs={**patience, **found.of_sentinel})
    master: R = asked.master_for(found.master, kind, **patience, **found.of_redis, **options)
    return master


def drop_endless(redis: Redis, key: str) -> None:
    """Delete a key without expiry: deskbridge's keys all expire, and this one would block them forever."""
    if redis.pttl(key) == WITHOUT_END:
        log.warning("a key in Redis that never ends is none of ours, and dropped", key=key)
        redis.delete(key)


def of_ticket(ticket_id: int) -> str:
    """Return the name of a ticket's lock."""
    return f"ticket:{ticket_id}"


class HeldLock:
    """A lock that this process took and may still hold.

    Attributes:
        name: the lock's name.
        token: random value that only the holder has.
        looked_at: when the holder last took or checked it, and so was running (monotonic seconds).
        renewed_at: when its lease last started; -inf if the lock is known to be lost.
        remembered: the newest event that Redis remembered when the lock was taken.
        newest: the newest event that was processed under it, which its release makes Redis remember.
    """

    def __init__(self, locks: Locks, name: str, token: str, taken_at: float) -> None:
        self._locks, self.name, self.token = locks, name, token
        self.looked_at = self.renewed_at = taken_at
        self.remembered: NewestEvent | None = None
        self.newest: NewestEvent | None = None

    @property
    def is_held(self) -> bool:
        """Whether the lock is still held according to the local clock."""
        return time.monotonic() < self.renewed_at + self._locks.lease

    def check(self) -> None:
        """Check, without a call to Redis, that the lock is still held; this also shows that its holder is running.

        Raises:
            LockBusy: if its lease has expired, so that another process may hold it.
        """
        if not self.is_held:
            raise LockBusy(Fault.LOCK_RAN_OUT())
        self.looked_at = time.monotonic()


# Takes each free key. With 'unless', the first key is not a lock: if it exists, no lock is taken. A key without expiry
# is deleted, since deskbridge's keys all expire. A last argument is the key of a value that is returned as well.
TAKE = """
local taken, unless = {}, ARGV[2] == 'unless' and table.remove(KEYS, 1)
if unless and redis.call('EXISTS', unless) == 1 then return false end
for place, key in ipairs(KEYS) do
  if redis.call('SET', key, ARGV[place + 2], 'NX', 'PX', ARGV[1]) then
    taken[place] = 1
  else
    taken[place] = 0
    if redis.call('PTTL', key) == -1 then redis.call('DEL', key) end
  end
end
if #ARGV > #KEYS + 2 then taken[#KEYS + 1] = redis.pcall('GETRANGE', ARGV[#ARGV], 0, 63) end
return taken
"""

# Restarts the leases of those keys that still contain their tokens.
RENEW = """
local kept = {}
for place, key in ipairs(KEYS) do
  kept[place] = 0
  if redis.pcall('GET', key) == ARGV[place + 1] then kept[place] = redis.call('PEXPIRE', key, ARGV[1]) end
end
return kept
"""

# Deletes those keys that still contain their tokens. Further arguments are a key, its value as numbers, and its
# milliseconds to live: the value is set unless that would lower it.
RELEASE = """
local deleted = {}
for place, key in ipairs(KEYS) do
  deleted[place] = 0
  if redis.pcall('GET', key) == ARGV[place] then deleted[place] = redis.call('DEL', key) end
end
local key, epoch, id, received, lives = unpack(ARGV, #KEYS + 1)
if key then
  local stored = redis.pcall('GET', key)
  local text = type(stored) == 'string' and #stored < 64 and stored or ''
  local before, newest = string.match(text, '^(%d+):(%d+):%d+$')
  before, newest = tonumber(before or -1), tonumber(newest or -1)
  if before < tonumber(epoch) or (before == tonumber(epoch) and newest <= tonumber(id)) then
    redis.call('SET', key, epoch .. ':' .. id .. ':' .. received, 'PX', lives)
  end
end
return deleted
"""


class Locks:
    """Takes locks by name.

    Args:
        redis: connection with its own time-outs.
        lease: seconds until a lock expires if it is not renewed.
        keeps: whether a separate thread, started with the first lock, renews held locks: however long the work waits,
            its holder need only check the lock (`HeldLock.check`).
        give_up: called if that thread itself fails, so that all held locks will expire.
        remembers_days: for how long Redis remembers the newest event that was processed under a lock; 0: not at all.
    """

    def __init__(
        self,
        redis: Redis,
        lease: float,
        *,
        keeps: bool = False,
        give_up: Callable[[], None] = lambda: None,
        remembers_days: float = 0,
    ) -> None:
        self._redis, self.lease, self._keeps, self._give_up = redis, lease, keeps, give_up
        self._remembers_days = remembers_days
        self._taking, self._renewing = redis.register_script(TAKE), redis.register_script(RENEW)
        self._releasing = redis.register_script(RELEASE)
        self._change = threading.Lock()
        self._held = set[HeldLock]()
        self._has_keeper = False

    def _keep(self) -> None:
        """Renew the leases of all held locks in an endless loop."""
        never, wait_s = threading.Event(), self.lease * RENEWED_AFTER
        try:
            while not never.wait(wait_s):
                held = self._kept()
                try:
                    self.renew(held)
                    wait_s = self.lease * RENEWED_AFTER
                except Exception as error:  # noqa: BLE001 (nothing may end this thread; it tries again)
                    log.warning("locks could not be renewed", count=len(held), error=type(error).__name__)
                    wait_s = min(AGAIN_S, self.lease * RENEWED_AFTER)
        except BaseException as fault:
            log.critical("locks are not renewed any more", exc_info=fault)
            self._give_up()

    def _kept(self) -> list[HeldLock]:
        """Return the locks to renew: all held locks except those whose holder hangs, which are dropped."""
        begun = time.monotonic() - LONGEST_HELD_S
        with self._change:
            hanging = [one for one in self._held if one.looked_at <= begun]
            self._held.difference_update(hanging)
            held = list(self._held)
        for one in hanging:
            log.warning("a lock that nobody has looked at for too long is left to run out", lock=one.name)
        return held

    def _hold(self, taken: Sequence[HeldLock]) -> None:
        with self._change:
            self._held.update(taken)
            begins = self._keeps and bool(taken) and not self._has_keeper
            self._has_keeper |= begins
        if begins:
            threading.Thread(target=self._keep, daemon=True, name="locks").start()

    def once(self, name: str, seconds: float) -> bool:
        """Return True once per name and period of `seconds`, over all processes; otherwise False."""
        key = key_of(self._redis, f"{ONCE}{name}")
        if self._redis.set(key, "1", nx=True, px=max(1, round(seconds * 1000))):
            return True
        drop_endless(self._redis, key)
        return False

    def newest(self) -> NewestEvent | None:
        """Return the newest event that any worker has processed, or None if Redis remembers none.

        Raises:
            RedisError: if a call to Redis fails.
        """
        try:
            return _newest(self._redis.getrange(key_of(self._redis, NEWEST), 0, 63))
        except ResponseError as error:
            if not is_of_another_type(error):
                raise
            return None

    def forget_newest(self) -> None:
        """Let Redis remember nothing: a person knows this database."""
        self._redis.delete(key_of(self._redis, NEWEST))

    def publish_progress(self, name: str, progress: Mapping[str, Any] | None) -> None:
        """Publish the progress of the work under a lock for all processes; None removes it when the work ends.

        Errors of Redis are ignored. The progress expires after a lease unless it is published again.
        """
        with suppress(RedisError):
            key = key_of(self._redis, f"{PREFIX}{name}:progress")
            if progress is None:
                self._redis.delete(key)
            else:
                self._redis.set(key, json.dumps(progress), px=self._lease_ms)

    def progress(self, name: str) -> dict[str, Any] | None:
        """Return the published progress of the work under a lock, or None if there is no such work.

        Raises:
            RedisError: if a call to Redis fails.
        """
        key = key_of(self._redis, f"{PREFIX}{name}:progress")
        found: Any = self._redis.get(key)
        if found:
            drop_endless(self._redis, key)
        try:
            progress = json.loads(found or "null")
        except ValueError:
            return None
        return progress if isinstance(progress, dict) else None

    def take_all(self, names: Sequence[str]) -> list[HeldLock | LockBusy]:
        """Take those of some locks that are free, in one round trip; return a LockBusy for each of the others.

        Raises:
            RedisError: if Redis is down; locks that it still took are released or expire with their lease.
        """
        return self._take_all(names) or []

    def take_all_unless(self, key: str, names: Sequence[str]) -> list[HeldLock | LockBusy] | None:
        """Take locks as `take_all` does; if a key exists, take none and return None.

        Raises:
            RedisError: as for `take_all`.
        """
        return self._take_all(names, key)

    def _take_all(self, names: Sequence[str], unless: str | None = None) -> list[HeldLock | LockBusy] | None:
        at = time.monotonic()
        asked = [HeldLock(self, name, uuid.uuid4().hex, at) for name in names]
        keys, how = ([unless], "unless") if unless else ([], "at all events")
        also = [key_of(self._redis, NEWEST)] if self._remembers_days else []
        tokens = [one.token for one in asked]
        try:
            taken = self._taking(keys=[*keys, *self._keys(asked)], args=[self._lease_ms, how, *tokens, *also])
        except RedisError:
            with suppress(RedisError):
                self._give_back(asked)
            raise
        if taken is None:
            return None
        if also:
            *taken, stored = taken
            for one in asked:
                one.remembered = _newest(stored)
        found = [
            one if is_taken else LockBusy(Fault.LOCK_HELD(name=one.name))
            for one, is_taken in zip(asked, taken, strict=True)
        ]
        self._hold([one for one in found if isinstance(one, HeldLock)])
        return found

    def renew(self, held: Sequence[HeldLock]) -> None:
        """Restart the leases of some locks in one round trip; locks that were lost are marked."""
        if not held:
            return
        at = time.monotonic()
        kept = self._renewing(keys=self._keys(held), args=[self._lease_ms, *(one.token for one in held)])
        for one, is_kept in zip(held, kept, strict=True):
            one.renewed_at = at if is_kept else -math.inf

    def release_all(self, held: Sequence[HeldLock]) -> None:
        """Release some locks in one round trip; locks that were lost in the meantime are only logged."""
        with self._change:
            self._held.difference_update(held)
        try:
            given_back = self._give_back(held)
        except RedisError as error:
            log.warning("locks lost before their release", count=len(held), error=type(error).__name__)
            return
        for one, is_given_back in zip(held, given_back, strict=True):
            if not is_given_back:
                log.warning("lock lost before its release", lock=one.name)

    def _give_back(self, held: Sequence[HeldLock]) -> Sequence[int]:
        """Delete those locks that this process still holds; return for each whether it was deleted."""
        tokens, newest = (
            [one.token for one in held],
            max((one.newest for one in held if one.newest), default=None),
        )
        also: list[str | int] = []
        if newest and self._remembers_days:
            lives = round(self._remembers_days * 86_400_000)
            also = [key_of(self._redis, NEWEST), newest.epoch, newest.event_id, newest.received_us, lives]
        deleted: Sequence[int] = self._releasing(keys=self._keys(held), args=[*tokens, *also])
        return deleted

    @contextmanager
    def hold(self, name: str) -> Iterator[HeldLock]:
        """Hold a lock during the block, without waiting for it.

        Raises:
            LockBusy: if the lock is held already.
        """
        (held,) = self.take_all([name])
        if isinstance(held, LockBusy):
            raise held
        try:
            yield held
        finally:
            self.release_all([held])

    @property
    def _lease_ms(self) -> int:
        return round(self.lease * 1000)

    def _keys(self, held: Sequence[HeldLock]) -> list[str]:
        prefix = key_of(self._redis, PREFIX)
        return [prefix + one.name for one in held]


def _newest(stored: object) -> NewestEvent | None:
    """Return the event that a stored value names, or None if no worker can have written the value."""
    text = stored.decode("ascii", "replace") if isinstance(stored, bytes) else stored
    return NewestEvent.read(text) if isinstance(text, str) else None
