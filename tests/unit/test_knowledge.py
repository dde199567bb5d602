"""The format of knowledge articles (SPEC 2.5), and the articles that deskbridge ships."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import shared.notices
from producer.admin.doctor.examination import RECORDS
from producer.admin.knowledge.article import NotAnArticle, faults_between, faults_of, parse_article
from producer.cli.main import app
from shared.notices.changes import Did
from shared.notices.doctor_service import ServiceFinding
from shared.notices.notice import NOTHING_WRONG, Code, Written
from shared.notices.reasons import Reason
from shared.notices.render import article
from shared.notices.steps import Actor, Arrival, What, Which
from shared.notices.system_refusals import SystemRefusal

ROOT = Path(__file__).resolve().parents[2]
OURS = ROOT / "producer" / "admin" / "knowledge" / "records"
FINE: dict[str, Any] = {
    "id": "KB-TEST-001",
    "title": "Something to know",
    "domain": "process",
    "tags": ["a"],
    "status": "active",
    "severity": "low",
    "created_at": "2026-11-21",
    "updated_at": "2026-11-21",
    "applies_to": ["worker"],
}
TEXT = """---
# a comment
id: KB-TEST-001
title: "Something: to know"
domain: process
tags:
  - one
  - two  # the second
status: active
severity: low
created_at: 2026-11-21
updated_at: 2026-11-21
applies_to: [worker, 'the console']
colour: green
---

# Something

---
Text
"""


def test_a_record_is_read_with_its_body_and_additional_fields() -> None:
    record = parse_article(TEXT)
    assert faults_of(record.metadata) == []
    assert record.metadata["title"] == "Something: to know"
    assert record.metadata["tags"] == ["one", "two"]
    assert record.metadata["applies_to"] == ["worker", "the console"]
    assert record.metadata["colour"] == "green"
    assert record.body.startswith("# Something")
    assert record.body.endswith("Text")


@pytest.mark.parametrize("name", FINE)
def test_every_field_but_the_related_records_is_required(name: str) -> None:
    assert faults_of({key: value for key, value in FINE.items() if key != name}) == [f"{name}: required"]
    assert faults_of(FINE) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", "KB-test-001"),
        ("id", "KB-TEST-01"),
        ("id", "KB-TEST-0011"),
        ("id", "xKB-TEST-001"),
        ("id", "KB-TEST-001\n"),
        ("id", "KB-TEST-٠٠١"),
        ("id", None),
        ("title", "7 chars"),
        ("title", ["Something to know"]),
        ("domain", "devops"),
        ("tags", []),
        ("tags", "a"),
        ("tags", [""]),
        ("tags", None),
        ("status", "Active"),
        ("severity", "urgent"),
        ("created_at", "21.11.2026"),
        ("created_at", "2026-02-30"),
        ("updated_at", "20261121"),
        ("applies_to", []),
        ("related_records", ["KB-X"]),
        ("related_records", "KB-TEST-001"),
        ("colour", {1, 2}),
    ],
)
def test_what_does_not_fit_the_shape_is_named(name: str, value: Any) -> None:
    assert [re.split("[.:]", fault)[0] for fault in faults_of({**FINE, name: value})] == [name]


def test_related_records_may_be_left_out_or_empty_and_a_title_may_have_exactly_eight_characters() -> None:
    assert faults_of({**FINE, "related_records": [], "title": "8 chars."}) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("# No front matter", 1),
        ("---\nid: KB-TEST-001\n", 2),
        ("---\nid KB\n---\n", 2),
        ("---\nid: a\nid: b\n---\n", 3),
        ("---\ntags: [a\n---\n", 2),
        ("---\n- a\n---\n", 2),
        ('---\ntitle: "open\n---\n', 2),
        ("---\nid: a\n  nested: b\n---\n", 3),
        ("---\na: 1\nb: &x [1]\nc: *x\n---\n", 4),
        ("---\na: 1\nb: !!python/object:os.system {}\n---\n", 3),
        ("---\n? [a]\n: b\n---\n", 2),
        ("---\na: b\nc: \x01\n---\n", 3),
        ("---\na: 0x_\n---\n", 2),
        ("---\na: " + "[" * 5000 + "\n---\n", 2),
    ],
)
def test_front_matter_that_cannot_be_read_is_a_fault_with_its_line(text: str, line: int) -> None:
    with pytest.raises(NotAnArticle) as fault:
        parse_article(text)
    assert fault.value.line == line


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    for given_text in (text, f"---\n{text}\n---\n"):
        try:
            faults_of(parse_article(given_text).metadata)
        except NotAnArticle as fault:
            assert fault.line >= 1  # noqa: PT017


def test_additional_fields_may_be_nested_and_quoted_texts_may_hold_commas() -> None:
    front = """---
