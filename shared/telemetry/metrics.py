"""Every Prometheus metric with its labels, and the metrics that each process exposes.

Labels are bounded: none is a ticket, person, project or free text. Each process of the operating system counts for
itself; values from the database are the same in every process that exposes them.
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
        "attachments",
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
        "uploads",
        "users",
    }
)
METHODS = frozenset({"GET", "POST", "PUT", "DELETE"})
STATUSES = frozenset(str(int(status)) for status in HTTPStatus)
OTHER = "other"
SECONDS = (0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)

ACCEPTED = Counter("deskbridge_events_accepted_total", "Events committed to the journal", registry=None)
DUPLICATES = Counter(
    "deskbridge_events_duplicate_total", "Events that had already been received", registry=None
)
UNREADABLE = Counter(
    "deskbridge_deliveries_unreadable_total",
    "Accepted deliveries that are unreadable",
    ["source"],
    registry=None,
)
REFUSED = Counter("deskbridge_requests_refused_total", "Rejected requests", ["status"], registry=None)
MISSED = Gauge(
    "deskbridge_events_missed",
    "Missing events found by the last comparison with GLPI",
    registry=None,
)
RECONCILED = Gauge(
    "deskbridge_reconciled_timestamp_seconds",
    "Time of the last comparison with GLPI, 0 = never",
    registry=None,
)
SPOOL = Gauge(
    "deskbridge_helpdesk_spool_events",
    "Events in the queue of GLPI's plugin at its last delivery; `parked`: rejected and set aside",
    ["secret", "state"],
    registry=None,
)
SPOOL_TOLD = Gauge(
    "deskbridge_helpdesk_spool_told_timestamp_seconds",
    "Time of that delivery",
    ["secret"],
    registry=None,
)

ENDED = Counter(
    "deskbridge_events_ended_total",
    "Events that ended, failed or were put on hold",
    ["outcome", "code"],
    registry=None,
)
CALLS = Counter(
    "deskbridge_tracker_calls_total",
    "Calls to Redmine; status of its answer, `lost` (sent, no complete answer) or `unsent`",
    ["operation", "status"],
    registry=None,
)
CALL_SECONDS = Histogram(
    "deskbridge_tracker_call_seconds",
    "Duration of calls to Redmine",
    ["operation"],
    registry=None,
    buckets=SECONDS,
)
FIELDS_KEPT = Counter(
    "deskbridge_issue_fields_kept_total",
    "Fields of new issues with other values in Redmine than deskbridge sent, by field",
    ["field"],
    registry=None,
)
NOT_NOTIFIED = Counter(
    "deskbridge_notifications_failed_total", "Notifications that a service did not take", registry=None
)
AS_ADMINISTRATOR = Counter(
    "deskbridge_sent_as_administrator_total",
    "Objects sent as the API user because no user matched, by reason",
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
WORK: tuple[MetricWrapperBase, ...] = (
    ENDED,
    CALLS,
    CALL_SECONDS,
    AS_ADMINISTRATOR,
    FIELDS_KEPT,
    NOT_NOTIFIED,
)
BY_PROCESS: Mapping[str, tuple[MetricWrapperBase, ...]] = {
    "producer": INBOUND,
    "worker": WORK,
    "console": WORK,
    "beat": (),
}


@dataclass(frozen=True, slots=True)
class ScrapedGauge:
    """A gauge whose value is read at each scrape."""

    name: str
    documentation: str
    labels: tuple[str, ...] = ()

    def family(self) -> GaugeMetricFamily:
        """Return the gauge without a value."""
        return GaugeMetricFamily(self.name, self.documentation, labels=self.labels)


BUILD = ScrapedGauge(
    "deskbridge_build_info", "Always 1; the running version", ("process", "version", "python")
)
REACHABLE = ScrapedGauge(
    "deskbridge_reachable",
    "1 if this process can reach the service (for the database: can commit); else 0",
    ("service",),
)
PENDING = ScrapedGauge("deskbridge_events_pending", "Pending events")
OLDEST_PENDING = ScrapedGauge(
    "deskbridge_oldest_pending_age_seconds", "Age of the oldest pending event, 0 = no pending events"
)
LAST_EVENT = ScrapedGauge(
    "deskbridge_last_event_age_seconds", "Time since the last event; absent before the first one"
)
QUIET = ScrapedGauge(
    "deskbridge_quiet_limit_seconds", "QUIET_HOURS: time without events after which an alert fires"
)
INSTALLATIONS = ScrapedGauge(
    "deskbridge_installations", "Installations seen in this Redis database within a week"
)
OLDEST_DUE = ScrapedGauge(
    "deskbridge_oldest_due_age_seconds",
    "Time that the oldest due event has waited for a worker, 0 while paused",
)
FAILED = ScrapedGauge(
    "deskbridge_events_failed", "Failed events that were not replayed, by reason", ("code",)
)
UNREADABLE_DELIVERIES = ScrapedGauge(
    "deskbridge_deliveries_unreadable", "Accepted deliveries that are unreadable"
)
ON_HOLD = ScrapedGauge("deskbridge_on_hold", "Creations on hold, which need a decision")
DELIVERIES_REFUSED = ScrapedGauge(
    "deskbridge_deliveries_refused", "Deliveries rejected since the last accepted one"
)
STATUSES_NOT_TAKEN = ScrapedGauge(
    "deskbridge_statuses_not_taken",
    "Issues whose status differs because Redmine did not accept the ticket's status",
)
DEFAULTS_NOT_USABLE = ScrapedGauge(
    "deskbridge_defaults_not_usable",
    "Defaults that Redmine has deleted or disabled, as of the last reading of its metadata",
)
PARTS_FAILING = ScrapedGauge(
    "deskbridge_parts_failing",
    "Failed checks in the doctor's last run; absent if it has not run within 15 minutes",
)
WRONG_AUTHORS = ScrapedGauge("deskbridge_misattributed", "Issues and time entries with the wrong author")
RECOVERY_LEFT_ON = ScrapedGauge(
    "deskbridge_recovery_left_on_seconds",
    "Time that recovery mode has been on for longer than the backup was old, 0 = off or still needed",
)
PAUSED = ScrapedGauge(
    "deskbridge_paused",
    "1 while all calls are paused, by reason; without a pause 0 with an empty code",
    ("code",),
)
SYNCHRONISED = ScrapedGauge(
    "deskbridge_metadata_synchronised_timestamp_seconds",
    "Time of the last reading of Redmine's metadata, 0 = never",
)
QUEUE_LENGTH = ScrapedGauge("deskbridge_rings_waiting", "Messages in the broker's queue")
RATE_WAIT = ScrapedGauge(
    "deskbridge_rate_limit_wait_seconds",
    "Time that the next call to Redmine has to wait because of RATE_LIMIT; 0 = no wait",
)
SECONDS_PER_CALL = ScrapedGauge(
    "deskbridge_tracker_seconds_per_call",
    "Average duration of calls to Redmine over all workers in the last two minutes; absent without calls",
)
CALL_LIMIT = ScrapedGauge(
    "deskbridge_tracker_call_limit",
    "Maximum concurrent calls of a worker to Redmine, by limiting reason",
    ("worker", "why"),
)
CALL_RATIO = ScrapedGauge(
    "deskbridge_tracker_call_latency_ratio",
    "Duration of a worker's calls relative to calls without load; 1 = no call waits in Redmine",
    ("worker",),
)
CLOCK_OFF = ScrapedGauge(
    "deskbridge_worker_clock_offset_seconds",
    "Largest difference between a worker's clock and the database's clock",
)
LAST_SEEN = ScrapedGauge(
    "deskbridge_last_seen_age_seconds",
    "Time since the last heartbeat of any process of this kind",
    ("process",),
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
    ON_HOLD,
    DELIVERIES_REFUSED,
    STATUSES_NOT_TAKEN,
    DEFAULTS_NOT_USABLE,
    PARTS_FAILING,
    WRONG_AUTHORS,
    RECOVERY_LEFT_ON,
    PAUSED,
    SYNCHRONISED,
    QUEUE_LENGTH,
    RATE_WAIT,
    SECONDS_PER_CALL,
    CALL_LIMIT,
    CALL_RATIO,
    CLOCK_OFF,
    LAST_SEEN,
)


def registry(process: str, *looks: Collector) -> CollectorRegistry:
    """Return the registry of the metrics that a process exposes.

    Args:
        process: producer, worker, beat or console.
        looks: collectors that look up the other metrics.
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
    """Count a call to the tracker; return its `operation`.

    Args:
        method: HTTP method.
        path: below the tracker's address.
        status: of the answer; `lost` or `unsent` if there was none.
        seconds: how long it took.
    """
    named = operation(method, path)
    known = status in STATUSES or status in ("lost", "unsent")
    CALLS.labels(named, status if known else OTHER).inc()
    CALL_SECONDS.labels(named).observe(seconds)
    return named


def operation(method: str, path: str) -> str:
    """Return the name of a call from a closed set, such as `POST issues` or `GET memberships`."""
    words = [word for word in path.partition("?")[0].removesuffix(".json").split("/") if word in OBJECTS]
    return f"{method if method in METHODS else OTHER} {words[-1] if words else OTHER}"


def _version() -> str:
    try:
        return release()
    except PackageNotFoundError:
        return "unknown"
