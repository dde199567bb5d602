"""What a span is, and where spans go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Literal

KindOfSpan = Literal["server", "producer", "consumer", "client"]
Attributes = Mapping[str, str | int]


class Span:
    """A span that no one records.

    Attributes:
        traceparent: its identity for those that continue it; None: there is none.
    """

    traceparent: str | None = None

    def link(self, traceparent: str) -> None:
        """State that another span, of whichever trace, has to do with it."""

    def end(self, *, failed: bool = False) -> None:
        """End the span."""


class Tracing(ABC):
    """Where spans go."""

    @abstractmethod
    def begin(
        self,
        name: str,
        kind: KindOfSpan,
        parent: str | None,
        attributes: Attributes,
        since: float | None = None,
    ) -> Span:
        """Begin a span; see `shared.telemetry.tracing.begin`."""

    @abstractmethod
    def close(self) -> None:
        """Send what was not sent yet, for some seconds at most."""
