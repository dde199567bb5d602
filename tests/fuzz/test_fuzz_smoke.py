"""The fuzz run works, and finds nothing in a few tries; `make fuzz` is the full run."""

from __future__ import annotations

import pytest

from tests.fuzz.chance import Chance
from tests.fuzz.of_templates import OfTemplates
from tests.fuzz.over_http import OverHttp
from tests.support.bridge import Bridge


def test_the_same_seed_draws_the_same_inputs() -> None:
    assert Chance("7 http 1").text(Chance("7").value()) == Chance("7 http 1").text(Chance("7").value())


@pytest.mark.parametrize("kind", [OverHttp, OfTemplates])
def test_a_few_tries_find_nothing(
    kind: type[OverHttp | OfTemplates], tmp_path_factory: pytest.TempPathFactory, redis_url: str
) -> None:
    directory = tmp_path_factory.mktemp("fuzz")
    bridge = Bridge(f"sqlite:///{directory}/fuzz.sqlite3", redis_url, "http://127.0.0.1:9", "a-key")
    target = kind(bridge, directory)
    try:
        for number in range(10):
            target.attempt(Chance(f"smoke {number}"))
    finally:
        target.close()
        bridge.close()
