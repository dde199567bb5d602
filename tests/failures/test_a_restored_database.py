"""A restored database that nobody has confirmed is named on every surface, with the one step that ends it."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from shared.store.tables.journal import EventState, JournalEvent
from shared.store.tables.types import moment
from tests.failures.rows.surfaces import SURFACES, WELL, doctor, overview
from tests.failures.stage import Stage
from tests.integration.console.conftest import Console
from tests.integration.console.pages import Visitor
from tests.unit.cli.conftest import Shell

pytestmark = [pytest.mark.promise("OPS-33"), pytest.mark.stand_in]
NAMED = "the database lacks events that deskbridge has processed: it was restored from a backup"


def test_every_surface_names_it_until_a_person_has_decided(
    stage: Stage, console: Console, pages: Visitor, shell: Shell
) -> None:
    stage.console, stage.pages, stage.shell = console, pages, shell
    assert stage.work() == EventState.DONE
    with stage.bridge.store.database.transaction() as session:  # another event has got its id
        session.execute(update(JournalEvent).values(received_at=moment(-1)))
    assert stage.work() == EventState.PENDING
    for name, surface in SURFACES.items():
        said = surface(stage)
        assert NAMED in said, (name, said)
        assert not [one for one in WELL if one in said], name
    assert "run `deskbridge restore begin`" in doctor(stage)
    assert "deskbridge restore begin" in overview(stage)
    stage.shell.do("restore", "begin")
    stage.replay()
    assert stage.goes_on()
    assert NAMED not in doctor(stage)
    assert "Recovery mode is on" in overview(stage)
