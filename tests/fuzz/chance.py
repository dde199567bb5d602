"""Draws inputs: valid ones, mutated, cut, repeated, and mixed with values known to cause trouble."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

HURTFUL: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**53 + 1, 2**63, -(2**63), 10**400, 1e308, -0.0, 0.1),
    *(
        "",
        " ",
        "\0",
        "a\0b",
        "\ud800",
        "\u202egnp",
        "\u200b",
        "\ufeff",
        "\ufdfa" * 20,
        "e\u0301" * 50,
        "x" * 70_000,
    ),
    *(
        "9" * 5000,
        "{{",
        "}}",
        "{{ticket.title}}",
        "<script>",
        "<p>" * 500,
        "&#0;",
        "&#x110000;",
        "'; DROP TABLE x--",
    ),
    *(
        "${jndi:x}",
        "../../etc/passwd",
        "%00",
        "%s%s%n",
        "2026-02-30T25:61:00Z",
        "9999-12-31T23:59:59.999999Z",
    ),
    *("0001-01-01T00:00:00+14:00", "NaN", "Infinity", "-Infinity", "1e999"),
    *([], {}, [[]], {"": {}}, [None] * 300, {"id": None}, {"id": "1"}, {"name": {}}, [{"id": -1}]),
)
BYTES = (
    *(
        b"",
        b"\0",
        b"\r\n",
        b"\r\n\r\n",
        b"\n",
        b"\r",
        b" ",
        b"\xff\xfe",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b":",
        b",",
    ),
    *(b'"', b"\\u0000", b"{", b"[", b"]", b"}", b"\x1b[2J", b"A" * 9000, b"1e999", b"-1", b"0x10", b"9" * 20),
)


class Chance(random.Random):
    """Draws inputs; the same seed draws the same inputs."""

    def often(self, share: float) -> bool:
        """Return True with this probability."""
        return self.random() < share

    def value(self, depth: int = 3) -> Any:
        """Draw JSON data."""
        if depth and self.often(0.3):
            if self.often(0.5):
                return [self.value(depth - 1) for _ in range(self.randrange(4))]
            return {self.name(): self.value(depth - 1) for _ in range(self.randrange(4))}
        return self.choice(HURTFUL)

    def name(self) -> str:
        """Draw the name of a member."""
        known = (
            "id",
            "name",
            "errors",
            "total_count",
            "offset",
            "limit",
            "issue",
            "user",
            "x",
            "__class__",
            "",
        )
        return self.choice(known)

    def bend(self, data: Any, share: float = 0.15) -> Any:
        """Return data with parts of it replaced, left out or repeated."""
        if self.often(share / 3):
            return self.value()
        if isinstance(data, dict):
            bent = {key: self.bend(one, share) for key, one in data.items() if not self.often(share / 3)}
            return {**bent, self.name(): self.value()} if self.often(share / 3) else bent
        if isinstance(data, list):
            bent_list = [self.bend(one, share) for one in data if not self.often(share / 3)]
            return bent_list * 2 if self.often(share / 3) else bent_list
        return self.value(1) if self.often(share) else data

    def text(self, data: Any) -> bytes:
        """Return data as JSON, sometimes with syntax errors."""
        text = json.dumps(data, ensure_ascii=self.often(0.7)).encode("utf-8", "surrogatepass")
        return self.torn(text) if self.often(0.2) else text

    def torn(self, content: bytes, most: int = 6) -> bytes:
        """Return bytes with pieces cut out, repeated, changed or inserted."""
        torn = bytearray(content)
        for _ in range(self.randint(1, most)):
            at = self.randrange(len(torn) + 1)
            to = min(len(torn), at + self.choice((1, 1, 2, 8, 64)))
            kind = self.randrange(4)
            if kind == 0:
                del torn[at:to]
            elif kind == 1:
                torn[at:at] = self.choice(BYTES)
            elif kind == 2:
                torn[at:at] = torn[at:to] * self.choice((1, 2, 50))
            elif at < len(torn):
                torn[at] = self.randrange(256)
        return bytes(torn)

    def spliced(self, texts: Sequence[str]) -> str:
        """Return a text made of pieces of other texts."""
        pieces = []
        for _ in range(self.randint(1, 4)):
            text = self.choice(texts)
            at = self.randrange(len(text) + 1)
            pieces.append(text[at : at + self.choice((3, 20, 200))] if self.often(0.7) else text)
        return "".join(pieces)
