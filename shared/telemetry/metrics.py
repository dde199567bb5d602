"""Every metric, for Prometheus: what each counts, which labels it has, and what a process shows of them.

Labels are bounded: no ticket, person, project or text of anybody is one. Each process is one process of the operating
system and counts for itself; what is read from the database is the same in each that shows it.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.registry import Collector

from shared.process.itself import release

OBJECTS = frozenset(
    {
        "custom_fields",
        "issue_categories",
        "issue_priorities",
        "issue_statuses",
        "issues",
        "memberships",
        "projects",
        "roles",
        "time_entries",
        "time_entry_activities",
        "trackers",
        "users",
    }
)
METHODS = frozenset({"GET", "POST", "PUT", "DELETE"})
STATUSES = frozenset(str(int(status)) for status in HTTPStatus)
OTHER = "other"
SECONDS = (0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)

ACCEPTED = Counter("deskbridge_events_accepted_total", "Events committed to the journal", registry=None)
DUPLICATES = Counter("deskbridge_events_duplicate_total", "Events that had come before", registry=None)
UNREADABLE = Counter(
    "deskbridge_deliveries_unreadable_total",
    "Deliveries that were accepted and are unreadable",
    ["source"],
    registry=None,
)
REFUSED = Counter("deskbridge_requests_refused_total", "Requests refused", ["status"], registry=None)
MISSED = Gauge(
    "deskbridge_events_missed",
    "Events that the last comparison with the helpdesk found missing",
    registry=None,
)
RECONCILED = Gauge(
    "deskbridge_reconciled_timestamp_seconds",
    "When the helpdesk was compared with the journal, 0 = never",
    registry=None,
)
SPOOL = Gauge(
    "deskbridge_helpdesk_spool_events",
    "Events that the helpdesk kept as it sent last, beside those that it sent; `parked`: refused and set aside",
    ["secret", "state"],
    registry=None,
)
SPOOL_TOLD = Gauge(
    "deskbridge_helpdesk_spool_told_timestamp_seconds",
    "When it told that",
    ["secret"],
    registry=None,
)

ENDED = Counter(
    "deskbridge_events_ended_total",
    "Events that ended, failed or were held",
    ["outcome", "code"],
    registry=None,
)
CALLS = Counter(
    "deskbridge_tracker_calls_total",
    "Calls to the tracker; status is its answer's, `lost` (sent, no whole answer) or `unsent`",
    ["operation", "status"],
    registry=None,
)
CALL_SECONDS = Histogram(
    "deskbridge_tracker_call_seconds",
    "How long calls to the tracker took",
    ["operation"],
    registry=None,
    buckets=SECONDS,
)
FIELDS_KEPT = Counter(
    "deskbridge_issue_fields_kept_total",
    "Fields of new issues that the tracker has otherwise than they were sent, by field",
    ["field"],
    registry=None,
)
AS_ADMINISTRATOR = Counter(
    "deskbridge_sent_as_administrator_total",
    "Sendings as the administrator for want of a person, by why",
    ["code"],
    registry=None,
)

INBOUND: tuple[MetricWrapperBase, ...] = (
    ACCEPTED,
    DUPLICATES,
    UNREADABLE,
    REFUSED,
    MISSED,
    RECONCILED,
    SPOOL,
    SPOOL_TOLD,
)
WORK: tuple[MetricWrapperBase, ...] = (ENDED, CALLS, CALL_SECONDS, AS_ADMINISTRATOR, FIELDS_KEPT)
BY_PROCESS: Mapping[str, tuple[MetricWrapperBase, ...]] = {
    "producer": INBOUND,
    "worker": WORK,
    "console": WORK,
    "beat": (),
}


@dataclass(frozen=True, slots=True)
class Looked:
    """A gauge that is looked up when it is asked for."""

    name: str
    documentation: str
    labels: tuple[str, ...] = ()

    def family(self) -> GaugeMetricFamily:
        """Return it without a value."""
        return GaugeMetricFamily(self.name, self.documentation, labels=self.labels)


BUILD = Looked("deskbridge_build_info", "Always 1; what runs", ("process", "version", "python"))
REACHABLE = Looked(
    "deskbridge_reachable",
    "1 if a service answers this process, and the database commits; else 0",
    ("service",),
)
PENDING = Looked("deskbridge_events_pending", "Events that wait")
OLDEST_PENDING = Looked(
    "deskbridge_oldest_pending_age_seconds", "How long the oldest of them has waited, 0 = none waits"
)
LAST_EVENT = Looked("deskbridge_last_event_age_seconds", "Since an event came in last; none has: left out")
QUIET = Looked("deskbridge_quiet_limit_seconds", "QUIET_HOURS: after so long without an event an alert fires")
INSTALLATIONS = Looked(
    "deskbridge_installations", "Installations that were seen in this Redis database within a week"
)
OLDEST_DUE = Looked(
    "deskbridge_oldest_due_age_seconds",
    "How long the oldest has waited for a worker, 0 while paused",
)
FAILED = Looked("deskbridge_events_failed", "Events that failed and were not replayed, by why", ("code",))
UNREADABLE_DELIVERIES = Looked("deskbridge_deliveries_unreadable", "Accepted deliveries that are unreadable")
HELD = Looked("deskbridge_held", "Issues and time entries that wait for a person's decision")
DELIVERIES_REFUSED = Looked(
    "deskbridge_deliveries_refused", "Deliveries that producers have refused since they accepted one last"
)
STATUSES_NOT_TAKEN = Looked(
    "deskbridge_statuses_not_taken",
    "Issues that have another status, since the tracker did not take the ticket's",
)
DEFAULTS_NOT_USABLE = Looked(
    "deskbridge_defaults_not_usable",
    "Defaults of the configuration that the tracker no longer has or has switched off, as its metadata was read last",
)
PARTS_FAILING = Looked(
    "deskbridge_parts_failing",
    "Parts that the doctor found not to work when it looked last, within a quarter of an hour; it did not: left out",
)
WRONG_AUTHORS = Looked(
    "deskbridge_misattributed", "Issues and time entries with another author than was meant"
)
PAUSED = Looked(
    "deskbridge_paused", "1 while nothing is sent, by why; without a pause 0 with an empty code", ("code",)
)
SYNCHRONISED = Looked(
    "deskbridge_metadata_synchronised_timestamp_seconds",
    "When the tracker's metadata was read last, 0 = never",
)
RINGS = Looked("deskbridge_rings_waiting", "Rings in the broker's queue")
RATE_WAIT = Looked(
    "deskbridge_rate_limit_wait_seconds",
    "How long the next call to the tracker waits for its turn at RATE_LIMIT; 0 = it does not",
)
SECONDS_PER_CALL = Looked(
    "deskbridge_tracker_seconds_per_call",
    "What a call to the tracker took on average, over all workers, within two minutes; there was none: left out",
)
CALL_LIMIT = Looked(
    "deskbridge_tracker_call_limit",
    "Calls that a worker makes to the tracker at once, by what limits them",
    ("worker", "why"),
)
CALL_RATIO = Looked(
    "deskbridge_tracker_call_latency_ratio",
    "How many times as long as without load a worker's calls took; 1 = none waits in the tracker",
    ("worker",),
)
CLOCK_OFF = Looked(
    "deskbridge_worker_clock_offset_seconds",
    "How far the clock of a worker's machine is off the database's, of the one that is furthest off",
)
LAST_SEEN = Looked(
    "deskbridge_last_seen_age_seconds", "Since any process of the kind gave a sign of life", ("process",)
)
LOOKED_UP = (
    REACHABLE,
    PENDING,
    OLDEST_PENDING,
    LAST_EVENT,
    QUIET,
    INSTALLATIONS,
    OLDEST_DUE,
    FAILED,
    UNREADABLE_DELIVERIES,
    HELD,
    DELIVERIES_REFUSED,
    STATUSES_NOT_TAKEN,
    DEFAULTS_NOT_USABLE,
    PARTS_FAILING,
    WRONG_AUTHORS,
    PAUSED,
    SYNCHRONISED,
    RINGS,
    RATE_WAIT,
    SECONDS_PER_CALL,
    CALL_LIMIT,
    CALL_RATIO,
    CLOCK_OFF,
    LAST_SEEN,
)


def registry(process: str, *looks: Collector) -> CollectorRegistry:
    """Return what a process shows.

    Args:
        process: producer, worker, beat or console.
        looks: what looks up the rest.
    """
    made = CollectorRegistry()
    build = Gauge(BUILD.name, BUILD.documentation, BUILD.labels, registry=made)
    build.labels(process, _version(), platform.python_version()).set(1)
    for one in (*BY_PROCESS[process], *looks):
        made.register(one)
    ProcessCollector(registry=made)
    PlatformCollector(registry=made)
    return made


def called(method: str, path: str, status: str, seconds: float) -> str:
    """Count a call to the tracker; return what it did (`operation`).

    Args:
        method: HTTP method.
        path: below the tracker's address.
        status: of the answer; `lost` or `unsent` where there was none.
        seconds: how long it took.
    """
    named = operation(method, path)
    known = status in STATUSES or status in ("lost", "unsent")
    CALLS.labels(named, status if known else OTHER).inc()
    CALL_SECONDS.labels(named).observe(seconds)
    return named


def operation(method: str, path: str) -> str:
    """Return what a call does, of a closed set: `POST issues`, `GET memberships`."""
    words = [word for word in path.partition("?")[0].removesuffix(".json").split("/") if word in OBJECTS]
    return f"{method if method in METHODS else OTHER} {words[-1] if words else OTHER}"


def _version() -> str:
    try:
        return release()
    except PackageNotFoundError:
        return "unknown"
