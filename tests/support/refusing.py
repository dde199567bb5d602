"""A real Redis that runs but refuses: its error, how the state begins, and how it ends."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from deploy.embedded.redis import RedisServer
from tests.support.waiting import until

PASSWORD = "of-the-test"
LOADING_US = 1000
"""Delay for each key that Redis loads; meanwhile it answers every command with LOADING."""

MANY = 8000
NOBODY = 1
"""A port without a Redis, as the master of a replica."""

PATIENCE_S = 10
OPTIONS = {"key-load-delay": str(LOADING_US)}
"""The options of a Redis for all these kinds of refusal."""


class Refusing(ABC):
    """A kind of refusal by Redis.

    Args:
        server: the Redis.

    Attributes:
        word: word in its error.
    """

    word: str

    def __init__(self, server: RedisServer) -> None:
        self.server = server

    def client(self, **options: str) -> Redis:
        """Return a new connection."""
        return Redis.from_url(self.server.url, decode_responses=True, socket_timeout=PATIENCE_S, **options)

    @abstractmethod
    def begin(self) -> None:
        """Make Redis refuse."""

    @abstractmethod
    def end(self) -> None:
        """Make Redis work again."""

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Make Redis refuse during the block."""
        self.begin()
        try:
            until(lambda: self.word in self.said())
            yield
        finally:
            self.end()
        until(lambda: self.said() == "True", seconds=30)

    def said(self) -> str:
        """Return the response to a write, as text."""
        try:
            with self.client() as client:
                return str(client.set("deskbridge:test", "1"))
        except RedisError as error:
            return f"{getattr(error, 'status_code', '')} {error}"


class OutOfMemory(Refusing):
    """Its memory is used up."""

    word = "OOM"

    def begin(self) -> None:
        with self.client() as client:
            client.config_set("maxmemory", "1")

    def end(self) -> None:
        with self.client() as client:
            client.config_set("maxmemory", "0")


class ReadOnly(Refusing):
    """It has become a replica of another server."""

    word = "READONLY"

    def begin(self) -> None:
        with self.client() as client:
            client.replicaof("127.0.0.1", NOBODY)

    def end(self) -> None:
        with self.client() as client:
            client.replicaof("NO", "ONE")


class DiskFull(Refusing):
    """It cannot save its data."""

    word = "MISCONF"

    def begin(self) -> None:
        self._in_the_way.unlink(missing_ok=True)  # its last snapshot
        self._in_the_way.mkdir()
        with self.client() as client:
            client.config_set("save", "3600 1000000")

            def has_failed() -> bool:
                told = client.info("persistence")
                if not told["rdb_bgsave_in_progress"] and told["rdb_last_bgsave_status"] == "ok":
                    client.bgsave()
                return bool(told["rdb_last_bgsave_status"] == "err")

            until(has_failed, seconds=PATIENCE_S)

    def end(self) -> None:
        with suppress(FileNotFoundError):
            self._in_the_way.rmdir()
        with self.client() as client:
            client.config_set("save", "")

    @property
    def _in_the_way(self) -> Path:
        return self.server.data_dir / "dump.rdb"


class NoReplicas(Refusing):
    """It needs a replica for writes, and has none."""

    word = "NOREPLICAS"

    def begin(self) -> None:
        with self.client() as client:
            client.config_set("min-replicas-to-write", "1")

    def end(self) -> None:
        with self.client() as client:
            client.config_set("min-replicas-to-write", "0")


class NoPassword(Refusing):
    """It suddenly requires a password."""

    word = "NOAUTH"

    def begin(self) -> None:
        with self.client() as client:
            client.config_set("requirepass", PASSWORD)
            client.client_kill_filter(_type="normal", skipme=True)

    def end(self) -> None:
        with self.client(password=PASSWORD) as client:
            client.config_set("requirepass", "")


class Loading(Refusing):
    """It was restarted, and is loading its data."""

    word = "LOADING"

    def begin(self) -> None:
        with self.client() as client:
            client.mset({f"others:{number}": "x" for number in range(MANY)})
            for number in range(MANY):
                client.set(f"others:{number}", "y")
        self.server.kill()
        self._starting = threading.Thread(target=self.server.revive)
        self._starting.start()

    def end(self) -> None:
        self._starting.join()
        with self.client() as client:
            client.delete(*(f"others:{number}" for number in range(MANY)))


class TooManyClients(Refusing):
    """It accepts no further connections."""

    word = "max number of clients"

    def begin(self) -> None:
        self._own = self.client()
        self._own.config_set("maxclients", "1")
        self._own.client_kill_filter(_type="normal", skipme=True)

    def end(self) -> None:
        self._own.config_set("maxclients", "1000")
        self._own.close()


class Busy(Refusing):
    """An endless script of another client runs in it."""

    word = "BUSY"

    def begin(self) -> None:
        with self.client() as client:
            client.config_set("lua-time-limit", "50")

        def run() -> None:
            try:
                with self.client() as client:
                    client.eval("while true do end", 0)
            except RedisError:
                pass

        threading.Thread(target=run, daemon=True).start()
        time.sleep(0.5)

    def end(self) -> None:
        with self.client() as client:
            client.script_kill()


class ForbidsCommands(Refusing):
    """Its user has lost the permission to write."""

    word = "NOPERM"

    def begin(self) -> None:
        with self.client() as client:
            client.execute_command("ACL", "SETUSER", "default", "-@write")

    def end(self) -> None:
        with self.client() as client:
            client.execute_command("ACL", "SETUSER", "default", "+@write")


REFUSALS = (OutOfMemory, ReadOnly, DiskFull, NoReplicas, NoPassword, Loading)
NEIGHBOURS = (TooManyClients, Busy, ForbidsCommands)
