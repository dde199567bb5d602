"""The audit log shows each change with the earlier value, can be filtered by person, action and time, and exported."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from producer.admin.access.accounts import AccountStore
from producer.admin.queries.changes import SUBJECTS, change_of
from producer.admin.records.rights import Right
from shared.notices.changes import Did
from shared.store.configuration.changes import acting
from tests.integration.console.conftest import ComeIn, Console
from tests.support.bridge import Bridge


def newest(bridge: Bridge, code: Did) -> Any:
    with bridge.store.transaction() as tx:
        return next(one for one in tx.changes.find(limit=50) if one.code == code)


def test_a_change_of_role_keeps_the_role_before_and_says_both(
    come_in: ComeIn, bridge: Bridge, accounts: AccountStore
) -> None:
    accounts.add("hugo", None, Right.OPERATOR)
    visitor = come_in("administrator")
    visitor.open("/console/access")
    visitor.do("/console/access/accounts/change", {"name": "hugo", "act": "right", "right": "viewer"})
    row = newest(bridge, Did.RIGHT_CHANGED)
    assert (row.before, row.after) == ({"right": "operator"}, {"right": "viewer"})
    shown = visitor.open("/console/changes")
    assert "changed the role of hugo from operator to viewer" in shown


def test_disabling_and_enabling_keep_what_was_before(bridge: Bridge, accounts: AccountStore) -> None:
    accounts.add("hugo", None, Right.OPERATOR)
    accounts.disable("hugo")
    row = newest(bridge, Did.ACCOUNT_DISABLED)
    assert (row.before, row.after) == ({"disabled": False}, {"disabled": True})
    accounts.disable("hugo", disabled=False)
    row = newest(bridge, Did.ACCOUNT_ENABLED)
    assert (row.before, row.after) == ({"disabled": True}, {"disabled": False})


def test_what_changes_nothing_is_no_change(bridge: Bridge, accounts: AccountStore) -> None:
    accounts.set_right("viewer", Right.VIEWER)
    accounts.disable("viewer", disabled=False)
    with bridge.store.transaction() as tx:
        codes = {one.code for one in tx.changes.find(limit=50)}
    assert not codes & {Did.RIGHT_CHANGED, Did.ACCOUNT_ENABLED}


@pytest.fixture
def noted(bridge: Bridge) -> Bridge:
    """Three changes: two by claire and one by hugo, whose name begins like a formula."""
    for who, did in (
        ("claire", Did.SIGNED_IN()),
        ("claire", Did.LINK_REMOVED(kind="entity", id=77)),
        ("=hugo", Did.LINK_REMOVED(kind="entity", id=78)),
    ):
        with acting(who), bridge.store.transaction() as tx:
            tx.changes.note(did, before={"id": 1})
    return bridge


def test_changes_are_found_by_who_what_and_when(come_in: ComeIn, noted: Bridge) -> None:
    visitor = come_in("viewer")
    assert "removed the mapping of entity 77" in visitor.open("/console/changes?who=CLAI&what=links")
    shown = visitor.open("/console/changes?what=links&from=2020-01-01T00:00&offset=0")
    assert "removed the mapping of entity 77" in shown
    assert "removed the mapping of entity 78" in shown
    assert "signed in" not in shown
    assert "Nothing matches" in visitor.open("/console/changes?what=links&to=2020-01-01T00:00")
    assert "Nothing matches" in visitor.open("/console/changes?who=nobody")


def test_what_matches_is_exported_as_csv_that_no_spreadsheet_carries_out(
    come_in: ComeIn, noted: Bridge
) -> None:
    visitor = come_in("viewer")
    answer = visitor.http.get(f"{visitor.base_url}/console/changes.csv?what=links", timeout=30)
    assert answer.headers["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [(one["who"], one["code"], one["what"]) for one in rows] == [
        ("'=hugo", "link_removed", "removed the mapping of entity 78"),
        ("claire", "link_removed", "removed the mapping of entity 77"),
    ]
    assert json.loads(rows[0]["before"]) == {"id": 1}


def test_programs_read_them_too(console: Console, noted: Bridge) -> None:
    found = console.get("/api/changes?who=claire&what=links")
    assert [(one["code"], one["params"]["id"], one["before"]) for one in found] == [
        ("link_removed", 77, {"id": 1})
    ]
    assert console.get(f"/api/changes?below={found[0]['id']}&who=claire&what=links") == []
    assert console.get("/api/changes?what=nothing") == []
    assert change_of(noted.store, found[0]["id"])[0].who == "claire"


def test_every_change_belongs_to_one_subject() -> None:
    codes = [code for _, some in SUBJECTS.values() for code in some]
    assert sorted(codes) == sorted(Did)
