"""Command, API and page refuse the same request in the same words."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from producer.admin.configuration.metadata import read_now
from producer.admin.records.rights import Right
from producer.admin.services import Services
from producer.cli.main import app
from tests.integration.console.conftest import ComeIn, Console
from tests.support.bridge import KEY, Bridge

CLOSED, SUPPORT = 6, 1
Type = Callable[..., dict[str, Any]]


@pytest.fixture
def refused_command(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> Type:
    """Returns a function that runs a command that fails and returns its error."""
    for name in [name for name in os.environ if name.startswith("DESKBRIDGE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("DESKBRIDGE_DATABASE_URL", bridge.settings.database_url.get_secret_value())
    monkeypatch.setenv("DESKBRIDGE_REDIS_URL", bridge.settings.redis_url.get_secret_value())
    monkeypatch.setenv("DESKBRIDGE_SECRET_KEYS", KEY)

    def type_(*arguments: str) -> dict[str, Any]:
        result = CliRunner().invoke(app, [*arguments, "--json"])
        assert result.exit_code == 1, result.output
        error: dict[str, Any] = json.loads(result.stdout)["error"]
        return error

    return type_


@pytest.mark.parametrize(
    ("project_id", "category_id", "code"),
    [
        (CLOSED, None, "project_closed_now"),
        (77, None, "id_not_on_tracker"),
        (SUPPORT, 99, "category_not_of_project"),
    ],
)
def test_a_link_that_cannot_be_made_is_refused_in_the_same_words(
    bridge: Bridge,
    console: Console,
    come_in: ComeIn,
    refused_command: Type,
    project_id: int,
    category_id: int | None,
    code: str,
) -> None:
    assert read_now(Services(bridge.settings, bridge.store))
    wanted = {"tracker_project_id": project_id, "default_category_id": category_id}
    problem = console.refused("PUT", "/api/links/entities/9", 422, wanted)
    visitor = come_in(Right.ADMINISTRATOR)
    visitor.open("/console/links/entity/9")
    form = {name: str(value) for name, value in wanted.items() if value}
    page = visitor.send("/console/links/entity/9", form)
    category = ["--category", str(category_id)] if category_id else []
    error = refused_command("mapping", "add", "entity", "9", str(project_id), *category)
    assert (problem["code"], error["code"]) == (code, code)
    assert problem["detail"] == error["message"]
    assert problem["detail"] in html.unescape(page.text)
