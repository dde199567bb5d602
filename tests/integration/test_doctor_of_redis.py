"""If Redis runs but refuses commands, the doctor repeats its message and says what helps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from deploy.embedded.redis import RedisServer
from producer.admin.doctor.examination import examine
from producer.admin.doctor.finding import CheckResult, Status
from producer.admin.doctor.installation import Installation
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.notices.doctor_service import ServiceFinding
from shared.notices.notice import Code
from shared.notices.render import because, sentence
from shared.redis.installation import Whose
from shared.redis.locks import make_redis
from tests.support.bridge import Bridge
from tests.support.refusing import (
    OPTIONS,
    Busy,
    DiskFull,
    ForbidsCommands,
    Loading,
    NoPassword,
    NoReplicas,
    OutOfMemory,
    ReadOnly,
    Refusing,
    TooManyClients,
)

CASES = [
    (OutOfMemory, ServiceFinding.REDIS_FULL, "OOM command not allowed", "raise `maxmemory`"),
    (
        ReadOnly,
        ServiceFinding.REDIS_READ_ONLY,
        "READONLY You can't write against a read only replica",
        "to the primary",
    ),
    (
        DiskFull,
        ServiceFinding.REDIS_CANNOT_SAVE,
        "MISCONF Redis is configured to save",
        "free space on Redis' disk",
    ),
    (
        NoReplicas,
        ServiceFinding.REDIS_LACKS_REPLICAS,
        "NOREPLICAS Not enough good replicas",
        "min-replicas-to-write",
    ),
    (
        NoPassword,
        ServiceFinding.REDIS_REFUSES,
        "NOAUTH Authentication required",
        "correct the user and password",
    ),
    (Loading, ServiceFinding.REDIS_LOADING, "LOADING Redis is loading the dataset in memory", "wait"),
    (TooManyClients, ServiceFinding.REDIS_CROWDED, "max number of clients reached", "maxclients"),
    (
        Busy,
        ServiceFinding.REDIS_NOT_WRITABLE,
        "BUSY Redis is busy running a script",
        "fix what Redis reports",
    ),
    (
        ForbidsCommands,
        ServiceFinding.REDIS_REFUSES,
        "NOPERM this user has no permissions",
        "correct the user and password in DESKBRIDGE_REDIS_URL in every process, and allow this user to write",
    ),
]


@pytest.fixture(scope="module")
def refusing_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis server for this module alone."""
    server = RedisServer(tmp_path_factory.mktemp("redis"), options=OPTIONS)
    server.start()
    yield server
    server.destroy()


@pytest.mark.parametrize(("kind", "code", "words", "step"), CASES, ids=[kind.word for kind, *_ in CASES])
def test_the_doctor_repeats_what_redis_says_and_names_the_step(
    bridge: Bridge, refusing_server: RedisServer, kind: type[Refusing], code: Code, words: str, step: str
) -> None:
    with kind(refusing_server).in_force():
        found = examined(bridge, refusing_server)
    (of_redis,) = [one for one in found if one.check == "redis"]
    assert of_redis.status is Status.FAILURE
    assert of_redis.found.code == code
    assert words in sentence(of_redis.found)
    assert step in because(of_redis.found)
    codes = {one.found.code for one in found}
    assert not codes & {ServiceFinding.NO_WORKER, ServiceFinding.NO_BEAT}, (
        "no process can leave a sign of life in it"
    )


def test_the_doctor_warns_of_a_redis_that_loses_its_data_when_it_restarts(
    bridge: Bridge, tmp_path: Path
) -> None:
    with RedisServer(tmp_path, appendonly=False) as server:
        found = examined(bridge, server)
    (of_redis,) = [one for one in found if one.check == "redis"]
    assert of_redis.status is Status.WARNING
    assert of_redis.found.code == ServiceFinding.REDIS_KEEPS_NOTHING


def examined(bridge: Bridge, server: RedisServer) -> list[CheckResult]:
    """Return what the doctor finds with a Redis."""
    settings = bridge.settings.model_copy(update={"redis_url": SecretStr(server.url)})
    vault = Vault(settings.secret_keys)
    connect = Connector(bridge.store, vault).connect
    redis = make_redis(settings, Whose(bridge.store.database))
    found = list(examine(Installation(settings, bridge.store, redis, vault, connect, lambda: True)))
    redis.close()
    return found
