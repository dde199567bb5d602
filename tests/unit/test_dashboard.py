"""Alerts and dashboard query only metrics that exist, and together use all but two of them."""

from __future__ import annotations

import re

from shared.telemetry import metrics
from tests.deployment.prometheus import RULES, expressions


def test_alerts_and_dashboard_ask_for_metrics_that_exist() -> None:
    text = RULES.read_text(encoding="utf-8") + "\n".join(expressions())
    asked = {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"\bdeskbridge_\w+", text)}
    counted = (*metrics.INBOUND, *metrics.WORK)
    known = {
        family.name + ("_total" if family.type == "counter" else "")
        for one in counted
        for family in one.describe()
    }
    known |= {one.name for one in (*metrics.LOOKED_UP, metrics.BUILD)}
    assert asked - known == set()
    assert known - asked <= {
        "deskbridge_reconciled_timestamp_seconds",
        "deskbridge_deliveries_unreadable_total",
    }
