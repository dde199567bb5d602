"""Rows about processes, Redis, clocks and the help desk's side."""

from __future__ import annotations

from cryptography.fernet import Fernet
from redis import Redis
from redis.exceptions import OutOfMemoryError

from producer.helpdesks.glpi.signatures import GlpiVerifier
from producer.intake.refused import Refused
from shared.errors import BadSignature
from shared.notices.deliveries import Undelivered
from shared.process.itself import Process
from shared.redis.heartbeat import BEAT, WORKER, Heartbeats
from shared.redis.keys import INSTALLATIONS
from shared.redis.locks import make_redis
from shared.redis.rate_limit import RateLimiter, discard_slots
from shared.store.tables.journal import EventState
from tests.failures.rows.row import Nothing, Row
from tests.failures.stage import Act, Stage
from tests.support import bridge as support
from tests.support.bridge import Bridge

OTHER = "0123456789ab"
DELAY = Nothing("it is forwarded all the same")
NOT_IN = Nothing("no event came in")
PASSWORD = "secret"


def waits(stage: Stage) -> None:
    """Receive an event that no worker takes."""
    stage.receive()


def other_keys(stage: Stage) -> None:
    """Start a worker whose DESKBRIDGE_SECRET_KEYS differ from those that encrypted the API key."""
    given = stage.bridge.settings
    with stage.patched.context() as patched:
        patched.setattr(support, "KEY", Fernet.generate_key().decode())
        made = Bridge(
            given.database_url.get_secret_value(),
            given.redis_url.get_secret_value(),
            stage.tracker.base_url,
            stage.tracker.api_key,
        )
    stage.api_key(stage.tracker.api_key)
    stage.during.callback(made.close)
    stage.kept["worker"] = made


def taken_by_it(stage: Stage) -> None:
    """Receive an event that this worker takes."""
    stage.receive()
    stage.kept["worker"].sync()


def right_keys(stage: Stage) -> None:
    """Restart the worker with the keys of the other processes."""
    Heartbeats(stage.bridge.redis).able(WORKER)


def rate_limit(stage: Stage) -> None:
    """Limit the workers to one call in a hundred seconds."""
    RateLimiter(stage.bridge.redis, 0.01).next_turn()


def no_rate_limit(stage: Stage) -> None:
    """Restart the workers without a limit."""
    discard_slots(stage.bridge.redis)


def refused(told: list[dict[str, object]]) -> Act:
    """Make the producer report refused deliveries."""

    def act(stage: Stage) -> None:
        with stage.bridge.store.transaction() as tx:
            tx.producers.mark("here:8080", Process.here(), told)

    return act


def other_secret(since: int) -> list[dict[str, object]]:
    """Return the producer's report about deliveries that none of its secrets signed."""
    why = Undelivered.SECRET_UNKNOWN(setting="DESKBRIDGE_WEBHOOK_SECRETS")
    return [
        {
            "code": str(why.code),
            "params": dict(why.params),
            "seconds": 3 * 86400.0,
            "count": 4,
            "since": since,
            "addresses": ["10.0.0.7 (4)"],
        }
    ]


def headers_lost(stage: Stage) -> None:
    """Make a proxy remove the headers of GLPI's signature."""
    kept = Refused()
    try:
        GlpiVerifier([], lambda: 0.0).check_headers({"user-agent": "GuzzleHttp/7"})
    except BadSignature as refusal:
        kept.note("10.0.0.7", refusal.notice)
    refused(kept.told())(stage)


def others_there(stage: Stage) -> None:
    """Start a worker of another installation on the same Redis database."""
    other = make_redis(stage.bridge.settings, lambda: OTHER)
    Heartbeats(other).mark(WORKER)
    other.close()


def others_gone(stage: Stage) -> None:
    """Give the other installation a Redis database of its own."""
    stage.bridge.redis.zrem(INSTALLATIONS, OTHER)


def password_changed(stage: Stage) -> None:
    """Change the password of Redis."""
    stage.bridge.redis.config_set("requirepass", PASSWORD)
    for redis in (stage.bridge.redis, stage.console.app.state.services.redis):
        redis.connection_pool.disconnect()
    url = stage.bridge.settings.redis_url.get_secret_value()

    def as_it_was() -> None:
        with Redis.from_url(url, password=PASSWORD) as redis:
            redis.config_set("requirepass", "")

    stage.during.callback(as_it_was)


def password_given(stage: Stage) -> None:
    """Restart every process with the new password in DESKBRIDGE_REDIS_URL."""
    url = stage.bridge.settings.redis_url.get_secret_value()
    stage.patched.setenv("DESKBRIDGE_REDIS_URL", url.replace("://", f"://:{PASSWORD}@"))
    for redis in (stage.bridge.redis, stage.console.app.state.services.redis):
        redis.connection_pool.connection_kwargs["password"] = PASSWORD
        redis.connection_pool.reset()


def evicts(stage: Stage) -> None:
    """Make Redis evict keys for lack of memory."""
    redis = stage.bridge.redis
    redis.config_set("maxmemory-policy", "allkeys-lru")
    redis.config_set("maxmemory", 1)
    try:
        redis.set("anything", "more")
    except OutOfMemoryError:
        redis.config_set("maxmemory", 0)

    def as_it_was() -> None:
        redis.config_set("maxmemory-policy", "noeviction")
        redis.config_resetstat()

    stage.during.callback(as_it_was)


