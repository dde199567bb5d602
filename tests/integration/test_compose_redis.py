"""The Redis of compose.yaml, started as configured there, accepts nothing without the password."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml
from redis import Redis
from redis.exceptions import AuthenticationError, ConnectionError

from deploy.embedded.ports import HOST, free_port
from deploy.embedded.redis import find_redis_server
from tests.support.waiting import until

CONTAINERS = Path(__file__).resolve().parents[2] / "deploy" / "container"
SECRETS = "/run/secrets/"


@pytest.mark.promise("SEC-77")
def test_redis_takes_nothing_without_the_password_that_the_processes_have(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets"
    subprocess.run([CONTAINERS / "make-secrets", secrets], check=True)
    stack = yaml.safe_load((CONTAINERS / "compose.yaml").read_text(encoding="utf-8"))
    program, *arguments = stack["services"]["redis"]["command"]
    assert program == "redis-server"
    told = [one.replace(SECRETS, f"{secrets}/").replace("/data", str(tmp_path)) for one in arguments]
    port = free_port()
    server = subprocess.Popen(
        [find_redis_server(), *told, "--bind", HOST, "--port", str(port)], stdout=subprocess.DEVNULL
    )
    try:
        stranger, known = Redis(HOST, port), Redis.from_url(_url(secrets, port))

        def answers() -> bool:
            try:
                return bool(known.ping())
            except ConnectionError:
                return False

        until(answers, "Redis starts", 60)
        with pytest.raises(AuthenticationError):
            stranger.ping()
        with pytest.raises(AuthenticationError):
            Redis(HOST, port, password="a guess").ping()
    finally:
        server.terminate()
        server.wait(30)
    for name in ("migrate", "producer", "console", "worker", "beat"):
        one = stack["services"][name]
        assert one["environment"]["DESKBRIDGE_REDIS_URL_FILE"] == f"{SECRETS}redis-url"
        assert "redis-url" in one["secrets"], name


def _url(secrets: Path, port: int) -> str:
    told = (secrets / "redis-url").read_text(encoding="utf-8").strip()
    assert "@redis:6379/" in told
    return told.replace("@redis:6379/", f"@{HOST}:{port}/")
