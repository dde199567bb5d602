"""Requests of a real GLPI 11.0.6, byte for byte, and variants with other content signed with another secret."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RECORDED_WITH = "s3cret-for-glpi"
"""The secret of the recorded GLPI."""

SECRET = "a longer s3cret-for-glpi"
"""The secret for newly signed requests, since the producer accepts no secret as short as the recorded one."""
FOLDER = Path(__file__).parent / "recorded"

CREATED = b"2026-11-27T11:38:36+00:00", b"2026-11-21T12:46:36+00:00"
"""When the notes' ticket and the tasks' ticket were created."""


@dataclass(frozen=True)
class Recorded:
    """One request: its target, its headers in lower case, its body."""

    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def at(self) -> int:
        """Time stamp of the request, in seconds since the epoch."""
        return int(self.headers["x-glpi-timestamp"])

    def changed(self, at: int | None = None, event: str | None = None, **item: Any) -> Recorded:
        """Return the request with other fields in `item`, another event or time stamp, signed as by GLPI."""
        data = json.loads(self.body)
        data["item"] |= item
        data["event"] = event or data["event"]
        return signed(json.dumps(data, indent=4).encode(), at or self.at, target=self.target)

    def stamped(self, at: int) -> Recorded:
        """Return the same request with another time stamp, signed again.

        The notes were recorded on another GLPI than the tasks: its ticket 1 becomes theirs.
        """
        return signed(self.body.replace(*CREATED), at, target=self.target)


def recorded(name: str) -> Recorded:
    """Return a recorded request by its file's name."""
    head, _, body = (FOLDER / f"{name}.http").read_bytes().partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines}
    body = body[: int(headers.get("content-length", 0))]
    return Recorded(first.split()[1], headers, body)


def challenge() -> str:
    """Return the token by which GLPI checks that the other side knows SECRET."""
    return hmac.new(SECRET.encode(), b"validate_cra_challenge", hashlib.sha256).hexdigest()


def signed(body: bytes, at: int, secret: str = SECRET, target: str = "/") -> Recorded:
    """Return a body as GLPI would send it."""
    signature = hmac.new(secret.encode(), body + str(at).encode(), hashlib.sha256).hexdigest()
    headers = {"x-glpi-signature": signature, "x-glpi-timestamp": str(at), "user-agent": "GuzzleHttp/7"}
    return Recorded(target, headers, body)