def evicts_no_more(stage: Stage) -> None:
    """Run CONFIG SET and record the heartbeats of the processes again."""
    stage.bridge.redis.config_set("maxmemory-policy", "noeviction")
    for kind in (WORKER, BEAT):
        Heartbeats(stage.bridge.redis).mark(kind)


def worker_clock(ahead_s: float) -> Act:
    """Make the worker report how far its machine's clock is ahead of the database's."""
    return lambda stage: Heartbeats(stage.bridge.redis).mark(WORKER, ahead_s=ahead_s)


def silent(stage: Stage) -> None:
    """Make the newest event three days old."""
    stage.work()
    stage.bridge.age(3 * 86400)


def nothing_comes(_stage: Stage) -> None:
    """Let no event arrive."""


def comes_in(stage: Stage) -> None:
    """Let the help desk send its queued events."""
    stage.work()


ROWS = [
    Row(
        16,
        "the worker has other DESKBRIDGE_SECRET_KEYS",
        other_keys,
        EventState.PENDING,
        doctor="cannot decrypt the stored API key with its DESKBRIDGE_SECRET_KEYS",
        step="restart it with the same DESKBRIDGE_SECRET_KEYS as the other processes",
        heal=right_keys,
        events="of the worker on",
        history="of the worker on",
        ticket="of the worker on",
        overview="a worker on",
        arrives=taken_by_it,
        never=("set-api-key",),
    ),
    Row(
        18,
        "RATE_LIMIT lets one call go in a hundred seconds",
        rate_limit,
        EventState.PENDING,
        doctor="RATE_LIMIT allows 0.01 calls per second, or 36 per hour",
        step="set DESKBRIDGE_RATE_LIMIT to 1 or more",
        heal=no_rate_limit,
        events="RATE_LIMIT allows 0.01 per second",
        history="RATE_LIMIT allows 0.01 per second",
        ticket="RATE_LIMIT allows 0.01 per second",
        overview="RATE_LIMIT allows 0.01 calls per second, or",
        arrives=waits,
        never=("no heartbeat",),
        told_before=True,
    ),
    Row(
        20,
        "the secret was changed on one side only",
        refused(other_secret(4)),
        None,
        doctor="rejected 4 deliveries",
        step="the same secret",
        heal=refused(other_secret(0)),
        everywhere=NOT_IN,
        overview="rejected 4 deliveries",
        arrives=nothing_comes,
        told_before=True,
    ),
    Row(
        23,
        "another installation uses the same Redis database",
        others_there,
        EventState.DONE,
        doctor="another deskbridge uses this Redis database",
        step="give each installation its own Redis database",
        heal=others_gone,
        everywhere=DELAY,
        overview="another deskbridge uses this Redis database",
        told_before=True,
        never=("no heartbeat",),
    ),
    Row(
        26,
        "the password of Redis was changed",
        password_changed,
        EventState.PENDING,
        doctor="answers, but rejects the user or password of DESKBRIDGE_REDIS_URL",
        step="correct the user and password in DESKBRIDGE_REDIS_URL",
        heal=password_given,
        everywhere="rejects the user or password of DESKBRIDGE_REDIS_URL",
        arrives=waits,
        unreachable=("redis",),
        never=("no heartbeat", "check that Redis is running"),
        told_before=True,
    ),
    Row(
        27,
        "Redis evicts keys",
        evicts,
        EventState.PENDING,
        doctor="Redis has evicted",
        step="`CONFIG SET maxmemory-policy noeviction`",
        heal=evicts_no_more,
        everywhere="Redis has evicted",
        arrives=waits,
        never=("tart `deskbridge worker`", "No worker is running"),
        told_before=True,
    ),
    Row(
        28,
        "a worker's clock is ten minutes ahead",
        worker_clock(600),
        EventState.DONE,
        doctor="is 600 s ahead of the database's clock",
        step="set the clock of",
        heal=worker_clock(0.1),
        everywhere=DELAY,
        overview="is 600 s ahead of the database's clock",
        told_before=True,
        never=("no heartbeat",),
    ),
    Row(
        28,
        "a worker's clock is ten minutes behind",
        worker_clock(-600),
        EventState.DONE,
        doctor="is 600 s behind the database's",
        step="set the clock of",
        heal=worker_clock(-0.1),
        everywhere=DELAY,
        overview="is 600 s behind the database's",
        told_before=True,
        never=("no heartbeat",),
    ),
    Row(
        37,
        "a proxy strips the headers of deliveries",
        headers_lost,
        None,
        doctor="but a proxy on the way removes it",
        step="configure the proxy between GLPI and the producer to pass on every header",
        heal=refused([]),
        everywhere=NOT_IN,
        overview="but a proxy on the way removes it",
        arrives=nothing_comes,
        never=("docs/events.md",),
        told_before=True,
    ),
    Row(
        38,
        "nothing has come in for three days",
        silent,
        EventState.DONE,
        doctor="the last event arrived 4320 min ago",
        step="check its outgoing queue",
        heal=comes_in,
        everywhere=NOT_IN,
        overview="the last event arrived 4320 min ago",
        arrives=nothing_comes,
        told_before=True,
    ),
]
