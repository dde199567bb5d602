"""A watched process gives a heartbeat after each call and each turn, also if threads make the calls."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pydantic import SecretStr

from shared.errors import TrackerRejected
from shared.process.alive import Sign, watched
from shared.tracker.client import Target, TrackerClient
from shared.tracker.concurrent_reads import run_concurrently
from tests.support.wire import WireServer, answer, saying

OK, REFUSED = answer(b'{"ok": true}'), answer(b'{"errors": ["no"]}', status="422 Unprocessable Entity")


def call(client: TrackerClient) -> None:
    client.call("GET", "/issues.json")


def be_refused(client: TrackerClient) -> None:
    with pytest.raises(TrackerRejected):
        client.call("PUT", "/issues/1.json", body={})


def take_a_turn(client: TrackerClient) -> None:
    client.wait_for_rate_limit()


def read_in_lanes(client: TrackerClient) -> None:
    run_concurrently(lambda path: client.call("GET", path), ["/issues.json"] * 2, done=lambda _: None)


@pytest.mark.parametrize(
    ("do", "answers"), [(call, [OK]), (be_refused, [REFUSED]), (take_a_turn, []), (read_in_lanes, [OK, OK])]
)
def test_whatever_is_done_on_the_tracker_is_a_heartbeat(
    do: Callable[[TrackerClient], None], answers: list[bytes]
) -> None:
    sign = Sign()
    sign.at = 0.0
    with WireServer(saying(*answers)) as server:
        rate_limiter = (lambda: 0.0) if do is take_a_turn else None
        client = TrackerClient(Target(server.url, SecretStr("key")), rate_limiter=rate_limiter)
        with watched(sign):
            do(client)
    assert sign.at > 0.0
    sign.at = 0.0
    client.wait_for_rate_limit()
    assert sign.at == 0.0, "nobody watches it any more"
