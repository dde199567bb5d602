"""Nginx refuses requests with the producer's words and codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from producer.http.bodies import too_large
from producer.http.problems import Problem
from shared.notices.deliveries import Undelivered

SHIPPED = Path(__file__).resolve().parents[2] / "deploy/nginx/deskbridge.conf"
ANSWERS = dict(re.findall(r"return (\d+) '(.*)';", SHIPPED.read_text(encoding="utf-8")))
AWAY = Undelivered.PRODUCER_FAILED(status=503)
REFUSALS = {
    "413": too_large(),
    "503": Problem(503, "No producer answers", "send it again", why=AWAY),
}


@pytest.mark.parametrize("status", sorted({*ANSWERS, *REFUSALS}))
def test_nginx_refuses_in_the_producers_words_and_with_its_codes(status: str) -> None:
    assert json.loads(ANSWERS[status]) == json.loads(bytes(REFUSALS[status].response().body))
