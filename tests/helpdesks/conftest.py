"""A running producer that accepts only GLPI's webhooks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from pydantic import SecretStr

from tests.helpdesks.recorded_requests import SECRET, Recorded
from tests.integration.producer.conftest import RunningProducer, running

OF_GLPI_ALONE: dict[str, Any] = {"webhook_secrets": (), "glpi_webhook_secrets": (SecretStr(SECRET),)}


class GlpiProducer:
    """The producer as GLPI sees it."""

    def __init__(self, producer: RunningProducer) -> None:
        self.producer = producer

    def post(self, item: str, one: Recorded, **headers: str) -> requests.Response:
        """POST a request as GLPI does: with its headers, without a Content-Type."""
        address = f"{self.producer.base_url}/webhooks/glpi/{item}"
        return requests.post(address, data=one.body, headers=one.headers | headers, timeout=30)

    def send(self, item: str, one: Recorded) -> requests.Response:
        """POST a request with the current time stamp."""
        return self.post(item, one.stamped(int(time.time())))


@pytest.fixture
def glpi(tmp_path: Path) -> Iterator[GlpiProducer]:
    """A producer with one GLPI secret and no other secret."""
    with running(tmp_path, **OF_GLPI_ALONE) as producer:
        yield GlpiProducer(producer)
