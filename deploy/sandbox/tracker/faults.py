"""Faults that tests switch on: what goes wrong, for which requests, how often."""

from __future__ import annotations

import random
import re
import threading
from dataclasses import dataclass, field
from typing import Any

# `_before`: the request has no effect. `_after`: it takes effect, and then its response is lost or replaced.
KINDS = {
    "delay": "works after `seconds`",
    "timeout_before": "no effect, silence for `seconds`, then the connection is closed",
    "timeout_after": "takes effect, then as timeout_before",
    "reset_before": "no effect, the connection is reset (TCP RST)",
    "reset_after": "takes effect, then the connection is reset",
    "close_before": "no effect, the connection is closed without an answer",
    "close_after": "takes effect, then the connection is closed without an answer",
    "status_before": "no effect, answers `status` (with `retry_after`)",
    "status_after": "takes effect, then answers `status`",
    "page_before": "no effect, answers `status` with a page of HTML",
    "page_after": "takes effect, then answers `status` with a page of HTML",
    "garbage_before": "no effect, answers a success whose body is no JSON",
    "garbage_after": "takes effect, then answers a success whose body is no JSON",
    "truncated_after": "takes effect, then the answer breaks off in the middle",
    "trickle": "takes effect, then the answer comes one byte every `seconds`",
    "status_ignored": "the body's status_id is dropped, the rest works",
    "switch_ignored": "the impersonation header is dropped: the key's owner acts",
    "conflict": "no effect, answers 422 with an empty list of errors",
}
_SECONDS = {"delay": 1.0, "trickle": 0.2}


@dataclass
class Fault:
    """One active fault.

    Attributes:
        kind: A key of KINDS.
        method: HTTP method that it applies to; None for any.
        path: Regular expression for the whole path without the query; None for any.
        text: It applies to requests whose body contains this text; None for any.
        count: How many requests it hits before it ends by itself; None until cleared.
        probability: Chance from 0 to 1 that a matching request is hit.
        seconds: Duration in the kind's description.
        status: HTTP status in the kind's description.
        retry_after: Value of the Retry-After header (seconds, or a date), if any.
        hits: How many requests it has hit.
    """

    id: int
    kind: str
    method: str | None = None
    path: str | None = None
    text: str | None = None
    count: int | None = None
    probability: float = 1.0
    seconds: float | None = None
    status: int = 500
    retry_after: str | int | None = None
    hits: int = 0
    over: threading.Event = field(default_factory=threading.Event, repr=False)

    def __post_init__(self) -> None:
        """Check the values, and fill in the kind's duration."""
        if self.kind not in KINDS:
            raise ValueError(f"unknown kind {self.kind!r}; known: {', '.join(KINDS)}")
        self._pattern = re.compile(self.path) if self.path else None
        if self.seconds is None:
            self.seconds = _SECONDS.get(self.kind, 30.0)

    def matches(self, method: str, path: str, body: bytes = b"") -> bool:
        """Return whether the fault applies to a request and is not used up."""
        if self.count is not None and self.hits >= self.count:
            return False
        if self.method and self.method.upper() != method:
            return False
        if self.text is not None and self.text.encode() not in body:
            return False
        return self._pattern is None or self._pattern.fullmatch(path) is not None

    def shown(self) -> dict[str, Any]:
        """Return the fault as JSON."""
        hidden = ("over",)
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in hidden}

    def hold(self) -> None:
        """Wait for the fault's seconds, or until it is cleared."""
        self.over.wait(self.seconds)


class FaultBoard:
    """All active faults. The first that matches a request, in the order of creation, hits it."""

    def __init__(self, seed: int | None = None) -> None:
        """Create an empty board; `seed` makes its random choices repeatable."""
        self._lock = threading.Lock()
        self._faults: list[Fault] = []
        self._next_id = 1
        self._random = random.Random(seed)  # noqa: S311 - chance for tests, no secret

    def add(self, **wanted: Any) -> Fault:
        """Switch a fault on.

        Raises:
            ValueError: If the kind or the path is not valid, or a name is unknown.
        """
        seed = wanted.pop("seed", None)
        with self._lock:
            try:
                fault = Fault(id=self._next_id, **wanted)
            except (TypeError, re.error) as error:
                raise ValueError(str(error)) from None
            if seed is not None:
                self._random.seed(seed)
            self._next_id += 1
            self._faults.append(fault)
            return fault

    def strike(self, method: str, path: str, body: bytes = b"") -> Fault | None:
        """Return the fault that hits this request, and count the hit, or return None."""
        if not self._faults:
            return None
        with self._lock:
            for fault in self._faults:
                if fault.matches(method, path, body) and self._random.random() < fault.probability:
                    fault.hits += 1
                    return fault
        return None

    def listed(self) -> list[dict[str, Any]]:
        """Return every fault with its hits, used-up ones included."""
        with self._lock:
            return [fault.shown() for fault in self._faults]

    def clear(self, fault_id: int | None = None) -> None:
        """Switch off one fault or all, and release the connections that they hold."""
        with self._lock:
            gone = [f for f in self._faults if fault_id in (None, f.id)]
            self._faults = [f for f in self._faults if f not in gone]
        for fault in gone:
            fault.over.set()
