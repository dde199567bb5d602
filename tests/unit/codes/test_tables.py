"""Codes from a table get the parameters that their sentences need: each entry is called once, with real values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from producer.admin.doctor import tracker as doctor
from producer.admin.projects import mappings as linking
from shared import errors
from shared.errors import TrackerError
from shared.notices.access import AccessRefusal
from shared.notices.cautions import Caution
from shared.notices.doctor_work import WorkFinding
from shared.notices.limits import CallLimitBy
from shared.notices.notice import Code, Notice
from shared.notices.reasons import Reason
from shared.notices.refusals import Refusal
from shared.notices.render import sentence
from shared.notices.system_refusals import SystemRefusal
from shared.notices.templates import JsonType, TemplateProblem
from shared.refusals import custom_field_hints, issue_hints, other_hints
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.templating.catalogue import SORTS
from shared.templating.values import kind_of
from shared.tracker.projects import ProjectNow, ProjectState
from shared.values import addresses, validation
from tests.support import made_codes

NAMED = ProjectNow(5, ProjectState.CLOSED, "Lab").named
LINK = ProjectMapping(MappingKind.ENTITY, 9, 5, 3)


def kinds(one: type[TrackerError] = TrackerError) -> list[type[TrackerError]]:
    return [one, *(below for kind in one.__subclasses__() for below in kinds(kind))]


MADE: dict[str, list[Callable[[], Notice]]] = {
    "projects that the cache does not hold": [partial(code, **NAMED) for code in linking.NOT_CACHED.values()],
    "issues and time in projects as they stand": [
        partial(code, **NAMED)
        for table in (issue_hints.CLOSED_TO_ISSUES, other_hints.CLOSED_TO_TIME)
        for code in table.values()
    ],
    "linked projects as they stand": [
        partial(code, **NAMED, link=LINK.notice, kind="entity", id=9) for code in doctor.GONE.values()
    ],
    "custom fields": [partial(code, name="Cause") for code in custom_field_hints.WANTED.values()],
    "networks": [partial(code, host="169.254.1.1") for code in addresses.NETWORKS.values()],
    "what was left to another tracker": [
        partial(code, count=count, base_url="https://t.example")
        for code in (Caution.LINKS_OF_OTHER_TRACKER, Caution.OVERRIDES_OF_OTHER_TRACKER)
        for count in (1, 2)
    ],
    "limits of calls": [partial(code, ratio=1.2) for code in CallLimitBy],
    "failed events": [
        partial(code, count=2, cause=Reason.NO_LINK(), code="no_link")
        for code in (WorkFinding.EVENTS_FAILED_FOR, WorkFinding.EVENTS_FIXED)
    ],
    "rights": [
        partial(code, rights=["viewer", "links"])
        for code in (AccessRefusal.ACCOUNT_RIGHT_UNKNOWN, AccessRefusal.TOKEN_RIGHT_UNKNOWN)
    ],
    "missing databases": [
        partial(code, file="/var/x.sqlite3")
        for code in (SystemRefusal.DATABASE_MISSING, SystemRefusal.ENVIRONMENT_NOT_LOADED)
    ],
    "templates that could not be used": [
        partial(code, error="ZeroDivisionError")
        for code in (TemplateProblem.NOT_RENDERED_AT_ALL, TemplateProblem.NOT_COMPILED_AT_ALL)
    ],
    "sorts of values": [
        partial(TemplateProblem.TEXT_IS_NEEDED, got=one)
        for one in (*map(kind_of, (True, 1, 1.5, "x", [], {}, None)), *(sort() for sort in SORTS.values()))
    ],
    "errors of the tracker": [
        partial(kind.code, method="POST", path="/issues.json", status=503, detail=None, errors=["x"])
        for kind in kinds()
    ],
    "what a library finds wrong": [
        partial(code, **{name: ["a", "b"] if theirs == "expected" else 7 for name, theirs in told.items()})
        for code, told in validation.CODES.values()
    ],
}


@pytest.mark.parametrize("table", MADE)
def test_each_entry_of_a_table_is_given_what_its_sentence_needs(table: str) -> None:
    assert MADE[table]
    for make in MADE[table]:
        made = make()
        assert not {name for name in made_codes.needed(made.code) if made.params.get(name) is None}, made
        said = sentence(made)
        assert not said.startswith(f"{made.code} ("), said
        assert "None" not in said, said
        assert "{" not in said, said


def test_every_kind_of_value_is_of_a_sort() -> None:
    values: tuple[object, ...] = (True, 1, "x", [], {}, None)
    assert {kind_of(one).code for one in values} <= set(JsonType)


def test_a_code_that_the_program_makes_without_what_it_needs_fails_its_test(
    codes_with_what_they_need: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(made_codes, "OURS", (__file__,))
    Refusal.EVENT_UNKNOWN(event_id=7)
    assert codes_with_what_they_need == []
    Refusal.EVENT_UNKNOWN()
    Refusal.EVENT_UNKNOWN(event_id=None)
    assert [one.rpartition(": ")[2] for one in codes_with_what_they_need] == [
        "event_unknown lacks event_id",
        "event_unknown lacks event_id",
    ]
    codes_with_what_they_need.clear()


def test_a_table_holds_codes_alone() -> None:
    """So the program calls the same codes as the tests above."""
    for table in (linking.NOT_CACHED, doctor.GONE, custom_field_hints.WANTED, addresses.NETWORKS):
        assert all(isinstance(code, Code) for code in table.values())
    assert all(isinstance(kind.code, Code) for kind in kinds(errors.TrackerError))
