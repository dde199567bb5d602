"""The queries of the alerts and the dashboard, and a client of the Prometheus that answers them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import requests
import yaml

from tests.deployment.conftest import ROOT
from tests.support.waiting import until

MONITORING = ROOT / "deploy" / "monitoring"
RULES = MONITORING / "alerts.yml"
DASHBOARD = MONITORING / "grafana" / "deskbridge.json"


def expressions() -> list[str]:
    """Return every query of the dashboard."""
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def hasten(directory: Path) -> dict[str, Any]:
    """Write the rules to a directory with waits of a second; return a configuration that scrapes each second."""
    rules = re.sub(r"for: \w+", "for: 1s", RULES.read_text(encoding="utf-8"))
    (directory / "alerts.yml").write_text(rules, encoding="utf-8")
    config: dict[str, Any] = yaml.safe_load((MONITORING / "prometheus.yml").read_text(encoding="utf-8"))
    config["global"].update(scrape_interval="1s", evaluation_interval="1s")
    return config


class Asked:
    """A Prometheus to query.

    Args:
        url: its address.
    """

    def __init__(self, url: str) -> None:
        self.url = url

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the current result of an expression."""
        answer = requests.get(f"{self.url}/api/v1/query", params={"query": expression}, timeout=10).json()
        assert answer["status"] == "success", answer
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    def until(self, expression: str, seconds: float = 90) -> None:
        """Wait until an expression has a result."""
        until(lambda: self.query(expression), f"never: {expression}", seconds)

    def is_ready(self) -> bool:
        """Return whether Prometheus answers."""
        try:
            return requests.get(f"{self.url}/-/ready", timeout=1).ok
        except requests.ConnectionError:
            return False
