"""The driver for tests: starts a stand-in, controls it, and reads what it received."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from deploy.sandbox.tracker.sandbox import Sandbox
from deploy.sandbox.tracker.seed import DEFAULT_KEY, seeded
from deploy.sandbox.tracker.server import Server

_ROOT = Path(__file__).resolve().parents[3]
_PATIENCE = 15.0


class StandIn:
    """A mock Redmine in its own process, or in threads of this one.

    Attributes:
        base_url: Its address, once started.
        api_key: The administrator's key.
        pid: Its process id; None while it runs in this process.
    """

    def __init__(
        self,
        *,
        in_process: bool = False,
        arguments: Sequence[str] = (),
        key: str = DEFAULT_KEY,
    ) -> None:
        """Prepare a stand-in; `start` or a `with` block starts it.

        Args:
            in_process: Run it in a thread of this process (faster to start, shares the interpreter).
            arguments: Further command-line options, such as `["--extra-users", "50"]`; only for a
                process of its own.
            key: The administrator's key.
        """
        if in_process and arguments:
            raise ValueError("arguments are for a process of its own")
        self.api_key = key
        self.base_url = ""
        self.pid: int | None = None
        self._arguments = list(arguments)
        self._in_process = in_process
        self._server: Server | None = None
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Start it."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop it."""
        self.stop()

    def start(self) -> Self:
        """Start it and wait until it answers."""
        if self._in_process:
            self._server = Server(Sandbox(lambda: seeded(key=self.api_key)))
            self._thread = threading.Thread(
                target=self._server.serve_forever,
                kwargs={"poll_interval": 0.02},
                daemon=True,
            )
            self._thread.start()
            self.base_url = self._server.base_url
            return self
        command = [
            sys.executable,
            "-m",
            "deploy.sandbox.tracker",
            "--port",
            "0",
            "--key",
            self.api_key,
        ]
        self._process = subprocess.Popen(
            [*command, "--end-with-stdin", *self._arguments],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self._process.stdout is None:
            raise RuntimeError("no pipe from the stand-in")
        line = self._process.stdout.readline()
        if not line:
            self.stop()
            raise RuntimeError("the stand-in did not start; its reason is on standard error")
        ready = json.loads(line)
        self.base_url, self.pid = ready["base_url"], ready["pid"]
        return self

    def stop(self) -> None:
        """Stop it; its state, if it keeps one, is saved."""
        if self._server is not None and self._thread is not None:
            self._server.stop()
            self._thread.join(_PATIENCE)
            self._server = self._thread = None
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(_PATIENCE)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
            self.pid = None

    def fault(self, kind: str, **options: Any) -> int:
        """Switch a fault on: method, path, count, probability, seconds, status, retry_after, seed.

        Returns:
            The fault's id.
        """
        return int(self._call("POST", "/faults", {"kind": kind, **options})["id"])

    def faults(self) -> list[dict[str, Any]]:
        """Return the active faults, each with its `hits`."""
        found: list[dict[str, Any]] = self._call("GET", "/faults")["faults"]
        return found

    def clear_faults(self, fault_id: int | None = None) -> None:
        """Switch one fault off, or all."""
        self._call("DELETE", "/faults" if fault_id is None else f"/faults/{fault_id}")

    def settings(self, **values: Any) -> dict[str, Any]:
        """Set switches (see `records.Settings`), and return all of them."""
        return self._call("POST", "/settings", values)

    def patch(self, table: str, row_id: int, **values: Any) -> None:
        """Change fields of a row, such as `patch("users", 6, language="de")`."""
        self._call("POST", "/patch", {"table": table, "id": row_id, "set": values})

    def remove(self, table: str, row_id: int) -> None:
        """Delete a row of the definitions, such as `remove("roles", 4)`, as an administrator of the tracker may."""
        self._call("POST", "/remove", {"table": table, "id": row_id})

    def supplant(self, issue_id: int, author_id: int, subject: str) -> None:
        """Delete an issue, and create another one by a user, to which the tracker gives its id."""
        self._call("POST", "/supplant", {"id": issue_id, "author_id": author_id, "subject": subject})

    def reset(self) -> None:
        """Reset data, switches, faults and log to the seed."""
        self._call("POST", "/reset")

    def forget(self) -> None:
        """Delete issues, time entries and the log; people, memberships, switches and faults stay."""
        self._call("POST", "/forget")

    def state(self) -> dict[str, list[dict[str, Any]]]:
        """Return all its data: issues, time_entries, attachments, projects, memberships, users."""
        return self._call("GET", "/state")

    def requests(self, since: int = 0) -> list[dict[str, Any]]:
        """Return the requests after the one with this number, in order of arrival."""
        found: list[dict[str, Any]] = self._call("GET", f"/requests?since={since}")["requests"]
        return found

    def _call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        address = urlsplit(self.base_url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
        try:
            connection.request(method, f"/_control{path}", None if body is None else json.dumps(body))
            response = connection.getresponse()
            answer: dict[str, Any] = json.loads(response.read())
        finally:
            connection.close()
        if response.status != 200:
            raise ValueError(answer.get("error", f"status {response.status}"))
        return answer
