"""A page takes at most fourteen database statements, however much it shows."""

from __future__ import annotations

import pytest
from sqlalchemy import event

from deploy.sandbox.tracker.control import StandIn
from producer.admin.records.rights import Right
from shared.metadata.synchronisation import synchronise
from tests.browser.pages import PAGES, filled
from tests.integration.console.conftest import ComeIn, Console
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge

MOST = 14
EXAMINES_EVERYTHING = "/doctor"
"""It runs each of its thirty checks and calls the tracker, but no browser reloads it every five seconds."""
NONE_OF_OURS = ("BEGIN", "PRAGMA", "SAVEPOINT", "RELEASE")


@pytest.fixture
def visitor(console: Console, bridge: Bridge, stand_in: StandIn, come_in: ComeIn) -> Visitor:
    filled(bridge, stand_in)
    services = console.app.state.services
    assert synchronise(services.store, services.locks, services.connector.connect)
    services.names.name("user", 1)  # names are read once a minute, in two statements
    return come_in(Right.ADMINISTRATOR)


def test_no_page_takes_more_than_fourteen_statements(visitor: Visitor, console: Console) -> None:
    told: list[str] = []
    engine = console.app.state.services.store.database.engine
    event.listen(engine, "before_cursor_execute", lambda *given: told.append(given[2]))
    asked = {}
    for path in (one for one in PAGES if one != EXAMINES_EVERYTHING):
        told.clear()
        visitor.open(f"/console{path}", status=404 if path in ("/tickets/99", "/nowhere") else 200)
        asked[path] = [one for one in told if not one.startswith(NONE_OF_OURS)]
    assert not {path: len(found) for path, found in asked.items() if len(found) > MOST}, "\n".join(
        f"{path}\n  {one[:150]}" for path, found in asked.items() if len(found) > MOST for one in found
    )
