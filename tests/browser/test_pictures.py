"""The screenshots in README.md and docs/reference/console-pages.md show a real run; `make pictures` renews them."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.make_run import UP, Start

LINK = re.compile(r"http://\S+/console/sign-in\?code=\S+")
WIDTH, HEIGHT, TALL = 1440, 900, 1300


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Start]:
    """A `make run` that has forwarded its sample events."""
    started = Start(tmp_path / "run")
    try:
        started.wait_for(UP)
        yield started
    finally:
        started.send(signal.SIGINT)
        started.end()


def test_a_newcomer_sees_that_it_works_and_what_became_of_a_ticket(
    browser: Any, run: Start, tmp_path: Path
) -> None:
    kept = Path(os.environ.get("DESKBRIDGE_TEST_PICTURES") or tmp_path)
    link = LINK.search(run.output)
    assert link, run.output
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, locale="en")
    page = context.new_page()
    page.goto(link[0])
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("heading", name="Working, with 1 warning.").wait_for()
    page.screenshot(path=kept / "console-overview.png")
    page.goto(page.url.partition("/console")[0] + "/console/tickets/4711")
    page.get_by_role("heading", name="Everything is in Redmine").wait_for()
    page.set_viewport_size({"width": WIDTH, "height": TALL})
    page.screenshot(path=kept / "console-ticket.png")
    context.close()
    assert all((kept / f"console-{name}.png").stat().st_size > 50_000 for name in ("overview", "ticket"))
