"""A real Redis that is there and refuses: what it then says, how it comes to that, and how that ends."""

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
"""For each key that Redis loads; it answers no one but with LOADING meanwhile."""

MANY = 8000
NOBODY = 1
"""A port at which no Redis ever is, which one that became its replica would copy."""

PATIENCE_S = 10
OPTIONS = {"key-load-delay": str(LOADING_US)}
"""What a Redis has to be started with that is to refuse in each of these ways."""


class Refusing(ABC):
    """A way in which Redis refuses.

    Args:
        server: the Redis.

    Attributes:
        word: what its refusal begins with.
    """

    word: str

    def __init__(self, server: RedisServer) -> None:
        self.server = server

    def client(self, **options: str) -> Redis:
        """Return a new connection."""
        return Redis.from_url(self.server.url, decode_responses=True, socket_timeout=PATIENCE_S, **options)

    @abstractmethod
    def begin(self) -> None:
        """Begin to refuse."""

    @abstractmethod
    def end(self) -> None:
        """Refuse no more."""

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Refuse during the block."""
        self.begin()
        try:
            until(lambda: self.word in self.said())
            yield
        finally:
            self.end()
        until(lambda: self.said() == "True", seconds=30)

    def said(self) -> str:
        """Return what a write is answered."""
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
    """It has become a replica: another was made the master."""

    word = "READONLY"

    def begin(self) -> None:
        with self.client() as client:
            client.replicaof("127.0.0.1", NOBODY)

    def end(self) -> None:
        with self.client() as client:
            client.replicaof("NO", "ONE")


class DiskFull(Refusing):
    """It cannot save what it holds."""

    word = "MISCONF"

    def begin(self) -> None:
        self._in_the_way.unlink(missing_ok=True)  # what it saved before
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
    """It is to write only with a replica, and has none."""

    word = "NOREPLICAS"

    def begin(self) -> None:
        with self.client() as client:
            client.config_set("min-replicas-to-write", "1")

    def end(self) -> None:
        with self.client() as client:
            client.config_set("min-replicas-to-write", "0")


class NoPassword(Refusing):
    """It asks for a password that it did not ask for before."""

    word = "NOAUTH"

    def begin(self) -> None:
        with self.client() as client:
            client.config_set("requirepass", PASSWORD)
            client.client_kill_filter(_type="normal", skipme=True)

    def end(self) -> None:
        with self.client(password=PASSWORD) as client:
            client.config_set("requirepass", "")


class Loading(Refusing):
    """It was started again, and reads what it holds."""

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
    """It takes no further connections."""

    word = "max number of clients"

    def begin(self) -> None:
        self._own = self.client()
        self._own.config_set("maxclients", "1")
        self._own.client_kill_filter(_type="normal", skipme=True)

    def end(self) -> None:
        self._own.config_set("maxclients", "1000")
        self._own.close()


class Busy(Refusing):
    """A script of another's runs in it without an end."""

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
    """Its user has lost the right to write."""

    word = "NOPERM"

    def begin(self) -> None:
        with self.client() as client:
            client.execute_command("ACL", "SETUSER", "default", "-@write")

    def end(self) -> None:
        with self.client() as client:
            client.execute_command("ACL", "SETUSER", "default", "+@write")


REFUSALS = (OutOfMemory, ReadOnly, DiskFull, NoReplicas, NoPassword, Loading)
NEIGHBOURS = (TooManyClients, Busy, ForbidsCommands)
