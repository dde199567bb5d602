"""The peer's configuration, read from the environment."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """The settings of both of the peer's processes."""

    database_url: str
    broker_url: str
    webhook_secret: str
    tracker_url: str
    api_key: str
    default_tracker_id: int
    default_priority_id: int
    default_activity_id: int
    default_role_id: int
    status_map: dict[int, int]


def load() -> Config:
    """Read the configuration from PLAIN_CONFIG, a JSON object."""
    values = json.loads(os.environ["PLAIN_CONFIG"])
    statuses = {int(helpdesk): tracker for helpdesk, tracker in values.pop("status_map").items()}
    return Config(**values, status_map=statuses)
