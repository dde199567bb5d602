"""Producer and console answer every request, within their API descriptions or not, as the descriptions say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from pydantic import SecretStr

from producer.console.app import create_console
from tests.integration.console.conftest import TOKEN, Console
from tests.integration.producer.conftest import running
from tests.support.bridge import Bridge

HELD_TO = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
]
few = settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    database=None,
    print_blob=False,
)
MODES = ["positive", "negative"]


def described(address: str, headers: dict[str, str]) -> Any:
    """Return the API that a URL describes."""
    import schemathesis  # not at module level, which all processes import: it takes most of a second

    return schemathesis.openapi.from_url(address, headers=headers)


def statuses(api: Any, mode: str, headers: dict[str, str]) -> dict[str, set[int]]:
    """Call every operation a few times, and validate the answers; return their statuses by operation."""
    answered: dict[str, set[int]] = {}
    for found in api.get_all_operations():
        operation = found.ok()
        takes_something = bool(operation.body) or any(operation.iter_parameters())
        if takes_something or mode == "positive":  # operations without input cannot get wrong input
            answered[operation.label] = _statuses_of(operation, mode, headers)
    return answered


def _statuses_of(operation: Any, mode: str, headers: dict[str, str]) -> set[int]:
    from schemathesis import GenerationMode
    from schemathesis.checks import CHECKS, load_all_checks

    load_all_checks()
    held_to: Any = CHECKS.get_by_names(HELD_TO)
    seen: set[int] = set()

    @few
    @given(case=operation.as_strategy(generation_mode=GenerationMode(mode)))
    def call(case: Any) -> None:
        if isinstance(case.body, dict):
            case.body.pop("base_url", None)  # the tests call no host other than this one
        seen.add(case.call_and_validate(checks=held_to, headers=headers).status_code)

    call()
    return seen


@pytest.mark.promise("SEC-21")
@pytest.mark.parametrize("mode", MODES)
def test_the_producer_answers_as_described(tmp_path: Path, mode: str) -> None:
    # unsigned, so that requests get further than the signature check
    with running(tmp_path, webhook_secrets=(), allow_unsigned=True) as producer:
        api = described(f"{producer.base_url}/openapi.json", {})
        answered = statuses(api, mode, {})
    if mode == "positive":
        assert set(answered) == {"POST /events", "GET /healthz", "GET /livez", "GET /readyz", "GET /metrics"}
        assert 202 in answered["POST /events"]
    else:
        assert {400, 422} <= answered["POST /events"]


@pytest.mark.promise("SEC-21")
@pytest.mark.parametrize("mode", MODES)
def test_the_console_answers_as_described(bridge: Bridge, mode: str) -> None:
    tokens = (SecretStr(TOKEN),)
    console = Console(create_console(bridge.settings.model_copy(update={"console_tokens": tokens})))
    console.start()
    headers = {"Authorization": f"Bearer {TOKEN}"}
    try:
        api = described(f"{console.base_url}/api/openapi.json", headers)
        answered = statuses(api, mode, headers)
    finally:
        console.stop()
    if mode == "positive":
        assert len(answered) > 15
        assert {200, 204, 404, 422} <= set.union(*answered.values())
    else:
        assert {404, 422} <= set.union(*answered.values())
