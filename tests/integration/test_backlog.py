"""How many rings wait: what bounds the sweep, and what the watchdog goes by."""

from __future__ import annotations

from pydantic import SecretStr

from shared.broker import Doorbell, make_celery
from shared.settings import Settings
from worker.bootstrap import backlog


def test_rings_that_wait_are_counted(redis_url: str) -> None:
    settings = Settings(redis_url=SecretStr(redis_url))
    app = make_celery(settings)
    assert backlog(app) == 0
    assert Doorbell(settings).ring([1, 2, 3])
    assert backlog(app) == 3
