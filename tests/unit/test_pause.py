"""The pause over a fake Redis; tests/integration/test_locks.py has the same over a real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import fakeredis
import pytest
from redis import Redis
from redis.exceptions import ResponseError

from shared.codes.coded import written
from shared.coordination.ahead import KEY as AHEAD
from shared.coordination.ahead import Ahead
from shared.coordination.call_limit import KEY as LIMIT
from shared.coordination.call_limit import CallLimit, Limit
from shared.coordination.pause import KEY, Pause
from shared.coordination.presence import KEY as PRESENCE
from shared.coordination.presence import WORKER, Presence
from tests.support.coordination import PauseContract


@pytest.fixture
def redis() -> Iterator[Redis]:
    with fakeredis.FakeRedis() as connection:
        yield connection


REFUSED = ResponseError("BUSY Redis is busy running a script.")


def refuses(monkeypatch: pytest.MonkeyPatch, redis: Redis, command: str) -> None:
    """Have one command refused once, and all others answered."""

    def refuse(*_: object, **__: object) -> None:
        monkeypatch.undo()
        raise REFUSED

    monkeypatch.setattr(redis, command, refuse)


@pytest.mark.parametrize(
    ("command", "ask", "key"),
    [
        ("getrange", lambda redis: Pause(redis).current(), KEY),
        ("spop", lambda redis: Ahead(redis).take(), AHEAD),
        ("zrevrangebyscore", lambda redis: Presence(redis).seen(WORKER), f"{PRESENCE}{WORKER}"),
        ("getrange", lambda redis: CallLimit(redis).current(), LIMIT),
    ],
    ids=["pause", "ahead", "presence", "limit"],
)
def test_what_redis_refuses_to_tell_is_not_taken_for_somebody_else_s_and_dropped(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, command: str, ask: Callable[[Redis], object], key: str
) -> None:
    Pause(redis).begin(written("the tracker is down"))
    Ahead(redis).put([4711])
    Presence(redis).mark(WORKER)
    CallLimit(redis).decide(Limit())
    refuses(monkeypatch, redis, command)
    with pytest.raises(ResponseError, match="BUSY"):
        ask(redis)
    assert redis.exists(key)


class TestPauseOverAFakeRedis(PauseContract):
    pass
