"""Counters of the producer, for Prometheus."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge

from shared.store.journal import Accepted
from shared.store.models import ReconciliationMark


class Metrics:
    """The producer's counters, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._accepted = Counter(
            "deskbridge_events_accepted_total", "Events committed to the journal", registry=self.registry
        )
        self._duplicates = Counter(
            "deskbridge_events_duplicate_total", "Events that had come before", registry=self.registry
        )
        self._parked = Counter(
            "deskbridge_deliveries_unreadable_total",
            "Deliveries that were kept and cannot be read",
            ["source"],
            registry=self.registry,
        )
        self._refused = Counter(
            "deskbridge_requests_refused_total", "Requests refused", ["status"], registry=self.registry
        )

        self._missed = Gauge(
            "deskbridge_events_missed",
            "Events that the last comparison with the helpdesk found missing",
            registry=self.registry,
        )
        self._reconciled = Gauge(
            "deskbridge_reconciled_timestamp_seconds",
            "When the helpdesk was compared with the journal, 0 = never",
            registry=self.registry,
        )

    def reconciled(self, mark: ReconciliationMark | None) -> None:
        """Show what the last comparison with the helpdesk found."""
        if mark is not None:
            self._missed.set(mark.missing)
            self._reconciled.set(mark.ran_at.timestamp())

    def accepted(self, accepted: Sequence[Accepted]) -> None:
        """Count accepted events."""
        duplicates = sum(one.duplicate for one in accepted)
        self._accepted.inc(len(accepted) - duplicates)
        self._duplicates.inc(duplicates)

    def parked(self, source: str) -> None:
        """Count a delivery that could not be read."""
        self._parked.labels(source=source).inc()

    def refused(self, status: int) -> None:
        """Count a refused request."""
        self._refused.labels(status=str(status)).inc()
