"""The surfaces that show a stage's state: the command line, the console's pages, and the metrics."""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import Callable, Mapping

import requests
from prometheus_client import generate_latest
from pydantic import SecretStr
from typer.testing import Result

from producer.admin.services import Services
from producer.console.monitoring import Monitoring
from producer.intake.app import Producer
from shared.monitoring.state_metrics import StateMetricsCollector
from shared.telemetry import metrics
from tests.failures.stage import Stage, Told

WELL = (
    "All systems operational",
    "being forwarded",
    "will process it in a moment",
    "Everything is in Redmine",
    "All checks passed",
    "Events are still received",
)
"""Texts that no surface may show while something fails."""
LAST_LINE = re.compile(r"(\d+) ok(?:, (\d+) warning)?(?:, (\d+) failure)?(?:, (\d+) unknown)?$")
REACHABLE = re.compile(r'^deskbridge_reachable\{service="(\w+)"\} 0', re.MULTILINE)
SECRET = SecretStr("whsec_" + "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0")


def doctor(stage: Stage) -> str:
    """Run `deskbridge doctor`; return its output without checks that are ok."""
    return what_is_not_well(stage.shell.type("doctor").stdout)


def events(stage: Stage) -> str:
    """Run `deskbridge event list`; return its sentences."""
    return sentences(stage.shell.type("event", "list", "--json"))


def history(stage: Stage) -> str:
    """Run `deskbridge ticket history 4711`; return its sentences."""
    return sentences(stage.shell.type("ticket", "history", "4711", "--json"))


def overview(stage: Stage) -> str:
    """Return the text of the console's first page."""
    return page(stage, "/console")


def ticket(stage: Stage) -> str:
    """Return the text of the ticket's page."""
    return page(stage, "/console/tickets/4711")


SURFACES: Mapping[str, Callable[[Stage], str]] = {
    "doctor": doctor,
    "events": events,
    "history": history,
    "ticket": ticket,
    "overview": overview,
}


def what_is_not_well(text: str) -> str:
    """Return the parts of a doctor's report that are not ok, and its last line."""
    *lines, last = text.strip().splitlines()
    kept: list[str] = []
    is_well = True
    for line in lines:
        is_well = line.startswith("ok ") if not line.startswith(" ") else is_well
        if not is_well:
            kept.append(line)
    return " ".join(" ".join(kept).split()) + "\n" + last


def sentences(done: Result) -> str:
    """Return the sentences that a command prints with --json, or its error message."""
    document = json.loads(done.stdout)
    if done.exit_code:
        return str(document["error"]["message"])
    return Told.of(document).text


def page(stage: Stage, path: str) -> str:
    """Return the text of a page, whatever its status; empty if no console runs."""
    try:
        answer = stage.pages.http.get(stage.pages.base_url + path, timeout=30)
    except requests.ConnectionError:
        return ""
    text = answer.text.partition("<main")[2] or answer.text.partition("<body")[2]
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", text)))


def not_well(told: str) -> int:
    """Return the number of warnings and failures in the doctor's last line."""
    counted = LAST_LINE.search(told.strip())
    assert counted, told
    return sum(int(one or 0) for one in counted.groups()[1:3])


def ready(stage: Stage) -> tuple[int, int]:
    """Return how producer and console answer a load balancer."""
    settings, store = stage.bridge.settings, stage.bridge.store
    producer = Producer(settings.model_copy(update={"webhook_secrets": (SECRET,)}), "127.0.0.1", 8080)
    monitoring = Monitoring(Services(settings, store))
    answers = asyncio.run(producer.readyz()), asyncio.run(monitoring.readyz())
    producer._store.database.close()
    monitoring.close()
    return answers[0].status_code, answers[1].status_code


def unreachable(stage: Stage) -> tuple[str, ...]:
    """Return the services that the metrics report as unreachable."""
    collector = StateMetricsCollector(stage.bridge.redis, stage.bridge.store)
    shown = generate_latest(metrics.registry("console", collector)).decode()
    return tuple(REACHABLE.findall(shown))
