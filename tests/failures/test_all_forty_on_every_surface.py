"""For each of forty failures, every surface names the cause, none says that all is well, and one step fixes it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.people.people import confirm_matches
from shared.store.tables import database
from shared.store.tables.journal import EventState
from tests.failures.pairs import FEWEST, pairs
from tests.failures.redmine import RealRedmine
from tests.failures.rows import ROWS
from tests.failures.rows.breakages import BREAKAGES
from tests.failures.rows.databases import with_account
from tests.failures.rows.row import Nothing, Prevented, Row
from tests.failures.rows.steps import STEPS
from tests.failures.rows.surfaces import SURFACES, WELL, doctor, not_well, overview, ready, unreachable
from tests.failures.stage import Stage
from tests.integration.console.conftest import Console
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket
from tests.unit.cli.conftest import Shell

ALL_WELL, ON_TRACKER = "All systems operational", "Everything is in Redmine"
STAND_IN_ONLY = {False: (pytest.mark.stand_in,), True: ()}


@pytest.fixture(
    params=[
        pytest.param(one, id=str(one), marks=STAND_IN_ONLY[one.real]) for one in (*ROWS, *BREAKAGES, *STEPS)
    ]
)
def row(request: pytest.FixtureRequest) -> Row | Prevented:
    """Provide a row of the table."""
    found: Row | Prevented = request.param
    return found


@pytest.fixture
def bridge(
    request: pytest.FixtureRequest,
    row: Row | Prevented,
    stand_in: StandIn | RealRedmine,
    redis_url: str,
    tmp_path: Path,
) -> Iterator[Bridge]:
    """Provide a deskbridge on the kind of database that the row needs."""
    url = f"sqlite:///{tmp_path}/bridge.sqlite3"
    if isinstance(row, Row) and row.on_postgresql:
        url = with_account(request.getfixturevalue("emptied_postgres_url"))
    made = Bridge(url, redis_url, stand_in.base_url, stand_in.api_key)
    yield made
    made.close()


@pytest.fixture
def played(
    stage: Stage,
    console: Console,
    pages: Visitor,
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Iterator[Stage]:
    """Provide the stage with every surface; each check of the database is a new one."""
    monkeypatch.setattr(database, "TRIED_EVERY_S", -1.0)
    stage.console, stage.pages, stage.shell = console, pages, shell
    stage.patched, stage.directory = monkeypatch, tmp_path
    stage.bridge.forward(task_event(1, of_ticket=ticket(4700), of_task=task(400)), ticket_id=4700)
    confirm_matches(stage.bridge.store, None)
    with ExitStack() as stage.during:
        yield stage


def test_each_of_the_forty_is_a_row() -> None:
    assert sorted({one.number for one in ROWS}) == list(range(1, 41))


def test_no_surface_names_fewer_failures_than_before() -> None:
    assert len(set(pairs())) >= FEWEST


@pytest.mark.parametrize("one", [one for one in (*ROWS, *BREAKAGES, *STEPS) if isinstance(one, Row)], ids=str)
def test_each_row_declares_what_every_surface_says_and_a_step(one: Row) -> None:
    assert one.step, "a step"
    for surface in SURFACES:
        declared = one.of(surface)
        assert declared.because if isinstance(declared, Nothing) else declared, surface
    assert not isinstance(one.of("doctor"), Nothing), "the doctor names every failure"
    if one.readyz is not None:
        assert not isinstance(one.of("overview"), Nothing), "the first page tells of every failure"


def test_each_surface_names_it_and_one_step_heals(played: Stage, row: Row | Prevented) -> None:
    assert not_well(doctor(played)) == 0
    assert ALL_WELL in overview(played)
    row.stage(played)
    if isinstance(row, Prevented):
        is_right(played, row)
        return
    if row.told_before:
        said = doctor(played), overview(played).replace(played.tracker.base_url, "{tracker}")
        assert row.doctor in said[1] or str(row.of("overview")) in said[1], said
        assert not any(word in said[1] for word in WELL), said
    becomes(played, row)
    is_named(played, row)
    heals(played, row)


def becomes(stage: Stage, row: Row) -> None:
    """Check that an event that arrives during the failure gets the state that the row declares."""
    row.arrives(stage)
    if row.becomes is None:
        return
    with stage.bridge.store.transaction() as tx:
        assert tx.journal.find(limit=1)[0].state == row.becomes, stage.events().text


def is_named(stage: Stage, row: Row) -> None:
    """Check that each surface says what the row declares, and none says that all is well."""
    told = {name: ask(stage) for name, ask in SURFACES.items()}
    for name, text in told.items():
        says(row, name, text.replace(stage.tracker.base_url, "{tracker}"))
    assert row.step in told["doctor"].replace(stage.tracker.base_url, "{tracker}"), told["doctor"]
    assert not_well(told["doctor"]) > 0, told["doctor"]
    assert row.readyz is None or ready(stage) == (row.readyz, row.readyz)
    assert unreachable(stage) == row.unreachable


def says(row: Row, surface: str, text: str) -> None:
    """Check that a surface says what the row declares for it."""
    declared = row.of(surface)
    if not isinstance(declared, Nothing):
        assert declared in text, f"{surface}: {text}"
    is_there = surface == "ticket" and isinstance(declared, Nothing) and row.becomes == EventState.DONE
    for word in (*WELL, *row.never):
        if not (is_there and word == ON_TRACKER):  # it is true for that ticket
            assert word not in text, f"{surface}: {text}"


def heals(stage: Stage, row: Row) -> None:
    """Carry out the named step; check that everything continues, and that doctor and first page say so."""
    if isinstance(row.heal, str):
        named = (
            row.step.partition("…")[0]
            .removeprefix("run ")
            .strip("`")
            .replace("{tracker}", stage.tracker.base_url)
        )
        typed = row.heal.replace("{tracker}", stage.tracker.base_url)
        assert f"deskbridge {typed}".startswith(named), "the step that was named"
        stage.shell.do(*shlex.split(typed))
    else:
        row.heal(stage)
    for _ in range(3):  # an event in doubt is looked up first, then sent
        if not stage.goes_on():
            stage.replay()
    assert stage.goes_on(), stage.events().text
    if row.becomes is None:
        assert stage.work() == EventState.DONE, "sent again, it is done once"
    said = doctor(stage)
    assert row.left or row.doctor.replace("{tracker}", stage.tracker.base_url) not in said, said
    assert (row.left or ALL_WELL) in overview(stage), overview(stage)


def is_right(stage: Stage, row: Prevented) -> None:
    """Check that the right thing happens instead of the failure, and that the surfaces report the truth."""
    row.arrives(stage)
    row.right(stage)
    if not isinstance(row.history, Nothing):
        assert row.history in SURFACES["history"](stage), SURFACES["history"](stage)
    assert (row.left or ALL_WELL) in overview(stage), overview(stage)
