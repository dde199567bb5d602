"""If several steps seem to fit a failure, every surface names the one that fixes it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from cryptography.fernet import Fernet
from redis.exceptions import OutOfMemoryError

from producer.helpdesks.glpi.signatures import GlpiVerifier
from producer.intake.refused import Refused
from producer.intake.signatures import Verifier
from shared.errors import BadSignature
from shared.notices.doctor_helpdesk import HelpdeskFinding
from shared.notices.doctor_service import ServiceFinding
from shared.notices.refusals import Refusal
from shared.process.itself import Process
from shared.redis.heartbeat import BEAT, WORKER, Heartbeats
from shared.store.tables.journal import EventState
from tests.failures.stage import Stage, own_key
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge
from tests.support.events import task, task_event

WELL = ("All systems operational", "being forwarded", "in a moment", "Everything is in Redmine")
START, STORE = "tart `deskbridge worker`", "set-api-key"


def says_it(stage: Stage, pages: Visitor, words: str, never: str) -> None:
    """Check that event list, ticket history and three pages of the console say some words, and never others."""
    told = [stage.events().text, stage.trace().text]
    shown = [pages.open(path) for path in ("/console/events", "/console/tickets/4711", "/console")]
    for text in (*told, *shown):
        assert words in text, text
        assert never not in text, text
    for text in shown:
        assert not [one for one in WELL if one in text], text


@pytest.fixture
def evicting(stage: Stage) -> Iterator[Stage]:
    """Provide a Redis that has evicted every key for lack of memory: locks, and heartbeats of running processes."""
    redis = stage.bridge.redis
    redis.config_set("maxmemory-policy", "allkeys-lru")
    redis.config_set("maxmemory", 1)
    with pytest.raises(OutOfMemoryError):
        redis.set("anything", "more")
    redis.config_set("maxmemory", 0)
    try:
        yield stage
    finally:
        redis.config_set("maxmemory-policy", "noeviction")
        redis.config_resetstat()


def test_beside_evicted_signs_of_life_nobody_is_told_to_start_a_worker(
    evicting: Stage, pages: Visitor
) -> None:
    evicting.bridge.receive(task_event(900, of_task=task(900)))
    told = evicting.doctor()
    assert ServiceFinding.SIGNS_EVICTED in told.codes
    assert {ServiceFinding.NO_WORKER, ServiceFinding.NO_BEAT, ServiceFinding.REDIS_MAY_EVICT}.isdisjoint(
        told.codes
    )
    assert "CONFIG SET maxmemory-policy noeviction" in told.text
    assert "deskbridge worker" not in told.text
    says_it(evicting, pages, "Redis has evicted", START)
    assert "No worker is running" not in pages.open("/console")

    evicting.bridge.redis.config_set("maxmemory-policy", "noeviction")
    assert ServiceFinding.NO_WORKER in evicting.doctor().codes, "from now on a missing sign of life is one"
    Heartbeats(evicting.bridge.redis).mark(WORKER)
    Heartbeats(evicting.bridge.redis).mark(BEAT)
    assert {ServiceFinding.SIGNS_EVICTED, ServiceFinding.NO_WORKER}.isdisjoint(evicting.doctor().codes)
    evicting.bridge.sync()
    assert evicting.goes_on()
    assert "All systems operational" in pages.open("/console")


@pytest.fixture
def worker_of_other_keys(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bridge]:
    """Provide the only worker, whose DESKBRIDGE_SECRET_KEYS differ from those that encrypted the API key."""
    monkeypatch.setattr("tests.support.bridge.KEY", Fernet.generate_key().decode())
    given = stage.bridge.settings
    made = Bridge(
        given.database_url.get_secret_value(),
        given.redis_url.get_secret_value(),
        stage.tracker.base_url,
        stage.tracker.api_key,
    )
    own_key(stage)
    yield made
    made.close()


def test_a_worker_of_other_keys_is_named_by_its_host_and_the_key_stays_stored(
    stage: Stage, pages: Visitor, worker_of_other_keys: Bridge
) -> None:
    (event_id,) = stage.bridge.receive(task_event(900, of_task=task(900)))
    worker_of_other_keys.sync()
    told, host = stage.doctor(), Process.here().host
    assert ServiceFinding.WORKER_CANNOT_OPEN_KEY in told.codes
    assert f"a worker on {host}" in told.text
    assert Refusal.API_KEY_NOT_OPENED in stage.events().codes
    for text in (stage.events().text, stage.trace().text):
        assert f"of the worker on {host}" in text, text
        assert f"restart the worker on {host}" in text, text
    assert STORE not in told.text
    says_it(stage, pages, host, STORE)

    Heartbeats(stage.bridge.redis).able(WORKER)  # as if restarted with the environment of the command
    stage.bridge.hurry()
    stage.bridge.sync()
    assert stage.bridge.event(event_id).state == EventState.DONE
    assert ServiceFinding.WORKER_CANNOT_OPEN_KEY not in stage.doctor().codes
    assert "All systems operational" in pages.open("/console")


ALL_LOST = {"content-type": "application/json", "user-agent": "deskbridge-glpi/1.2"}
SOME_LOST = {"webhook-id": "msg_1", "content-type": "application/json"}
OF_GLPI = {"user-agent": "GuzzleHttp/7"}
NOBODY = {"content-type": "application/json", "user-agent": "curl/8"}


def refused_for(verifier: Verifier | GlpiVerifier, headers: dict[str, str]) -> Refused:
    """Return what the producer records of a refused delivery with these headers."""
    kept = Refused()
    with pytest.raises(BadSignature) as refusal:
        verifier.check_headers(headers)
    kept.note("10.0.0.7", refusal.value.notice)
    return kept


def keep(stage: Stage, refused: Refused) -> None:
    with stage.bridge.store.transaction() as tx:
        tx.producers.mark("here:8080", Process.here(), refused.told())


@pytest.mark.parametrize(
    ("verifier", "headers"),
    [
        (Verifier([]), ALL_LOST),
        (Verifier([]), SOME_LOST),
        (GlpiVerifier([], time.time), OF_GLPI),
        (GlpiVerifier([], time.time), {"x-glpi-timestamp": "1764158400"}),
    ],
    ids=["all of the plugin's", "some of a sender's", "all of GLPI's", "some of GLPI's"],
)
def test_headers_that_a_proxy_took_away_are_called_that(
    stage: Stage, pages: Visitor, verifier: Verifier | GlpiVerifier, headers: dict[str, str]
) -> None:
    refused = refused_for(verifier, headers)
    keep(stage, refused)
    told, shown = stage.doctor(), pages.open("/console")
    for text in (told.text, shown):
        assert "but a proxy on the way removes it" in text
        assert "configure the proxy between GLPI and the producer to pass on every header" in text
        assert "docs/reference/events.md" not in text, "the helpdesk does send what that describes"
    assert "All systems operational" not in shown

    refused.accepted()
    keep(stage, refused)
    assert HelpdeskFinding.DELIVERIES_REFUSED not in stage.doctor().codes
    assert "All systems operational" in pages.open("/console")


def test_a_sender_that_never_signed_is_told_what_to_send(stage: Stage) -> None:
    keep(stage, refused_for(Verifier([]), NOBODY))
    told = stage.doctor().text
    assert "docs/reference/events.md" in told
    assert "removes it" not in told
