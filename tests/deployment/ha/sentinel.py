"""A Redis master with a replica, and three Sentinels that watch them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from redis import Redis
from redis.sentinel import MasterNotFoundError, Sentinel

from deploy.embedded.child import Child
from deploy.embedded.ports import HOST, free_port
from deploy.embedded.redis import RedisServer, find_redis_server
from tests.support.waiting import until

MASTER, PASSWORD, SENTINEL_PASSWORD = "deskbridge", "of redis", "of sentinels"
COUNT = 3
DOWN_AFTER_S = 2


class Watched:
    """Two Redis servers and the Sentinels that watch them; servers and Sentinels have different passwords.

    Args:
        directory: folder for data, configuration and logs.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.master = RedisServer(directory / "redis-1", port=free_port())
        self.replica = RedisServer(directory / "redis-2", port=free_port())
        self.ports = [free_port() for _ in range(COUNT)]
        self._sentinels: list[Child] = []

    @property
    def url(self) -> str:
        """The address, in the form of REDIS_URL."""
        hosts = ",".join(f"{HOST}:{port}" for port in self.ports)
        words = (PASSWORD.replace(" ", "%20"), SENTINEL_PASSWORD.replace(" ", "%20"))
        return f"redis+sentinel://:{words[0]}@{hosts}/1?master={MASTER}&sentinel_password={words[1]}"

    def start(self) -> None:
        """Start everything; return once each Sentinel has found the others and the replica."""
        for server in (self.master, self.replica):
            self.start_server(server)
        with self.client(self.replica) as redis:
            redis.replicaof(HOST, self.master.port)
        for number, port in enumerate(self.ports):
            self._sentinels.append(self._sentinel(number, port))
            self._sentinels[-1].start()
        until(self._knows_all, "the Sentinels do not know each other")

    def start_server(self, server: RedisServer) -> None:
        """Start a server, then set its password: with a password, the start could not detect that it answers."""
        server.start()
        with Redis(port=server.port) as redis:
            redis.config_set("masterauth", PASSWORD)
            redis.config_set("requirepass", PASSWORD)

    def sentinel_away(self) -> None:
        """Kill the first of the Sentinels, which clients query first."""
        self._sentinels[0].kill()

    def master_port(self) -> int:
        """Return the port of the master according to the Sentinels, or 0 while they have none."""
        try:
            return int(self._asked().discover_master(MASTER)[1])
        except MasterNotFoundError:
            return 0

    def stop(self) -> None:
        """Stop everything and delete the servers' data."""
        for sentinel in self._sentinels:
            sentinel.kill()
        for server in (self.master, self.replica):
            server.destroy()

    def client(self, server: RedisServer) -> Redis:
        """Return a direct connection to one of the servers."""
        return Redis(port=server.port, db=1, password=PASSWORD)

    def _asked(self) -> Sentinel:
        patience = {"socket_timeout": 1, "password": SENTINEL_PASSWORD}
        return Sentinel([(HOST, port) for port in self.ports], sentinel_kwargs=patience)

    def _knows_all(self) -> bool:
        seen: list[Any] = [one.sentinel_master(MASTER) for one in self._asked().sentinels]
        return all(
            one["num-other-sentinels"] == COUNT - 1 and one["num-slaves"] == 1 and one["is_master"]
            for one in seen
        )

    def _sentinel(self, number: int, port: int) -> Child:
        directory = self.directory / f"sentinel-{number}"
        directory.mkdir()
        configuration = directory / "sentinel.conf"
        configuration.write_text(
            f"port {port}\nbind {HOST}\ndir {directory}\n"
            f'requirepass "{SENTINEL_PASSWORD}"\n'
            f"sentinel monitor {MASTER} {HOST} {self.master.port} 2\n"
            f'sentinel auth-pass {MASTER} "{PASSWORD}"\n'
            f"sentinel down-after-milliseconds {MASTER} {DOWN_AFTER_S * 1000}\n"
            f"sentinel failover-timeout {MASTER} 10000\n"
        )
        program: list[str | Path] = [find_redis_server(), configuration, "--sentinel"]
        return Child(f"sentinel-{number}", program, log=directory / "sentinel.log")