id: KB-TEST-001
title: 'A title, with a comma: and a colon'
domain: process
tags: ["one, two", three]
status: active
severity: low
created_at: "2026-11-21"
updated_at: 2026-11-21
applies_to:
- worker
owner: {name: Ops, reached: {mail: ops@example.org, codes: {404: gone}}}
steps:
  - do: |
      first this
      then that
    minutes: 5
    safe: true
---
Text
"""
    metadata = parse_article(front).metadata
    assert faults_of(metadata) == []
    assert metadata["tags"] == ["one, two", "three"]
    assert metadata["owner"]["reached"]["codes"] == {"404": "gone"}
    assert metadata["steps"] == [{"do": "first this\nthen that\n", "minutes": 5, "safe": True}]


def test_records_must_not_share_an_id_and_name_only_records_that_exist() -> None:
    other = {**FINE, "related_records": ["KB-TEST-009", "KB-TEST-001"]}
    assert faults_between([("a.md", FINE), ("b.md", other)]) == [
        ("b.md", "id: KB-TEST-001 is also the id of a.md"),
        ("b.md", "related_records: there is no KB-TEST-009"),
    ]


def test_our_own_records_are_well_formed() -> None:
    result = CliRunner().invoke(app, ["article", "check", str(OURS)])
    assert result.exit_code == 0, result.output


def test_every_check_of_the_doctor_has_its_record() -> None:
    records = {path.stem for path in OURS.glob("KB-*.md")}
    assert set(RECORDS.values()) <= records


def test_a_record_is_in_the_file_of_its_id() -> None:
    for path in sorted(OURS.glob("KB-*.md")):
        record = parse_article(path.read_text(encoding="utf-8"))
        assert record.metadata["id"] == path.stem
        assert f"# {record.metadata['title']}" in record.body, path.stem


NORMAL = {
    "absent_on_tracker",
    "adopted_anothers",
    "alike_are_others",
    "answered_after_all",
    "created_by_event",
    "deleted_there",
    "private_there",
    "forgotten_by_a_person",
    "found_after_restore",
    "found_on_tracker",
    "issue_updated",
    "link_was_made",
    "logged_before",
    "logged_by_event",
    "map_was_changed",
    "newer_task_event",
    "newer_ticket_event",
    "no_issue",
    "copied_from_ticket",
    "copy_of_another",
    "no_time",
    "not_done",
    "person_decided",
    "person_replayed",
    "private_task",
    "status_as_it_is",
    "status_set",
    "taken_over",
    "ticket_deleted",
    "ticket_restored",
    "time_logged",
    "was_not_its_own",
    "attached_before",
    "document_attached",
    "documents_off",
    "earlier_document_event",
    "followups_off",
    "issue_is_there",
    "newer_note_event",
    "no_issue_for_note",
    "note_is_empty",
    "note_sent",
    "noted_before",
    "noted_by_event",
    "private_followup",
    "solutions_off",
}
TELLS_WHAT_WAS_DONE = (What, Arrival, Actor, Which, Did, Written)
"""Codes that report actions; only those that stop, change or refuse something have an article."""
SAYS_IT_ITSELF = {ServiceFinding.NOT_LOOKED_AT, SystemRefusal.STOPPED_BY_USER}
EVERY_CODE = [
    code
    for module in pkgutil.iter_modules(shared.notices.__path__)
    for subject in vars(importlib.import_module(f"shared.notices.{module.name}")).values()
    if isinstance(subject, type) and issubclass(subject, Code) and subject.__module__.endswith(module.name)
    for code in subject
]


def test_every_code_has_a_record_or_only_tells_what_was_done() -> None:
    shown_articles = set[str]()
    for code in EVERY_CODE:
        if record := article(code):
            assert (OURS / f"{record}.md").exists(), code
            assert article(str(code)) == record, code
            assert code.name in Reason.__members__ or record != NOTHING_WRONG, code
            if record in shown_articles:
                continue
        shown = CliRunner().invoke(app, ["article", "show", str(code)])
        assert shown.exit_code == 0, f"{code}: {shown.output}"
        if record:
            assert f"\n{record} · " in shown.stdout, code
            shown_articles.add(record)
        else:
            assert isinstance(code, TELLS_WHAT_WAS_DONE) or code in SAYS_IT_ITSELF, code
            assert shown.stdout.startswith(f"{code}: "), code
            assert not set("{}[]") & set(shown.stdout), f"{code}: {shown.stdout}"


def test_no_two_codes_are_the_same_text() -> None:
    assert len(EVERY_CODE) == len({str(code) for code in EVERY_CODE}) > 300


def test_a_code_without_a_record_is_told_as_json_too() -> None:
    shown = CliRunner().invoke(app, ["article", "show", "not_looked_at", "--json"])
    assert json.loads(shown.stdout) == {
        "code": "not_looked_at",
        "what": "not checked: a prerequisite is missing",
        "why": "fix the failures, then run `deskbridge doctor` again",
    }


def test_what_stops_or_changes_an_event_is_not_called_the_normal_course() -> None:
    normal = {code for code in Reason if article(code) == NOTHING_WRONG}
    assert {str(code) for code in normal} == NORMAL


def test_a_record_is_shown_by_its_id_and_by_a_code() -> None:
    for wanted in ("KB-HELPDESK-006", "kb-helpdesk-006", "no_link"):
        shown = CliRunner().invoke(app, ["article", "show", wanted])
        assert shown.exit_code == 0
        assert "Tickets of an entity without a mapping were not forwarded" in shown.stdout


def test_every_record_that_the_code_names_exists() -> None:
    root = ROOT
    for source in [
        *root.glob("shared/**/*.py"),
        *root.glob("producer/**/*.py"),
        *root.glob("worker/**/*.py"),
    ]:
        for name in re.findall(r"KB-[A-Z]+-[0-9]{3}", source.read_text("utf-8")):
            assert (OURS / f"{name}.md").exists(), (source, name)


def test_validate_names_each_faulty_file_and_exits_with_1(tmp_path: Path) -> None:
    (tmp_path / "fine.md").write_text(TEXT)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "bad.md").write_text(
        TEXT.replace("status: active", "status: asleep").replace("001", "002")
    )
    (tmp_path / "latin.md").write_bytes(b"---\nid: \xff\n---\n")
    (tmp_path / "README.md").write_text("no record")
    result = CliRunner().invoke(app, ["article", "check", str(tmp_path)])
    assert result.exit_code == 1
    assert "sub/bad.md: status: expected one of active, deprecated, draft" in result.stderr
    assert "latin.md: not UTF-8" in result.stderr
    assert "fine.md" not in result.stderr
    as_json = CliRunner().invoke(app, ["article", "check", str(tmp_path), "--json"])
    assert as_json.exit_code == 1
    assert '"records": 3' in as_json.stdout


def test_validate_of_nothing_is_wrong(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["article", "check", str(tmp_path)]).exit_code == 1
    assert CliRunner().invoke(app, ["article", "check", str(tmp_path / "x")]).exit_code == 2


def test_show_prints_a_record_that_ships_wherever_it_is_called(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(app, ["article", "show", "KB-HINT-001"])
    assert shown.exit_code == 0, shown.output
    assert "Redmine rejects issues in this project" in shown.stdout
    assert "**" not in shown.stdout
    assert "See also KB-SETUP-002: A mapping points to a project" in shown.stdout
    as_json = CliRunner().invoke(app, ["article", "show", "kb-hint-001", "--json"])
    record = json.loads(as_json.stdout)
    assert faults_of(record) == []
    assert record["id"] == "KB-HINT-001"
    assert record["body"].startswith("# Redmine rejects")


@pytest.mark.parametrize("record_id", ["KB-HINT-999", "README", "../record", ""])
def test_show_of_what_is_no_record_fails(record_id: str) -> None:
    assert CliRunner().invoke(app, ["article", "show", record_id]).exit_code == 1


def test_the_records_go_into_the_wheel() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    patterns = settings["package-data"]["producer.admin.knowledge"]
    packed = {path for pattern in patterns for path in OURS.parent.glob(pattern)}
    assert packed >= set(OURS.glob("KB-*.md")) > set()
