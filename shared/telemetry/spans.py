"""Interfaces of a span and of the recorder of spans."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Literal

KindOfSpan = Literal["server", "producer", "consumer", "client"]
Attributes = Mapping[str, str | int]


class Span:
    """A span that is not recorded.

    Attributes:
        traceparent: its identity, for spans that continue it; None if it has none.
    """

    traceparent: str | None = None

    def link(self, traceparent: str) -> None:
        """Link another span, of any trace, to this one."""

    def end(self, *, failed: bool = False) -> None:
        """End the span."""


class Tracing(ABC):
    """A recorder of spans."""

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
        """Send the remaining spans, for a few seconds at most."""
