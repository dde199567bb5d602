"""The directory of `make run`: its lock, secrets and ports, and the environment of its processes."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import secrets
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from deploy.embedded.errors import EmbeddedError
from deploy.embedded.ports import free_port, is_free

ROOT = Path(__file__).resolve().parents[2]
# Longer than such a directory exists, because the table needs the samples' results at every start.
RETENTION_DAYS = 36500
SWEEP_INTERVAL_S = 2
SETTLING_TIME_S = 2
# Locks and claims of a killed worker expire sooner than by default; the claim's lease is long enough for
# two calls of 5 s.
CLAIM_LEASE_S = 12
LOCK_LEASE_S = 15
TAKEN_FOR_S = 6 * 86400
"""Less than the seven days for which the producer accepts a GLPI timestamp."""


class AlreadyRunning(EmbeddedError):
    """Another process uses the directory."""


class Workplace:
    """The directory with all data of an embedded installation, which outlives its processes.

    A context manager: inside it, only this process uses the directory.

    Args:
        directory: created if missing, readable only by its owner.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory.absolute()
        self._lock: IO[str] | None = None

    def take(self) -> None:
        """Lock the directory for this process; the lock ends with the process, however it ends.

        Raises:
            AlreadyRunning: if another process has the lock.
            EmbeddedError: if the directory is not writable.
        """
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = (self.directory / "lock").open("a+", encoding="utf-8")
        except OSError as error:
            raise EmbeddedError(f"cannot work in {self.directory}: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "?"
            lock.close()
            raise AlreadyRunning(
                f"already running in {self.directory} (process {holder}): stop that one with Ctrl-C, "
                "or choose another directory with --dir"
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        self._lock = lock

    def leave(self) -> None:
        """Unlock the directory."""
        if self._lock is not None:
            self._lock.truncate(0)
            self._lock.close()
            self._lock = None

    def __enter__(self) -> Self:
        self.take()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    @property
    def database_url(self) -> str:
        """The address of the SQLite database, for SQLAlchemy."""
        return f"sqlite:///{self.directory / 'deskbridge.sqlite3'}"

    @property
    def env_file(self) -> Path:
        """The file that a shell sources so that the command line uses this installation."""
        return self.directory / "env"

    def webhook_secret(self) -> str:
        """Return the secret that signs inbound events; it is created at the first start."""
        return self._secret(
            "webhook-secret", lambda: f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"
        )

    def glpi_secret(self) -> str:
        """Return the secret that signs GLPI's own webhooks; it is created at the first start."""
        return self._secret("glpi-webhook-secret", lambda: secrets.token_urlsafe(32))

    def glpi_stamp(self) -> int:
        """Return the timestamp of GLPI's deliveries: the same for six days, as in GLPI's repeats."""
        first = (self.directory / "glpi-webhook-secret").stat().st_mtime
        return int(first if time.time() - first < TAKEN_FOR_S else time.time())

    def console_token(self) -> str:
        """Return the token of the console's API; it is created at the first start."""
        return self._secret("console-token", lambda: secrets.token_urlsafe(32))

    def redis_password(self) -> str:
        """Return the password of Redis; it is created at the first start."""
        return self._secret("redis-password", lambda: secrets.token_urlsafe(32))

    def tracker_key(self) -> str:
        """Return the API key of the mock Redmine's administrator; it is created at the first start."""
        return self._secret("redmine-key", lambda: secrets.token_hex(20))

    def ports(self, *names: str) -> dict[str, int]:
        """Return a free port for each name: the last start's port if it is still free."""
        path = self.directory / "ports.json"
        known = _numbers(path)
        chosen: dict[str, int] = {}
        for name in names:
            port = known.get(name)
            if port is None or port in chosen.values() or not is_free(port):
                port = _other_port(set(chosen.values()) | set(known.values()))
            chosen[name] = port
        path.write_text(json.dumps(known | chosen, indent=2) + "\n", encoding="utf-8")
        return chosen

    def environment(self, redis_url: str) -> dict[str, str]:
        """Return this installation's settings, secrets as file paths; see docs/reference/settings.md."""
        self._secret("fernet-key", lambda: base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())
        self.webhook_secret()
        self.glpi_secret()
        self.console_token()
        return {
            "DESKBRIDGE_DATABASE_URL": self.database_url,
            "DESKBRIDGE_REDIS_URL": redis_url,
            "DESKBRIDGE_SECRET_KEYS_FILE": str(self.directory / "fernet-key"),
            "DESKBRIDGE_WEBHOOK_SECRETS_FILE": str(self.directory / "webhook-secret"),
            "DESKBRIDGE_GLPI_WEBHOOK_SECRETS_FILE": str(self.directory / "glpi-webhook-secret"),
            "DESKBRIDGE_CONSOLE_TOKENS_FILE": str(self.directory / "console-token"),
            "DESKBRIDGE_SWEEP_INTERVAL": str(SWEEP_INTERVAL_S),
            "DESKBRIDGE_SETTLING_TIME": str(SETTLING_TIME_S),
            "DESKBRIDGE_CLAIM_LEASE": str(CLAIM_LEASE_S),
            "DESKBRIDGE_LOCK_LEASE": str(LOCK_LEASE_S),
            "DESKBRIDGE_RETENTION_DAYS": str(RETENTION_DAYS),
        }

    def write_env_file(self, environment: dict[str, str]) -> None:
        """Write the environment to a file for `. FILE`."""
        lines = [f"export {name}={shlex.quote(value)}" for name, value in environment.items()]
        self.env_file.unlink(missing_ok=True)
        self.env_file.touch(mode=0o600)
        self.env_file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _secret(self, name: str, make: Callable[[], str]) -> str:
        path = self.directory / name
        if not path.exists():
            partial = path.with_suffix(".new")
            partial.unlink(missing_ok=True)
            with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(make() + "\n")
            partial.replace(path)
        return path.read_text(encoding="utf-8").strip()


def _numbers(path: Path) -> dict[str, int]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {name: port for name, port in found.items() if isinstance(port, int)}
    except (OSError, ValueError, AttributeError):
        return {}


def _other_port(taken: set[int]) -> int:
    while (port := free_port()) in taken:
        pass
    return port
