"""Each check of the doctor is registered once, with its parts and their articles."""

from __future__ import annotations

from pathlib import Path

import pytest

from producer.admin.doctor.checks import Group, QuickCheckMode, check, is_fresher, parts, registered
from producer.admin.doctor.examination import RECORDS
from producer.admin.doctor.finding import LABELS
from producer.admin.knowledge.shipped import RECORDS as ARTICLES
from producer.admin.queries.overview import what_is_noted
from producer.admin.records.transaction import Store
from shared.notices import doctor_helpdesk, doctor_service, doctor_setup, doctor_tracker, doctor_work
from shared.notices.notice import Code
from shared.store.tables.database import Database
from tests.support.databases import make_tables

FINDINGS: tuple[type[Code], ...] = (
    doctor_service.ServiceFinding,
    doctor_setup.SetupFinding,
    doctor_tracker.TrackerFinding,
    doctor_work.WorkFinding,
    doctor_helpdesk.HelpdeskFinding,
)
OF_MANY_CHECKS = doctor_service.ServiceFinding.NOT_LOOKED_AT
"""A check that was skipped keeps its own article."""
WITH_A_STEP = [one for found in FINDINGS for one in found if one.why and one is not OF_MANY_CHECKS]
SHIPPED = {one.name.removesuffix(".md") for one in ARTICLES.iterdir()}


def test_every_part_has_one_article_that_exists() -> None:
    assert sorted(parts()) == sorted(RECORDS)
    assert set(RECORDS.values()) <= SHIPPED


@pytest.mark.parametrize("part", sorted(RECORDS))
def test_an_article_names_the_checks_that_lead_to_it(part: str) -> None:
    article = (ARTICLES / f"{RECORDS[part]}.md").read_text(encoding="utf-8")
    assert f"*{LABELS.get(part, part)}*" in article


@pytest.mark.parametrize(
    "code", [one for found in FINDINGS for one in found if one.why and one is not OF_MANY_CHECKS], ids=str
)
def test_a_finding_that_says_what_to_do_has_an_article_that_exists(code: Code) -> None:
    assert code.article in SHIPPED


def test_a_part_is_stated_once() -> None:
    with pytest.raises(ValueError, match="stated twice: api key"):
        check(Group.KEY, {"api key": "KB-SETUP-001"})


def test_the_first_page_can_tell_whether_each_noted_part_has_something_to_tell(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/desk.sqlite3")
    make_tables(database)
    with Store(database).transaction() as tx:
        known = what_is_noted(tx, tx.events.counts(), tx.configs.get()[0])
    database.close()
    assert known.keys() == {
        part for one in registered() if one.glance is QuickCheckMode.NOTED for part in one.parts
    }


def test_the_first_page_finds_whole_parts_or_single_codes_of_them() -> None:
    assert is_fresher("worker", "no_worker")
    assert is_fresher("authors", "authors_wrong")
    assert not is_fresher("authors", "authors_deleted")
    assert is_fresher("beat", "no_beat")
    assert not is_fresher("broker", "broker_unreachable")
