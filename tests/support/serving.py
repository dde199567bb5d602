"""Serves an application on a free port, in a thread of the test, as producer and console do."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network
from typing import Any

import requests
import uvicorn
import uvicorn.server

from deploy.embedded.ports import HOST, free_port
from producer.http.connections import server_options


class _Prompt:
    """Replaces `asyncio` in uvicorn's server, which then checks for its end a hundred times a second, not ten."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        """Sleep for a tenth of the time."""
        await asyncio.sleep(seconds / 10)


uvicorn.server.asyncio = _Prompt()  # type: ignore[assignment,attr-defined]


class Served:
    """An application behind a real server.

    Args:
        app: the ASGI application.
        proxies: the setting TRUSTED_PROXIES.

    Attributes:
        app: the application.
        base_url: its address.
        http: a session to call it with.
    """

    def __init__(self, app: Any, proxies: Sequence[IPv4Network | IPv6Network] = ()) -> None:
        self.app = app
        port = free_port()
        self.base_url = f"http://{HOST}:{port}"
        config = uvicorn.Config(app, host=HOST, port=port, **server_options(proxies))
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self.http = requests.Session()
        self.http.trust_env = False

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive(), "the application did not start"
            time.sleep(0.005)

    def stop(self) -> None:
        """Stop it."""
        self.http.close()
        self._server.should_exit = True
        self._thread.join(timeout=10)


def samples(shown: str) -> Counter[str]:
    """Return the values in the output of /metrics, by name with labels; the difference of two is what was counted."""
    lines = [line.rpartition(" ") for line in shown.splitlines() if not line.startswith("#")]
    return Counter({name: int(float(value)) for name, _, value in lines})
