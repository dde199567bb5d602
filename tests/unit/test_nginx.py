"""What nginx answers in place of a producer is what the producer would say."""

from __future__ import annotations

import json
import re
from pathlib import Path

from producer.web.bodies import Bodies

ROOT = Path(__file__).resolve().parents[2]


def test_nginx_refuses_a_body_over_the_limit_in_the_producers_words() -> None:
    shipped = (ROOT / "deploy/nginx/deskbridge.conf").read_text(encoding="utf-8")
    said = re.search(r"return 413 '(.*)';", shipped)
    assert said
    refused = Bodies()._too_large().response()
    assert json.loads(said[1]) == json.loads(bytes(refused.body))
